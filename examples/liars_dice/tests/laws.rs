//! The laws of every game, what the seats know, and a recorded game.

use boardwire_kernel::testkit::{
    check_knowledge, check_laws, every_table, playthrough, table, uniform_likelihood,
};
use liars_dice::LiarsDice;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/playthrough.txt");

#[test]
fn every_seat_count_obeys_the_laws() {
    for game in every_table::<LiarsDice>() {
        check_laws(&game, 0..20);
    }
}

#[test]
fn other_numbers_of_dice_obey_the_laws() {
    for (seats, dice) in [(2, "1"), (2, "5"), (4, "2"), (6, "1")] {
        check_laws(&table::<LiarsDice>(seats, &[("dice", dice)]), 0..20);
    }
    // The largest table.
    check_laws(&table::<LiarsDice>(6, &[("dice", "5")]), 0..2);
}

#[test]
fn samples_have_their_exact_probabilities() {
    for (seats, dice) in [(2, "2"), (3, "1")] {
        for seed in 0..5 {
            check_knowledge(&table::<LiarsDice>(seats, &[("dice", dice)]), seed, uniform_likelihood);
        }
    }
}

#[test]
fn the_rules_do_not_change_unnoticed() {
    let played = playthrough(&table::<LiarsDice>(3, &[]), 1);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(RECORDED, &played).expect("the file can be written");
    }
    let recorded = std::fs::read_to_string(RECORDED).unwrap_or_default();
    assert_eq!(played, recorded, "after an intended change, increase `rules_version` and run with BLESS=1");
}

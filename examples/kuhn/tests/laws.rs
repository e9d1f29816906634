//! The laws of every game, what the seats know, and recorded games.

use boardwire_kernel::testkit::{act, check_knowledge, check_laws, playthrough, table, uniform_likelihood};
use boardwire_kernel::{Episode, RandomSource};
use kuhn::Kuhn;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/playthrough.txt");

#[test]
fn the_game_obeys_the_laws() {
    check_laws(&table::<Kuhn>(2, &[]), 0..50);
}

#[test]
fn samples_have_their_exact_probabilities() {
    for seed in 0..10 {
        check_knowledge(&table::<Kuhn>(2, &[]), seed, uniform_likelihood);
    }
}

#[test]
fn the_rules_do_not_change_unnoticed() {
    let played = playthrough(&table::<Kuhn>(2, &[]), 1);
    let recorded = std::fs::read_to_string(RECORDED).unwrap_or_else(|_| {
        std::fs::write(RECORDED, &played).expect("the file can be written");
        played.clone()
    });
    assert_eq!(played, recorded, "after an intended change, increase `rules_version` and delete {RECORDED}");
}

#[test]
fn a_bet_that_is_answered_by_a_pass_wins_one_chip() {
    // The cards are jack and king; the actions are bet and pass.
    let mut episode = Episode::start(table::<Kuhn>(2, &[]), RandomSource::scripted([[1, 3]]));
    act(&mut episode, 0, "bet");
    act(&mut episode, 1, "pass");
    assert_eq!(episode.outcome().expect("it is over").scores(), [1, -1]);
}

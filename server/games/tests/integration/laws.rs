//! Runs the laws (property tests) for every game, at every seat count and with every combination of options.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{Estimate, testkit};

/// Returns the number of random games per table: `BOARDWIRE_LAW_GAMES`, or 20. `GAME` selects one game.
fn games_per_table() -> u64 {
    std::env::var("BOARDWIRE_LAW_GAMES").ok().and_then(|number| number.parse().ok()).unwrap_or(20)
}

struct Laws;

impl Visitor for Laws {
    type Output = ();

    fn visit<G: Estimate>(self) {
        for game in testkit::every_table::<G>() {
            testkit::check_laws(&game, 0..games_per_table());
        }
    }
}

/// Tests one game. Each game has its own test, so that the games run in parallel.
fn check_game(id: &str) {
    if std::env::var("GAME").ok().is_none_or(|only| only == id) {
        visit(id, Laws).expect("the registry knows its own ids");
    }
}

#[test]
fn faraway_obeys_the_laws() {
    check_game("faraway");
}

#[test]
fn rauha_obeys_the_laws() {
    check_game("rauha");
}

#[test]
fn the_golden_compass_obeys_the_laws() {
    check_game("golden_compass");
}

#[test]
fn no_game_is_left_out() {
    struct Id;
    impl Visitor for Id {
        type Output = &'static str;

        fn visit<G: Estimate>(self) -> &'static str {
            G::TYPE.id
        }
    }
    assert_eq!(IDS.map(|id| visit(id, Id)), IDS.map(Some));
}

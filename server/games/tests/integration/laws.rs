//! The laws, over every game served, at every seat count and with every combination of options.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{Estimate, testkit};

/// Random games for every table of every game; `BOARDWIRE_LAW_GAMES` asks for more, `GAME` for one game.
fn games_per_table() -> u64 {
    std::env::var("BOARDWIRE_LAW_GAMES").ok().and_then(|number| number.parse().ok()).unwrap_or(20)
}

struct Laws;

impl Visitor for Laws {
    type Output = ();

    fn visit<G: Estimate>(self) {
        for game in testkit::every_table::<G>() {
            testkit::obeys_the_laws(&game, 0..games_per_table());
        }
    }
}

/// A test for each game, so that they run side by side.
fn obeys_the_laws(id: &str) {
    if std::env::var("GAME").ok().is_none_or(|only| only == id) {
        visit(id, Laws).expect("the registry knows its own ids");
    }
}

#[test]
fn faraway_obeys_the_laws() {
    obeys_the_laws("faraway");
}

#[test]
fn rauha_obeys_the_laws() {
    obeys_the_laws("rauha");
}

#[test]
fn the_golden_compass_obeys_the_laws() {
    obeys_the_laws("golden_compass");
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

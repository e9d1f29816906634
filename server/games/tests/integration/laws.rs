//! The laws, over every game served, at every seat count and with every combination of options.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::sync::Arc;

use boardwire_games::{Registered, Registry, Visitor};
use boardwire_kernel::{Loaded, testkit};

/// Random games for every table of every game; `BOARDWIRE_LAW_GAMES` asks for more, `GAME` for one game.
fn games_per_table() -> u64 {
    std::env::var("BOARDWIRE_LAW_GAMES").ok().and_then(|number| number.parse().ok()).unwrap_or(20)
}

struct Laws;

impl Visitor for Laws {
    type Output = ();

    fn visit<G: Registered>(self, _: &Arc<Loaded<G::Catalogue>>) {
        for game in testkit::every_table::<G>() {
            for seed in 0..games_per_table() {
                testkit::law_abiding_game(&game, seed);
            }
        }
    }
}

#[test]
fn every_game_obeys_the_laws() {
    let registry = Registry::load(|_| None).expect("the catalogues are valid");
    let only = std::env::var("GAME").ok();
    for id in Registry::IDS.iter().filter(|id| only.as_deref().is_none_or(|only| only == **id)) {
        registry.visit(id, Laws).expect("the registry knows its own ids");
    }
}

//! The laws, over every game served, at every seat count and with every combination of options.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::sync::Arc;

use boardwire_games::{Registry, ReplayFormat, Visitor};
use boardwire_kernel::{Loaded, testkit};

/// Random games for every table of every game; `BOARDWIRE_LAW_GAMES` asks for more, `GAME` for one game.
fn games_per_table() -> u64 {
    std::env::var("BOARDWIRE_LAW_GAMES").ok().and_then(|number| number.parse().ok()).unwrap_or(20)
}

struct Laws;

impl Visitor for Laws {
    type Output = ();

    fn visit<G: ReplayFormat>(self, _: &Arc<Loaded<G::Catalogue>>) {
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

struct Sound;

impl Visitor for Sound {
    type Output = ();

    fn visit<G: ReplayFormat>(self, _: &Arc<Loaded<G::Catalogue>>) {
        for game in testkit::every_table::<G>() {
            let info = game.info();
            assert_eq!(info.id, G::TYPE.id);
            let mut names: Vec<_> = info.layout.fields.iter().map(|field| field.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two fields share a name: {names:?}");
            for field in &info.layout.fields {
                assert!(!field.doc.is_empty(), "{} has no sentence", field.name);
                if let boardwire_kernel::Meaning::Id { table } = field.meaning {
                    let table = info.tables.iter().find(|known| known.name == table).expect("a known table");
                    assert_eq!(usize::from(field.max) + 1, table.rows.len(), "{}", field.name);
                }
            }
        }
    }
}

#[test]
fn every_field_names_a_table_of_its_size() {
    let registry = Registry::load(|_| None).expect("the catalogues are valid");
    for id in Registry::IDS {
        registry.visit(id, Sound).expect("the registry knows its own ids");
    }
}

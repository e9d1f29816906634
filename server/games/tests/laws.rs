//! The laws, over every game served, at every seat count and with every combination of options.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::sync::Arc;

use boardwire_games::{Registered, Registry, Visitor};
use boardwire_kernel::{ColumnKind, FieldKind, Loaded, testkit};

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

struct Sound;

impl Visitor for Sound {
    type Output = ();

    fn visit<G: Registered>(self, _: &Arc<Loaded<G::Catalogue>>) {
        for game in testkit::every_table::<G>() {
            let info = game.info();
            assert_eq!(info.id, G::TYPE.id);
            let rows = |name: &str| {
                let table = info.tables.iter().find(|table| table.name == name);
                table.unwrap_or_else(|| panic!("{} has no table {name}", info.id)).rows.len()
            };
            for field in info.layout.fields.iter().chain(&info.public_layout.fields) {
                assert!(!field.doc.is_empty(), "{} has no sentence", field.name);
                if let FieldKind::Id { table } = field.kind {
                    assert_eq!(usize::from(field.max) + 1, rows(table), "{}", field.name);
                }
            }
            for action in info.actions.all() {
                let row = usize::from(action.row);
                assert!(action.table.is_none_or(|table| (1..rows(table)).contains(&row)), "{action:?}");
            }
            for table in &info.tables {
                for (at, column) in table.columns.iter().enumerate() {
                    let most = match &column.kind {
                        ColumnKind::Id { table } => rows(table) - 1,
                        ColumnKind::Category { names } => names.len() - 1,
                        ColumnKind::Flag => 1,
                        ColumnKind::Count => continue,
                    };
                    let fits = |row: &Vec<i16>| usize::try_from(row[at]).is_ok_and(|value| value <= most);
                    assert!(table.rows.iter().all(fits), "{}.{} exceeds {most}", table.name, column.name);
                }
            }
        }
    }
}

#[test]
fn what_names_a_table_stays_within_it() {
    let registry = Registry::load(|_| None).expect("the catalogues are valid");
    for id in Registry::IDS {
        registry.visit(id, Sound).expect("the registry knows its own ids");
    }
}

//! The cards as integer matrices.

use boardwire_kernel::Table;

use super::{Card, Catalogue, SYMBOLS, WONDERS};

impl Catalogue {
    pub(in super::super) fn tables(&self) -> Vec<Table> {
        vec![
            table("regions", "duration", &self.regions[1..]),
            table("sanctuaries", "id", &self.sanctuaries[1..]),
        ]
    }
}

fn table(name: &'static str, id: &str, cards: &[Card]) -> Table {
    Table::of(name, cards)
        .count(id, |card| card.id)
        .each(&WONDERS, |table, at, wonder| table.count(wonder, |card| card.symbols.0[at]))
        .each(&SYMBOLS[WONDERS.len()..], |table, at, symbol| {
            table.flag(symbol, |card| card.symbols.0[WONDERS.len() + at] == 1)
        })
        .each(&WONDERS, |table, at, wonder| {
            table.count(format!("needs_{wonder}"), |card| card.prerequisite[at])
        })
        .count("flat", |card| card.quest.flat)
        .each(&SYMBOLS, |table, at, symbol| table.count(format!("per_{symbol}"), |card| card.quest.per.0[at]))
        .count("per_biome_set", |card| card.quest.per_set)
        .finish()
}

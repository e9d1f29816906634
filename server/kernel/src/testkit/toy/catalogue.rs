//! The printed components: eight cards.

use serde::Deserialize;

use crate::catalogue::{BoundedU8, CatalogueResult, read, require, unique};
use crate::{Components, Provenance, Table};

/// The number of cards.
pub const CARDS: u8 = 8;

crate::ids! {
    /// A card, by its row in the table of cards.
    pub CardId
}

/// A printed card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The name in the labels of actions and in texts.
    pub name: String,
    /// The value. The greatest value wins a round, and each value is worth as many points to the winner.
    pub value: u8,
}

/// The cards, read and validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The cards in the order of their ids, from 1.
    pub cards: Vec<Card>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cards: Section,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    source: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    value: BoundedU8<1, 99>,
}

impl Components for Catalogue {
    fn read(json: &str) -> CatalogueResult<Self> {
        let File { cards: Section { source, rows } } = read(json)?;
        require(rows.len() == usize::from(CARDS), "cards.rows", || {
            format!("has {} rows, but the rules need {CARDS}", rows.len())
        })?;
        unique("cards.rows", "name", &rows, |row| row.name.clone())?;
        // Without equal values no round can have two winners.
        unique("cards.rows", "value", &rows, |row| row.value.get())?;
        let cards = rows.into_iter().map(|row| Card { name: row.name, value: row.value.get() }).collect();
        Ok(Self { cards, source })
    }

    fn provenance(&self) -> Vec<Provenance> {
        vec![Provenance { section: "cards".into(), source: self.source.clone() }]
    }
}

impl Catalogue {
    /// Returns the cards as an integer matrix.
    pub(super) fn table(&self) -> Table {
        Table::of("cards", &self.cards).count("value", |card| card.value).finish()
    }
}

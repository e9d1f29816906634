//! The rows of the catalogue as they stand in its JSON, as far as they are read; what a number or a word may be stands in
//! its type. Other fields are for people.

use boardwire_kernel::catalogue::Small;
use serde::{Deserialize, Deserializer};

use super::pieces::{Animal, Per, Side, Type};
use crate::rauha::state::CELLS;

/// The only number the rules can be played with.
type Exactly<const N: u8> = Small<N, N>;
/// A cell of a board.
pub(super) type Cell = Small<0, { CELLS - 1 }>;
/// A number that an effect has; no printed one is larger.
pub(super) type Value = Small<1, 20>;

/// The whole file.
#[derive(Deserialize)]
pub(super) struct File {
    #[serde(rename = "schema_version")]
    _schema_version: Exactly<1>,
    pub(super) provenance: String,
    pub(super) setup: Setup,
    pub(super) discard: Discard,
    pub(super) track: Vec<StopRow>,
    pub(super) water_scoring: WaterScoring,
    pub(super) entities: Vec<EntityRow>,
    pub(super) boards: Boards,
    pub(super) biomes: Vec<BiomeRow>,
}

#[derive(Deserialize)]
pub(super) struct Setup {
    pub(super) crystals: Small<0, 99>,
}

#[derive(Deserialize)]
pub(super) struct Discard {
    pub(super) crystals: Small<0, 20>,
}

/// A stop; in a scoring nothing of it is read.
#[derive(Deserialize)]
pub(super) struct StopRow {
    pub(super) satellite: Option<Side>,
    pub(super) line: Option<Line>,
    pub(super) index: Option<Small<0, 2>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Row,
    Column,
}

#[derive(Deserialize)]
pub(super) struct WaterScoring {
    pub(super) points: Vec<Small<0, 99>>,
}

#[derive(Deserialize)]
pub(super) struct EntityRow {
    pub(super) id: u8,
    pub(super) key: String,
    pub(super) name: String,
    pub(super) called_by: SymbolRow,
    pub(super) effect: EffectRow,
}

#[derive(Deserialize)]
pub(super) struct SymbolRow {
    #[serde(rename = "type")]
    pub(super) kind: Option<Type>,
    pub(super) animal: Option<Animal>,
}

#[derive(Deserialize)]
pub(super) struct Boards {
    #[serde(rename = "A")]
    pub(super) a: Vec<CellRow>,
    #[serde(rename = "B")]
    pub(super) b: Vec<CellRow>,
}

#[derive(Deserialize)]
pub(super) struct CellRow {
    pub(super) id: u8,
    pub(super) types: Vec<Type>,
    pub(super) animals: Vec<Animal>,
    pub(super) water: Small<0, 9>,
    pub(super) effect: EffectRow,
}

#[derive(Deserialize)]
pub(super) struct BiomeRow {
    pub(super) id: u8,
    pub(super) code: String,
    pub(super) cost: Small<0, 20>,
    #[serde(deserialize_with = "present")]
    pub(super) cells: Option<Vec<Cell>>,
    pub(super) types: Vec<Type>,
    pub(super) animals: Vec<Animal>,
    pub(super) water: Small<0, 9>,
    pub(super) effect: EffectRow,
}

/// An effect with the values of every kind; each kind has its own.
#[derive(Deserialize)]
pub(super) struct EffectRow {
    pub(super) kind: EffectKind,
    pub(super) crystals: Option<Value>,
    pub(super) points: Option<Value>,
    pub(super) per: Option<Per>,
    pub(super) cost: Option<Value>,
    pub(super) spores: Option<Exactly<1>>,
    pub(super) water: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EffectKind {
    None,
    Gain,
    Score,
    PointsPer,
    BuyPoints,
    BuySpore,
    PassiveWater,
}

/// Reads a value that may be null but may not be missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Cell>>, D::Error> {
    Option::deserialize(deserializer)
}

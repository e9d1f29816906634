//! The JSON rows of the catalogue, with the fields that the code reads. The types limit the numbers and words. Other
//! fields are for people.

use boardwire_kernel::catalogue::BoundedU8;
use serde::{Deserialize, Deserializer};

use super::pieces::{Animal, Per, Side, Type};
use crate::rauha::state::CELL_COUNT;

/// A number for which the rules allow one value only.
type Exactly<const N: u8> = BoundedU8<N, N>;
pub(super) type Cell = BoundedU8<0, { CELL_COUNT - 1 }>;
/// A number in an effect. No printed one is larger.
pub(super) type Value = BoundedU8<1, 20>;

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
    pub(super) crystals: BoundedU8<0, 99>,
}

#[derive(Deserialize)]
pub(super) struct Discard {
    pub(super) crystals: BoundedU8<0, 20>,
}

/// A stop. The code reads none of these fields in a scoring.
#[derive(Deserialize)]
pub(super) struct StopRow {
    pub(super) satellite: Option<Side>,
    pub(super) line: Option<Line>,
    pub(super) index: Option<BoundedU8<0, 2>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Row,
    Column,
}

#[derive(Deserialize)]
pub(super) struct WaterScoring {
    pub(super) points: Vec<BoundedU8<0, 99>>,
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
    pub(super) water: BoundedU8<0, 9>,
    pub(super) effect: EffectRow,
}

#[derive(Deserialize)]
pub(super) struct BiomeRow {
    pub(super) id: u8,
    pub(super) cost: BoundedU8<0, 20>,
    #[serde(deserialize_with = "present")]
    pub(super) cells: Option<Vec<Cell>>,
    pub(super) types: Vec<Type>,
    pub(super) animals: Vec<Animal>,
    pub(super) water: BoundedU8<0, 9>,
    pub(super) effect: EffectRow,
}

/// An effect with the fields of all kinds. Each kind uses its own fields.
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

/// Reads a field that may be null but must be present.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Cell>>, D::Error> {
    Option::deserialize(deserializer)
}

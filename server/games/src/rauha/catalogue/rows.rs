//! The rows of the catalogue as they stand in its JSON; what a number or a word may be stands in its type.

use std::collections::BTreeMap;

use boardwire_kernel::catalogue::Small;
use serde::{Deserialize, Deserializer, de::IgnoredAny};

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
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(rename = "schema_version")]
    _schema_version: Exactly<1>,
    #[serde(rename = "schema")]
    _schema: IgnoredAny,
    pub(super) provenance: String,
    #[serde(rename = "game")]
    _game: GameRow,
    #[serde(rename = "vocabulary")]
    _vocabulary: IgnoredAny,
    #[serde(rename = "components")]
    _components: Components,
    pub(super) setup: Setup,
    pub(super) deal: Deal,
    pub(super) discard: Discard,
    pub(super) track: Vec<StopRow>,
    pub(super) water_scoring: WaterScoring,
    pub(super) entities: Vec<EntityRow>,
    pub(super) boards: Boards,
    pub(super) biomes: Vec<BiomeRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GameRow {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "players")]
    _players: Players,
    #[serde(rename = "rounds")]
    _rounds: Exactly<4>,
    #[serde(rename = "turns_per_round")]
    _turns_per_round: Exactly<3>,
    #[serde(rename = "ages")]
    _ages: Exactly<2>,
    #[serde(rename = "win")]
    _win: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Players {
    #[serde(rename = "min")]
    _min: Exactly<2>,
    #[serde(rename = "max")]
    _max: Exactly<5>,
}

/// What the box holds; only the numbers of cards and Entities bind, the rest can never run out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Components {
    #[serde(rename = "biome_cards")]
    _biome_cards: BiomeCards,
    #[serde(rename = "divine_entities")]
    _divine_entities: Exactly<7>,
    #[serde(rename = "player_boards")]
    _player_boards: IgnoredAny,
    #[serde(rename = "satellites")]
    _satellites: IgnoredAny,
    #[serde(rename = "avatars")]
    _avatars: IgnoredAny,
    #[serde(rename = "energy_tokens")]
    _energy_tokens: IgnoredAny,
    #[serde(rename = "plus100_markers")]
    _plus100_markers: IgnoredAny,
    #[serde(rename = "spores")]
    _spores: IgnoredAny,
    #[serde(rename = "crystals")]
    _crystals: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BiomeCards {
    #[serde(rename = "age1")]
    _age1: Exactly<40>,
    #[serde(rename = "age2")]
    _age2: Exactly<40>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setup {
    pub(super) crystals: Small<0, 99>,
    #[serde(rename = "points")]
    _points: Exactly<0>,
    #[serde(rename = "spores")]
    _spores: Exactly<0>,
    #[serde(rename = "entities")]
    _entities: Exactly<0>,
    #[serde(rename = "board")]
    _board: String,
    #[serde(rename = "energy_tokens")]
    _energy_tokens: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deal {
    #[serde(rename = "cards_per_satellite")]
    _cards_per_satellite: Exactly<4>,
    #[serde(rename = "satellites")]
    _satellites: String,
    pub(super) rounds_by_age: BTreeMap<String, Vec<u8>>,
    pub(super) by_players: BTreeMap<u8, Dealt>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dealt {
    #[serde(rename = "dealt_per_round")]
    pub(super) per_round: u8,
    #[serde(rename = "used_per_age")]
    pub(super) used: u8,
    #[serde(rename = "left_in_box_per_age")]
    pub(super) left_in_box: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Discard {
    pub(super) crystals: Small<0, 20>,
    #[serde(rename = "or_spores")]
    _or_spores: Exactly<1>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StopRow {
    pub(super) step: u8,
    pub(super) kind: StopKind,
    pub(super) round: u8,
    pub(super) turn: Option<u8>,
    pub(super) age: Option<u8>,
    #[serde(rename = "side")]
    _side: Option<String>,
    pub(super) satellite: Option<Side>,
    pub(super) line: Option<Line>,
    pub(super) index: Option<Small<0, 2>>,
    pub(super) cells: Option<Vec<Cell>>,
    #[serde(rename = "corner")]
    _corner: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum StopKind {
    Turn,
    Scoring,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Row,
    Column,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaterScoring {
    #[serde(rename = "compare_with")]
    _compare_with: String,
    pub(super) points: Vec<Small<0, 99>>,
    #[serde(rename = "cap_difference")]
    _cap_difference: Exactly<5>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityRow {
    pub(super) id: u8,
    pub(super) key: String,
    pub(super) name: String,
    #[serde(rename = "title")]
    _title: String,
    pub(super) called_by: SymbolRow,
    pub(super) effect: EffectRow,
    pub(super) activates: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SymbolRow {
    #[serde(rename = "type")]
    pub(super) kind: Option<Type>,
    pub(super) animal: Option<Animal>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Boards {
    #[serde(rename = "A")]
    pub(super) a: Vec<CellRow>,
    #[serde(rename = "B")]
    pub(super) b: Vec<CellRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellRow {
    pub(super) id: u8,
    pub(super) cell: u8,
    pub(super) row: u8,
    pub(super) col: u8,
    pub(super) types: Vec<Type>,
    pub(super) animals: Vec<Animal>,
    pub(super) water: Small<0, 9>,
    pub(super) effect: EffectRow,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BiomeRow {
    pub(super) id: u8,
    pub(super) code: String,
    pub(super) age: Small<1, 2>,
    #[serde(rename = "copies")]
    _copies: Exactly<1>,
    pub(super) types: Vec<Type>,
    pub(super) animals: Vec<Animal>,
    pub(super) cost: Small<0, 20>,
    #[serde(deserialize_with = "present")]
    pub(super) cells: Option<Vec<Cell>>,
    pub(super) water: Small<0, 9>,
    pub(super) effect: EffectRow,
}

/// An effect with the values of every kind; each kind has its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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

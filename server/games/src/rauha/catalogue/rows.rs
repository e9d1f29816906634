//! The rows of the catalogue as they stand in its JSON, before anything is believed of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::IgnoredAny};

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) schema_version: i64,
    #[serde(rename = "schema")]
    _schema: IgnoredAny,
    pub(super) provenance: String,
    pub(super) game: GameRow,
    #[serde(rename = "vocabulary")]
    _vocabulary: IgnoredAny,
    pub(super) components: Components,
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
pub(super) struct GameRow {
    #[serde(rename = "name")]
    _name: String,
    pub(super) players: Players,
    pub(super) rounds: i64,
    pub(super) turns_per_round: i64,
    pub(super) ages: i64,
    #[serde(rename = "win")]
    _win: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Players {
    pub(super) min: i64,
    pub(super) max: i64,
}

/// What the box holds; only the numbers of cards and Entities bind, the rest can never run out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Components {
    pub(super) biome_cards: BTreeMap<String, i64>,
    pub(super) divine_entities: i64,
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
pub(super) struct Setup {
    pub(super) crystals: i64,
    pub(super) points: i64,
    pub(super) spores: i64,
    pub(super) entities: i64,
    #[serde(rename = "board")]
    _board: String,
    #[serde(rename = "energy_tokens")]
    _energy_tokens: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deal {
    pub(super) cards_per_satellite: i64,
    #[serde(rename = "satellites")]
    _satellites: String,
    pub(super) rounds_by_age: BTreeMap<String, Vec<i64>>,
    pub(super) by_players: BTreeMap<String, Dealt>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dealt {
    #[serde(rename = "dealt_per_round")]
    pub(super) per_round: i64,
    #[serde(rename = "used_per_age")]
    pub(super) used: i64,
    #[serde(rename = "left_in_box_per_age")]
    pub(super) left_in_box: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Discard {
    pub(super) crystals: i64,
    pub(super) or_spores: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StopRow {
    pub(super) step: i64,
    pub(super) kind: String,
    pub(super) round: i64,
    pub(super) turn: Option<i64>,
    pub(super) age: Option<i64>,
    #[serde(rename = "side")]
    _side: Option<String>,
    pub(super) satellite: Option<String>,
    pub(super) line: Option<String>,
    pub(super) index: Option<i64>,
    pub(super) cells: Option<Vec<i64>>,
    #[serde(rename = "corner")]
    _corner: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaterScoring {
    #[serde(rename = "compare_with")]
    _compare_with: String,
    pub(super) points: Vec<i64>,
    pub(super) cap_difference: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityRow {
    pub(super) id: i64,
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
    pub(super) kind: Option<String>,
    pub(super) animal: Option<String>,
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
    pub(super) id: i64,
    pub(super) cell: i64,
    pub(super) row: i64,
    pub(super) col: i64,
    pub(super) types: Vec<String>,
    pub(super) animals: Vec<String>,
    pub(super) water: i64,
    pub(super) effect: EffectRow,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BiomeRow {
    pub(super) id: i64,
    pub(super) code: String,
    pub(super) age: i64,
    pub(super) copies: i64,
    pub(super) types: Vec<String>,
    pub(super) animals: Vec<String>,
    pub(super) cost: i64,
    #[serde(deserialize_with = "present")]
    pub(super) cells: Option<Vec<i64>>,
    pub(super) water: i64,
    pub(super) effect: EffectRow,
}

/// An effect with the values of every kind; each kind has its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectRow {
    pub(super) kind: String,
    pub(super) crystals: Option<i64>,
    pub(super) points: Option<i64>,
    pub(super) per: Option<String>,
    pub(super) cost: Option<i64>,
    pub(super) spores: Option<i64>,
    pub(super) water: Option<i64>,
}

/// Reads a value that may be null but may not be missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<i64>>, D::Error> {
    Option::deserialize(deserializer)
}

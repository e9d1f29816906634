//! The catalogue's rows as they are in the file.
//!
//! Unknown fields are ignored, as the catalogue's own schema says; every known field is required. The types bound numbers
//! where they can. `check`, `faces` and `effects` bound rows with a `kind`, because serde names no field within them.

use std::collections::BTreeMap;

use boardwire_kernel::catalogue::BoundedU8;
use serde::Deserialize;

use super::super::limits::{ADVANCE, CITY_TOKENS, COMPASS, DUST, MAGISTERIUM, PASSAGES, TILES_EACH, VALUE};

#[derive(Deserialize)]
pub(super) struct Rows {
    pub(super) format: String,
    pub(super) format_version: u32,
    pub(super) components: Components,
    pub(super) setup: Setup,
    pub(super) rules_values: RulesValues,
    pub(super) periods: Periods,
    pub(super) path: Path,
    pub(super) wheel: Wheel,
    pub(super) lyra_deck: LyraDeck,
    pub(super) experience_tokens: ExperienceTokens,
    pub(super) truth_tiles: TruthTiles,
    pub(super) dust_tiles: Count<DUST>,
    pub(super) passage_tiles: Count<PASSAGES>,
    pub(super) characters: Characters,
    pub(super) rulings: Rulings,
}

#[derive(Deserialize)]
pub(super) struct Components {
    pub(super) compass_tiles_per_player: BoundedU8<1, COMPASS>,
}

#[derive(Deserialize)]
pub(super) struct Setup {
    pub(super) min_players: BoundedU8<2, 4>,
    pub(super) max_players: BoundedU8<2, 4>,
    pub(super) starting_hand: u8,
    pub(super) lyra_deck_copies: BTreeMap<String, u8>,
    pub(super) characters_dealt: u8,
    pub(super) characters_kept: u8,
}

#[derive(Deserialize)]
pub(super) struct RulesValues {
    pub(super) hand_limit: BoundedU8<3, 12>,
    pub(super) daemon_pair_size: u8,
    pub(super) daemon_pair_tokens: u8,
    pub(super) symbol_triplet_size: u8,
    pub(super) symbol_triplet_compass: BoundedU8<1, COMPASS>,
    pub(super) spy_pair_size: u8,
    pub(super) spy_pair_steals: u8,
    pub(super) alethiometer_action_compass: BoundedU8<1, COMPASS>,
    pub(super) dust_action_tiles: u8,
    pub(super) truth_tiles_drawn: u8,
    pub(super) truth_tiles_per_player: BoundedU8<1, TILES_EACH>,
    pub(super) airship_extra_cards: u8,
    pub(super) airship_truth_tiles_lost: u8,
}

#[derive(Deserialize)]
pub(super) struct Periods {
    pub(super) list: Vec<Period>,
    pub(super) city_names: BTreeMap<String, String>,
}

#[derive(Deserialize)]
pub(super) struct Period {
    pub(super) id: String,
    pub(super) cities: Vec<String>,
    pub(super) collects_experience: bool,
    pub(super) places_experience: bool,
    pub(super) experience_slots_per_city: BoundedU8<1, CITY_TOKENS>,
}

#[derive(Deserialize)]
pub(super) struct Path {
    pub(super) segments: Vec<Segment>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Segment {
    Start,
    City { city: String, spaces: u8 },
    Objective { period: String },
}

#[derive(Deserialize)]
pub(super) struct Wheel {
    pub(super) axes: Vec<AxisRow>,
}

#[derive(Deserialize)]
pub(super) struct AxisRow {
    pub(super) red: Red,
    pub(super) blue: Blue,
    pub(super) weight: u32,
}

#[derive(Deserialize)]
pub(super) struct Red {
    pub(super) draw: BoundedU8<2, 3>,
    pub(super) advance: BoundedU8<0, ADVANCE>,
}

/// A light-blue symbol of the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::golden_compass) enum Blue {
    Alethiometer,
    Magisterium,
    Ally,
    Dust,
    FreeChoice,
}

#[derive(Deserialize)]
pub(super) struct LyraDeck {
    pub(super) daemons: Vec<Named>,
    pub(super) symbols: Vec<Named>,
    pub(super) cards: Vec<Card>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Card {
    Ordinary {
        daemon: String,
        symbol: String,
        #[serde(default)]
        also_spy: bool,
        count: u8,
    },
    FlyingSpy {
        count: u8,
    },
    Joker {
        count: u8,
    },
}

#[derive(Deserialize)]
pub(super) struct ExperienceTokens {
    pub(super) sets: Vec<CityTokens>,
}

#[derive(Deserialize)]
pub(super) struct CityTokens {
    pub(super) city: String,
    pub(super) tokens: Vec<TokenRow>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum TokenRow {
    Points { value: u8 },
    Alethiometer,
}

#[derive(Deserialize)]
pub(super) struct TruthTiles {
    pub(super) tiles: Vec<Tile>,
}

#[derive(Deserialize)]
pub(super) struct Tile {
    pub(super) value: BoundedU8<0, VALUE>,
    pub(super) count: BoundedU8<1, 255>,
}

#[derive(Deserialize)]
pub(super) struct Count<const MOST: u8> {
    pub(super) count: BoundedU8<0, MOST>,
}

#[derive(Deserialize)]
pub(super) struct Characters {
    pub(super) list: Vec<CharacterRow>,
}

#[derive(Deserialize)]
pub(super) struct CharacterRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) period: String,
    pub(super) magisterium: BoundedU8<0, MAGISTERIUM>,
    pub(super) effects: Vec<Effect>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Effect {
    Draw { count: u8 },
    DrawKeep { draw: u8, keep: u8 },
    StealCard { count: u8 },
    PlaceCompass { count: u8 },
    RemoveCompass { count: u8 },
    TakeDust { count: u8 },
    MoveAirship,
    TakeExperience { count: u8 },
    PlaceExperience { count: u8 },
    StealExperience { count: u8 },
    AdvanceLyra { up_to: u8 },
    SpendCards { count: u8 },
    WildDaemonPair { count: u8 },
    ShortTriplet { count: u8 },
    ChooseOne { options: Vec<Vec<Effect>> },
}

#[derive(Deserialize)]
pub(super) struct Rulings {
    /// Null means never. The field must be present.
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) stall_guard_turns: Option<u16>,
}

//! The catalogue's rows as they stand in the file.
//!
//! Unknown fields are ignored, as the catalogue's own schema says; every known one is required.

use std::collections::BTreeMap;

use boardwire_kernel::CatalogueError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    pub(super) dust_tiles: Count,
    pub(super) passage_tiles: Count,
    pub(super) characters: Characters,
    pub(super) rulings: Rulings,
}

#[derive(Deserialize)]
pub(super) struct Components {
    pub(super) characters: u32,
    pub(super) lyra_decks: u32,
    pub(super) lyra_cards_per_deck: u32,
    pub(super) experience_tokens: u32,
    pub(super) compass_tiles_per_player: u8,
    pub(super) truth_tiles: u32,
    pub(super) dust_tiles: u8,
    pub(super) passage_tiles: u8,
}

#[derive(Deserialize)]
pub(super) struct Setup {
    pub(super) min_players: u8,
    pub(super) max_players: u8,
    pub(super) starting_hand: u8,
    pub(super) lyra_deck_copies: BTreeMap<String, u8>,
    pub(super) characters_dealt: u8,
    pub(super) characters_kept: u8,
}

#[derive(Deserialize)]
pub(super) struct RulesValues {
    pub(super) hand_limit: u8,
    pub(super) daemon_pair_size: u8,
    pub(super) daemon_pair_tokens: u8,
    pub(super) symbol_triplet_size: u8,
    pub(super) symbol_triplet_compass: u8,
    pub(super) spy_pair_size: u8,
    pub(super) spy_pair_steals: u8,
    pub(super) alethiometer_action_compass: u8,
    pub(super) dust_action_tiles: u8,
    pub(super) truth_tiles_drawn: u8,
    pub(super) truth_tiles_per_player: u8,
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
    pub(super) experience_slots_per_city: u8,
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
    pub(super) axes: Vec<Axis>,
}

#[derive(Deserialize)]
pub(super) struct Axis {
    pub(super) red: Red,
    pub(super) blue: String,
    pub(super) weight: u32,
}

#[derive(Deserialize)]
pub(super) struct Red {
    pub(super) draw: u8,
    pub(super) advance: u8,
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
    pub(super) sets: Vec<TokenSet>,
}

#[derive(Deserialize)]
pub(super) struct TokenSet {
    pub(super) city: String,
    pub(super) tokens: Vec<Token>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Token {
    Points { value: u8 },
    Alethiometer,
}

#[derive(Deserialize)]
pub(super) struct TruthTiles {
    pub(super) tiles: Vec<Tile>,
}

#[derive(Deserialize)]
pub(super) struct Tile {
    pub(super) value: u8,
    pub(super) count: u8,
}

#[derive(Deserialize)]
pub(super) struct Count {
    pub(super) count: u8,
}

#[derive(Deserialize)]
pub(super) struct Characters {
    pub(super) per_period: u32,
    pub(super) list: Vec<Character>,
}

#[derive(Deserialize)]
pub(super) struct Character {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) period: String,
    pub(super) magisterium: u8,
    pub(super) effects: Vec<Effect>,
    #[serde(default)]
    pub(super) text: String,
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
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) stall_guard_turns: Option<u16>,
}

type Check = Result<(), CatalogueError>;

/// Reads the rows; an error names the deepest row that cannot be read.
pub(super) fn read(file: &Value) -> Result<Rows, CatalogueError> {
    let whole = Rows::deserialize(file);
    whole.map_err(|error| narrow(file).unwrap_or_else(|| CatalogueError::new("catalogue", error.to_string())))
}

fn at<T: DeserializeOwned>(value: &Value, place: &str) -> Check {
    let read = T::deserialize(value).map(drop);
    read.map_err(|error| CatalogueError::new(place, error.to_string()))
}

fn section<T: DeserializeOwned>(file: &Value, name: &str) -> Check {
    let missing = || CatalogueError::new(name, "the section is missing");
    file.get(name).ok_or_else(missing).and_then(|value| at::<T>(value, name))
}

fn rows<T: DeserializeOwned>(file: &Value, name: &str, list: &str) -> Check {
    let rows = file.get(name).and_then(|section| section.get(list)).and_then(Value::as_array);
    let mut rows = rows.into_iter().flatten().enumerate();
    rows.try_for_each(|(row, value)| at::<T>(value, &format!("{name}.{list}[{row}]")))
}

/// Looks row by row, then section by section, for what was refused as a whole.
fn narrow(file: &Value) -> Option<CatalogueError> {
    [
        rows::<Period>(file, "periods", "list"),
        rows::<Segment>(file, "path", "segments"),
        rows::<Axis>(file, "wheel", "axes"),
        rows::<Card>(file, "lyra_deck", "cards"),
        rows::<TokenSet>(file, "experience_tokens", "sets"),
        rows::<Tile>(file, "truth_tiles", "tiles"),
        rows::<Character>(file, "characters", "list"),
        section::<Components>(file, "components"),
        section::<Setup>(file, "setup"),
        section::<RulesValues>(file, "rules_values"),
        section::<Periods>(file, "periods"),
        section::<Path>(file, "path"),
        section::<Wheel>(file, "wheel"),
        section::<LyraDeck>(file, "lyra_deck"),
        section::<ExperienceTokens>(file, "experience_tokens"),
        section::<TruthTiles>(file, "truth_tiles"),
        section::<Count>(file, "dust_tiles"),
        section::<Count>(file, "passage_tiles"),
        section::<Characters>(file, "characters"),
        section::<Rulings>(file, "rulings"),
    ]
    .into_iter()
    .find_map(Result::err)
}

//! The events of a recorded game, as they stand in the line.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A whole game.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    #[serde(rename = "id")]
    _id: String,
    pub(super) players: u8,
    pub(super) log: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub(super) enum Event {
    Setup(Setup),
    Period(Period),
    Keep(Keep),
    Allies(Allies),
    Spin(Spin),
    Colour(Colour),
    Red(Red),
    BlueOptions(BlueOptions),
    Action(Action),
    SetOptions(SetOptions),
    Set(Set),
    EndTurn(EndTurn),
    Snapshot(Snapshot),
    Airship(Airship),
    Truth(Truth),
    Cleanup(Cleanup),
    Final(Final),
}

impl Event {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Period(_) => "period",
            Self::Keep(_) => "keep",
            Self::Allies(_) => "allies",
            Self::Spin(_) => "spin",
            Self::Colour(_) => "colour",
            Self::Red(_) => "red",
            Self::BlueOptions(_) => "blue_options",
            Self::Action(_) => "action",
            Self::SetOptions(_) => "set_options",
            Self::Set(_) => "set",
            Self::EndTurn(_) => "end_turn",
            Self::Snapshot(_) => "snapshot",
            Self::Airship(_) => "airship",
            Self::Truth(_) => "truth",
            Self::Cleanup(_) => "cleanup",
            Self::Final(_) => "final",
        }
    }
}

/// Names of cards or tokens.
pub(super) type Names = Vec<String>;

/// A field that may be null, but must be there.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setup {
    pub(super) players: u8,
    pub(super) first: u8,
    pub(super) hands: Vec<Names>,
    pub(super) deck: Names,
    pub(super) tokens: BTreeMap<String, Names>,
    pub(super) characters: BTreeMap<String, Names>,
    pub(super) supply: Vec<u8>,
    pub(super) dust_supply: u8,
    pub(super) lyra: u8,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Period {
    pub(super) period: String,
    pub(super) first: u8,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keep {
    pub(super) player: u8,
    pub(super) options: Names,
    pub(super) pick: String,
    pub(super) passed: String,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the names are those of the format")]
pub(super) struct Allies {
    pub(super) allies: Names,
    pub(super) under: Names,
    pub(super) magisterium: Vec<u8>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spin {
    pub(super) turn: u32,
    pub(super) player: u8,
    pub(super) axis: u8,
    pub(super) red: [u8; 2],
    pub(super) blue: String,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Colour {
    pub(super) pick: String,
}

/// The discard pile came back when the card of this number was due.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reshuffle {
    pub(super) after: u8,
    pub(super) order: Names,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Red {
    pub(super) drawn: Names,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reshuffle: Option<Reshuffle>,
    pub(super) discard: Names,
    pub(super) advance: u8,
    pub(super) steps: u8,
    pub(super) lyra: u8,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlueOptions {
    pub(super) legal: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Action {
    #[serde(deserialize_with = "nullable")]
    pub(super) pick: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) compass: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) effects: Option<Vec<Effect>>,
}

/// One effect of an ally: which fields it has depends on its kind `e`.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Effect {
    pub(super) e: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) skipped: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) drawn: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reshuffle: Option<Reshuffle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) drop: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) discard: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) targets: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cards: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compass: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) taken: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) laid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backs: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stolen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) steps: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lyra: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pay: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) legal: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pick: Option<u8>,
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub(super) list: Option<Vec<Effect>>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetOptions {
    pub(super) pairs: Names,
    pub(super) triplets: Names,
    pub(super) spies: bool,
    pub(super) wild: bool,
    pub(super) short: Names,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Set {
    pub(super) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) cards: Names,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) taken: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<Names>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) laid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) compass: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) targets: Option<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) backs: Option<Names>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stolen: Option<String>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndTurn {
    pub(super) stall: bool,
    pub(super) lyra: u8,
    pub(super) period_over: bool,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Snapshot {
    pub(super) turn: u32,
    pub(super) lyra: u8,
    pub(super) still: u16,
    pub(super) hands: Vec<Names>,
    pub(super) draw: u8,
    pub(super) discard: u8,
    pub(super) compass: Vec<u8>,
    pub(super) supply: Vec<u8>,
    pub(super) cities: Vec<u8>,
    pub(super) tokens: Vec<Names>,
    pub(super) laid: Vec<Vec<(u8, String)>>,
    pub(super) dust: Vec<u8>,
    pub(super) dust_supply: u8,
    #[serde(deserialize_with = "nullable")]
    pub(super) airship: Option<u8>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Airship {
    pub(super) player: u8,
    pub(super) cost: u8,
    pub(super) legal: Names,
    pub(super) pick: String,
    pub(super) cards: Names,
}

/// A tile drawn: its value, or `"passage"`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Tile {
    Value(u8),
    Passage(String),
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Truth {
    pub(super) bag: Vec<(u8, u8)>,
    pub(super) passages: u8,
    pub(super) drawn: Vec<Tile>,
    pub(super) order: Vec<u8>,
    pub(super) picks: Vec<Vec<u8>>,
    pub(super) left: Vec<u8>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cleanup {
    pub(super) deck: Names,
    pub(super) hands: Vec<u8>,
    pub(super) supply: Vec<u8>,
    pub(super) tokens: Vec<u8>,
    pub(super) dust: Vec<u8>,
    pub(super) lyra: u8,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Score {
    pub(super) truth: i32,
    pub(super) experience: i32,
    pub(super) alethiometer: i32,
    pub(super) passages: i32,
    pub(super) total: i32,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Final {
    pub(super) turns: u32,
    pub(super) scores: Vec<Score>,
    pub(super) winners: Vec<u8>,
}

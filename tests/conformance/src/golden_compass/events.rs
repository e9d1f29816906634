//! The events of a recorded game, as in its JSON line.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::record::{events, fields};

/// A recorded game.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    #[serde(rename = "id")]
    _id: String,
    pub(super) players: u8,
    pub(super) log: Vec<Event>,
}

events! {
    "setup" Setup,
    "period" Period,
    "keep" Keep,
    "allies" Allies,
    "spin" Spin,
    "colour" Colour,
    "red" Red,
    "blue_options" BlueOptions,
    "action" Action,
    "set_options" SetOptions,
    "set" Set,
    "end_turn" EndTurn,
    "snapshot" Snapshot,
    "airship" Airship,
    "truth" Truth,
    "cleanup" Cleanup,
    "final" Final,
}

/// Names of cards, tokens or characters.
pub(super) type Words = Vec<String>;

/// Reads a field that may be null but must be present.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

fields! {
    Setup {
        players: u8,
        first: u8,
        hands: Vec<Words>,
        deck: Words,
        tokens: BTreeMap<String, Words>,
        characters: BTreeMap<String, Words>,
        supply: Vec<u8>,
        dust_supply: u8,
        lyra: u8,
    }
    Period { period: String, first: u8 }
    Keep { player: u8, options: Words, pick: String, passed: String }
    #[expect(clippy::struct_field_names, reason = "the names are those of the format")]
    Allies { allies: Words, under: Words, magisterium: Vec<u8> }
    Spin { turn: u32, player: u8, axis: u8, red: [u8; 2], blue: String }
    Colour { pick: String }
    /// The discard pile came back when the card of this number was due.
    Reshuffle { after: u8, order: Words }
    Red {
        drawn: Words,
        reshuffle: Option<Reshuffle>,
        discard: Words,
        advance: u8,
        steps: u8,
        lyra: u8,
    }
    BlueOptions { legal: BTreeMap<String, Vec<u8>> }
    Action {
        #[serde(deserialize_with = "nullable")]
        pick: Option<String>,
        target: Option<u8>,
        compass: Option<u8>,
        effects: Option<Vec<Effect>>,
    }
    SetOptions { pairs: Words, triplets: Words, spies: bool, wild: bool, short: Words }
    #[derive(Default)]
    Set {
        kind: String,
        id: Option<String>,
        cards: Words,
        taken: Option<String>,
        tokens: Option<Words>,
        laid: Option<String>,
        compass: Option<u8>,
        targets: Option<Vec<u8>>,
        target: Option<u8>,
        backs: Option<Words>,
        back: Option<String>,
        stolen: Option<String>,
    }
    EndTurn { stall: bool, lyra: u8, period_over: bool }
    Snapshot {
        turn: u32,
        lyra: u8,
        still: u16,
        hands: Vec<Words>,
        draw: u8,
        discard: u8,
        compass: Vec<u8>,
        supply: Vec<u8>,
        cities: Vec<u8>,
        tokens: Vec<Words>,
        laid: Vec<Vec<(u8, String)>>,
        dust: Vec<u8>,
        dust_supply: u8,
        #[serde(deserialize_with = "nullable")]
        airship: Option<u8>,
    }
    Airship { player: u8, cost: u8, legal: Words, pick: String, cards: Words }
    Truth {
        bag: Vec<(u8, u8)>,
        passages: u8,
        drawn: Vec<Tile>,
        order: Vec<u8>,
        picks: Vec<Vec<u8>>,
        left: Vec<u8>,
    }
    Cleanup {
        deck: Words,
        hands: Vec<u8>,
        supply: Vec<u8>,
        tokens: Vec<u8>,
        dust: Vec<u8>,
        lyra: u8,
    }
    Score { truth: i32, experience: i32, alethiometer: i32, passages: i32, total: i32 }
    Final { turns: u32, scores: Vec<Score>, winners: Vec<u8> }
}

/// One effect of an ally. Its kind `e` determines which fields it has.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Effect {
    pub(super) e: String,
    pub(super) skipped: Option<bool>,
    pub(super) drawn: Option<Words>,
    pub(super) reshuffle: Option<Reshuffle>,
    pub(super) drop: Option<Words>,
    pub(super) discard: Option<Words>,
    pub(super) targets: Option<Vec<u8>>,
    pub(super) target: Option<u8>,
    pub(super) cards: Option<Words>,
    pub(super) compass: Option<u8>,
    pub(super) taken: Option<String>,
    pub(super) tokens: Option<Words>,
    pub(super) laid: Option<String>,
    pub(super) backs: Option<Words>,
    pub(super) back: Option<String>,
    pub(super) stolen: Option<String>,
    pub(super) max: Option<u8>,
    pub(super) steps: Option<u8>,
    pub(super) lyra: Option<u8>,
    pub(super) pay: Option<bool>,
    pub(super) legal: Option<Vec<u8>>,
    pub(super) pick: Option<u8>,
    #[serde(rename = "do")]
    pub(super) list: Option<Vec<Effect>>,
}

/// A drawn tile: its value, or `"passage"`.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Tile {
    Value(u8),
    Passage(Passage),
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Passage {
    Passage,
}

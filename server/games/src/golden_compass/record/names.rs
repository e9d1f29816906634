//! The names of a recorded game: every one must be of the catalogue, and every component in the set-up once.

use std::collections::BTreeMap;

use boardwire_kernel::Multiset;
use boardwire_kernel::record::LineError;
use serde_json::Value;

use super::super::catalogue::limits::CARD_TYPES;
use super::super::catalogue::{
    CardId, Catalogue, CharacterId, CityId, DaemonId, KINDS, SymbolId, TileId, TokenId,
};
use super::events::{Setup, Words};

type Checked<T = ()> = Result<T, LineError>;

fn wrong<T>(what: impl Into<String>) -> Checked<T> {
    Err(LineError(what.into()))
}

/// Looks names up.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) seats: u8,
}

/// The row of what has this name.
fn row<T>(rows: &[T], what: &str, name: &str, is: impl Fn(&T) -> bool) -> Checked<u8> {
    let found = rows.iter().position(is).and_then(|at| u8::try_from(at + 1).ok());
    found.ok_or_else(|| LineError(format!("there is no {what} {name:?}")))
}

impl Names<'_> {
    pub(super) fn card(self, name: &str) -> Checked<CardId> {
        row(&self.catalogue.cards, "Lyra card", name, |card| card.name == name).map(CardId::new)
    }

    /// The first token of this name.
    pub(super) fn token(self, name: &str) -> Checked<TokenId> {
        let tokens = &self.catalogue.tokens;
        row(tokens, "experience token", name, |token| token.name == name).map(TokenId::new)
    }

    pub(super) fn character(self, name: &str) -> Checked<CharacterId> {
        row(&self.catalogue.characters, "character", name, |card| card.id == name).map(CharacterId::new)
    }

    /// A city where tokens are collected.
    pub(super) fn back(self, name: &str) -> Checked<CityId> {
        row(self.catalogue.collecting(), "city with tokens", name, |city| city.id == name).map(CityId::new)
    }

    pub(super) fn daemon(self, name: &str) -> Checked<DaemonId> {
        row(&self.catalogue.daemons, "daemon", name, |daemon| daemon == name).map(DaemonId::new)
    }

    pub(super) fn symbol(self, name: &str) -> Checked<SymbolId> {
        row(&self.catalogue.symbols, "symbol", name, |symbol| symbol == name).map(SymbolId::new)
    }

    /// The truth tiles of this value.
    pub(super) fn tile(self, value: u8) -> Checked<TileId> {
        let tiles = &self.catalogue.tiles;
        row(tiles, "truth tile", &value.to_string(), |tile| tile.value == value).map(TileId::new)
    }

    /// Every name and seat of the event is known.
    pub(super) fn check(self, event: &Value) -> Checked {
        let kind = event.get("ev").and_then(Value::as_str).unwrap_or_default();
        self.check_value(kind, "", event)
    }

    fn check_value(self, event: &str, field: &str, value: &Value) -> Checked {
        match value {
            Value::String(name) => self.check_name(event, field, name),
            Value::Number(number) => self.check_number(event, field, number.as_u64()),
            Value::Array(items) => items.iter().try_for_each(|item| self.check_value(event, field, item)),
            Value::Object(fields) => fields.iter().try_for_each(|(key, item)| match (event, field) {
                // Maps: what their keys name.
                ("setup", "tokens") => self.back(key).map(drop).and(self.check_value(event, field, item)),
                ("setup", "characters") => {
                    self.check_name("period", "period", key)?;
                    self.check_value(event, field, item)
                }
                ("blue_options", "legal") => {
                    self.check_name("action", "pick", key)?;
                    self.check_value(event, "targets", item)
                }
                _ => self.check_value(event, key, item),
            }),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    /// A word in this field of this event, or of an effect within it, is one that may stand there.
    fn check_name(self, event: &str, field: &str, name: &str) -> Checked {
        let one_of = |words: &[&str]| {
            if words.contains(&name) { Ok(()) } else { wrong(format!("{name:?} is no {field} of {event}")) }
        };
        match (event, field) {
            ("truth", "drawn") => one_of(&["passage"]),
            (_, "hands" | "deck" | "drawn" | "discard" | "drop" | "cards" | "order") => {
                self.card(name).map(drop)
            }
            (_, "tokens" | "taken" | "laid" | "stolen") => self.token(name).map(drop),
            ("keep", "options" | "pick" | "passed")
            | ("allies", "allies" | "under")
            | ("setup", "characters") => self.character(name).map(drop),
            (_, "backs" | "back") => self.back(name).map(drop),
            ("set_options", "pairs") => self.daemon(name).map(drop),
            ("set_options", "triplets" | "short") => self.symbol(name).map(drop),
            ("set", "id") => self.daemon(name).map(drop).or(self.symbol(name).map(drop)),
            ("set", "kind") => one_of(&["pair", "triplet", "short", "spies", "wild"]),
            ("period", "period") => {
                row(&self.catalogue.periods, "period", name, |period| period == name).map(drop)
            }
            ("colour", "pick") => one_of(&["red", "blue"]),
            ("airship", "pick" | "legal") => one_of(&["pay", "tile"]),
            ("action", "pick") => one_of(&["alethiometer", "magisterium", "ally", "dust"]),
            (_, "e") => one_of(&KINDS),
            // Facts whose words are compared with the engine's, and fields that there are not.
            _ => Ok(()),
        }
    }

    fn check_number(self, event: &str, field: &str, number: Option<u64>) -> Checked {
        let is_seat = matches!(
            (event, field),
            (_, "player" | "first" | "target" | "targets" | "winners" | "airship") | ("truth", "order")
        );
        let is_axis = (event, field) == ("spin", "axis");
        let axes = self.catalogue.axes.len() as u64;
        if is_seat && number.is_none_or(|seat| seat >= self.seats.into()) {
            return wrong(format!("there is no seat {number:?}"));
        }
        if is_axis && number.is_none_or(|axis| axis >= axes) {
            return wrong(format!("there is no axis {number:?}"));
        }
        Ok(())
    }

    /// The components of the set-up are those of the box, each once.
    pub(super) fn check_setup(self, setup: &Setup) -> Checked {
        if setup.players != self.seats || setup.hands.len() != usize::from(self.seats) {
            return wrong(format!("setup is not for the {} players of the game", self.seats));
        }
        let dealt = usize::from(self.catalogue.starting_hand);
        if let Some(hand) = setup.hands.iter().find(|hand| hand.len() != dealt) {
            return wrong(format!("a hand of {} cards, not {dealt}", hand.len()));
        }
        let copies = std::iter::once(0).chain(self.catalogue.copies(self.seats));
        let mut left = Multiset::<{ CARD_TYPES + 1 }>::of(copies);
        for name in setup.hands.iter().flatten().chain(&setup.deck) {
            if !left.remove(self.card(name)?.get()) {
                return wrong(format!("there are too many cards {name:?}"));
            }
        }
        if let Some(card) = left.nth(0) {
            return wrong(format!("a card {:?} is missing", self.catalogue.card(CardId::new(card)).name));
        }
        for (at, city) in (1..).map(CityId::new).zip(self.catalogue.collecting()) {
            let tokens = self.catalogue.tokens.iter().filter(|token| token.city == at);
            is_complete("tokens", &setup.tokens, &city.id, tokens.map(|token| &token.name))?;
        }
        for (at, period) in (0u8..).zip(&self.catalogue.periods) {
            let cards = self.catalogue.characters.iter().filter(|card| card.period == at);
            is_complete("characters", &setup.characters, period, cards.map(|card| &card.id))?;
        }
        Ok(())
    }
}

/// The names given for `key` are those printed, in whatever order.
fn is_complete<'a>(
    what: &str,
    given: &'a BTreeMap<String, Words>,
    key: &str,
    printed: impl Iterator<Item = &'a String>,
) -> Checked {
    let mut printed: Vec<&String> = printed.collect();
    let mut given: Vec<&String> = given.get(key).into_iter().flatten().collect();
    printed.sort();
    given.sort();
    if printed == given {
        return Ok(());
    }
    wrong(format!("the {what} of {key} are not those of the catalogue"))
}

//! The names of a recorded game: every one must be of the catalogue, and every count possible.

use super::super::catalogue::Catalogue;
use super::super::limits::COLLECTING;
use super::script::{self, Effect, Event, Reshuffle, Setup, Tile};
use crate::LineError;

type Check<T = ()> = Result<T, LineError>;

fn wrong<T>(what: impl Into<String>) -> Check<T> {
    Err(LineError(what.into()))
}

/// Looks names up.
#[derive(Clone, Copy)]
pub(super) struct Lexicon<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) seats: u8,
}

fn position<T>(rows: &[T], what: &str, name: &str, is: impl Fn(&T) -> bool) -> Check<u8> {
    let found = rows.iter().position(is).and_then(|at| u8::try_from(at).ok());
    found.ok_or_else(|| LineError(format!("there is no {what} {name:?}")))
}

impl Lexicon<'_> {
    pub(super) fn card(self, name: &str) -> Check<u8> {
        position(&self.catalogue.cards, "Lyra card", name, |card| card.name == name)
    }

    /// The first token of this name.
    pub(super) fn token(self, name: &str) -> Check<u8> {
        position(&self.catalogue.tokens, "experience token", name, |token| token.name == name)
    }

    pub(super) fn character(self, name: &str) -> Check<u8> {
        position(&self.catalogue.characters, "character", name, |card| card.id == name)
    }

    /// A city where tokens are collected.
    pub(super) fn back(self, name: &str) -> Check<u8> {
        position(&self.catalogue.cities[..COLLECTING], "city with tokens", name, |city| city.id == name)
    }

    pub(super) fn daemon(self, name: &str) -> Check<u8> {
        position(&self.catalogue.daemons, "daemon", name, |daemon| daemon == name)
    }

    pub(super) fn symbol(self, name: &str) -> Check<u8> {
        position(&self.catalogue.symbols, "symbol", name, |symbol| symbol == name)
    }

    pub(super) fn period(self, name: &str) -> Check<u8> {
        position(&self.catalogue.periods, "period", name, |period| period == name)
    }

    fn seat(self, seat: u8) -> Check {
        if seat < self.seats { Ok(()) } else { wrong(format!("there is no seat {seat}")) }
    }

    fn seats(self, seats: &[u8]) -> Check {
        seats.iter().try_for_each(|&seat| self.seat(seat))
    }

    fn cards(self, names: &[String]) -> Check {
        names.iter().try_for_each(|name| self.card(name).map(drop))
    }

    fn tokens(self, names: &[String]) -> Check {
        names.iter().try_for_each(|name| self.token(name).map(drop))
    }

    /// One entry a seat.
    fn by_seat<T>(self, field: &str, list: &[T]) -> Check {
        if list.len() == usize::from(self.seats) {
            return Ok(());
        }
        wrong(format!("{field} has {} entries, not one for each of {} seats", list.len(), self.seats))
    }

    /// Every name of the event is known, every list by seat has its length.
    pub(super) fn check(self, event: &Event) -> Check {
        match event {
            Event::Setup(setup) => self.check_setup(setup),
            Event::Period(event) => self.period(&event.period).and(self.seat(event.first)),
            Event::Keep(event) => self.keep(event),
            Event::Allies(event) => self.allies(event),
            Event::Spin(event) if usize::from(event.axis) >= self.catalogue.axes.len() => {
                wrong(format!("there is no axis {}", event.axis))
            }
            Event::Spin(event) => self.seat(event.player),
            Event::Colour(event) => match event.pick.as_str() {
                "red" | "blue" => Ok(()),
                other => wrong(format!("{other:?} is no colour")),
            },
            Event::Red(event) => {
                self.cards(&event.drawn)?;
                self.cards(&event.discard)?;
                self.reshuffle(event.reshuffle.as_ref())
            }
            Event::BlueOptions(event) => {
                event.legal.keys().try_for_each(|name| action(name))?;
                event.legal.values().try_for_each(|seats| self.seats(seats))
            }
            Event::Action(event) => {
                event.pick.iter().try_for_each(|name| action(name))?;
                event.target.iter().try_for_each(|&seat| self.seat(seat))?;
                event.effects.iter().flatten().try_for_each(|effect| self.effect(effect))
            }
            Event::SetOptions(event) => {
                event.pairs.iter().try_for_each(|name| self.daemon(name).map(drop))?;
                event.triplets.iter().chain(&event.short).try_for_each(|name| self.symbol(name).map(drop))
            }
            Event::Set(event) => self.set(event),
            Event::EndTurn(_) => Ok(()),
            Event::Snapshot(event) => self.snapshot(event),
            Event::Airship(event) => self.seat(event.player).and(self.cards(&event.cards)),
            Event::Truth(event) => self.truth(event),
            Event::Cleanup(event) => self.cleanup(event),
            Event::Final(event) => self.by_seat("scores", &event.scores).and(self.seats(&event.winners)),
        }
    }

    fn snapshot(self, event: &script::Snapshot) -> Check {
        self.by_seat("hands", &event.hands)?;
        self.by_seat("tokens", &event.tokens)?;
        self.by_seat("compass", &event.compass)?;
        self.by_seat("supply", &event.supply)?;
        self.by_seat("dust", &event.dust)?;
        event.hands.iter().try_for_each(|hand| self.cards(hand))?;
        event.tokens.iter().try_for_each(|tokens| self.tokens(tokens))?;
        event.laid.iter().flatten().try_for_each(|(seat, token)| {
            self.seat(*seat)?;
            self.token(token).map(drop)
        })?;
        event.airship.iter().try_for_each(|&seat| self.seat(seat))
    }

    fn truth(self, event: &script::Truth) -> Check {
        self.seats(&event.order)?;
        self.by_seat("order", &event.order)?;
        self.by_seat("picks", &event.picks)?;
        let values = event.drawn.iter().map(|tile| match tile {
            Tile::Value(value) => Ok(*value),
            Tile::Passage(word) if word == "passage" => Ok(self.catalogue.tiles[0].0),
            Tile::Passage(word) => wrong(format!("there is no tile {word:?}")),
        });
        let bag = event.bag.iter().map(|(value, _)| Ok(*value));
        let picks = event.picks.iter().flatten().chain(&event.left).map(|&value| Ok(value));
        values.chain(bag).chain(picks).try_for_each(|value| self.value(value?).map(drop))
    }

    fn keep(self, event: &script::Keep) -> Check {
        let names = event.options.iter().chain([&event.pick, &event.passed]);
        names.into_iter().try_for_each(|name| self.character(name).map(drop))?;
        self.seat(event.player)
    }

    fn allies(self, event: &script::Allies) -> Check {
        self.by_seat("allies", &event.allies)?;
        self.by_seat("under", &event.under)?;
        self.by_seat("magisterium", &event.magisterium)?;
        event.allies.iter().chain(&event.under).try_for_each(|name| self.character(name).map(drop))
    }

    fn cleanup(self, event: &script::Cleanup) -> Check {
        self.by_seat("hands", &event.hands)?;
        self.by_seat("supply", &event.supply)?;
        self.by_seat("tokens", &event.tokens)?;
        self.by_seat("dust", &event.dust)?;
        self.cards(&event.deck)
    }

    /// The place of a value among the truth tiles.
    pub(super) fn value(self, value: u8) -> Check<u8> {
        position(&self.catalogue.tiles, "truth tile", &value.to_string(), |tile| tile.0 == value)
    }

    fn reshuffle(self, reshuffle: Option<&Reshuffle>) -> Check {
        reshuffle.map_or(Ok(()), |reshuffle| self.cards(&reshuffle.order))
    }

    fn set(self, event: &script::Set) -> Check {
        match (event.kind.as_str(), &event.id) {
            ("pair", Some(id)) => self.daemon(id).map(drop)?,
            ("triplet" | "short", Some(id)) => self.symbol(id).map(drop)?,
            ("spies" | "wild", None) => {}
            (kind, Some(id)) => return wrong(format!("{id:?} is no id of a set {kind:?}")),
            (kind, None) => return wrong(format!("there is no set {kind:?} without id")),
        }
        self.cards(&event.cards)?;
        event.tokens.iter().try_for_each(|names| self.tokens(names))?;
        let tokens = event.taken.iter().chain(&event.laid).chain(&event.stolen);
        tokens.into_iter().try_for_each(|name| self.token(name).map(drop))?;
        event.targets.iter().try_for_each(|seats| self.seats(seats))?;
        event.target.iter().try_for_each(|&seat| self.seat(seat))?;
        event.backs.iter().flatten().chain(&event.back).try_for_each(|name| self.back(name).map(drop))
    }

    fn effect(self, effect: &Effect) -> Check {
        if !super::super::catalogue::KINDS.contains(&effect.e.as_str()) {
            return wrong(format!("there is no effect {:?}", effect.e));
        }
        for names in [&effect.drawn, &effect.drop, &effect.discard, &effect.cards] {
            names.iter().try_for_each(|names| self.cards(names))?;
        }
        self.reshuffle(effect.reshuffle.as_ref())?;
        effect.tokens.iter().try_for_each(|names| self.tokens(names))?;
        let tokens = effect.taken.iter().chain(&effect.laid).chain(&effect.stolen);
        tokens.into_iter().try_for_each(|name| self.token(name).map(drop))?;
        effect.targets.iter().try_for_each(|seats| self.seats(seats))?;
        effect.target.iter().try_for_each(|&seat| self.seat(seat))?;
        effect.backs.iter().flatten().chain(&effect.back).try_for_each(|name| self.back(name).map(drop))?;
        effect.list.iter().flatten().try_for_each(|effect| self.effect(effect))
    }

    /// The components of the set-up are those of the box, each once.
    fn check_setup(self, setup: &Setup) -> Check {
        if setup.players != self.seats {
            return wrong(format!("setup is for {} players, the game for {}", setup.players, self.seats));
        }
        self.seat(setup.first)?;
        self.by_seat("hands", &setup.hands)?;
        self.by_seat("supply", &setup.supply)?;
        let dealt = usize::from(self.catalogue.starting_hand);
        if let Some(hand) = setup.hands.iter().find(|hand| hand.len() != dealt) {
            return wrong(format!("a hand of {} cards, not {dealt}", hand.len()));
        }
        let mut left: Vec<u8> = self.catalogue.cards.iter().map(|card| card.count).collect();
        let decks = self.catalogue.decks[usize::from(self.seats)];
        for count in &mut left {
            *count *= decks;
        }
        for name in setup.hands.iter().flatten().chain(&setup.deck) {
            let count = &mut left[usize::from(self.card(name)?)];
            let Some(fewer) = count.checked_sub(1) else {
                return wrong(format!("there are too many cards {name:?}"));
            };
            *count = fewer;
        }
        if let Some(card) = left.iter().position(|&count| count > 0) {
            return wrong(format!("a card {:?} is missing", self.catalogue.cards[card].name));
        }
        self.check_tokens(setup)?;
        self.check_characters(setup)
    }

    fn check_tokens(self, setup: &Setup) -> Check {
        setup.tokens.keys().try_for_each(|city| self.back(city).map(drop))?;
        for (at, city) in (0u8..).zip(&self.catalogue.cities[..COLLECTING]) {
            let Some(set) = setup.tokens.get(&city.id) else {
                return wrong(format!("the tokens of {} are missing", city.id));
            };
            let tokens = self.catalogue.tokens.iter().filter(|token| token.city == at);
            let mut printed: Vec<&String> = tokens.map(|token| &token.name).collect();
            let mut given: Vec<&String> = set.iter().collect();
            printed.sort();
            given.sort();
            if printed != given {
                return wrong(format!("the tokens of {} are not those of the catalogue", city.id));
            }
        }
        Ok(())
    }

    fn check_characters(self, setup: &Setup) -> Check {
        setup.characters.keys().try_for_each(|period| self.period(period).map(drop))?;
        for (at, period) in (0u8..).zip(&self.catalogue.periods) {
            let Some(pile) = setup.characters.get(period) else {
                return wrong(format!("the characters of {period} are missing"));
            };
            let cards = self.catalogue.characters.iter().filter(|card| card.period == at);
            let mut printed: Vec<&String> = cards.map(|card| &card.id).collect();
            let mut given: Vec<&String> = pile.iter().collect();
            printed.sort();
            given.sort();
            if printed != given {
                return wrong(format!("the characters of {period} are not those of the catalogue"));
            }
        }
        Ok(())
    }
}

fn action(name: &str) -> Check {
    match name {
        "alethiometer" | "magisterium" | "ally" | "dust" => Ok(()),
        other => wrong(format!("{other:?} is no light-blue action")),
    }
}

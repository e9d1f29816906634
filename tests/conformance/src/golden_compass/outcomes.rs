//! Computes the random outcomes of a recorded game, for each stream in the order in which the engine draws.
//!
//! Steals are not included: the cards that can be taken from a hand are known only during the replay.

use std::collections::{BTreeMap, VecDeque};

use boardwire_kernel::catalogue::{Checked, refuse, require};

use super::events::{Effect, Event, Reshuffle, Setup, Tile, Truth, Words};
use super::printed::Printed;

/// The numbers of the streams of random numbers.
pub(super) const FIRST: usize = 0;
const CARDS: usize = 1;
const CHARACTERS: usize = 2;
const WHEEL: usize = 3;
const TOKENS: usize = 4;
const TRUTH: usize = 5;
pub(super) const STOLEN_CARDS: usize = 6;
pub(super) const STOLEN_TOKENS: usize = 7;

/// An impossible outcome: the engine reports it as a fault.
pub(super) const IMPOSSIBLE: u8 = u8::MAX;

/// The outcomes by stream.
type Streams = [Vec<u8>; 8];

/// Returns the outcomes of a whole game. Without a `setup` event at the start there are none.
pub(super) fn of(printed: &Printed, log: &[Event]) -> Checked<Streams> {
    let Some(Event::Setup(setup)) = log.first() else { return Ok(Streams::default()) };
    check(printed, setup)?;
    let mut outcomes = Outcomes {
        printed,
        setup,
        streams: Streams::default(),
        deck: VecDeque::new(),
        piles: BTreeMap::new(),
        bag: printed.tiles.iter().map(|tile| tile.1).collect(),
    };
    log.iter().try_for_each(|event| outcomes.event(event))?;
    Ok(outcomes.streams)
}

/// Checks that the set-up has each component of the box exactly once.
fn check(printed: &Printed, setup: &Setup) -> Checked {
    let fits = setup.players == printed.seats && setup.hands.len() == usize::from(printed.seats);
    require(fits, "setup", || format!("is not for the {} players of the game", printed.seats))?;
    let mut given: Words = setup.hands.iter().flatten().chain(&setup.deck).cloned().collect();
    given.sort();
    let copies = (1..).zip(&printed.cards);
    let due = printed.names(copies.flat_map(|(row, card)| std::iter::repeat_n(row, card.copies.into())));
    require(given == due, "setup", || "hands and deck are not the cards of the game, each once".into())?;
    is_complete("tokens", &setup.tokens, &printed.cities, |city| {
        printed.tokens.iter().filter(|token| token.city == city).map(|token| &token.name).collect()
    })?;
    is_complete("characters", &setup.characters, &printed.periods, |period| {
        printed.characters.iter().filter(|card| card.period == period).map(|card| &card.id).collect()
    })
}

/// Checks that each key has exactly the printed names, in any order. `printed` gets the number of a key, from 1.
fn is_complete<'a>(
    what: &str,
    given: &'a BTreeMap<String, Words>,
    keys: &[String],
    printed: impl Fn(u8) -> Vec<&'a String>,
) -> Checked {
    if let Some(key) = given.keys().find(|key| !keys.contains(key)) {
        return refuse(what, format!("{key:?} is unknown"));
    }
    for (number, key) in (1..).zip(keys) {
        let mut printed = printed(number);
        let mut given: Vec<_> = given.get(key).into_iter().flatten().collect();
        printed.sort();
        given.sort();
        require(printed == given, what, || format!("those of {key} are not those of the catalogue"))?;
    }
    Ok(())
}

/// Collects outcomes in the order of the log.
struct Outcomes<'a> {
    printed: &'a Printed,
    setup: &'a Setup,
    streams: Streams,
    deck: VecDeque<u8>,
    /// The tokens of each city, in the order in which they are taken.
    piles: BTreeMap<u8, VecDeque<u8>>,
    /// The number of truth tiles left, by value.
    bag: Vec<u8>,
}

impl Outcomes<'_> {
    fn event(&mut self, event: &Event) -> Checked {
        match event {
            Event::Setup(setup) => self.setup(setup),
            Event::Period(period) => {
                // Each seat is dealt two cards from the top of the period's pile.
                let pile = self.setup.characters.get(&period.period).into_iter().flatten();
                for id in pile.take(2 * usize::from(self.printed.seats)) {
                    self.streams[CHARACTERS].push(self.printed.character(id)?);
                }
                Ok(())
            }
            Event::Spin(spin) => {
                let earlier = self.printed.axes.iter().take(spin.axis.into());
                self.streams[WHEEL].push(earlier.fold(0, |sum: u8, axis| sum.saturating_add(axis.weight)));
                Ok(())
            }
            Event::Red(red) => self.draw(red.drawn.len(), red.reshuffle.as_ref()),
            Event::Action(action) => self.effects(action.effects.as_deref().unwrap_or_default()),
            Event::Set(set) => self.take(set.taken.as_deref()),
            Event::Truth(truth) => self.truth(truth),
            Event::Cleanup(cleanup) => {
                self.deck = self.cards(&cleanup.deck)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn cards(&self, names: &[String]) -> Checked<VecDeque<u8>> {
        names.iter().map(|name| self.printed.card(name)).collect()
    }

    fn setup(&mut self, setup: &Setup) -> Checked {
        self.streams[FIRST].push(setup.first);
        let dealt: Words = setup.hands.iter().flatten().cloned().collect();
        self.deck = self.cards(&[&dealt[..], &setup.deck].concat())?;
        self.draw(dealt.len(), None)?;
        for (number, city) in (1..).zip(&self.printed.cities) {
            let tokens = (1..).zip(&self.printed.tokens).filter(|(_, token)| token.city == number);
            let mut left: Vec<_> = tokens.collect();
            let pile = self.piles.entry(number).or_default();
            for name in setup.tokens.get(city).into_iter().flatten() {
                let found = left.iter().position(|(_, token)| token.name == *name);
                pile.extend(found.map(|at| left.remove(at).0));
            }
        }
        Ok(())
    }

    /// Draws `count` cards. The outcome of a draw is the rank of the card among those in the draw pile.
    fn draw(&mut self, count: usize, reshuffle: Option<&Reshuffle>) -> Checked {
        for at in 0..count {
            if let Some(again) = reshuffle.filter(|again| usize::from(again.after) == at) {
                self.deck = self.cards(&again.order)?;
            }
            let card = self.deck.pop_front();
            let rank = card.map(|card| self.deck.iter().filter(|&&other| other < card).count());
            let rank = rank.and_then(|rank| u8::try_from(rank).ok());
            self.streams[CARDS].push(rank.unwrap_or(IMPOSSIBLE));
        }
        Ok(())
    }

    fn take(&mut self, name: Option<&str>) -> Checked {
        let Some(name) = name else { return Ok(()) };
        let token = self.printed.token(name)?;
        let city = self.printed.tokens[usize::from(token) - 1].city;
        let id = self.piles.get_mut(&city).and_then(VecDeque::pop_front);
        self.streams[TOKENS].push(id.unwrap_or(IMPOSSIBLE));
        Ok(())
    }

    fn effects(&mut self, effects: &[Effect]) -> Checked {
        for effect in effects {
            self.draw(effect.drawn.as_ref().map_or(0, Vec::len), effect.reshuffle.as_ref())?;
            self.take(effect.taken.as_deref())?;
            self.effects(effect.list.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }

    fn truth(&mut self, truth: &Truth) -> Checked {
        for tile in &truth.drawn {
            let rank = match *tile {
                Tile::Passage(_) => self.bag.iter().sum(),
                Tile::Value(value) => {
                    let at = usize::from(self.printed.tile(value)?) - 1;
                    let rank = self.bag[..at].iter().sum();
                    let left = self.bag[at].checked_sub(1);
                    self.bag[at] = left.unwrap_or_default();
                    if left.is_some() { rank } else { IMPOSSIBLE }
                }
            };
            self.streams[TRUTH].push(rank);
        }
        Ok(())
    }
}

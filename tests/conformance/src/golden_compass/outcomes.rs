//! Computes the random outcomes of a recorded game, for each stream in the order in which the engine draws.
//!
//! Steals are not included: the cards that can be taken from a hand are known only during the replay.

use std::collections::{BTreeMap, VecDeque};

use boardwire_kernel::catalogue::{CatalogueResult, refuse, require};

use super::components::Components;
use super::events::{Effect, Event, Reshuffle, Setup, Tile, Truth, Words};

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
pub(super) fn compute(components: &Components, log: &[Event]) -> CatalogueResult<Streams> {
    let Some(Event::Setup(setup)) = log.first() else { return Ok(Streams::default()) };
    check(components, setup)?;
    let mut outcomes = Outcomes {
        components,
        setup,
        streams: Streams::default(),
        deck: VecDeque::new(),
        piles: BTreeMap::new(),
        bag: components.tiles.iter().map(|tile| tile.1).collect(),
    };
    log.iter().try_for_each(|event| outcomes.event(event))?;
    Ok(outcomes.streams)
}

/// Checks that the set-up has each component of the box exactly once.
fn check(components: &Components, setup: &Setup) -> CatalogueResult {
    let fits = setup.players == components.seats && setup.hands.len() == usize::from(components.seats);
    require(fits, "setup", || format!("is not for the {} players of the game", components.seats))?;
    let mut given: Words = setup.hands.iter().flatten().chain(&setup.deck).cloned().collect();
    given.sort();
    let copies = (1..).zip(&components.cards);
    let required =
        components.names(copies.flat_map(|(row, card)| std::iter::repeat_n(row, card.copies.into())));
    require(given == required, "setup", || "hands and deck are not the cards of the game, each once".into())?;
    is_complete("tokens", &setup.tokens, &components.cities, |city| {
        components.tokens.iter().filter(|token| token.city == city).map(|token| &token.name).collect()
    })?;
    is_complete("characters", &setup.characters, &components.periods, |period| {
        components.characters.iter().filter(|card| card.period == period).map(|card| &card.id).collect()
    })
}

/// Checks that each key has exactly the names of the catalogue, in any order. `names_of` gets the number of a key, from
/// 1.
fn is_complete<'a>(
    what: &str,
    given: &'a BTreeMap<String, Words>,
    keys: &[String],
    names_of: impl Fn(u8) -> Vec<&'a String>,
) -> CatalogueResult {
    if let Some(key) = given.keys().find(|key| !keys.contains(key)) {
        return refuse(what, format!("{key:?} is unknown"));
    }
    for (number, key) in (1..).zip(keys) {
        let mut expected = names_of(number);
        let mut given: Vec<_> = given.get(key).into_iter().flatten().collect();
        expected.sort();
        given.sort();
        require(expected == given, what, || format!("those of {key} are not those of the catalogue"))?;
    }
    Ok(())
}

/// Collects outcomes in the order of the log.
struct Outcomes<'a> {
    components: &'a Components,
    setup: &'a Setup,
    streams: Streams,
    deck: VecDeque<u8>,
    /// The tokens of each city, in the order in which they are taken.
    piles: BTreeMap<u8, VecDeque<u8>>,
    /// The number of truth tiles that remain, by value.
    bag: Vec<u8>,
}

impl Outcomes<'_> {
    fn event(&mut self, event: &Event) -> CatalogueResult {
        match event {
            Event::Setup(setup) => self.setup(setup),
            Event::Period(period) => {
                // Each seat is dealt two cards from the top of the period's pile.
                let pile = self.setup.characters.get(&period.period).into_iter().flatten();
                for id in pile.take(2 * usize::from(self.components.seats)) {
                    self.streams[CHARACTERS].push(self.components.character(id)?);
                }
                Ok(())
            }
            Event::Spin(spin) => {
                let earlier = self.components.axes.iter().take(spin.axis.into());
                self.streams[WHEEL].push(earlier.fold(0, |sum: u8, axis| sum.saturating_add(axis.weight)));
                Ok(())
            }
            Event::Red(red) => self.draw(red.drawn.len(), red.reshuffle.as_ref()),
            Event::Action(action) => self.effects(action.effects.as_deref().unwrap_or_default()),
            Event::Set(set) => self.take_from_city(set.taken.as_deref()),
            Event::Truth(truth) => self.truth(truth),
            Event::Cleanup(cleanup) => {
                self.deck = self.cards(&cleanup.deck)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn cards(&self, names: &[String]) -> CatalogueResult<VecDeque<u8>> {
        names.iter().map(|name| self.components.card(name)).collect()
    }

    fn setup(&mut self, setup: &Setup) -> CatalogueResult {
        self.streams[FIRST].push(setup.first);
        let dealt: Words = setup.hands.iter().flatten().cloned().collect();
        self.deck = self.cards(&[&dealt[..], &setup.deck].concat())?;
        self.draw(dealt.len(), None)?;
        for (number, city) in (1..).zip(&self.components.cities) {
            let tokens = (1..).zip(&self.components.tokens).filter(|(_, token)| token.city == number);
            let mut remaining: Vec<_> = tokens.collect();
            let pile = self.piles.entry(number).or_default();
            for name in setup.tokens.get(city).into_iter().flatten() {
                let index = remaining.iter().position(|(_, token)| token.name == *name);
                pile.extend(index.map(|index| remaining.remove(index).0));
            }
        }
        Ok(())
    }

    /// Draws `count` cards. The outcome of a draw is the rank of the card among those in the draw pile.
    fn draw(&mut self, count: usize, reshuffle: Option<&Reshuffle>) -> CatalogueResult {
        for index in 0..count {
            if let Some(reshuffle) = reshuffle.filter(|reshuffle| usize::from(reshuffle.after) == index) {
                self.deck = self.cards(&reshuffle.order)?;
            }
            let card = self.deck.pop_front();
            let rank = card.map(|card| self.deck.iter().filter(|&&other| other < card).count());
            let rank = rank.and_then(|rank| u8::try_from(rank).ok());
            self.streams[CARDS].push(rank.unwrap_or(IMPOSSIBLE));
        }
        Ok(())
    }

    fn take_from_city(&mut self, name: Option<&str>) -> CatalogueResult {
        let Some(name) = name else { return Ok(()) };
        let token = self.components.token(name)?;
        let city = self.components.tokens[usize::from(token) - 1].city;
        let id = self.piles.get_mut(&city).and_then(VecDeque::pop_front);
        self.streams[TOKENS].push(id.unwrap_or(IMPOSSIBLE));
        Ok(())
    }

    fn effects(&mut self, effects: &[Effect]) -> CatalogueResult {
        for effect in effects {
            self.draw(effect.drawn.as_ref().map_or(0, Vec::len), effect.reshuffle.as_ref())?;
            self.take_from_city(effect.taken.as_deref())?;
            self.effects(effect.list.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }

    fn truth(&mut self, truth: &Truth) -> CatalogueResult {
        for tile in &truth.drawn {
            let rank = match *tile {
                Tile::Passage(_) => self.bag.iter().sum(),
                Tile::Value(value) => {
                    let index = usize::from(self.components.tile(value)?) - 1;
                    let rank = self.bag[..index].iter().sum();
                    let remaining = self.bag[index].checked_sub(1);
                    self.bag[index] = remaining.unwrap_or_default();
                    if remaining.is_some() { rank } else { IMPOSSIBLE }
                }
            };
            self.streams[TRUTH].push(rank);
        }
        Ok(())
    }
}

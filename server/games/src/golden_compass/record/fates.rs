//! The chance of a recorded game, stream by stream, as the engine will ask for it.
//!
//! Steals are left out: what can be taken from a hand is known only when it happens.

use std::collections::VecDeque;

use boardwire_kernel::Chance;

use super::super::limits::{CARD_TYPES, COLLECTING, TILE_VALUES};
use super::super::streams;
use super::names::Lexicon;
use super::script::{Effect, Event, Reshuffle, Setup, Tile, Truth};
use crate::LineError;

/// An outcome that cannot be: the engine reports it as a fault.
pub(super) const IMPOSSIBLE: u8 = u8::MAX;

/// Collects outcomes in the order of the log.
pub(super) struct Fates<'a> {
    lexicon: Lexicon<'a>,
    streams: [Vec<u8>; streams::NAMES.len()],
    deck: VecDeque<u8>,
    /// Token ids in the order in which they will be taken.
    piles: [VecDeque<u8>; COLLECTING],
    bag: [u8; TILE_VALUES],
}

impl<'a> Fates<'a> {
    /// The chance of a whole game.
    pub(super) fn of(lexicon: Lexicon<'a>, log: &[Event]) -> Result<Chance, LineError> {
        let mut fates = Self {
            lexicon,
            streams: Default::default(),
            deck: VecDeque::new(),
            piles: Default::default(),
            bag: [0; TILE_VALUES],
        };
        for (count, tile) in fates.bag.iter_mut().zip(&lexicon.catalogue.tiles) {
            *count = tile.1;
        }
        log.iter().try_for_each(|event| fates.event(event, log))?;
        Ok(Chance::scripted(fates.streams))
    }

    fn event(&mut self, event: &Event, log: &[Event]) -> Result<(), LineError> {
        match event {
            Event::Setup(setup) => self.setup(setup)?,
            Event::Period(period) => self.period(&period.period, log)?,
            Event::Spin(spin) => {
                let before = &self.lexicon.catalogue.axes[..usize::from(spin.axis)];
                let rank: u32 = before.iter().map(|axis| axis.weight).sum();
                self.streams[streams::WHEEL].push(u8::try_from(rank).unwrap_or(IMPOSSIBLE));
            }
            Event::Red(red) => self.draw(red.drawn.len(), red.reshuffle.as_ref())?,
            Event::Action(action) => self.effects(action.effects.as_deref().unwrap_or(&[]))?,
            Event::Set(set) => self.take(set.taken.as_deref())?,
            Event::Truth(truth) => self.truth(truth)?,
            Event::Cleanup(cleanup) => self.deck = self.cards(&cleanup.deck)?,
            _ => {}
        }
        Ok(())
    }

    fn cards(&self, names: &[String]) -> Result<VecDeque<u8>, LineError> {
        names.iter().map(|name| self.lexicon.card(name)).collect()
    }

    fn setup(&mut self, setup: &Setup) -> Result<(), LineError> {
        self.streams[streams::FIRST].push(setup.first);
        let dealt: Vec<String> = setup.hands.iter().flatten().cloned().collect();
        self.deck = self.cards(&dealt)?;
        self.deck.extend(self.cards(&setup.deck)?);
        self.draw(dealt.len(), None)?;
        for (at, pile) in self.piles.iter_mut().enumerate() {
            let city = &self.lexicon.catalogue.cities[at];
            let mut left: Vec<u8> = super::super::state::bits(city.tokens).collect();
            for name in setup.tokens.get(&city.id).into_iter().flatten() {
                let tokens = &self.lexicon.catalogue.tokens;
                let found = left.iter().position(|&id| tokens[usize::from(id)].name == *name);
                pile.extend(found.map(|at| left.remove(at)));
            }
        }
        Ok(())
    }

    /// The cards dealt in a period: two a seat from the top of its pile.
    fn period(&mut self, period: &str, log: &[Event]) -> Result<(), LineError> {
        let Some(Event::Setup(setup)) = log.first() else {
            return Ok(());
        };
        let pile = setup.characters.get(period).map_or(&[][..], Vec::as_slice);
        for name in pile.iter().take(2 * usize::from(self.lexicon.seats)) {
            let id = self.lexicon.character(name)?;
            self.streams[streams::CHARACTERS].push(id);
        }
        Ok(())
    }

    /// So many cards come off the pile; each counts by its rank in the pile.
    fn draw(&mut self, count: usize, reshuffle: Option<&Reshuffle>) -> Result<(), LineError> {
        for at in 0..count {
            if let Some(again) = reshuffle.filter(|again| usize::from(again.after) == at) {
                self.deck = self.cards(&again.order)?;
            }
            let rank = self.deck.pop_front().map(|card| {
                let mut left = [0u8; CARD_TYPES];
                self.deck.iter().for_each(|&other| left[usize::from(other)] += 1);
                left[..usize::from(card)].iter().sum::<u8>()
            });
            self.streams[streams::CARDS].push(rank.unwrap_or(IMPOSSIBLE));
        }
        Ok(())
    }

    fn take(&mut self, name: Option<&str>) -> Result<(), LineError> {
        let Some(name) = name else { return Ok(()) };
        let token = self.lexicon.token(name)?;
        let city = self.lexicon.catalogue.tokens[usize::from(token)].city;
        let id = self.piles[usize::from(city)].pop_front();
        self.streams[streams::TOKENS].push(id.unwrap_or(IMPOSSIBLE));
        Ok(())
    }

    fn effects(&mut self, effects: &[Effect]) -> Result<(), LineError> {
        for effect in effects {
            let drawn = effect.drawn.as_ref().map_or(0, Vec::len);
            self.draw(drawn, effect.reshuffle.as_ref())?;
            self.take(effect.taken.as_deref())?;
            self.effects(effect.list.as_deref().unwrap_or(&[]))?;
        }
        Ok(())
    }

    fn truth(&mut self, truth: &Truth) -> Result<(), LineError> {
        for tile in &truth.drawn {
            let rank = match tile {
                Tile::Passage(_) => self.bag.iter().sum(),
                Tile::Value(value) => {
                    let at = usize::from(self.lexicon.value(*value)?);
                    let rank = self.bag[..at].iter().sum();
                    let there = self.bag[at] > 0;
                    self.bag[at] = self.bag[at].saturating_sub(1);
                    if there { rank } else { IMPOSSIBLE }
                }
            };
            self.streams[streams::TRUTH].push(rank);
        }
        Ok(())
    }
}

//! The chance of a recorded game, stream by stream, as the engine will ask for it.
//!
//! Steals are left out: what can be taken from a hand is known only when it happens.

use std::collections::VecDeque;

use boardwire_kernel::record::LineError;

use super::super::catalogue::TileId;
use super::super::catalogue::limits::COLLECTING;
use super::super::state::{TilePile, tokens_of};
use super::super::streams;
use super::events::{Effect, Event, Reshuffle, Setup, Tile, Truth};
use super::names::Names;

/// An outcome that cannot be: the engine reports it as a fault.
pub(super) const IMPOSSIBLE: u8 = u8::MAX;

/// The outcomes of every stream.
pub(super) type Streams = [Vec<u8>; streams::NAMES.len()];

/// The outcomes of a whole game.
pub(super) fn of(names: Names, log: &[Event]) -> Result<Streams, LineError> {
    let bag = std::iter::once(0).chain(names.catalogue.tiles.iter().map(|tile| tile.count));
    let mut outcomes = Outcomes {
        names,
        streams: Streams::default(),
        deck: VecDeque::new(),
        piles: Default::default(),
        bag: TilePile::of(bag),
    };
    log.iter().try_for_each(|event| outcomes.event(event, log))?;
    Ok(outcomes.streams)
}

/// Collects outcomes in the order of the log.
struct Outcomes<'a> {
    names: Names<'a>,
    streams: Streams,
    deck: VecDeque<u8>,
    /// Tokens of each city in the order in which they will be taken.
    piles: [VecDeque<u8>; COLLECTING],
    bag: TilePile,
}

impl Outcomes<'_> {
    fn event(&mut self, event: &Event, log: &[Event]) -> Result<(), LineError> {
        match event {
            Event::Setup(setup) => self.setup(setup),
            Event::Period(period) => self.period(&period.period, log),
            Event::Spin(spin) => {
                let earlier = &self.names.catalogue.axes[..usize::from(spin.axis)];
                let rank: u32 = earlier.iter().map(|axis| axis.weight).sum();
                self.streams[streams::WHEEL].push(u8::try_from(rank).unwrap_or(IMPOSSIBLE));
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
            Event::Keep(_)
            | Event::Allies(_)
            | Event::Colour(_)
            | Event::BlueOptions(_)
            | Event::SetOptions(_)
            | Event::EndTurn(_)
            | Event::Snapshot(_)
            | Event::Airship(_)
            | Event::Final(_) => Ok(()),
        }
    }

    fn cards(&self, names: &[String]) -> Result<VecDeque<u8>, LineError> {
        names.iter().map(|name| self.names.card(name).map(u8::from)).collect()
    }

    fn setup(&mut self, setup: &Setup) -> Result<(), LineError> {
        self.streams[streams::FIRST].push(setup.first);
        let dealt: Vec<String> = setup.hands.iter().flatten().cloned().collect();
        self.deck = self.cards(&dealt)?;
        self.deck.extend(self.cards(&setup.deck)?);
        self.draw(dealt.len(), None)?;
        for (pile, city) in self.piles.iter_mut().zip(&self.names.catalogue.cities) {
            let mut left: Vec<_> = tokens_of(city.tokens).collect();
            for name in setup.tokens.get(&city.id).into_iter().flatten() {
                let found = left.iter().position(|&id| self.names.catalogue.token(id).name == *name);
                pile.extend(found.map(|at| left.remove(at).get()));
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
        for name in pile.iter().take(2 * usize::from(self.names.seats)) {
            self.streams[streams::CHARACTERS].push(self.names.character(name)?.get());
        }
        Ok(())
    }

    /// So many cards come off the pile; each counts by its rank in the pile.
    fn draw(&mut self, count: usize, reshuffle: Option<&Reshuffle>) -> Result<(), LineError> {
        for at in 0..count {
            if let Some(again) = reshuffle.filter(|again| usize::from(again.after) == at) {
                self.deck = self.cards(&again.order)?;
            }
            let card = self.deck.pop_front();
            let rank = card.map(|card| self.deck.iter().filter(|&&other| other < card).count());
            let rank = rank.and_then(|rank| u8::try_from(rank).ok());
            self.streams[streams::CARDS].push(rank.unwrap_or(IMPOSSIBLE));
        }
        Ok(())
    }

    fn take(&mut self, name: Option<&str>) -> Result<(), LineError> {
        let Some(name) = name else { return Ok(()) };
        let token = self.names.token(name)?;
        let city = self.names.catalogue.token(token).city;
        let id = self.piles[city.index() - 1].pop_front();
        self.streams[streams::TOKENS].push(id.unwrap_or(IMPOSSIBLE));
        Ok(())
    }

    fn effects(&mut self, effects: &[Effect]) -> Result<(), LineError> {
        for effect in effects {
            let drawn = effect.drawn.as_ref().map_or(0, Vec::len);
            self.draw(drawn, effect.reshuffle.as_ref())?;
            self.take(effect.taken.as_deref())?;
            self.effects(effect.list.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }

    fn truth(&mut self, truth: &Truth) -> Result<(), LineError> {
        for tile in &truth.drawn {
            let rank = match tile {
                Tile::Passage(_) => self.bag.len(),
                Tile::Value(value) => self.tile(self.names.tile(*value)?),
            };
            self.streams[streams::TRUTH].push(rank);
        }
        Ok(())
    }

    fn tile(&mut self, tile: TileId) -> u8 {
        let rank = self.bag.counts()[..tile.index()].iter().sum();
        if self.bag.remove(tile.get()) { rank } else { IMPOSSIBLE }
    }
}

//! Chance: seeded and repeatable, or scripted outcome by outcome.
//!
//! A [`Chance`] is what a game draws from, one stream a purpose, so that what one part draws never shifts another.

#[cfg(any(test, feature = "testkit"))]
mod odometer;

use std::collections::VecDeque;

use crate::{BitSet, Key, Multiset, RngStream};

/// What a game draws from, by numbered stream: seeded, or scripted.
#[derive(Debug, Clone)]
pub struct Chance(Source);

#[derive(Debug, Clone)]
enum Source {
    Seeded(Streams),
    Scripted(Script),
    #[cfg(any(test, feature = "testkit"))]
    Enumerated(odometer::Odometer),
}

/// The streams under one key. A stream begins when it is first drawn from: a try mostly draws from one or two.
#[derive(Debug, Clone)]
struct Streams {
    key: Key,
    begun: Vec<RngStream>,
    /// By stream, its place among those begun.
    places: Vec<Option<u8>>,
}

impl Streams {
    fn new(key: Key, streams: usize) -> Self {
        Self { key, begun: Vec::new(), places: vec![None; streams] }
    }

    #[inline]
    fn get(&mut self, stream: usize) -> &mut RngStream {
        let place = self.places[stream];
        let place = place.unwrap_or_else(|| self.begin(stream, RngStream::keyed(self.key, stream as u64)));
        &mut self.begun[usize::from(place)]
    }

    fn begin(&mut self, stream: usize, rng: RngStream) -> u8 {
        let place = u8::try_from(self.begun.len()).expect("a game has few streams");
        self.begun.push(rng);
        self.places[stream] = Some(place);
        place
    }

    /// The words used of each.
    fn words(&self) -> Vec<u64> {
        let words = |place: &Option<u8>| place.map_or(0, |place| self.begun[usize::from(place)].words());
        self.places.iter().map(words).collect()
    }
}

/// The outcomes of every stream, given beforehand: tests and recorded games.
#[derive(Debug, Clone, Default)]
struct Script {
    streams: Vec<VecDeque<u8>>,
    fault: Option<Fault>,
}

/// Why a scripted outcome could not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The script has no further outcome for the stream.
    #[error("the script of stream {stream} has ended, but one more outcome is needed")]
    Ended {
        /// The stream's number.
        stream: usize,
    },
    /// The scripted outcome is not among those possible.
    #[error("outcome {given} of stream {stream} is impossible: possible are {possible:?}")]
    Impossible {
        /// The stream's number.
        stream: usize,
        /// The outcome given.
        given: u8,
        /// What could have come.
        possible: Vec<u8>,
    },
}

impl Chance {
    /// Chance from a seed, with `streams` streams numbered from 0.
    #[must_use]
    pub fn seeded(seed: u64, streams: usize) -> Self {
        Self::keyed(seed.into(), streams)
    }

    /// Chance from a key, with `streams` streams numbered from 0.
    #[must_use]
    pub fn keyed(key: Key, streams: usize) -> Self {
        Self(Source::Seeded(Streams::new(key, streams)))
    }

    /// Chance from a key with the words used so far of each stream: half of a snapshot.
    #[must_use]
    pub fn resume(key: Key, words: &[u64]) -> Self {
        let mut streams = Streams::new(key, words.len());
        for (stream, &used) in words.iter().enumerate().filter(|(_, used)| **used > 0) {
            streams.begin(stream, RngStream::resume(key, stream as u64, used));
        }
        Self(Source::Seeded(streams))
    }

    /// Begins anew from another seed, with as many streams, in the memory there is; a script becomes seeded.
    pub fn reseed(&mut self, seed: u64, streams: usize) {
        match &mut self.0 {
            Source::Seeded(old) if old.places.len() == streams => {
                old.key = seed.into();
                old.begun.clear();
                old.places.fill(None);
            }
            _ => *self = Self::seeded(seed, streams),
        }
    }

    /// Lets rewinds come back to here: what has been drawn is not drawn again.
    pub fn mark(&mut self) {
        if let Source::Seeded(streams) = &mut self.0 {
            streams.begun.iter_mut().for_each(RngStream::mark);
        }
    }

    /// Goes back to the mark in every stream, or to the beginning; a script stays where it is.
    pub fn rewind(&mut self) {
        if let Source::Seeded(streams) = &mut self.0 {
            streams.begun.iter_mut().for_each(RngStream::rewind);
        }
    }

    /// Chance whose outcomes are given: `outcomes[stream]` in the order in which they are needed.
    ///
    /// An outcome is the number for [`below`](Self::below), the id for [`draw`](Self::draw), the rank among all
    /// copies, not the type, for [`draw_copy`](Self::draw_copy), and for [`shuffle`](Self::shuffle) the items in
    /// their new order.
    #[must_use]
    pub fn scripted<I: IntoIterator<Item = u8>>(outcomes: impl IntoIterator<Item = I>) -> Self {
        let streams = outcomes.into_iter().map(|stream| stream.into_iter().collect()).collect();
        Self(Source::Scripted(Script { streams, fault: None }))
    }

    /// Appends outcomes to a scripted stream; does nothing to seeded chance.
    pub fn extend(&mut self, stream: usize, outcomes: impl IntoIterator<Item = u8>) {
        if let Source::Scripted(script) = &mut self.0 {
            script.streams[stream].extend(outcomes);
        }
    }

    /// The first scripted outcome that could not happen; the smallest possible one stood in for it.
    ///
    /// Whoever drives a scripted game looks here after every action.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match &self.0 {
            Source::Seeded(_) => None,
            Source::Scripted(script) => script.fault.as_ref(),
            #[cfg(any(test, feature = "testkit"))]
            Source::Enumerated(_) => None,
        }
    }

    /// The key, where there is one.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        match &self.0 {
            Source::Seeded(streams) => Some(streams.key),
            Source::Scripted(_) => None,
            #[cfg(any(test, feature = "testkit"))]
            Source::Enumerated(_) => None,
        }
    }

    /// The words used of each seeded stream; for a script, the outcomes still unused; for enumerated chance, the draws.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        match &self.0 {
            Source::Seeded(streams) => streams.words(),
            Source::Scripted(script) => script.streams.iter().map(|left| left.len() as u64).collect(),
            #[cfg(any(test, feature = "testkit"))]
            Source::Enumerated(odometer) => vec![odometer.given() as u64],
        }
    }

    /// A number in `0..n`, each as likely.
    ///
    /// # Panics
    /// When `n` is 0, or for scripted chance above 256, or there is no such stream.
    pub fn below(&mut self, stream: usize, n: u32) -> u32 {
        match &mut self.0 {
            Source::Seeded(streams) => streams.get(stream).below(n),
            Source::Scripted(script) => {
                let mut possible = BitSet::<4>::first(n as usize);
                u32::from(script.draw(stream, &mut possible))
            }
            #[cfg(any(test, feature = "testkit"))]
            Source::Enumerated(odometer) => odometer.below(n),
        }
    }

    /// Takes a member out of `set`, each as likely.
    ///
    /// # Panics
    /// When `set` is empty, or there is no such stream.
    pub fn draw<const W: usize>(&mut self, stream: usize, set: &mut BitSet<W>) -> u8 {
        match &mut self.0 {
            Source::Seeded(streams) => streams.get(stream).draw(set),
            Source::Scripted(script) => script.draw(stream, set),
            #[cfg(any(test, feature = "testkit"))]
            Source::Enumerated(odometer) => {
                let id = set.nth(odometer.below(set.len())).expect("below(len) is a rank");
                set.remove(id);
                id
            }
        }
    }

    /// Takes a member out of `deck`, each as likely: the `below(len)`-th in the order of the types.
    ///
    /// # Panics
    /// When `deck` is empty, or there is no such stream.
    pub fn draw_copy<const N: usize>(&mut self, stream: usize, deck: &mut Multiset<N>) -> u8 {
        let kind = deck.nth(self.below(stream, deck.len().into())).expect("below(len) is a rank");
        deck.remove(kind);
        kind
    }

    /// Shuffles `items`, each order as likely.
    ///
    /// # Panics
    /// When there is no such stream.
    pub fn shuffle(&mut self, stream: usize, items: &mut [u8]) {
        match &mut self.0 {
            Source::Seeded(streams) => streams.get(stream).shuffle(items),
            Source::Scripted(script) => script.shuffle(stream, items),
            #[cfg(any(test, feature = "testkit"))]
            Source::Enumerated(odometer) => odometer.shuffle(items),
        }
    }
}

impl Script {
    fn draw<const W: usize>(&mut self, stream: usize, set: &mut BitSet<W>) -> u8 {
        let id = self.next(stream, &set.iter().collect::<Vec<_>>());
        set.remove(id);
        id
    }

    fn shuffle(&mut self, stream: usize, items: &mut [u8]) {
        let mut left = items.to_vec();
        left.sort_unstable();
        for item in items {
            *item = self.next(stream, &left);
            let taken = left.iter().position(|id| id == item).expect("next gives one of those left");
            left.remove(taken);
        }
    }

    fn next(&mut self, stream: usize, possible: &[u8]) -> u8 {
        let fault = match self.streams[stream].pop_front() {
            Some(given) if possible.contains(&given) => return given,
            Some(given) => Fault::Impossible { stream, given, possible: possible.to_vec() },
            None => Fault::Ended { stream },
        };
        self.fault.get_or_insert(fault);
        possible[0]
    }
}

#[cfg(test)]
mod tests;

//! The source of random outcomes: seeded and repeatable, or scripted outcome by outcome.
//!
//! A game draws from a [`RandomSource`], with one stream per purpose. So the draws of one purpose never shift another
//! stream.

mod enumerator;

use std::collections::VecDeque;

use crate::{BitSet, Key, Multiset, RngStream};

/// The source of a game's random outcomes, by numbered stream: seeded, or scripted.
#[derive(Debug, Clone)]
pub struct RandomSource(Source);

#[derive(Debug, Clone)]
enum Source {
    Seeded(Streams),
    Scripted(Script),
    Enumerated(enumerator::OutcomeEnumerator),
}

/// The streams under one key. A stream starts at its first draw, because a look-ahead mostly uses one or two streams.
#[derive(Debug, Clone)]
struct Streams {
    key: Key,
    /// The streams that have started.
    open: Vec<RngStream>,
    /// For each stream, its index in `open`.
    index_of: Vec<Option<u8>>,
}

impl Streams {
    fn new(key: Key, streams: usize) -> Self {
        Self { key, open: Vec::new(), index_of: vec![None; streams] }
    }

    #[inline]
    fn get(&mut self, stream: usize) -> &mut RngStream {
        let index = self.index_of[stream];
        let index =
            index.unwrap_or_else(|| self.open_stream(stream, RngStream::keyed(self.key, stream as u64)));
        &mut self.open[usize::from(index)]
    }

    fn open_stream(&mut self, stream: usize, rng: RngStream) -> u8 {
        let index = u8::try_from(self.open.len()).expect("a game has at most 256 streams");
        self.open.push(rng);
        self.index_of[stream] = Some(index);
        index
    }

    /// Returns the words used of each stream.
    fn words(&self) -> Vec<u64> {
        let words = |index: &Option<u8>| index.map_or(0, |index| self.open[usize::from(index)].words());
        self.index_of.iter().map(words).collect()
    }
}

/// The given outcomes of every stream, for tests and recorded games.
#[derive(Debug, Clone, Default)]
struct Script {
    streams: Vec<VecDeque<u8>>,
    script_error: Option<ScriptError>,
}

/// The reason for which a scripted outcome cannot happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The script has no further outcome for the stream.
    #[error("the script of stream {stream} has ended, but one more outcome is needed")]
    Ended {
        /// The stream's number.
        stream: usize,
    },
    /// The scripted outcome is not possible.
    #[error("outcome {given} of stream {stream} is impossible: possible are {possible:?}")]
    Impossible {
        /// The stream's number.
        stream: usize,
        /// The scripted outcome.
        given: u8,
        /// The possible outcomes.
        possible: Vec<u8>,
    },
}

impl RandomSource {
    /// Creates `streams` seeded streams, numbered from 0.
    #[must_use]
    pub fn seeded(seed: u64, streams: usize) -> Self {
        Self::keyed(seed.into(), streams)
    }

    /// Creates `streams` streams under a key, numbered from 0.
    #[must_use]
    pub fn keyed(key: Key, streams: usize) -> Self {
        Self(Source::Seeded(Streams::new(key, streams)))
    }

    /// Restores streams from a key and the number of words used of each. A snapshot contains both.
    #[must_use]
    pub fn resume(key: Key, words: &[u64]) -> Self {
        let mut streams = Streams::new(key, words.len());
        for (stream, &used) in words.iter().enumerate().filter(|(_, used)| **used > 0) {
            streams.open_stream(stream, RngStream::resume(key, stream as u64, used));
        }
        Self(Source::Seeded(streams))
    }

    /// Restarts from another seed with `streams` streams, and reuses the memory if possible. A script becomes seeded.
    pub fn reseed(&mut self, seed: u64, streams: usize) {
        match &mut self.0 {
            Source::Seeded(old) if old.index_of.len() == streams => {
                old.key = seed.into();
                old.open.clear();
                old.index_of.fill(None);
            }
            _ => *self = Self::seeded(seed, streams),
        }
    }

    /// Sets the mark of every stream after all its draws so far. Later rewinds return to it, so these draws never repeat.
    pub fn mark(&mut self) {
        if let Source::Seeded(streams) = &mut self.0 {
            streams.open.iter_mut().for_each(RngStream::mark);
        }
    }

    /// Rewinds every stream to its mark, or to its beginning. A script stays where it is.
    pub fn rewind(&mut self) {
        if let Source::Seeded(streams) = &mut self.0 {
            streams.open.iter_mut().for_each(RngStream::rewind);
        }
    }

    /// Creates a script: `outcomes[stream]` lists the outcomes in the order of use.
    ///
    /// An outcome is the number for [`below`](Self::below) and the id for [`draw`](Self::draw). For
    /// [`draw_copy`](Self::draw_copy) it is the rank among all copies, not the type. For [`shuffle`](Self::shuffle) it is
    /// the items in their new order.
    #[must_use]
    pub fn scripted<I: IntoIterator<Item = u8>>(outcomes: impl IntoIterator<Item = I>) -> Self {
        let streams = outcomes.into_iter().map(|stream| stream.into_iter().collect()).collect();
        Self(Source::Scripted(Script { streams, script_error: None }))
    }

    /// Appends outcomes to a scripted stream. It does nothing to seeded streams.
    pub fn extend(&mut self, stream: usize, outcomes: impl IntoIterator<Item = u8>) {
        if let Source::Scripted(script) = &mut self.0 {
            script.streams[stream].extend(outcomes);
        }
    }

    /// Returns the first scripted outcome that was impossible. The smallest possible outcome replaced it.
    ///
    /// The caller of a scripted game must check this after every action.
    #[must_use]
    pub fn script_error(&self) -> Option<&ScriptError> {
        match &self.0 {
            Source::Scripted(script) => script.script_error.as_ref(),
            Source::Seeded(_) | Source::Enumerated(_) => None,
        }
    }

    /// Returns the key, if there is one.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        match &self.0 {
            Source::Seeded(streams) => Some(streams.key),
            Source::Scripted(_) | Source::Enumerated(_) => None,
        }
    }

    /// Returns the words used of each seeded stream; for a script, the unused outcomes; for an enumeration, the draws.
    #[must_use]
    pub fn usage(&self) -> Vec<u64> {
        match &self.0 {
            Source::Seeded(streams) => streams.words(),
            Source::Scripted(script) => script.streams.iter().map(|left| left.len() as u64).collect(),
            Source::Enumerated(enumerator) => vec![enumerator.draws() as u64],
        }
    }

    /// Returns a uniform number in `0..n`.
    ///
    /// # Panics
    /// When `n` is 0, when `n` exceeds 256 for a script, or when there is no such stream.
    pub fn below(&mut self, stream: usize, n: u32) -> u32 {
        match &mut self.0 {
            Source::Seeded(streams) => streams.get(stream).below(n),
            Source::Scripted(script) => {
                let mut possible = BitSet::<4>::below(n as usize);
                u32::from(script.draw(stream, &mut possible))
            }
            Source::Enumerated(enumerator) => enumerator.below(n),
        }
    }

    /// Removes and returns a uniformly random member of `set`.
    ///
    /// # Panics
    /// When `set` is empty, or there is no such stream.
    pub fn draw<const W: usize>(&mut self, stream: usize, set: &mut BitSet<W>) -> u8 {
        match &mut self.0 {
            Source::Seeded(streams) => streams.get(stream).draw(set),
            Source::Scripted(script) => script.draw(stream, set),
            Source::Enumerated(enumerator) => {
                let id = set.nth(enumerator.below(set.len())).expect("below(len) is a rank");
                set.remove(id);
                id
            }
        }
    }

    /// Removes a uniformly random card of `deck` and returns its type: the `below(len)`-th in the order of the types.
    ///
    /// # Panics
    /// When `deck` is empty, or there is no such stream.
    pub fn draw_copy<const N: usize>(&mut self, stream: usize, deck: &mut Multiset<N>) -> u8 {
        let kind = deck.nth(self.below(stream, deck.len().into())).expect("below(len) is a rank");
        deck.remove(kind);
        kind
    }

    /// Shuffles `items` uniformly.
    ///
    /// # Panics
    /// When there is no such stream.
    pub fn shuffle(&mut self, stream: usize, items: &mut [u8]) {
        match &mut self.0 {
            Source::Seeded(streams) => streams.get(stream).shuffle(items),
            Source::Scripted(script) => script.shuffle(stream, items),
            Source::Enumerated(enumerator) => enumerator.shuffle(items),
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
        let script_error = match self.streams[stream].pop_front() {
            Some(given) if possible.contains(&given) => return given,
            Some(given) => ScriptError::Impossible { stream, given, possible: possible.to_vec() },
            None => ScriptError::Ended { stream },
        };
        self.script_error.get_or_insert(script_error);
        possible[0]
    }
}

#[cfg(test)]
mod tests;

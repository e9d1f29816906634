//! Chance: seeded and repeatable, or scripted outcome by outcome.
//!
//! All randomness is ChaCha8. A [`RngStream`] is one ChaCha stream under one [`Key`]; a [`Chance`] is what a game
//! draws from, one stream a purpose, so that what one part draws never shifts another. Bounded draws and
//! shuffles are ours, because library ones change between versions; `docs/determinism.md` states them.

use std::collections::VecDeque;

use borsh::{BorshDeserialize, BorshSerialize};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::BitSet;

/// The stream from which a bot at seat 0 draws; seat `s` has this plus `s`.
pub const BOT_STREAM: u64 = 1 << 32;
/// The stream from which the hidden part of a state is drawn anew.
pub const RESAMPLE_STREAM: u64 = 2 << 32;
/// The stream from which a substitute for an illegal action is drawn.
pub const SUBSTITUTE_STREAM: u64 = 3 << 32;

/// The 256-bit key that all randomness of an episode follows from.
///
/// A seed that somebody gives is 64 bits wide: its 8 bytes, low first, then 24 zero bytes. A key that nobody
/// may guess has 256 bits of the operating system's randomness.
#[derive(Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Key([u8; 32]);

impl Key {
    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Key {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl From<u64> for Key {
    fn from(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(bytes)
    }
}

impl std::fmt::Debug for Key {
    /// Shows nothing: a key tells every hidden card.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// One stream of random words under one key.
///
/// ```
/// use boardwire_kernel::RngStream;
///
/// let mut rng = RngStream::new(7, 0);
/// let rolls = [rng.below(6), rng.below(6)];
/// let mut again = RngStream::new(7, 0);
/// assert_eq!(rolls, [again.below(6), again.below(6)]);
/// ```
#[derive(Debug, Clone)]
pub struct RngStream {
    rng: ChaCha8Rng,
    words: u64,
}

impl RngStream {
    /// Opens stream `stream` of a seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self::keyed(seed.into(), stream)
    }

    /// Opens stream `stream` of a key.
    #[must_use]
    pub fn keyed(key: Key, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::from_seed(key.0);
        rng.set_stream(stream);
        Self { rng, words: 0 }
    }

    /// Opens a stream of which `words` have been used already.
    #[must_use]
    pub fn resume(key: Key, stream: u64, words: u64) -> Self {
        let mut rng = Self::keyed(key, stream);
        rng.rng.set_word_pos(u128::from(words));
        rng.words = words;
        rng
    }

    /// How many words have been used.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.words
    }

    fn word(&mut self) -> u32 {
        self.words += 1;
        self.rng.next_u32()
    }

    /// The next two words as one seed, low word first.
    pub fn seed(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }

    /// A number in `0..n`, each as likely: Lemire's multiply-shift on one word, with rejection.
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "nothing is below 0");
        let mut product = u64::from(self.word()) * u64::from(n);
        if low(product) < n {
            let threshold = n.wrapping_neg() % n;
            while low(product) < threshold {
                product = u64::from(self.word()) * u64::from(n);
            }
        }
        high(product)
    }

    /// Takes a member out of `set`, each as likely: the `below(len)`-th smallest.
    ///
    /// # Panics
    /// When `set` is empty.
    pub fn draw<const W: usize>(&mut self, set: &mut BitSet<W>) -> u8 {
        let id = set.nth(self.below(set.len())).expect("below(len) is a rank");
        set.remove(id);
        id
    }

    /// Shuffles `items`: Fisher-Yates from the last element down to the second, `j = below(i + 1)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let bound = u32::try_from(i + 1).expect("what is shuffled is short");
            items.swap(i, self.below(bound) as usize);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(product: u64) -> u32 {
    product as u32
}

fn high(product: u64) -> u32 {
    (product >> 32) as u32
}

/// What a game draws from, by numbered stream: seeded, or scripted.
#[derive(Debug, Clone)]
pub struct Chance(Source);

#[derive(Debug, Clone)]
enum Source {
    Seeded { key: Key, streams: Vec<RngStream> },
    Scripted(Script),
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
        Self::resume(key, &vec![0; streams])
    }

    /// Chance from a key with the words used so far of each stream: half of a snapshot.
    #[must_use]
    pub fn resume(key: Key, words: &[u64]) -> Self {
        let streams = (0..).zip(words).map(|(stream, &used)| RngStream::resume(key, stream, used)).collect();
        Self(Source::Seeded { key, streams })
    }

    /// Begins anew from another seed, with as many streams, in the memory there is; a script becomes seeded.
    pub fn reseed(&mut self, seed: u64, streams: usize) {
        match &mut self.0 {
            Source::Seeded { key, streams: rng } if rng.len() == streams => {
                *key = seed.into();
                (0..).zip(rng).for_each(|(stream, rng)| *rng = RngStream::keyed(*key, stream));
            }
            _ => *self = Self::seeded(seed, streams),
        }
    }

    /// Chance whose outcomes are given: `outcomes[stream]` in the order in which they are needed.
    ///
    /// An outcome is the number for [`below`](Self::below), the id for [`draw`](Self::draw), and for
    /// [`shuffle`](Self::shuffle) the items in their new order.
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
            Source::Seeded { .. } => None,
            Source::Scripted(script) => script.fault.as_ref(),
        }
    }

    /// The key, where there is one.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        match &self.0 {
            Source::Seeded { key, .. } => Some(*key),
            Source::Scripted(_) => None,
        }
    }

    /// The words used of each seeded stream; for a script, the outcomes still unused.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        match &self.0 {
            Source::Seeded { streams, .. } => streams.iter().map(RngStream::words).collect(),
            Source::Scripted(script) => script.streams.iter().map(|left| left.len() as u64).collect(),
        }
    }

    /// A number in `0..n`, each as likely.
    ///
    /// # Panics
    /// When `n` is 0, or for scripted chance above 256, or there is no such stream.
    pub fn below(&mut self, stream: usize, n: u32) -> u32 {
        match &mut self.0 {
            Source::Seeded { streams, .. } => streams[stream].below(n),
            Source::Scripted(script) => {
                let mut possible = BitSet::<4>::first(n as usize);
                u32::from(script.draw(stream, &mut possible))
            }
        }
    }

    /// Takes a member out of `set`, each as likely.
    ///
    /// # Panics
    /// When `set` is empty, or there is no such stream.
    pub fn draw<const W: usize>(&mut self, stream: usize, set: &mut BitSet<W>) -> u8 {
        match &mut self.0 {
            Source::Seeded { streams, .. } => streams[stream].draw(set),
            Source::Scripted(script) => script.draw(stream, set),
        }
    }

    /// Shuffles `items`, each order as likely.
    ///
    /// # Panics
    /// When there is no such stream.
    pub fn shuffle(&mut self, stream: usize, items: &mut [u8]) {
        match &mut self.0 {
            Source::Seeded { streams, .. } => streams[stream].shuffle(items),
            Source::Scripted(script) => script.shuffle(stream, items),
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

//! Random numbers: streams of 32-bit words under a key.
//!
//! All randomness is ChaCha8. An [`RngStream`] is one ChaCha stream under one [`Key`]. This file has its own bounded
//! draws and shuffles, because library versions change theirs. `docs/determinism.md` specifies them.

use borsh::{BorshDeserialize, BorshSerialize};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::{BitSet, CheckResult, ensure};

/// The stream of the bot at seat 0. Seat `s` uses this number plus `s`.
pub const BOT_STREAM: u64 = 1 << 32;
/// The stream that resamples the hidden part of a state.
pub const RESAMPLE_STREAM: u64 = 2 << 32;
/// The stream of the actions that replace illegal actions of seat 0. Seat `s` uses this number plus `s`.
pub const SUBSTITUTE_STREAM: u64 = 3 << 32;
/// The stream of the advice to seat 0. Seat `s` uses this number plus `s`.
pub const ADVICE_STREAM: u64 = 5 << 32;
/// The stream under a search's seed that gives world 0 its seed. World `i` uses this number plus `i`.
pub const DETERMINIZATION_STREAM: u64 = 6 << 32;
/// The stream under a label seed that shuffles the first group of a game's names. Group `i` uses this number plus `i`.
pub const LABEL_STREAM: u64 = 7 << 32;
/// The stream under a rollout's seed that gives the playouts of world 0 their seeds. World `i` uses this number plus `i`.
pub const PLAYOUT_STREAM: u64 = 8 << 32;

/// The maximum number of words of a stream. No stream needs more.
const MAX_WORDS: u64 = 1 << 48;

/// How many words after the mark a stream caches, to repeat them after a rewind.
const CACHED_WORDS: usize = 8;

/// The 256-bit key that determines all randomness of an episode.
///
/// A seed has 64 bits. Its key is the 8 bytes of the seed, low byte first, then 24 zero bytes. An unpredictable key
/// has 256 bits of the operating system's randomness.
#[derive(Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Key([u8; 32]);

impl Key {
    /// Returns the 32 bytes.
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

impl Key {
    /// Returns the seed that the key was made from. A key that was drawn at random has none.
    #[must_use]
    pub fn to_seed(&self) -> Option<u64> {
        let (seed, rest) = self.0.split_first_chunk()?;
        rest.iter().all(|byte| *byte == 0).then(|| u64::from_le_bytes(*seed))
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
    /// Writes no content: a key reveals every hidden card.
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
    /// The position to which a rewind returns: the beginning, or the last mark.
    mark: u64,
    /// How many words `rng` has produced. After a rewind it may exceed `words`, by at most `CACHED_WORDS`.
    produced: u64,
    /// The largest `produced` before a rewind reset it.
    produced_before_reset: u64,
    /// The cache: the first words after the mark.
    cache: [u32; CACHED_WORDS],
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
        Self { rng, words: 0, mark: 0, produced: 0, produced_before_reset: 0, cache: [0; CACHED_WORDS] }
    }

    /// Opens a stream whose first `words` words are already used.
    #[must_use]
    pub fn resume(key: Key, stream: u64, words: u64) -> Self {
        let mut rng = Self::keyed(key, stream);
        if words > CACHED_WORDS as u64 {
            rng.rng.set_word_pos(u128::from(words));
            (rng.words, rng.produced) = (words, words);
        }
        // Draws the few words one by one to fill the cache.
        while rng.words < words {
            rng.word();
        }
        rng
    }

    /// Refuses a word count that no stream can have. Such a stream cannot be resumed.
    ///
    /// # Errors
    /// A message with the word count.
    pub fn check_words(words: u64) -> CheckResult {
        ensure(words <= MAX_WORDS, || {
            format!("word count {words} of a random stream exceeds the maximum {MAX_WORDS}")
        })
    }

    /// Sets the mark after all words produced so far. Later rewinds return to it.
    pub(crate) fn mark(&mut self) {
        if self.produced_before_reset > self.produced {
            self.rng.set_word_pos(self.produced_before_reset.into());
            self.produced = self.produced_before_reset;
        }
        (self.words, self.mark) = (self.produced, self.produced);
    }

    /// Returns to the mark, or to the beginning.
    ///
    /// A caller that repeats a few words gets them from the cache: the cipher computes 64 words together.
    pub(crate) fn rewind(&mut self) {
        if self.produced - self.mark > CACHED_WORDS as u64 {
            self.rng.set_word_pos(self.mark.into());
            (self.produced_before_reset, self.produced) =
                (self.produced_before_reset.max(self.produced), self.mark);
        }
        self.words = self.mark;
    }

    /// Returns the number of words used.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.words
    }

    fn word(&mut self) -> u32 {
        let at = usize::try_from(self.words - self.mark).unwrap_or(usize::MAX);
        self.words += 1;
        if self.words <= self.produced {
            return self.cache[at];
        }
        self.produced += 1;
        let word = self.rng.next_u32();
        if let Some(cached) = self.cache.get_mut(at) {
            *cached = word;
        }
        word
    }

    /// Returns the next two words as one seed, low word first.
    pub fn next_seed(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }

    /// Returns a uniform number in `0..n`: Lemire's multiply-shift on one word, with rejection.
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "`n` must be positive");
        let mut product = u64::from(self.word()) * u64::from(n);
        if low(product) < n {
            let threshold = n.wrapping_neg() % n;
            while low(product) < threshold {
                product = u64::from(self.word()) * u64::from(n);
            }
        }
        high(product)
    }

    /// Removes and returns a uniformly random member of `set`: the `below(len)`-th smallest.
    ///
    /// # Panics
    /// When `set` is empty.
    #[inline]
    pub fn draw<const W: usize>(&mut self, set: &mut BitSet<W>) -> u8 {
        let id = set.nth(self.below(set.len())).expect("below(len) is a rank");
        set.remove(id);
        id
    }

    /// Shuffles `items`: Fisher-Yates from the last element down to the second, `j = below(i + 1)`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let bound = u32::try_from(i + 1).expect("a deck has at most 2^32 cards");
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

#[cfg(test)]
mod tests;

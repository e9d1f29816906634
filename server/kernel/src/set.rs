//! Sets of small ids, stored by value: decks, hands and legal actions.

use borsh::{BorshDeserialize, BorshSerialize};

/// A set of ids `0..64 * W` as a bit set of `W` words, iterated in ascending order.
///
/// `W` is at most 4, so that every id fits a `u8`.
///
/// ```
/// use boardwire_kernel::BitSet;
///
/// let deck: BitSet<2> = (1..=68).collect();
/// assert_eq!((deck.len(), deck.nth(0), deck.nth(67)), (68, Some(1), Some(68)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct BitSet<const W: usize>([u64; W]);

impl<const W: usize> BitSet<W> {
    /// The empty set.
    pub const EMPTY: Self = Self([0; W]);

    /// Creates the set of `0..len`.
    ///
    /// # Panics
    /// When `len` exceeds `64 * W`.
    #[must_use]
    pub fn below(len: usize) -> Self {
        assert!(len <= 64 * W, "{len} ids do not fit {W} words");
        let mut set = Self::EMPTY;
        for (word, bits) in set.0.iter_mut().enumerate() {
            *bits = match len.saturating_sub(64 * word) {
                0 => 0,
                n if n >= 64 => u64::MAX,
                n => (1 << n) - 1,
            };
        }
        set
    }

    /// Renumbers the members: ids that count from `from` then count from `to`. The result may have another width.
    ///
    /// # Panics
    /// When a member is below `from`, or its new id does not fit.
    #[must_use]
    pub fn renumbered<const V: usize>(&self, from: u8, to: u8) -> BitSet<V> {
        let mut out = BitSet::EMPTY;
        // Ids are at most 255. An offset of four words keeps all positions positive.
        for (at, bits) in (256..).step_by(64).zip(self.0) {
            let at = at + u32::from(to) - u32::from(from);
            let halves = [bits << (at % 64), bits.checked_shr(64 - at % 64).unwrap_or(0)];
            for (half, word) in halves.into_iter().zip(at / 64..) {
                match word.checked_sub(4).and_then(|word| out.0.get_mut(word as usize)) {
                    Some(word) => *word |= half,
                    None => assert!(half == 0, "a member does not fit its new number"),
                }
            }
        }
        out
    }

    /// Creates the set whose only member is `id`.
    #[must_use]
    #[inline]
    pub fn single(id: impl Into<u8>) -> Self {
        let mut set = Self::EMPTY;
        set.insert(id);
        set
    }

    /// Adds `id`. It does nothing if `id` is already a member.
    ///
    /// # Panics
    /// When `id` is not below `64 * W`.
    #[inline]
    pub fn insert(&mut self, id: impl Into<u8>) {
        let id = id.into();
        self.0[usize::from(id / 64)] |= 1 << (id % 64);
    }

    /// Removes `id`. Returns whether it was a member.
    #[inline]
    pub fn remove(&mut self, id: impl Into<u8>) -> bool {
        let id = id.into();
        let had = self.contains(id);
        if had {
            self.0[usize::from(id / 64)] &= !(1 << (id % 64));
        }
        had
    }

    /// Returns whether `id` is a member. An id that does not fit is not a member.
    #[must_use]
    #[inline]
    pub fn contains(&self, id: impl Into<u8>) -> bool {
        let id = id.into();
        self.0.get(usize::from(id / 64)).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    /// Returns the number of members.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns whether the set has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; W]
    }

    /// Returns the smallest member.
    #[must_use]
    pub fn lowest(&self) -> Option<u8> {
        let mut words = (0..).zip(self.0);
        words.find_map(|(word, bits)| (bits != 0).then(|| 64 * word + lowest_bit(bits)))
    }

    /// Returns the `k`-th smallest member, counted from 0.
    #[must_use]
    #[inline]
    pub fn nth(&self, k: u32) -> Option<u8> {
        let mut left = k;
        for (index, &word) in (0u8..).zip(&self.0) {
            let ones = word.count_ones();
            if left < ones {
                return Some(index * 64 + nth_bit(word, left));
            }
            left -= ones;
        }
        None
    }

    /// Returns the members of either set.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
        self
    }

    /// Returns the members of both sets.
    #[must_use]
    pub fn intersection(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= b;
        }
        self
    }

    /// Returns the members of this set that are not in `other`.
    #[must_use]
    pub fn difference(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= !b;
        }
        self
    }

    /// Returns the members in ascending order.
    #[must_use]
    pub fn iter(&self) -> BitSetIter<W> {
        BitSetIter { words: self.0, word: 0, bits: self.0.first().copied().unwrap_or(0), base: 0 }
    }

    /// Writes the set as flags: byte `i` is 1 if id `i` is a member, else 0. It omits ids beyond `out`.
    #[inline]
    pub fn write_flags(&self, out: &mut [u8]) {
        for (flags, word) in out.chunks_mut(64).zip(self.0) {
            for (flags, bits) in flags.chunks_mut(8).zip(word.to_le_bytes()) {
                flags.copy_from_slice(&bits_to_bytes(bits).to_le_bytes()[..flags.len()]);
            }
        }
    }

    /// Writes the set as bits: id `i` is bit `i % 8` of byte `i / 8`. It omits ids beyond `out`.
    pub fn write_bits(&self, out: &mut [u8]) {
        let (whole, rest) = out.as_chunks_mut();
        for (bytes, word) in whole.iter_mut().zip(self.0) {
            *bytes = word.to_le_bytes();
        }
        if let Some(word) = self.0.get(whole.len()) {
            for (byte, bits) in rest.iter_mut().zip(word.to_le_bytes()) {
                *byte = bits;
            }
        }
    }
}

/// A word of eight bytes that are all 1. Multiplication by it adds up bytes.
const ONES_IN_BYTES: u64 = 0x0101_0101_0101_0101;

/// Returns eight bits as eight bytes of 0 or 1, lowest bit first.
#[inline]
const fn bits_to_bytes(bits: u8) -> u64 {
    // Each byte gets a copy of all bits, and byte `i` keeps bit `i`. The addition carries that bit into the highest.
    let own_bit = (bits as u64).wrapping_mul(ONES_IN_BYTES) & 0x8040_2010_0804_0201;
    (own_bit.wrapping_add(0x0040_6070_787c_7e7f) >> 7) & ONES_IN_BYTES
}

/// Counts the bytes of `sums` that are at most `k`. The eight bytes are below 128 and in ascending order.
#[inline]
const fn count_bytes_at_most(sums: u64, k: u64) -> u64 {
    let at_most = (0x80 | k).wrapping_mul(ONES_IN_BYTES).wrapping_sub(sums) >> 7;
    (at_most & ONES_IN_BYTES).wrapping_mul(ONES_IN_BYTES) >> 56
}

/// Returns the position of the `k`-th lowest set bit, counted from 0. There must be more than `k` set bits.
///
/// It has no branches: the position is unpredictable, and games draw from decks very often.
#[inline]
fn nth_bit(bits: u64, k: u32) -> u8 {
    let k = u64::from(k);
    let pairs = bits.wrapping_sub((bits >> 1) & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333).wrapping_add((pairs >> 2) & 0x3333_3333_3333_3333);
    let ones_by_byte = fours.wrapping_add(fours >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // Byte `i` of `sums` is the number of ones in bytes 0 to `i`.
    let sums = ones_by_byte.wrapping_mul(ONES_IN_BYTES);
    let start = count_bytes_at_most(sums, k) << 3;
    let below = (sums << 8) >> (start & 63) & 0xff;
    let own = bits_to_bytes(lowest_byte(bits >> (start & 63))).wrapping_mul(ONES_IN_BYTES);
    lowest_byte(start | count_bytes_at_most(own, k.wrapping_sub(below)))
}

#[expect(clippy::cast_possible_truncation, reason = "the lowest byte is meant")]
const fn lowest_byte(word: u64) -> u8 {
    word as u8
}

#[expect(clippy::cast_possible_truncation, reason = "a place in a word is at most 64")]
fn lowest_bit(bits: u64) -> u8 {
    bits.trailing_zeros() as u8
}

impl From<u64> for BitSet<1> {
    /// Creates the set with a member `i` for every set bit `i`.
    #[inline]
    fn from(bits: u64) -> Self {
        Self([bits])
    }
}

impl<const W: usize> Default for BitSet<W> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const W: usize, T: Into<u8>> FromIterator<T> for BitSet<W> {
    fn from_iter<I: IntoIterator<Item = T>>(ids: I) -> Self {
        let mut set = Self::EMPTY;
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

impl<const W: usize> IntoIterator for BitSet<W> {
    type Item = u8;
    type IntoIter = BitSetIter<W>;

    fn into_iter(self) -> BitSetIter<W> {
        self.iter()
    }
}

impl<const W: usize> IntoIterator for &BitSet<W> {
    type Item = u8;
    type IntoIter = BitSetIter<W>;

    fn into_iter(self) -> BitSetIter<W> {
        self.iter()
    }
}

impl<const W: usize> std::fmt::Debug for BitSet<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

/// The members of a [`BitSet`], ascending.
#[derive(Debug, Clone)]
pub struct BitSetIter<const W: usize> {
    words: [u64; W],
    /// The index of the current word, and its remaining bits.
    word: usize,
    bits: u64,
    /// The id of the lowest bit of the current word.
    base: u8,
}

impl<const W: usize> Iterator for BitSetIter<W> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        while self.bits == 0 {
            self.bits = *self.words.get(self.word + 1)?;
            self.word += 1;
            self.base = self.base.wrapping_add(64);
        }
        let id = self.base | lowest_bit(self.bits);
        self.bits &= self.bits - 1;
        Some(id)
    }

    #[inline]
    fn fold<B, F: FnMut(B, u8) -> B>(self, init: B, mut add: F) -> B {
        let Self { words, word, bits, mut base } = self;
        let later = words.into_iter().skip(word + 1);
        let mut folded = init;
        for mut bits in std::iter::once(bits).chain(later) {
            while bits != 0 {
                folded = add(folded, base | lowest_bit(bits));
                bits &= bits - 1;
            }
            base = base.wrapping_add(64);
        }
        folded
    }
}

#[cfg(test)]
mod tests;

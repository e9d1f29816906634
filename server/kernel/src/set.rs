//! Sets of small ids held by value: decks, hands and legal actions.

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
    /// The set without members.
    pub const EMPTY: Self = Self([0; W]);

    /// The set with the members `0..len`.
    ///
    /// # Panics
    /// When `len` exceeds `64 * W`.
    #[must_use]
    pub fn first(len: usize) -> Self {
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

    /// The set whose only member is `id`.
    #[must_use]
    pub fn single(id: u8) -> Self {
        let mut set = Self::EMPTY;
        set.insert(id);
        set
    }

    /// Adds `id`; a member stays one.
    ///
    /// # Panics
    /// When `id` is not below `64 * W`.
    pub fn insert(&mut self, id: u8) {
        self.0[usize::from(id / 64)] |= 1 << (id % 64);
    }

    /// Removes `id`; says whether it was a member.
    pub fn remove(&mut self, id: u8) -> bool {
        let had = self.contains(id);
        if had {
            self.0[usize::from(id / 64)] &= !(1 << (id % 64));
        }
        had
    }

    /// Whether `id` is a member; an id that does not fit is none.
    #[must_use]
    pub fn contains(&self, id: u8) -> bool {
        self.0.get(usize::from(id / 64)).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; W]
    }

    /// The smallest member.
    #[must_use]
    pub fn lowest(&self) -> Option<u8> {
        self.nth(0)
    }

    /// The `k`-th smallest member, counted from 0.
    #[must_use]
    pub fn nth(&self, k: u32) -> Option<u8> {
        let mut left = k;
        for (index, &word) in (0u8..).zip(&self.0) {
            let ones = word.count_ones();
            if left < ones {
                let mut bits = word;
                for _ in 0..left {
                    bits &= bits - 1;
                }
                return Some(index * 64 + lowest_bit(bits));
            }
            left -= ones;
        }
        None
    }

    /// The members of either set.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
        self
    }

    /// The members of both sets.
    #[must_use]
    pub fn intersection(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= b;
        }
        self
    }

    /// The members of this set that are not in `other`.
    #[must_use]
    pub fn difference(mut self, other: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a &= !b;
        }
        self
    }

    /// The members in ascending order.
    #[must_use]
    pub fn iter(&self) -> Members<W> {
        Members { words: self.0, word: 0 }
    }

    /// Writes the set as bits: id `i` is bit `i % 8` of byte `i / 8`; ids beyond `out` are left out.
    pub fn write_bits(&self, out: &mut [u8]) {
        for (chunk, word) in out.chunks_mut(8).zip(self.0) {
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }
}

fn lowest_bit(bits: u64) -> u8 {
    u8::try_from(bits.trailing_zeros()).unwrap_or(64)
}

impl<const W: usize> Default for BitSet<W> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const W: usize> FromIterator<u8> for BitSet<W> {
    fn from_iter<I: IntoIterator<Item = u8>>(ids: I) -> Self {
        let mut set = Self::EMPTY;
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

impl<const W: usize> IntoIterator for BitSet<W> {
    type Item = u8;
    type IntoIter = Members<W>;

    fn into_iter(self) -> Members<W> {
        self.iter()
    }
}

impl<const W: usize> IntoIterator for &BitSet<W> {
    type Item = u8;
    type IntoIter = Members<W>;

    fn into_iter(self) -> Members<W> {
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
pub struct Members<const W: usize> {
    words: [u64; W],
    word: usize,
}

impl<const W: usize> Iterator for Members<W> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        while let Some(bits) = self.words.get_mut(self.word) {
            if *bits != 0 {
                let id = lowest_bit(*bits);
                *bits &= *bits - 1;
                return u8::try_from(self.word * 64).ok().map(|base| base + id);
            }
            self.word += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_ascending_order_and_by_rank() {
        let set: BitSet<4> = [200, 3, 64, 63, 255].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 200, 255]);
        assert_eq!(
            (0..6).map(|k| set.nth(k)).collect::<Vec<_>>(),
            [Some(3), Some(63), Some(64), Some(200), Some(255), None]
        );
    }

    #[test]
    fn first_fills_whole_and_partial_words() {
        assert_eq!(BitSet::<2>::first(128).len(), 128);
        assert_eq!(BitSet::<2>::first(65).iter().last(), Some(64));
        assert!(BitSet::<1>::first(0).is_empty());
    }

    #[test]
    fn bits_are_written_low_first() {
        let set: BitSet<2> = [0, 9, 66].into_iter().collect();
        let mut out = [0xff; 9];
        set.write_bits(&mut out);
        assert_eq!(out, [1, 2, 0, 0, 0, 0, 0, 0, 4]);
    }

    #[test]
    fn an_id_that_does_not_fit_is_no_member() {
        let mut set = BitSet::<1>::first(64);
        assert!(!set.contains(64) && !set.remove(200));
    }
}

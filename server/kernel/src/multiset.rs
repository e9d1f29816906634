//! Decks of cards with several equal copies.

use borsh::{BorshDeserialize, BorshSerialize};

use crate::{BitSet, RngStream};

/// The number of members of each of at most `N` types: a deck, a bag, a hand with indistinguishable equal cards.
///
/// ```
/// use boardwire_kernel::Multiset;
///
/// let mut deck: Multiset<8> = [2, 2, 5].into_iter().collect();
/// assert_eq!((deck.len(), deck.count(2), deck.nth(2)), (3, 2, Some(5)));
/// assert!(deck.remove(5) && !deck.remove(5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Multiset<const N: usize> {
    counts: [u8; N],
    len: u8,
}

impl<const N: usize> Multiset<N> {
    /// The empty multiset.
    pub const EMPTY: Self = Self { counts: [0; N], len: 0 };

    /// Creates the multiset with these counts, in the order of the types. Further types have no members.
    ///
    /// # Panics
    /// When there are more than `N` types, or more than 255 members in all.
    #[must_use]
    pub fn of(counts: impl IntoIterator<Item = u8>) -> Self {
        let mut all = Self::EMPTY;
        for (at, count) in counts.into_iter().enumerate() {
            all.counts[at] = count;
            all.len += count;
        }
        all
    }

    /// Returns the number of members.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u8 {
        self.len
    }

    /// Returns whether there are no members.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of members of a type.
    #[must_use]
    #[inline]
    pub fn count(&self, kind: u8) -> u8 {
        self.counts[usize::from(kind)]
    }

    /// Returns the number of members of each type.
    #[must_use]
    #[inline]
    pub fn counts(&self) -> &[u8; N] {
        &self.counts
    }

    /// Returns the types that have members.
    ///
    /// # Panics
    /// When such a type does not fit the set.
    #[must_use]
    pub fn kinds<const W: usize>(&self) -> BitSet<W> {
        (0..).zip(self.counts).filter(|(_, count)| *count > 0).map(|(kind, _)| kind).collect()
    }

    /// Adds one member of a type.
    #[inline]
    pub fn insert(&mut self, kind: u8) {
        self.counts[usize::from(kind)] += 1;
        self.len += 1;
    }

    /// Removes one member of a type. Returns whether there was one.
    #[inline]
    pub fn remove(&mut self, kind: u8) -> bool {
        let count = &mut self.counts[usize::from(kind)];
        let had = *count > 0;
        *count -= u8::from(had);
        self.len -= u8::from(had);
        had
    }

    /// Moves every member of `other` into this multiset.
    pub fn absorb(&mut self, other: &mut Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.len += other.len;
        *other = Self::EMPTY;
    }

    /// Returns the type of the member with this rank. Ranks count from 0, in the order of the types.
    #[must_use]
    pub fn nth(&self, rank: u32) -> Option<u8> {
        let mut left = rank;
        for (kind, &count) in (0..).zip(&self.counts) {
            match left.checked_sub(count.into()) {
                None => return Some(kind),
                Some(less) => left = less,
            }
        }
        None
    }

    /// Removes a uniformly random member and returns its type: the `below(len)`-th in the order of the types.
    ///
    /// # Panics
    /// When the multiset is empty.
    pub fn draw(&mut self, rng: &mut RngStream) -> u8 {
        let kind = self.nth(rng.below(self.len.into())).expect("below(len) is a rank");
        self.remove(kind);
        kind
    }

    /// Returns whether the stored number of members equals the sum of the counts. In an outside snapshot it may not.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.counts.iter().map(|&count| u32::from(count)).sum::<u32>() == u32::from(self.len)
    }
}

impl<const N: usize> Default for Multiset<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> FromIterator<u8> for Multiset<N> {
    fn from_iter<I: IntoIterator<Item = u8>>(kinds: I) -> Self {
        let mut all = Self::EMPTY;
        kinds.into_iter().for_each(|kind| all.insert(kind));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_counts_every_copy() {
        let deck = Multiset::<4>::of([0, 2, 0, 1]);
        assert_eq!((0..4).map(|rank| deck.nth(rank)).collect::<Vec<_>>(), [Some(1), Some(1), Some(3), None]);
        assert_eq!(deck.kinds::<1>().iter().collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn drawing_empties_the_deck_as_it_was_counted() {
        let (mut deck, mut rng) = (Multiset::<4>::of([1, 2]), RngStream::new(7, 0));
        let drawn: Multiset<4> = (0..3).map(|_| deck.draw(&mut rng)).collect();
        assert_eq!((deck.is_empty(), drawn), (true, Multiset::of([1, 2])));
    }

    #[test]
    fn absorbing_leaves_the_other_empty() {
        let (mut deck, mut discard) = (Multiset::<2>::of([1]), Multiset::<2>::of([0, 3]));
        deck.absorb(&mut discard);
        assert_eq!((deck, discard), (Multiset::of([1, 3]), Multiset::EMPTY));
        assert!(deck.is_sound());
    }
}

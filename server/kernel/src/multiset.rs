//! Decks of cards that come in several equal copies.

use borsh::{BorshDeserialize, BorshSerialize};

use crate::{BitSet, RngStream};

/// How many there are of each of at most `N` types: a deck, a bag, a hand whose equal cards nobody tells apart.
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
    /// The multiset without members.
    pub const EMPTY: Self = Self { counts: [0; N], len: 0 };

    /// So many of each type, in the order of the types; of the types beyond them none.
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

    /// How many members there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u8 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many there are of a type.
    #[must_use]
    #[inline]
    pub fn count(&self, kind: u8) -> u8 {
        self.counts[usize::from(kind)]
    }

    /// How many there are of each type.
    #[must_use]
    #[inline]
    pub fn counts(&self) -> &[u8; N] {
        &self.counts
    }

    /// The types of which there are some.
    ///
    /// # Panics
    /// When there is one that does not fit the set.
    #[must_use]
    pub fn kinds<const W: usize>(&self) -> BitSet<W> {
        (0..).zip(self.counts).filter(|(_, count)| *count > 0).map(|(kind, _)| kind).collect()
    }

    /// Adds one of a type.
    #[inline]
    pub fn insert(&mut self, kind: u8) {
        self.counts[usize::from(kind)] += 1;
        self.len += 1;
    }

    /// Removes one of a type; says whether there was one.
    #[inline]
    pub fn remove(&mut self, kind: u8) -> bool {
        let count = &mut self.counts[usize::from(kind)];
        let had = *count > 0;
        *count -= u8::from(had);
        self.len -= u8::from(had);
        had
    }

    /// Adds every member of `other`, and leaves it empty.
    pub fn absorb(&mut self, other: &mut Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.len += other.len;
        *other = Self::EMPTY;
    }

    /// The type of the member of this rank, counted from 0, members in the order of their types.
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

    /// Takes a member out, each as likely: the `below(len)`-th in the order of the types.
    ///
    /// # Panics
    /// When there is none.
    pub fn draw(&mut self, rng: &mut RngStream) -> u8 {
        let kind = self.nth(rng.below(self.len.into())).expect("below(len) is a rank");
        self.remove(kind);
        kind
    }

    /// Whether the number of members is what the counts add up to; a snapshot from outside may say otherwise.
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

//! Places at the table.

use borsh::{BorshDeserialize, BorshSerialize};

use crate::BitSet;

/// The most seats a game may have.
pub const MAX_SEATS: usize = 8;

/// A place at the table, counted from 0 clockwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Seat(u8);

impl Seat {
    /// The seat with this number.
    ///
    /// # Panics
    /// When `number` is not below [`MAX_SEATS`].
    #[must_use]
    pub fn new(number: u8) -> Self {
        assert!(usize::from(number) < MAX_SEATS, "no table has a seat {number}");
        Self(number)
    }

    /// All seats of a table, ascending.
    pub fn all(seats: u8) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..seats).map(Self::new)
    }

    /// The seat's number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    /// The seat's number, for indexing arrays by seat.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The seat `steps` places clockwise at a table of `seats`.
    #[must_use]
    pub fn clockwise(self, steps: u8, seats: u8) -> Self {
        Self((self.0 + steps % seats) % seats)
    }

    /// All seats of a table of `N` clockwise, beginning with this one.
    #[must_use]
    pub fn around<const N: usize>(self) -> [Self; N] {
        let mut seats = self.round(u8::try_from(N).unwrap_or(0));
        std::array::from_fn(|_| seats.next().unwrap_or(self))
    }

    /// All seats clockwise, beginning with this one: "viewer first" order.
    pub fn round(self, seats: u8) -> impl Iterator<Item = Self> + Clone {
        (self.0..self.0 + seats).map(move |number| Self(if number < seats { number } else { number - seats }))
    }
}

impl std::fmt::Display for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seat {}", self.0)
    }
}

/// A set of seats, iterated in seat order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub struct SeatSet(BitSet<1>);

impl SeatSet {
    /// The set without seats.
    pub const EMPTY: Self = Self(BitSet::EMPTY);

    /// Every seat of a table of `seats`.
    #[must_use]
    pub fn all(seats: u8) -> Self {
        Self(BitSet::first(usize::from(seats)))
    }

    /// The set of one seat.
    #[must_use]
    pub fn only(seat: Seat) -> Self {
        Self(BitSet::single(seat.0))
    }

    /// Adds `seat`.
    pub fn insert(&mut self, seat: Seat) {
        self.0.insert(seat.0);
    }

    /// Removes `seat`; says whether it was in the set.
    pub fn remove(&mut self, seat: Seat) -> bool {
        self.0.remove(seat.0)
    }

    /// Whether `seat` is in the set.
    #[must_use]
    pub fn contains(&self, seat: Seat) -> bool {
        self.0.contains(seat.0)
    }

    /// How many seats are in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.len()
    }

    /// Whether no seat is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The seat with the lowest number.
    #[must_use]
    pub fn lowest(&self) -> Option<Seat> {
        self.0.lowest().map(Seat)
    }

    /// The seats in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Seat> + use<> {
        self.0.iter().map(Seat)
    }
}

impl FromIterator<Seat> for SeatSet {
    fn from_iter<I: IntoIterator<Item = Seat>>(seats: I) -> Self {
        Self(seats.into_iter().map(Seat::number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_begins_with_the_viewer_and_wraps() {
        let round: Vec<u8> = Seat::new(2).round(4).map(Seat::number).collect();
        assert_eq!(round, [2, 3, 0, 1]);
    }
}

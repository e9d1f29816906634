//! Seats at the table.

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use crate::BitSet;

/// The maximum number of seats of a game.
pub const MAX_SEATS: usize = 8;

/// A seat at the table, counted from 0 clockwise.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, Serialize, Deserialize,
)]
#[serde(try_from = "u8")]
pub struct Seat(u8);

impl Seat {
    /// The first seat.
    pub const FIRST: Self = Self(0);

    /// Creates the seat with this number.
    ///
    /// # Panics
    /// When `number` is not below [`MAX_SEATS`].
    #[must_use]
    #[inline]
    pub fn new(number: u8) -> Self {
        assert!(usize::from(number) < MAX_SEATS, "no table has a seat {number}");
        Self(number)
    }

    /// Returns all seats of a table, ascending.
    pub fn all(seats: u8) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..seats).map(Self::new)
    }

    /// Returns the seat's number.
    #[must_use]
    #[inline]
    pub fn number(self) -> u8 {
        self.0
    }

    /// Returns the seat's number, for indexing arrays by seat.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the seat `steps` places clockwise at a table of `seats`. `steps` is at most `seats`.
    #[must_use]
    #[inline]
    pub fn clockwise(self, steps: u8, seats: u8) -> Self {
        assert!(self.0 < seats && steps <= seats, "{steps} steps from {self} of {seats}");
        // A subtraction instead of a remainder: this runs several times per ply.
        let number = self.0 + steps;
        Self(if number < seats { number } else { number - seats })
    }

    /// Returns how many places clockwise `other` sits from this seat at a table of `seats`: below `seats`.
    #[must_use]
    #[inline]
    pub fn steps_to(self, other: Self, seats: u8) -> u8 {
        if other >= self { other.0 - self.0 } else { other.0 + seats - self.0 }
    }

    /// Returns all seats clockwise from this one, the "viewer first" order.
    pub fn round(self, seats: u8) -> impl Iterator<Item = Self> + Clone {
        (0..seats).map(move |steps| self.clockwise(steps, seats))
    }
}

impl BorshDeserialize for Seat {
    fn deserialize_reader<R: std::io::Read>(reader: &mut R) -> std::io::Result<Self> {
        let seat = Self::try_from(u8::deserialize_reader(reader)?);
        seat.map_err(|problem| std::io::Error::new(std::io::ErrorKind::InvalidData, problem))
    }
}

impl TryFrom<u8> for Seat {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        let is_seat = usize::from(number) < MAX_SEATS;
        if is_seat { Ok(Self(number)) } else { Err(format!("there is no seat {number}")) }
    }
}

/// Formats the numbers of the seats: `0, 2`; `none` for the empty set.
impl std::fmt::Display for SeatSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (at, seat) in self.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, seat.0)?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seat {}", self.0)
    }
}

/// One value for each of at most `N` seats, indexed by [`Seat`].
///
/// At a table with fewer than `N` seats, the other values stay at their default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct BySeat<T, const N: usize>([T; N]);

impl<T, const N: usize> BySeat<T, N> {
    /// Creates the values, given in seat order.
    pub const fn new(values: [T; N]) -> Self {
        Self(values)
    }

    /// Returns the values of the first `seats` seats, in seat order.
    #[inline]
    pub fn of(&self, seats: u8) -> &[T] {
        &self.0[..usize::from(seats)]
    }

    /// Returns the values of the first `seats` seats for changes, in seat order.
    #[inline]
    pub fn of_mut(&mut self, seats: u8) -> &mut [T] {
        &mut self.0[..usize::from(seats)]
    }

    /// Returns the values of all `N` seats, including seats that the table does not have.
    pub fn all(&self) -> &[T; N] {
        &self.0
    }
}

impl<T: Copy + Default, const N: usize> Default for BySeat<T, N> {
    fn default() -> Self {
        Self([T::default(); N])
    }
}

impl<T, const N: usize> std::ops::Index<Seat> for BySeat<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, seat: Seat) -> &T {
        &self.0[seat.index()]
    }
}

impl<T, const N: usize> std::ops::IndexMut<Seat> for BySeat<T, N> {
    #[inline]
    fn index_mut(&mut self, seat: Seat) -> &mut T {
        &mut self.0[seat.index()]
    }
}

/// A set of seats, iterated in seat order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize, Serialize, Deserialize,
)]
#[serde(from = "Vec<Seat>", into = "Vec<Seat>")]
pub struct SeatSet(BitSet<1>);

impl SeatSet {
    /// The empty set.
    pub const EMPTY: Self = Self(BitSet::EMPTY);

    /// Creates the set of all seats of a table of `seats`.
    #[must_use]
    pub fn all(seats: u8) -> Self {
        Self(BitSet::below(usize::from(seats)))
    }

    /// Creates the set of one seat.
    #[must_use]
    pub fn only(seat: Seat) -> Self {
        Self(BitSet::single(seat.0))
    }

    /// Adds `seat`.
    pub fn insert(&mut self, seat: Seat) {
        self.0.insert(seat.0);
    }

    /// Removes `seat`. Returns whether it was in the set.
    pub fn remove(&mut self, seat: Seat) -> bool {
        self.0.remove(seat.0)
    }

    /// Returns whether `seat` is in the set.
    #[must_use]
    pub fn contains(&self, seat: Seat) -> bool {
        self.0.contains(seat.0)
    }

    /// Returns the number of seats in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.len()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the seat with the lowest number.
    #[must_use]
    pub fn lowest(&self) -> Option<Seat> {
        self.0.lowest().map(Seat)
    }

    /// Returns the seats in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Seat> + use<> {
        self.0.iter().map(Seat)
    }
}

impl From<Vec<Seat>> for SeatSet {
    fn from(seats: Vec<Seat>) -> Self {
        seats.into_iter().collect()
    }
}

impl From<SeatSet> for Vec<Seat> {
    fn from(seats: SeatSet) -> Self {
        seats.iter().collect()
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
    fn a_seat_number_above_the_maximum_is_refused() {
        assert_eq!(
            serde_json::from_str("[7, 0]").ok(),
            Some(SeatSet::from(vec![Seat::new(0), Seat::new(7)]))
        );
        assert!(serde_json::from_str::<SeatSet>("[8]").is_err());
        assert!(borsh::from_slice::<Seat>(&[7]).is_ok());
        assert!(borsh::from_slice::<Seat>(&[8]).is_err());
    }

    #[test]
    fn values_by_seat_are_written_as_the_array_they_are() {
        let by_seat = BySeat::new([3u8, 1, 4]);
        assert_eq!(borsh::to_vec(&by_seat).ok(), borsh::to_vec(&[3u8, 1, 4]).ok());
        assert_eq!((by_seat[Seat::new(2)], by_seat.of(2)), (4, [3, 1].as_slice()));
    }

    #[test]
    fn a_round_begins_with_the_viewer_and_wraps() {
        let round: Vec<u8> = Seat::new(2).round(4).map(Seat::number).collect();
        assert_eq!(round, [2, 3, 0, 1]);
    }

    #[test]
    fn steps_lead_from_every_seat_to_every_seat() {
        for seats in 1..=8 {
            for from in Seat::all(seats) {
                assert_eq!(from.clockwise(seats, seats), from);
                for to in Seat::all(seats) {
                    let steps = from.steps_to(to, seats);
                    assert!(steps < seats);
                    assert_eq!(from.clockwise(steps, seats), to);
                }
            }
        }
    }
}

//! The viewer of a position, and seat numbers relative to the viewer.

use crate::{MAX_SEATS, Seat};

/// The viewer of a position: a seat, or the public.
///
/// The public knows only what every seat at the table knows. Spectators, replays and pictures use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Viewer {
    /// One seat.
    Seat(Seat),
    /// The public. It has no seat.
    Public,
}

impl Viewer {
    /// Returns every seat of a table, then the public.
    pub fn all(seats: u8) -> impl Iterator<Item = Self> + Clone {
        Seat::all(seats).map(Self::Seat).chain([Self::Public])
    }

    /// Returns the seat of the viewer; none for the public.
    #[must_use]
    #[inline]
    pub fn seat(self) -> Option<Seat> {
        match self {
            Self::Seat(seat) => Some(seat),
            Self::Public => None,
        }
    }

    /// Returns the seat from which relative numbers count: the viewer's own, or seat 0 for the public.
    #[must_use]
    #[inline]
    pub fn first(self) -> Seat {
        self.seat().unwrap_or(Seat::FIRST)
    }

    /// Returns whether the viewer is `seat`.
    #[must_use]
    #[inline]
    pub fn is_seat(self, seat: Seat) -> bool {
        self == Self::Seat(seat)
    }
}

impl std::fmt::Display for Viewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Seat(seat) => seat.fmt(f),
            Self::Public => f.write_str("the public"),
        }
    }
}

impl From<Seat> for Viewer {
    fn from(seat: Seat) -> Self {
        Self::Seat(seat)
    }
}

/// All seats of a table of `N` in the order of a viewer: its own first, then clockwise.
#[derive(Debug, Clone, Copy)]
pub struct SeatOrder<const N: usize> {
    viewer: Viewer,
    seats: [Seat; N],
}

impl<const N: usize> SeatOrder<N> {
    #[expect(clippy::cast_possible_truncation, reason = "at most MAX_SEATS")]
    const COUNT: u8 = {
        assert!(N > 0 && N <= MAX_SEATS);
        N as u8
    };

    /// Creates the order of seats for `viewer`.
    #[must_use]
    #[inline]
    pub fn new(viewer: Viewer) -> Self {
        let first = viewer.first().number();
        let seats = std::array::from_fn(|step| {
            let number = first + u8::try_from(step).unwrap_or(0);
            Seat::new(if number < Self::COUNT { number } else { number - Self::COUNT })
        });
        Self { viewer, seats }
    }

    /// Returns the viewer.
    #[must_use]
    #[inline]
    pub fn viewer(&self) -> Viewer {
        self.viewer
    }

    /// Returns all seats.
    #[must_use]
    #[inline]
    pub fn seats(&self) -> &[Seat; N] {
        &self.seats
    }

    /// Returns all seats but the viewer's own; for the public, all seats.
    #[must_use]
    #[inline]
    pub fn other_seats(&self) -> &[Seat] {
        match self.viewer {
            Viewer::Seat(_) => &self.seats[1..],
            Viewer::Public => &self.seats,
        }
    }

    /// Returns the number of `seat` for this viewer: 1 for the first seat, 2 for the next one clockwise, and so on.
    #[must_use]
    #[inline]
    pub fn relative(&self, seat: Seat) -> u8 {
        self.viewer.first().steps_to(seat, Self::COUNT) + 1
    }

    /// Returns the same number for an optional seat; 0 is none.
    #[must_use]
    #[inline]
    pub fn relative_opt(&self, seat: Option<Seat>) -> u8 {
        seat.map_or(0, |seat| self.relative(seat))
    }
}

/// Runs `body` with the number of seats as a constant, so that the compiler unrolls its work for each seat.
///
/// ```
/// let doubled = |seats: u8| boardwire_kernel::with_seats!(seats, [2, 3, 4], N => [0; N].len() * 2);
/// assert_eq!(doubled(3), 6);
/// ```
///
/// # Panics
/// When the list does not contain the number of seats.
#[macro_export]
macro_rules! with_seats {
    ($seats:expr, [$($count:literal),+ $(,)?], $name:ident => $body:expr) => {
        match $seats {
            $($count => {
                const $name: usize = $count;
                $body
            })+
            seats => unreachable!("a table of {seats} seats"),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_counts_clockwise_from_its_own_seat() {
        let seat_order = SeatOrder::<3>::new(Seat::new(2).into());
        assert_eq!(seat_order.seats().map(Seat::number), [2, 0, 1]);
        assert_eq!(seat_order.other_seats(), [Seat::new(0), Seat::new(1)]);
        assert_eq!(Seat::all(3).map(|seat| seat_order.relative(seat)).collect::<Vec<_>>(), [2, 3, 1]);
        assert_eq!(seat_order.relative_opt(None), 0);
    }

    #[test]
    fn to_the_public_all_seats_are_others() {
        let seat_order = SeatOrder::<3>::new(Viewer::Public);
        assert_eq!((seat_order.other_seats().len(), seat_order.relative(Seat::new(2))), (3, 3));
        assert!(!Viewer::Public.is_seat(Seat::new(0)));
    }
}

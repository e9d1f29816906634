//! A heuristic value of positions.

use super::Toy;
use super::state::State;
use crate::{Estimate, Seat};

impl Estimate for Toy {
    /// The points of a seat, and the most points of any other seat.
    type Features = (i32, i32);

    fn features(&self, state: &State, seat: Seat) -> Option<(i32, i32)> {
        let best_other = seat.round(self.seats).skip(1).map(|other| self.points(state, other)).max();
        Some((self.points(state, seat), best_other.expect("a table has two seats or more")))
    }

    fn estimate(&self, &(own, best_other): &(i32, i32)) -> i32 {
        own - best_other
    }
}

//! A rough worth of positions.

use super::Toy;
use super::state::State;
use crate::{Estimate, Seat};

impl Estimate for Toy {
    fn estimate(&self, state: &State, seat: Seat) -> i32 {
        let best_other = seat.round(self.seats).skip(1).map(|other| self.points(state, other)).max();
        self.points(state, seat) - best_other.expect("a table has two seats or more")
    }
}

//! A rough worth of positions.

use super::Toy;
use super::state::State;
use crate::{Estimate, RngStream, Seat};

impl Estimate for Toy {
    /// The points of a seat, and the most of any other.
    type Outlook = (i32, i32);
    /// A world is drawn fast.
    type Outline = State;

    fn outlook(&self, state: &State, seat: Seat) -> (i32, i32) {
        let best_other = seat.round(self.seats).skip(1).map(|other| self.points(state, other)).max();
        (self.points(state, seat), best_other.expect("a table has two seats or more"))
    }

    fn estimate(&self, &(own, best_other): &(i32, i32)) -> i32 {
        own - best_other
    }

    fn outline(&self, state: &State, _viewer: Seat) -> State {
        *state
    }

    fn sketch(&self, outline: &State, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        *state = *outline;
        self.resample(state, viewer, rng);
    }
}

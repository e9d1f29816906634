//! A rough worth of a position.

use boardwire_kernel::Seat;

use super::Faraway;
use super::state::State;

impl Faraway {
    /// The worth of the position to a seat.
    pub(super) fn worth(&self, state: &State, seat: Seat) -> i32 {
        i32::from(self.fame(state, seat).total())
    }
}

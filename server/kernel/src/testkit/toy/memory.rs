//! What viewers remember of the cards that they saw.

use super::Toy;
use super::state::{Cards, Draw, Placement, State};
use crate::{Seat, Viewer};

impl Toy {
    /// Returns whether `viewer` has seen the card of a draw.
    pub(super) fn has_seen(&self, viewer: Viewer, draw: Draw) -> bool {
        viewer.is_seat(draw.seat) || (self.shows_kept && draw.placement == Placement::Kept)
    }

    /// Returns the cards of a hand that all seats have seen.
    pub(super) fn shown_hand(&self, state: &State, seat: Seat) -> Cards {
        let seen = state.draws_of(seat).filter(|draw| self.has_seen(Viewer::Public, **draw));
        seen.map(|draw| draw.card).collect::<Cards>().intersection(state.hands[seat])
    }

    /// Returns the cards of a hand that only its seat has seen.
    pub(super) fn hidden_hand(&self, state: &State, seat: Seat) -> Cards {
        state.hands[seat].difference(self.shown_hand(state, seat))
    }
}

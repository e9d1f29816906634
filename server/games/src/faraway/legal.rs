//! Legal actions.

use boardwire_kernel::{ActionSet, Choices, Seat};

use super::Faraway;
use super::action::{Action, REGION, SANCTUARY};
use super::state::{Phase, RegionId, Regions, State};

impl Choices for Faraway {
    #[inline]
    fn encode(&self, action: Action) -> u8 {
        action.index()
    }

    #[inline]
    fn decode(&self, index: u8) -> Option<Action> {
        Action::at(index)
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        if !self.must_decide(state, seat) {
            return ActionSet::EMPTY;
        }
        match state.phase {
            Phase::SetAside | Phase::Explore => REGION.actions_for(choosable(state, seat)),
            Phase::Take => REGION.actions_for(state.display),
            Phase::Place => SANCTUARY.actions_for(state.found(seat)),
            Phase::Over => ActionSet::EMPTY,
        }
    }

    fn is_legal(&self, state: &State, seat: Seat, action: Action) -> bool {
        self.must_decide(state, seat)
            && match (state.phase, action) {
                (Phase::SetAside | Phase::Explore, Action::Region(id)) => choosable(state, seat).contains(id),
                (Phase::Take, Action::Region(id)) => state.display.contains(id),
                (Phase::Place, Action::Sanctuary(id)) => state.found(seat).contains(id),
                (Phase::SetAside | Phase::Explore | Phase::Take, Action::Sanctuary(_))
                | (Phase::Place, Action::Region(_))
                | (Phase::Over, _) => false,
            }
    }
}

impl Faraway {
    /// Returns whether a seat has a pending decision; false for a seat number the table does not have.
    #[inline]
    fn must_decide(&self, state: &State, seat: Seat) -> bool {
        seat.number() < self.seats
            && match state.phase {
                Phase::SetAside => state.set_aside[seat][1].is_none(),
                Phase::Explore => state.chosen[seat].is_none(),
                Phase::Take | Phase::Place => state.active() == Some(seat),
                Phase::Over => false,
            }
    }
}

/// Returns a seat's hand without the regions it is setting aside.
pub(super) fn choosable(state: &State, seat: Seat) -> Regions {
    let mut hand = state.hands[seat];
    if state.phase == Phase::SetAside {
        for id in state.set_aside[seat] {
            hand.remove(RegionId::to_row(id));
        }
    }
    hand
}

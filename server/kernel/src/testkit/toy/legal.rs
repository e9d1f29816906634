//! The legal actions of a seat.

use super::Toy;
use super::action::{Action, BURY, KEEP, PLAY};
use super::state::{Phase, State};
use crate::{ActionSet, Choices, Seat, Turns};

impl Choices for Toy {
    fn encode(&self, action: Action) -> u8 {
        action.index()
    }

    fn decode(&self, index: u8) -> Option<Action> {
        Action::at(index)
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        match state.phase {
            _ if !self.pending(state).contains(seat) => ActionSet::EMPTY,
            Phase::Play => PLAY.actions_for(state.hands[seat]),
            Phase::Place => KEEP.all().union(BURY.all()),
            Phase::Over => ActionSet::EMPTY,
        }
    }

    fn is_legal(&self, state: &State, seat: Seat, action: Action) -> bool {
        self.pending(state).contains(seat)
            && match (state.phase, action) {
                (Phase::Play, Action::Play(card)) => state.hands[seat].contains(card),
                (Phase::Place, Action::Keep | Action::Bury) => true,
                (Phase::Play, Action::Keep | Action::Bury)
                | (Phase::Place, Action::Play(_))
                | (Phase::Over, Action::Play(_) | Action::Keep | Action::Bury) => false,
            }
    }
}

//! Carries out light-blue actions and ally powers.
//!
//! A power is a list of effects in [`Catalogue::ops`](super::super::Catalogue). The state holds the next effect of each
//! list in progress, so a power can stop for a choice and continue at the next ply.

use boardwire_kernel::{RandomSource, Seat};

use super::super::GoldenCompass;
use super::super::catalogue::Op;
use super::super::state::{Decision, Hand, State, TargetReason};

impl GoldenCompass {
    /// Carries out an effect up to its first choice. Returns the decision that is due, if any.
    pub(super) fn carry_out(&self, state: &mut State, op: Op, chance: &mut RandomSource) -> Option<Decision> {
        if let Op::Spend(count) = op {
            // A cost is offered only if the seat can pay it for a possible effect. Otherwise its list ends.
            let can_pay = state.active_seat().hand.len() >= count;
            if can_pay && self.is_list_possible(state, state.effect_stack.rest(), count) {
                return Some(Decision::Cost(count));
            }
            state.effect_stack.pop();
            return None;
        }
        if !self.is_possible(state, op, 0) {
            return None;
        }
        match op {
            Op::Draw(count) => self.draw(state, state.active, count, chance, |_| ()),
            Op::DrawKeep { draw, keep } => return self.draw_keep(state, draw, keep, chance),
            Op::StealCard(count) => return Some(Decision::Target(TargetReason::Cards(count))),
            Op::PlaceCompass(count) => lay_compass(state, count),
            Op::RemoveCompass(count) => return Some(Decision::Target(TargetReason::Compass(count))),
            Op::TakeDust => return take_dust(state),
            Op::MoveAirship => return Some(Decision::Target(TargetReason::Airship)),
            Op::TakeExperience => self.take_token(state, chance),
            Op::PlaceExperience => return Some(Decision::LayToken),
            Op::StealExperience => return Some(Decision::Target(TargetReason::Token)),
            Op::Advance(steps) => {
                let max = steps.min(self.objective(state) - state.lyra);
                return Some(Decision::Steps { max });
            }
            Op::WildPair(count) => state.wild_pair_rights = state.wild_pair_rights.saturating_add(count),
            Op::ShortTriplet(count) => {
                state.short_triplet_rights = state.short_triplet_rights.saturating_add(count);
            }
            Op::ChooseOne { first, count } => return Some(Decision::Choose { first, count }),
            Op::Spend(_) => unreachable!("costs are asked for above"),
        }
        None
    }

    fn draw_keep(
        &self,
        state: &mut State,
        draw: u8,
        keep: u8,
        chance: &mut RandomSource,
    ) -> Option<Decision> {
        let mut drawn = Hand::default();
        self.draw(state, state.active, draw, chance, |card| drawn.insert(card));
        let left = drawn.len().saturating_sub(keep);
        if left == 0 {
            return None;
        }
        state.just_drawn = drawn;
        Some(Decision::DiscardDrawn { left })
    }

    /// Applies `reason` to the seat `target`. Returns the decision that is due then, if any.
    pub(super) fn apply_to_target(
        &self,
        state: &mut State,
        reason: TargetReason,
        target: Seat,
        chance: &mut RandomSource,
    ) -> Option<Decision> {
        match reason {
            TargetReason::Airship => state.airship = Some(target),
            TargetReason::Dust => {
                state.seats[target].dust -= 1;
                state.active_seat_mut().dust += 1;
            }
            TargetReason::Cards(count) => {
                for _ in 0..count.min(state.seats[target].hand.len()) {
                    self.steal_card(state, target, chance);
                }
            }
            TargetReason::Token => return Some(Decision::ChooseBack { victim: target }),
            TargetReason::Compass(count) => {
                let seat_state = &mut state.seats[target];
                let back = count.min(seat_state.compass);
                seat_state.compass -= back;
                seat_state.supply += back;
            }
        }
        None
    }
}

/// Lays up to `count` compass tiles of the active seat on the objective (R34).
pub(super) fn lay_compass(state: &mut State, count: u8) {
    let seat_state = state.active_seat_mut();
    let laid = count.min(seat_state.supply);
    seat_state.supply -= laid;
    seat_state.compass += laid;
}

/// Takes dust from the supply. If it is empty, returns the decision about the seat that loses dust.
pub(super) fn take_dust(state: &mut State) -> Option<Decision> {
    if state.dust == 0 {
        return Some(Decision::Target(TargetReason::Dust));
    }
    state.dust -= 1;
    state.active_seat_mut().dust += 1;
    None
}

//! Carries out light-blue actions and ally powers.
//!
//! A power is a list of effects in [`Catalogue::ops`](super::super::Catalogue). The state holds the next effect of each
//! list in progress, so a power can stop for a choice and continue at the next ply.

use boardwire_kernel::{Chance, Seat};

use super::super::GoldenCompass;
use super::super::catalogue::Op;
use super::super::state::{Aim, Decision, Hand, State};

impl GoldenCompass {
    /// Carries out an effect up to its first choice. Returns the decision that is due, if any.
    pub(super) fn carry_out(&self, state: &mut State, op: Op, chance: &mut Chance) -> Option<Decision> {
        if let Op::Spend(count) = op {
            // A cost is offered only if the seat can pay it for a possible effect. Otherwise its list ends.
            let can_pay = state.acting().hand.len() >= count;
            if can_pay && self.is_list_possible(state, state.program.rest(), count) {
                return Some(Decision::Cost(count));
            }
            state.program.pop();
            return None;
        }
        if !self.is_possible(state, op, 0) {
            return None;
        }
        match op {
            Op::Draw(count) => self.draw(state, state.active, count, chance, |_| ()),
            Op::DrawKeep { draw, keep } => return self.draw_keep(state, draw, keep, chance),
            Op::StealCard(count) => return Some(Decision::Target(Aim::Cards(count))),
            Op::PlaceCompass(count) => lay_compass(state, count),
            Op::RemoveCompass(count) => return Some(Decision::Target(Aim::Compass(count))),
            Op::TakeDust => return take_dust(state),
            Op::MoveAirship => return Some(Decision::Target(Aim::Airship)),
            Op::TakeExperience => self.take_token(state, chance),
            Op::PlaceExperience => return Some(Decision::Lay),
            Op::StealExperience => return Some(Decision::Target(Aim::Token)),
            Op::Advance(steps) => {
                let max = steps.min(self.objective(state) - state.lyra);
                return Some(Decision::Steps { max });
            }
            Op::WildPair(count) => state.wild = state.wild.saturating_add(count),
            Op::ShortTriplet(count) => state.short = state.short.saturating_add(count),
            Op::ChooseOne { first, count } => return Some(Decision::Choose { first, count }),
            Op::Spend(_) => unreachable!("costs are asked for above"),
        }
        None
    }

    fn draw_keep(&self, state: &mut State, draw: u8, keep: u8, chance: &mut Chance) -> Option<Decision> {
        let mut drawn = Hand::default();
        self.draw(state, state.active, draw, chance, |card| drawn.insert(card));
        let left = drawn.len().saturating_sub(keep);
        if left == 0 {
            return None;
        }
        state.just_drawn = drawn;
        Some(Decision::Drop { left })
    }

    /// Applies `aim` to the seat `target`. Returns the decision that is due then, if any.
    pub(super) fn hit(
        &self,
        state: &mut State,
        aim: Aim,
        target: Seat,
        chance: &mut Chance,
    ) -> Option<Decision> {
        match aim {
            Aim::Airship => state.airship = Some(target),
            Aim::Dust => {
                state.places[target].dust -= 1;
                state.acting_mut().dust += 1;
            }
            Aim::Cards(count) => {
                for _ in 0..count.min(state.places[target].hand.len()) {
                    self.steal_card(state, target, chance);
                }
            }
            Aim::Token => return Some(Decision::Back { victim: target }),
            Aim::Compass(count) => {
                let place = &mut state.places[target];
                let back = count.min(place.compass);
                place.compass -= back;
                place.supply += back;
            }
        }
        None
    }
}

/// Lays up to `count` compass tiles of the active seat on the objective (R34).
pub(super) fn lay_compass(state: &mut State, count: u8) {
    let place = state.acting_mut();
    let laid = count.min(place.supply);
    place.supply -= laid;
    place.compass += laid;
}

/// Takes dust from the supply. If it is empty, returns the decision about the seat that loses dust.
pub(super) fn take_dust(state: &mut State) -> Option<Decision> {
    if state.dust == 0 {
        return Some(Decision::Target(Aim::Dust));
    }
    state.dust -= 1;
    state.acting_mut().dust += 1;
    None
}

//! Checks of what holds in every reachable position.

use super::Toy;
use super::catalogue::CARDS;
use super::state::{Cards, Draw, HAND, MAX_TOY_SEATS, Phase, Placement, ROUNDS, State};
use crate::{Audits, CheckResult, ComponentTally, Seat, ensure};

impl Audits for Toy {
    fn audit(&self, state: &State) -> CheckResult {
        ensure(state.round < ROUNDS, || format!("there is no round {}", state.round))?;
        ensure(state.phase != Phase::Over || state.round + 1 == ROUNDS, || "the game is over too soon")?;
        self.audit_cards(state)?;
        self.audit_plays(state)?;
        self.audit_draws(state)
    }
}

impl Toy {
    /// Checks that every card is in one place.
    fn audit_cards(&self, state: &State) -> CheckResult {
        let mut cards = ComponentTally::new("card");
        cards.add(state.deck)?;
        for hand in state.hands.of(self.seats) {
            cards.add(*hand)?;
        }
        for plays in state.revealed() {
            cards.add(plays.of(self.seats).iter().flatten().map(|card| card.get()))?;
        }
        let drawn = state.draws.iter().flatten();
        let lying = drawn.filter(|draw| draw.placement != Placement::Kept);
        cards.add(lying.map(|draw| draw.card.get()))?;
        cards.check_complete(&(1..=CARDS).collect::<Cards>())
    }

    /// Checks the plays: every seat has one in each revealed round, none in later rounds, and otherwise a card of its hand.
    fn audit_plays(&self, state: &State) -> CheckResult {
        let revealed = state.revealed().len();
        let is_seated = |seat: Seat| seat.number() < self.seats;
        for (round, plays) in state.plays.iter().enumerate() {
            for (seat, play) in Seat::all(MAX_TOY_SEATS).zip(plays.all()) {
                let holds = match play {
                    Some(_) if !is_seated(seat) => false,
                    Some(card) if round == usize::from(state.round) && round == revealed => {
                        state.hands[seat].contains(*card)
                    }
                    Some(_) => round < revealed,
                    None => round >= revealed || !is_seated(seat),
                };
                ensure(holds, || format!("{seat} cannot have played {play:?} in round {round}"))?;
            }
        }
        for (seat, hand) in Seat::all(MAX_TOY_SEATS).zip(state.hands.all()) {
            let kept = state.draws_of(seat).filter(|draw| draw.placement == Placement::Kept).count();
            let due = if is_seated(seat) { usize::from(HAND) + kept - revealed } else { 0 };
            ensure(hand.len() as usize == due, || format!("{seat} holds {} cards, not {due}", hand.len()))?;
        }
        Ok(())
    }

    /// Checks the draws: one in each revealed round. Only the current round's draw may be open, in [`Phase::Place`].
    fn audit_draws(&self, state: &State) -> CheckResult {
        for (round, draw) in state.draws.iter().enumerate() {
            let is_open = state.phase == Phase::Place && round == usize::from(state.round);
            let holds = match draw {
                Some(draw) => {
                    round < state.revealed().len()
                        && draw.seat.number() < self.seats
                        && (draw.placement == Placement::Open) == is_open
                        && (draw.placement != Placement::Kept || has_had(state, *draw))
                }
                None => round >= state.revealed().len(),
            };
            ensure(holds, || format!("{draw:?} cannot be in round {round}"))?;
        }
        Ok(())
    }
}

/// Returns whether the seat that drew the card still holds it, or has played it.
fn has_had(state: &State, draw: Draw) -> bool {
    let has_played = state.revealed().iter().any(|plays| plays[draw.seat] == Some(draw.card));
    has_played || state.hands[draw.seat].contains(draw.card)
}

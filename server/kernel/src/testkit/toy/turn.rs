//! The course of play.

use super::action::Action;
use super::catalogue::CARDS;
use super::state::{Cards, Draw, HAND, Phase, Placement, ROUNDS, State};
use super::{CardId, DEAL_STREAM, DRAW_STREAM, Toy};
use crate::{BySeat, LegalChoice, RandomSource, Seat, SeatSet, Turns};

impl Turns for Toy {
    fn deal(&self, chance: &mut RandomSource) -> State {
        let mut deck: Cards = (1..=CARDS).collect();
        let mut hands: BySeat<Cards, _> = BySeat::default();
        for seat in Seat::all(self.seats) {
            for _ in 0..HAND {
                hands[seat].insert(chance.draw(DEAL_STREAM, &mut deck));
            }
        }
        let (plays, draws) = Default::default();
        State { round: 0, phase: Phase::Play, hands, plays, draws, deck }
    }

    fn pending(&self, state: &State) -> SeatSet {
        match state.phase {
            Phase::Play => Seat::all(self.seats).filter(|&seat| state.plays()[seat].is_none()).collect(),
            Phase::Place => state.draws[usize::from(state.round)].iter().map(|draw| draw.seat).collect(),
            Phase::Over => SeatSet::EMPTY,
        }
    }

    fn advance(&self, state: &mut State, choice: LegalChoice<Action>, chance: &mut RandomSource) {
        match choice.action() {
            Action::Play(card) => {
                state.plays[usize::from(state.round)][choice.seat()] = Some(card);
                if self.pending(state).is_empty() {
                    self.turn_up(state, chance);
                }
            }
            Action::Keep => Self::place(state, Placement::Kept),
            Action::Bury => Self::place(state, Placement::Buried),
        }
    }
}

impl Toy {
    /// Reveals the chosen cards. The seat with the greatest value draws a card.
    fn turn_up(&self, state: &mut State, chance: &mut RandomSource) {
        let plays = *state.plays();
        let played = Seat::all(self.seats).zip(plays.of(self.seats).iter().flatten());
        let mut winner = None;
        for (seat, &card) in played {
            state.hands[seat].remove(card);
            winner = winner.max(Some((self.card(card).value, seat)));
        }
        let (_, seat) = winner.expect("every seat has played a card");
        let card = CardId::new(chance.draw(DRAW_STREAM, &mut state.deck));
        state.draws[usize::from(state.round)] = Some(Draw { seat, card, placement: Placement::Open });
        state.phase = Phase::Place;
    }

    /// Puts the drawn card into the hand or under the deck, and ends the round.
    fn place(state: &mut State, placement: Placement) {
        let draw = state.draws[usize::from(state.round)].as_mut().expect("the winner has drawn a card");
        draw.placement = placement;
        if placement == Placement::Kept {
            state.hands[draw.seat].insert(draw.card);
        }
        if state.round + 1 < ROUNDS {
            state.round += 1;
            state.phase = Phase::Play;
        } else {
            state.phase = Phase::Over;
        }
    }
}

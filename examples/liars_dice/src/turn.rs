//! The course of play.

use boardwire_kernel::{BySeat, LegalChoice, RandomSource, Seat, SeatSet, Turns};

use crate::state::{Action, AllDice, Dice, State, roll};
use crate::{DICE_STREAM, LiarsDice};

impl Turns for LiarsDice {
    fn deal(&self, chance: &mut RandomSource) -> State {
        let mut cups = AllDice::default();
        cups.of_mut(self.seats).fill_with(|| roll_dice(self.dice, chance));
        State { cups, turn: Seat::FIRST, bid: None, shown: AllDice::default(), eliminated: BySeat::default() }
    }

    fn pending(&self, state: &State) -> SeatSet {
        if state.is_over() { SeatSet::EMPTY } else { SeatSet::only(state.turn) }
    }

    fn advance(&self, state: &mut State, choice: LegalChoice<Action>, chance: &mut RandomSource) {
        match choice.action() {
            Action::Bid(bid) => {
                state.bid = Some((choice.seat(), bid));
                state.turn = self.next_with_dice(&state.cups, choice.seat());
            }
            Action::Challenge => {
                let (bidder, bid) = state.bid.take().expect("a challenge is legal only after a bid");
                let loser = if bid.holds(&state.cups) { choice.seat() } else { bidder };
                self.end_round(state, loser, chance);
            }
        }
    }
}

impl LiarsDice {
    /// Shows all dice, takes a die from `loser`, and starts the next round, if there is one.
    ///
    /// The loser rolls first, then the other seats clockwise.
    fn end_round(&self, state: &mut State, loser: Seat, chance: &mut RandomSource) {
        state.shown = state.cups;
        let left = state.cups[loser].len() - 1;
        state.cups[loser] = roll_dice(left, chance);
        if left == 0 {
            state.eliminated[loser] = state.eliminated.all().iter().max().map_or(1, |last| last + 1);
        }
        state.turn = self.starter(&state.cups, loser);
        if !state.is_over() {
            for seat in loser.round(self.seats).skip(1) {
                state.cups[seat] = roll_dice(state.cups[seat].len(), chance);
            }
        }
    }

    /// Returns the seat that begins the round after `loser` lost a die.
    pub(crate) fn starter(&self, cups: &AllDice, loser: Seat) -> Seat {
        if cups[loser].is_empty() { self.next_with_dice(cups, loser) } else { loser }
    }

    /// Returns the next seat clockwise after `seat` that has dice. It is `seat` itself if no other seat has dice.
    pub(crate) fn next_with_dice(&self, cups: &AllDice, seat: Seat) -> Seat {
        seat.round(self.seats).skip(1).find(|&next| !cups[next].is_empty()).unwrap_or(seat)
    }
}

fn roll_dice(count: u8, chance: &mut RandomSource) -> Dice {
    roll(count, |faces| chance.draw(DICE_STREAM, faces))
}

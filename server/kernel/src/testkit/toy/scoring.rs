//! The scores of a finished game.

use super::state::{Phase, ROUNDS, SEATS, State};
use super::{CardId, Catalogue, Toy};
use crate::{Outcome, ScoreLine, Scoring, Seat};

/// Returns the range of scores: at worst all cards are left in a hand, at best all are won.
pub(super) fn range(catalogue: &Catalogue) -> (i32, i32) {
    let all = catalogue.cards.iter().map(|card| i32::from(card.value)).sum::<i32>();
    (-all, all)
}

impl Scoring for Toy {
    fn outcome(&self, state: &State) -> Option<Outcome> {
        match state.phase {
            Phase::Play | Phase::Place => None,
            Phase::Over => {
                let mut scores = [0; SEATS];
                for seat in Seat::all(self.seats) {
                    scores[seat.index()] = self.points(state, seat);
                }
                let seats = usize::from(self.seats);
                Some(Outcome::ranked(&scores[..seats], &[0; SEATS][..seats]))
            }
        }
    }

    /// Returns the rounds that `seat` has won, then the cards left in its hand.
    fn explain(&self, state: &State, seat: Seat) -> Vec<ScoreLine> {
        let value = |card: CardId| i32::from(self.card(card).value);
        let rounds = (1..=ROUNDS).zip(state.revealed()).zip(state.draws.iter().flatten());
        let won = rounds.filter(|(_, draw)| draw.seat == seat).map(|((round, plays), _)| ScoreLine {
            source: format!("round {round}"),
            points: plays.all().iter().flatten().map(|&card| value(card)).sum(),
        });
        let left = state.hands[seat].iter().map(|id| {
            let card = CardId::new(id);
            ScoreLine { source: format!("{} left over", self.card(card).name), points: -value(card) }
        });
        won.chain(left).collect()
    }
}

impl Toy {
    /// Returns the points of `seat` if the game ended here.
    pub(super) fn points(&self, state: &State, seat: Seat) -> i32 {
        self.explain(state, seat).iter().map(|line| line.points).sum()
    }
}

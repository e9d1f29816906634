//! Playing a world to its end, with every seat for itself.

use boardwire_kernel::{Chance, Estimate, Outcome, RngStream, Seat, apply};

/// A lead beyond this is worth no more: who is that far ahead has won.
const LEAD: i32 = 60;
/// What the first place is worth beside the lead.
const FIRST: i32 = 30;

/// Plays worlds to their end, every choice the one that its seat's own estimate likes best one ply ahead.
///
/// Estimates look at the world as it is, so no other world is drawn on the way; but at a guess of the chance to
/// come, never at the chance that comes.
pub(crate) struct Playout {
    /// The chance that comes.
    fate: Chance,
    /// The chance that choices are tried with.
    guess: Chance,
}

/// What chance does in one world: the same for all actions that are compared in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fates {
    fate: u64,
    guess: u64,
}

impl Fates {
    /// Draws what will happen.
    pub(crate) fn draw(rng: &mut RngStream) -> Self {
        Self { fate: rng.seed(), guess: rng.seed() }
    }
}

impl Playout {
    /// Room for playouts of a game with so many streams of chance.
    pub(crate) fn new(streams: usize) -> Self {
        Self { fate: Chance::seeded(0, streams), guess: Chance::seeded(0, streams) }
    }

    /// What `action` of `seat` is worth to it in this world, played to the end.
    pub(crate) fn worth<G: Estimate>(
        &mut self,
        game: &G,
        mut state: G::State,
        seat: Seat,
        action: u8,
        fates: Fates,
    ) -> i32 {
        let streams = G::TYPE.streams.len();
        self.fate.reseed(fates.fate, streams);
        self.guess.reseed(fates.guess, streams);
        apply(game, &mut state, seat, action.into(), &mut self.fate).expect("a world keeps the legal set");
        for _ in 0..game.info().max_plies {
            let pending = game.pending(&state);
            if pending.is_empty() {
                break;
            }
            // Those who choose at once choose before any of them is seen to have chosen.
            let before = state;
            for chooser in pending.iter() {
                let action = self.choose(game, &before, chooser);
                apply(game, &mut state, chooser, action.into(), &mut self.fate)
                    .expect("who chooses at once keeps what it may choose");
            }
        }
        game.outcome(&state).map_or(0, |outcome| worth(&outcome, seat))
    }

    /// The action that `seat` likes best one ply ahead; the lowest index among equals.
    fn choose<G: Estimate>(&mut self, game: &G, state: &G::State, seat: Seat) -> u8 {
        let legal = game.legal(state, seat);
        let mut best: Option<(i32, u8)> = None;
        let mut last: Option<(G::Outlook, i32)> = None;
        for action in legal {
            if legal.len() == 1 {
                return action;
            }
            let mut tried = *state;
            self.guess.rewind();
            apply(game, &mut tried, seat, action.into(), &mut self.guess).expect("a legal action");
            let outlook = game.outlook(&tried, seat);
            let estimate = match last {
                Some((known, estimate)) if known == outlook => estimate,
                Some(_) | None => game.estimate(&outlook),
            };
            last = Some((outlook, estimate));
            if best.is_none_or(|(most, _)| estimate > most) {
                best = Some((estimate, action));
            }
        }
        best.expect("who owes a choice has one").1
    }
}

/// What an outcome is worth to a seat: its lead over the best of the others, as far as it counts, and the first place.
fn worth(outcome: &Outcome, seat: Seat) -> i32 {
    let own = outcome.scores()[seat.index()];
    let others = outcome.scores().iter().enumerate().filter(|&(other, _)| other != seat.index());
    let lead = own - others.map(|(_, &score)| score).max().unwrap_or(own);
    let winners: i32 = outcome.ranks().iter().map(|&rank| i32::from(rank == 1)).sum();
    let first = if outcome.is_winner(seat) { FIRST / winners } else { 0 };
    lead.clamp(-LEAD, LEAD) + first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_worth_more_than_a_lead_and_is_shared() {
        let of = |scores: &[i32], tie_breaks: &[i32]| {
            let outcome = Outcome::ranked(scores, tie_breaks);
            [0, 1].map(|seat| worth(&outcome, Seat::new(seat)))
        };
        assert_eq!(of(&[50, 40], &[0, 0]), [40, -10]);
        assert_eq!(of(&[40, 40], &[0, 0]), [15, 15]);
        assert_eq!(of(&[40, 40], &[1, 0]), [30, 0]);
        assert_eq!(of(&[200, 40], &[0, 0]), [90, -60]);
        assert_eq!(of(&[10, 40, 90], &[0, 0, 0]), [-60, -50]);
    }
}

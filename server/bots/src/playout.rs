//! Playing a world to its end, with every seat for itself.

use boardwire_kernel::{
    ActionSet, BOT_STREAM, BySeat, Chance, Estimate, MAX_SEATS, Outcome, RngStream, Seat, apply,
};

use crate::greedy::one_ply_ahead;

/// A lead beyond this is worth no more: who is that far ahead has won. Where the range of scores is smaller, it is the limit.
const LEAD: i32 = 60;

/// Plays worlds to their end, every choice the one that its seat's own estimate likes best one ply ahead, or any in a game
/// without an estimate.
///
/// Estimates look at the world as it is, so no other world is drawn on the way; but at a guess of the chance to
/// come, never at the chance that comes.
pub(crate) struct Playout {
    /// The chance that comes.
    chance: Chance,
    /// The chance that choices are tried with.
    guess: Chance,
    /// The seed of random choices, and what draws them once there is one.
    seed: u64,
    random: Option<RngStream>,
}

/// The seeds of a playout's chance: the same for all actions that are compared in one world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds {
    chance: u64,
    guess: u64,
}

impl Seeds {
    /// Fresh ones.
    pub(crate) fn draw(rng: &mut RngStream) -> Self {
        Self { chance: rng.seed(), guess: rng.seed() }
    }
}

impl Playout {
    /// Room for playouts of a game with so many streams of chance.
    pub(crate) fn new(streams: usize) -> Self {
        Self::seeded(Seeds { chance: 0, guess: 0 }, streams)
    }

    /// A playout with these seeds.
    fn seeded(seeds: Seeds, streams: usize) -> Self {
        let Seeds { chance, guess } = seeds;
        let (seed, random) = (guess, None);
        Self { chance: Chance::seeded(chance, streams), guess: Chance::seeded(guess, streams), seed, random }
    }

    /// What `action` of `seat` is worth to it in this world, played to the end.
    pub(crate) fn worth<G: Estimate>(
        &mut self,
        game: &G,
        mut state: G::State,
        seat: Seat,
        action: u8,
        seeds: Seeds,
    ) -> i32 {
        let streams = G::TYPE.streams.len();
        self.chance.reseed(seeds.chance, streams);
        self.guess.reseed(seeds.guess, streams);
        (self.seed, self.random) = (seeds.guess, None);
        apply(game, &mut state, seat, action.into(), &mut self.chance).expect("a world keeps the legal set");
        self.play_on(game, &mut state, |playout, state, chooser| playout.choose(game, state, chooser));
        game.outcome(&state).map_or(0, |outcome| worth(&outcome, seat, game.info().scores))
    }

    /// Goes on to the end as `choose` says.
    fn play_on<G: Estimate>(
        &mut self,
        game: &G,
        state: &mut G::State,
        mut choose: impl FnMut(&mut Self, &G::State, Seat) -> u8,
    ) {
        game.forget(state);
        for _ in 0..game.info().max_plies {
            let pending = game.pending(state);
            if pending.is_empty() {
                return;
            }
            // Those who choose at once choose before any of them is seen to have chosen.
            let mut choices = BySeat::<u8, MAX_SEATS>::default();
            for chooser in pending.iter() {
                choices[chooser] = choose(self, state, chooser);
            }
            for chooser in pending.iter() {
                apply(game, state, chooser, u32::from(choices[chooser]), &mut self.chance)
                    .expect("who chooses at once keeps what it may choose");
            }
        }
    }

    /// The action that `seat` likes best one ply ahead; the lowest index among equals.
    fn choose<G: Estimate>(&mut self, game: &G, state: &G::State, seat: Seat) -> u8 {
        let legal = game.legal(state, seat);
        let first = legal.lowest().expect("who owes a choice has one");
        if legal.len() == 1 {
            return first;
        }
        let (mut best, mut most, mut last) = (first, i32::MIN, None);
        for action in legal {
            let estimate = one_ply_ahead(game, *state, seat, action, &mut self.guess, &mut last);
            let Some(estimate) = estimate else { return self.draw(legal) };
            if estimate > most {
                (best, most) = (action, estimate);
            }
        }
        best
    }

    /// Any of these actions.
    fn draw(&mut self, mut legal: ActionSet) -> u8 {
        self.random.get_or_insert_with(|| RngStream::new(self.seed, BOT_STREAM)).draw(&mut legal)
    }
}

/// How a world is played to its end, for whoever searches with a judgement of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rollout {
    /// Every seat takes what its own estimate likes best one ply ahead; any of its legal actions in a game without one.
    #[default]
    Estimate,
    /// Every seat takes any of its legal actions.
    Random,
}

impl Rollout {
    /// How the game ends that goes on from this position; none if it would exceed its greatest length. The luck to
    /// come follows from `seed`, and so do random choices.
    #[must_use]
    pub fn play_out<G: Estimate>(self, game: &G, state: &G::State, seed: u64) -> Option<Outcome> {
        // Not `seed` itself: the world may have been drawn from it, and would meet again the luck that it has had.
        let mut rng = RngStream::new(seed, BOT_STREAM);
        let mut playout = Playout::seeded(Seeds::draw(&mut rng), G::TYPE.streams.len());
        playout.random = Some(rng);
        let mut state = *state;
        playout.play_on(game, &mut state, |playout, state, chooser| match self {
            Self::Estimate => playout.choose(game, state, chooser),
            Self::Random => playout.draw(game.legal(state, chooser)),
        });
        game.outcome(&state)
    }
}

/// What an outcome is worth to a seat in a game with this range of scores: its lead over the best of the others, as far as
/// it counts, and for the first place half of the longest lead that counts.
fn worth(outcome: &Outcome, seat: Seat, (least, most): (i32, i32)) -> i32 {
    let longest = most.saturating_sub(least).clamp(1, LEAD);
    let own = outcome.scores()[seat.index()];
    let others = outcome.scores().iter().enumerate().filter(|&(other, _)| other != seat.index());
    let lead = own.saturating_sub(others.map(|(_, &score)| score).max().unwrap_or(own));
    let winners: i32 = outcome.ranks().iter().map(|&rank| i32::from(rank == 1)).sum();
    let first = if outcome.is_winner(seat) { (longest / 2).max(1) / winners } else { 0 };
    lead.clamp(-longest, longest) + first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_worth_more_than_a_lead_and_is_shared() {
        let of = |scores: &[i32], tie_breaks: &[i32]| {
            let outcome = Outcome::ranked(scores, tie_breaks);
            [0, 1].map(|seat| worth(&outcome, Seat::new(seat), (0, 300)))
        };
        assert_eq!(of(&[50, 40], &[0, 0]), [40, -10]);
        assert_eq!(of(&[40, 40], &[0, 0]), [15, 15]);
        assert_eq!(of(&[40, 40], &[1, 0]), [30, 0]);
        assert_eq!(of(&[200, 40], &[0, 0]), [90, -60]);
        assert_eq!(of(&[10, 40, 90], &[0, 0, 0]), [-60, -50]);
    }
}

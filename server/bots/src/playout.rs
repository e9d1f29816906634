//! Playouts: a determinization is played to its end, and every seat tries to win.

use boardwire_kernel::{
    ActionSet, BOT_STREAM, BySeat, Estimate, MAX_SEATS, Outcome, RandomSource, RngStream, Seat, apply,
};

use crate::greedy::one_ply_ahead;

/// The maximum lead that counts: a seat that is so far ahead has won. If the range of the game's scores is smaller,
/// that range is the maximum.
const MAX_LEAD: i32 = 60;

/// Plays worlds to their end. Every seat takes the action with the best estimate for itself one ply ahead, or a random
/// action in a game without an estimate.
///
/// Estimates read the world as it is, so a playout samples no other worlds. But they use guessed random outcomes, never
/// the outcomes that the playout will draw.
pub(crate) struct Playout {
    /// The source of the playout's chance events.
    chance: RandomSource,
    /// The source of guessed random outcomes, with which seats try actions.
    lookahead_random: RandomSource,
    /// The seed of random choices, and their stream once it is needed.
    seed: u64,
    random: Option<RngStream>,
}

/// The seeds of a playout. All actions that are compared in one world have the same seeds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds {
    chance: u64,
    lookahead_random: u64,
}

impl Seeds {
    /// Draws new seeds.
    pub(crate) fn draw(rng: &mut RngStream) -> Self {
        Self { chance: rng.next_seed(), lookahead_random: rng.next_seed() }
    }

    /// Returns the source of chance events.
    pub(crate) fn chance_source(self, streams: usize) -> RandomSource {
        RandomSource::seeded(self.chance, streams)
    }
}

impl Playout {
    /// Creates the memory for playouts of a game with `streams` random streams.
    pub(crate) fn new(streams: usize) -> Self {
        Self::seeded(Seeds { chance: 0, lookahead_random: 0 }, streams)
    }

    /// Creates a playout with these seeds.
    fn seeded(seeds: Seeds, streams: usize) -> Self {
        let Seeds { chance, lookahead_random } = seeds;
        let (seed, random) = (lookahead_random, None);
        Self {
            chance: RandomSource::seeded(chance, streams),
            lookahead_random: RandomSource::seeded(lookahead_random, streams),
            seed,
            random,
        }
    }

    /// Plays a world to its end by estimates. Returns the result; none if the game exceeds its maximum length.
    pub(crate) fn of_estimates<G: Estimate>(
        seeds: Seeds,
        random: RngStream,
        game: &G,
        state: &G::State,
    ) -> Option<Outcome> {
        Self::outcome(seeds, random, game, *state, |playout, state, chooser| {
            playout.choose(game, state, chooser)
        })
    }

    /// Plays a world to its end at random. Returns the result; none if the game exceeds its maximum length.
    pub(crate) fn of_random<G: Estimate>(
        seeds: Seeds,
        random: RngStream,
        game: &G,
        state: &G::State,
    ) -> Option<Outcome> {
        Self::outcome(seeds, random, game, *state, |playout, state, chooser| {
            playout.draw(game.legal(state, chooser))
        })
    }

    fn outcome<G: Estimate>(
        seeds: Seeds,
        random: RngStream,
        game: &G,
        mut state: G::State,
        choose: impl FnMut(&mut Self, &G::State, Seat) -> u8,
    ) -> Option<Outcome> {
        let mut playout = Self::seeded(seeds, G::TYPE.streams.len());
        playout.random = Some(random);
        playout.play_to_end(game, &mut state, choose);
        game.outcome(&state)
    }

    /// Plays `action` of `seat` in this world, then plays to the end. Returns the value for `seat`.
    pub(crate) fn value<G: Estimate>(
        &mut self,
        game: &G,
        mut state: G::State,
        seat: Seat,
        action: u8,
        seeds: Seeds,
    ) -> i32 {
        let streams = G::TYPE.streams.len();
        self.chance.reseed(seeds.chance, streams);
        self.lookahead_random.reseed(seeds.lookahead_random, streams);
        (self.seed, self.random) = (seeds.lookahead_random, None);
        apply(game, &mut state, seat, action.into(), &mut self.chance)
            .expect("a determinization keeps the legal set");
        self.play_to_end(game, &mut state, |playout, state, chooser| playout.choose(game, state, chooser));
        game.outcome(&state).map_or(0, |outcome| outcome_value(&outcome, seat, game.info().scores))
    }

    /// Plays to the end with the choices that `choose` returns.
    fn play_to_end<G: Estimate>(
        &mut self,
        game: &G,
        state: &mut G::State,
        mut choose: impl FnMut(&mut Self, &G::State, Seat) -> u8,
    ) {
        game.reduce_for_playouts(state);
        for _ in 0..game.info().max_plies {
            let pending = game.pending(state);
            if pending.is_empty() {
                return;
            }
            // Seats that choose simultaneously all choose before the first choice is applied.
            let mut choices = BySeat::<u8, MAX_SEATS>::default();
            for chooser in pending.iter() {
                choices[chooser] = choose(self, state, chooser);
            }
            for chooser in pending.iter() {
                apply(game, state, chooser, u32::from(choices[chooser]), &mut self.chance)
                    .expect("a simultaneous choice stays legal");
            }
        }
    }

    /// Returns the best action by the estimate of `seat` one ply ahead; the lowest index wins a tie.
    fn choose<G: Estimate>(&mut self, game: &G, state: &G::State, seat: Seat) -> u8 {
        let legal = game.legal(state, seat);
        let first = legal.lowest().expect("a pending seat has a legal action");
        if legal.len() == 1 {
            return first;
        }
        let (mut best, mut best_estimate, mut cached) = (first, i32::MIN, None);
        for action in legal {
            let estimate = one_ply_ahead(game, *state, seat, action, &mut self.lookahead_random, &mut cached);
            let Some(estimate) = estimate else { return self.draw(legal) };
            if estimate > best_estimate {
                (best, best_estimate) = (action, estimate);
            }
        }
        best
    }

    /// Returns a random one of these actions.
    fn draw(&mut self, mut legal: ActionSet) -> u8 {
        self.random.get_or_insert_with(|| RngStream::new(self.seed, BOT_STREAM)).draw(&mut legal)
    }
}

/// Returns the value of an outcome to a seat in a game with this range of scores. It is the limited lead over the best
/// other seat. The first place adds half of the maximum lead, shared among the winners.
fn outcome_value(outcome: &Outcome, seat: Seat, (minimum, maximum): (i32, i32)) -> i32 {
    let longest = maximum.saturating_sub(minimum).clamp(1, MAX_LEAD);
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
    fn a_win_counts_more_than_a_lead_and_is_shared() {
        let of = |scores: &[i32], tie_breaks: &[i32]| {
            let outcome = Outcome::ranked(scores, tie_breaks);
            [0, 1].map(|seat| outcome_value(&outcome, Seat::new(seat), (0, 300)))
        };
        assert_eq!(of(&[50, 40], &[0, 0]), [40, -10]);
        assert_eq!(of(&[40, 40], &[0, 0]), [15, 15]);
        assert_eq!(of(&[40, 40], &[1, 0]), [30, 0]);
        assert_eq!(of(&[200, 40], &[0, 0]), [90, -60]);
        assert_eq!(of(&[10, 40, 90], &[0, 0, 0]), [-60, -50]);
    }
}

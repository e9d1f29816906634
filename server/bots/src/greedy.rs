//! One-ply search: plays every legal action in several sampled states and takes the action with the best average.

use boardwire_kernel::{Estimate, Knowledge, RandomSource, RngStream, Seat, apply};

use crate::playout::{Playout, Seeds};

/// Finds the legal action with the greatest estimate, summed over sampled states (determinizations). The lowest index
/// wins a tie. In a game without an estimate, the value of an action in a state is the result of one random playout.
///
/// Within one state every action meets the same hidden cards and the same random outcomes, so only the actions differ.
/// These outcomes have their own seed: the true seed stays unknown.
pub(crate) struct Greedy<G: Estimate> {
    /// The number of states that are still to be evaluated.
    states_left: u32,
    /// Whether a forced choice needs no evaluation.
    skips_forced: bool,
    /// The results so far of each legal action, in index order.
    candidates: Vec<Candidate<G::Features>>,
    /// The random outcomes within one state. All states reuse this memory.
    chance: RandomSource,
    /// The playout after each action in a game without an estimate.
    playout: Option<Box<Playout>>,
}

/// The results so far of one action.
struct Candidate<F> {
    action: u8,
    /// The sum of the estimates in all evaluated states.
    total: i64,
    /// The last estimate: a cache, because most states have the same features.
    cached: Estimated<F>,
}

/// Features with their estimate, if there is one.
pub(crate) type Estimated<F> = Option<(F, i32)>;

/// Returns the game's estimate of a position for `seat` after it plays `action`, if the game has one. `cached` caches the
/// most recent features with their estimate.
pub(crate) fn one_ply_ahead<G: Estimate>(
    game: &G,
    mut state: G::State,
    seat: Seat,
    action: u8,
    chance: &mut RandomSource,
    cached: &mut Estimated<G::Features>,
) -> Option<i32> {
    chance.rewind();
    apply(game, &mut state, seat, action.into(), chance).expect("a sampled state keeps the legal set");
    // A reference, because features may be large, and this runs for every action of every state.
    let found = game.features(&state, seat);
    let features = found.as_ref()?;
    if let Some((cached_features, estimate)) = cached
        && cached_features == features
    {
        return Some(*estimate);
    }
    let estimate = game.estimate(features);
    *cached = found.map(|features| (features, estimate));
    Some(estimate)
}

impl<G: Estimate> Greedy<G> {
    /// Creates a search over `states` states.
    pub(crate) fn new(states: u32) -> Self {
        let chance = RandomSource::seeded(0, G::TYPE.streams.len());
        Self { states_left: states, skips_forced: true, candidates: Vec::new(), chance, playout: None }
    }

    /// Evaluates the action of a forced choice, too.
    pub(crate) fn with_forced(self) -> Self {
        Self { skips_forced: false, ..self }
    }

    /// Returns each legal action with the sum of its estimates so far, in index order.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (u8, i64)> {
        self.candidates.iter().map(|candidate| (candidate.action, candidate.total))
    }

    /// Evaluates one more state. Returns the choice after the last state.
    pub(crate) fn advance(&mut self, knowledge: &Knowledge<G>, rng: &mut RngStream) -> Option<u8> {
        if self.candidates.is_empty() {
            let legal = knowledge.legal();
            if legal.len() == 1 && self.skips_forced {
                return legal.lowest();
            }
            self.candidates =
                legal.iter().map(|action| Candidate { action, total: 0, cached: None }).collect();
            self.chance.reseed(rng.next_seed(), G::TYPE.streams.len());
        }
        self.evaluate_state(knowledge, rng);
        self.states_left -= 1;
        if self.states_left == 0 { self.best() } else { None }
    }

    fn evaluate_state(&mut self, knowledge: &Knowledge<G>, rng: &mut RngStream) {
        let (game, seat) = (knowledge.game(), knowledge.seat());
        let (state, mut seeds) = (knowledge.determinize(rng), None);
        self.chance.mark();
        for Candidate { action, total, cached } in &mut self.candidates {
            let estimate = one_ply_ahead(game, state, seat, *action, &mut self.chance, cached);
            *total += i64::from(estimate.unwrap_or_else(|| {
                let seeds = *seeds.get_or_insert_with(|| Seeds::draw(rng));
                let playout =
                    self.playout.get_or_insert_with(|| Box::new(Playout::new(G::TYPE.streams.len())));
                playout.value(game, state, seat, *action, seeds)
            }));
        }
    }

    /// Returns the legal actions from the best to the worst; of equal ones, the lower index first.
    pub(crate) fn ranking(&self) -> impl Iterator<Item = u8> {
        let mut ranked: Vec<(i64, u8)> =
            self.candidates.iter().map(|candidate| (candidate.total, candidate.action)).collect();
        ranked.sort_by_key(|&(total, _)| std::cmp::Reverse(total));
        ranked.into_iter().map(|(_, action)| action)
    }

    fn best(&self) -> Option<u8> {
        // `max_by_key` returns the last of equals, so the actions run from the highest index down.
        self.candidates.iter().rev().max_by_key(|candidate| candidate.total).map(|candidate| candidate.action)
    }
}

//! One ply deep: play every legal action in a few sampled states and take the one worth most on average.

use boardwire_kernel::{Chance, Estimate, Knowledge, RngStream, Seat, apply};

use crate::playout::{Playout, Seeds};

/// The legal action with the greatest estimate, summed over some sampled states; the lowest index among equals. In a game
/// without an estimate an action is worth in a state what one random playout after it ends with.
///
/// Within one state every action meets the same hidden cards and the same chance, so that actions differ by
/// their own merit. That chance has a seed of its own: the true one stays unknown.
pub(crate) struct Greedy<G: Estimate> {
    /// States that are still to be looked at.
    left: u32,
    /// What has been seen of each legal action, in index order.
    candidates: Vec<Candidate<G::Outlook>>,
    /// What actions meet within one state, in memory that is used again.
    chance: Chance,
    /// What plays on from each action in a game without an estimate.
    playout: Option<Box<Playout>>,
}

/// What has been seen of one action.
struct Candidate<O> {
    action: u8,
    /// The estimates in all states looked at, summed.
    worth: i64,
    /// What was estimated last: most states have the same outlook.
    last: Estimated<O>,
}

/// An outlook with its estimate, if there has been one.
pub(crate) type Estimated<O> = Option<(O, i32)>;

/// What the game's estimate, if it has one, says of a position to `seat` once it has played `action`; what was estimated
/// `last` is looked up.
pub(crate) fn one_ply_ahead<G: Estimate>(
    game: &G,
    mut state: G::State,
    seat: Seat,
    action: u8,
    chance: &mut Chance,
    last: &mut Estimated<G::Outlook>,
) -> Option<i32> {
    chance.rewind();
    apply(game, &mut state, seat, action.into(), chance).expect("a sampled state keeps the legal set");
    // Looked at where it is: an outlook may be large, and this is asked for every action of every state.
    let found = game.outlook(&state, seat);
    let outlook = found.as_ref()?;
    if let Some((known, estimate)) = last
        && known == outlook
    {
        return Some(*estimate);
    }
    let estimate = game.estimate(outlook);
    *last = found.map(|outlook| (outlook, estimate));
    Some(estimate)
}

impl<G: Estimate> Greedy<G> {
    /// Looks at so many states.
    pub(crate) fn new(states: u32) -> Self {
        let chance = Chance::seeded(0, G::TYPE.streams.len());
        Self { left: states, candidates: Vec::new(), chance, playout: None }
    }

    /// Looks at one more state; the choice, once all have been looked at.
    pub(crate) fn advance(&mut self, knowledge: &Knowledge<G>, rng: &mut RngStream) -> Option<u8> {
        if self.candidates.is_empty() {
            let legal = knowledge.legal();
            if legal.len() == 1 {
                return legal.lowest();
            }
            self.candidates = legal.iter().map(|action| Candidate { action, worth: 0, last: None }).collect();
            self.chance.reseed(rng.seed(), G::TYPE.streams.len());
        }
        self.look(knowledge, rng);
        self.left -= 1;
        if self.left == 0 { self.best() } else { None }
    }

    fn look(&mut self, knowledge: &Knowledge<G>, rng: &mut RngStream) {
        let (game, seat) = (knowledge.game(), knowledge.seat());
        let (state, mut seeds) = (knowledge.determinize(rng), None);
        self.chance.mark();
        for Candidate { action, worth, last } in &mut self.candidates {
            let estimate = one_ply_ahead(game, state, seat, *action, &mut self.chance, last);
            *worth += i64::from(estimate.unwrap_or_else(|| {
                let seeds = *seeds.get_or_insert_with(|| Seeds::draw(rng));
                let playout =
                    self.playout.get_or_insert_with(|| Box::new(Playout::new(G::TYPE.streams.len())));
                playout.worth(game, state, seat, *action, seeds)
            }));
        }
    }

    /// The legal actions from the one worth most to the one worth least; the lower index first among equals.
    pub(crate) fn ranking(&self) -> impl Iterator<Item = u8> {
        let mut ranked: Vec<(i64, u8)> =
            self.candidates.iter().map(|candidate| (candidate.worth, candidate.action)).collect();
        ranked.sort_by_key(|&(worth, _)| std::cmp::Reverse(worth));
        ranked.into_iter().map(|(_, action)| action)
    }

    fn best(&self) -> Option<u8> {
        // `max_by_key` takes the last of equals, so the actions come from the highest index down.
        self.candidates.iter().rev().max_by_key(|candidate| candidate.worth).map(|candidate| candidate.action)
    }
}

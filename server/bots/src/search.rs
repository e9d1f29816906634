//! Flat Monte Carlo: actions are played to the end in sampled worlds, and the worse half is dropped again and
//! again (sequential halving).

use boardwire_kernel::{Estimate, Knowledge, RngStream};

use crate::DEFAULT_WORLDS;
use crate::greedy::Greedy;
use crate::playout::{Playout, Seeds};

/// One action is considered for every so many playouts.
const PLAYOUTS_PER_ACTION: u32 = 8;

/// The legal action that ends best on average, among those that greedy likes best.
///
/// All actions of a round meet the same worlds with the same chance, so that they differ by their own merit.
pub(crate) struct Search<G: Estimate> {
    /// Playouts that are left for rounds after this one.
    playouts: u32,
    /// What greedy thinks of the actions, until it has thought. In a game without an estimate it makes a few playouts of each
    /// action, which are not counted.
    prior: Greedy<G>,
    /// The actions still considered, from the best so far to the worst; greedy's order among equals.
    arms: Vec<Arm>,
    /// Those that were dropped.
    dropped: Vec<Arm>,
    /// Rounds that are still to come, this one included.
    rounds: u32,
    /// Worlds that this round still looks at, the present one included.
    worlds: u32,
    /// The present world, and how many of the actions have been played in it.
    world: Option<(G::State, Seeds)>,
    at: usize,
    playout: Playout,
}

/// An action that is considered.
#[derive(Debug)]
struct Arm {
    action: u8,
    /// How many playouts it was given.
    visits: u32,
    /// What they were worth, summed.
    worth: i64,
}

impl<G: Estimate> Search<G> {
    /// Makes so many playouts.
    pub(crate) fn new(playouts: u32) -> Self {
        Self {
            playouts,
            prior: Greedy::new(DEFAULT_WORLDS),
            arms: Vec::new(),
            dropped: Vec::new(),
            rounds: 0,
            worlds: 0,
            world: None,
            at: 0,
            playout: Playout::new(G::TYPE.streams.len()),
        }
    }

    /// Makes one more playout, or lets greedy look at one more world; the choice, once all have been made.
    pub(crate) fn advance(&mut self, knowledge: &Knowledge<G>, rng: &mut RngStream) -> Option<u8> {
        if self.arms.is_empty() {
            let only = self.prior.advance(knowledge, rng)?;
            return self.begin(only);
        }
        let (world, seeds) =
            *self.world.get_or_insert_with(|| (knowledge.determinize(rng), Seeds::draw(rng)));
        let arm = &mut self.arms[self.at];
        let worth = self.playout.worth(knowledge.game(), world, knowledge.seat(), arm.action, seeds);
        arm.visits += 1;
        arm.worth += i64::from(worth);
        self.at += 1;
        if self.at == self.arms.len() { self.end_world() } else { None }
    }

    /// How many playouts each action was given that was given any.
    pub(crate) fn visits(&self) -> impl Iterator<Item = (u8, u32)> {
        let arms = self.arms.iter().chain(&self.dropped);
        arms.filter(|arm| arm.visits > 0).map(|arm| (arm.action, arm.visits))
    }

    /// Takes up the actions that greedy likes best, as many as there are playouts for.
    fn begin(&mut self, liked: u8) -> Option<u8> {
        let ranked = self.prior.ranking();
        let most = usize::try_from(self.playouts / PLAYOUTS_PER_ACTION).unwrap_or(usize::MAX).max(2);
        self.arms = ranked.take(most).map(|action| Arm { action, visits: 0, worth: 0 }).collect();
        if self.arms.len() < 2 {
            return Some(liked);
        }
        self.rounds = self.arms.len().ilog2() + u32::from(!self.arms.len().is_power_of_two());
        self.begin_round();
        None
    }

    /// Shares the playouts that are left among the rounds that are left.
    fn begin_round(&mut self) {
        let arms = u32::try_from(self.arms.len()).unwrap_or(u32::MAX);
        self.worlds = (self.playouts / (self.rounds * arms)).max(1);
        self.playouts = self.playouts.saturating_sub(self.worlds * arms);
    }

    fn end_world(&mut self) -> Option<u8> {
        self.world = None;
        self.at = 0;
        self.worlds -= 1;
        if self.worlds > 0 {
            return None;
        }
        // The sort keeps the order of equals.
        self.arms.sort_by_key(|arm| std::cmp::Reverse(arm.worth));
        self.rounds -= 1;
        if self.rounds == 0 {
            return self.arms.first().map(|arm| arm.action);
        }
        self.dropped.extend(self.arms.drain(self.arms.len().div_ceil(2)..));
        self.begin_round();
        None
    }
}

#[cfg(test)]
mod tests {

    use boardwire_games::{IDS, Visitor, visit};
    use boardwire_kernel::{Episode, testkit};

    use super::*;

    /// Playouts made for the first decision of a game with several actions, and whether the choice was legal.
    struct Spent(u32);

    impl Visitor for Spent {
        type Output = (u32, bool);

        fn visit<G: Estimate>(self) -> (u32, bool) {
            let episode = Episode::seeded(testkit::table::<G>(2, &[]), 3);
            let seat = episode.pending().lowest().expect("the game has begun");
            let (knowledge, mut rng) = (episode.knowledge(seat), RngStream::new(5, 0));
            let mut search = Search::new(self.0);
            let mut steps = 0;
            loop {
                if let Some(action) = search.advance(&knowledge, &mut rng) {
                    return (steps + 1 - DEFAULT_WORLDS, knowledge.legal().contains(action));
                }
                steps += 1;
            }
        }
    }

    #[test]
    fn as_many_playouts_are_made_as_asked_for_but_for_the_remainder_of_a_world() {
        for id in IDS {
            for playouts in [1, 2, 3, 7, 8, 40, 41, 160, 1000] {
                let (spent, legal) = visit(id, Spent(playouts)).expect("a known game");
                assert!(legal, "{id}, {playouts}");
                assert!(
                    (playouts.saturating_sub(2)..=playouts.max(2)).contains(&spent),
                    "{id}, {playouts}: {spent}"
                );
            }
        }
    }

    #[test]
    fn what_is_certain_takes_no_playout() {
        let game = testkit::table::<boardwire_games::faraway::Faraway>(2, &[]);
        let mut episode = Episode::seeded(game, 3);
        let mut certain = 0;
        while let Some(seat) = episode.pending().lowest() {
            let knowledge = episode.knowledge(seat);
            let (legal, mut rng) = (knowledge.legal(), RngStream::new(5, 0));
            if legal.len() == 1 {
                certain += 1;
                assert_eq!(Search::new(1000).advance(&knowledge, &mut rng), legal.lowest());
                assert_eq!(rng.words(), 0);
            }
            episode.apply(seat, legal.lowest().expect("a choice").into()).expect("it is legal");
        }
        assert!(certain > 0, "nothing was certain: the test needs another game");
    }
}

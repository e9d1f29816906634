//! Flat Monte Carlo search with sequential halving: it plays actions to the end in determinizations, and
//! repeatedly drops the worse half of the actions.

use boardwire_kernel::{Estimate, Knowledge, RngStream};

use crate::DEFAULT_DETERMINIZATIONS;
use crate::greedy::Greedy;
use crate::playout::{Playout, Seeds};

/// The number of playouts for which the search considers one more action.
const PLAYOUTS_PER_ACTION: u32 = 8;

/// Finds the legal action with the best average result, among the best actions of greedy.
///
/// All actions of a round meet the same worlds and the same random outcomes, so only the actions differ.
pub(crate) struct Search<G: Estimate> {
    /// The playouts left for later rounds.
    playouts: u32,
    /// Greedy's evaluation of the actions, until it is complete. In a game without an estimate, greedy makes a few playouts
    /// of each action, which are not counted.
    prior: Greedy<G>,
    /// The actions still considered, from the best to the worst so far; equal ones in greedy's order.
    arms: Vec<Arm>,
    /// The dropped actions.
    dropped: Vec<Arm>,
    /// The rounds left, including this one.
    rounds_left: u32,
    /// The determinizations left in this round, including the current one.
    determinizations_left: u32,
    /// The current determinization, with the seeds of its playouts.
    current_determinization: Option<(G::State, Seeds)>,
    /// The index of the next action to play in it.
    next_arm: usize,
    playout: Playout,
}

/// An action that the search considers.
#[derive(Debug)]
struct Arm {
    action: u8,
    /// The number of its playouts.
    visits: u32,
    /// The sum of their values.
    total: i64,
}

impl<G: Estimate> Search<G> {
    /// Creates a search with `playouts` playouts.
    pub(crate) fn new(playouts: u32) -> Self {
        Self {
            playouts,
            prior: Greedy::new(DEFAULT_DETERMINIZATIONS),
            arms: Vec::new(),
            dropped: Vec::new(),
            rounds_left: 0,
            determinizations_left: 0,
            current_determinization: None,
            next_arm: 0,
            playout: Playout::new(G::TYPE.streams.len()),
        }
    }

    /// Makes one more playout, or lets greedy evaluate one more world. Returns the choice after the last one.
    pub(crate) fn advance(&mut self, knowledge: &Knowledge<G>, rng: &mut RngStream) -> Option<u8> {
        if self.arms.is_empty() {
            let choice = self.prior.advance(knowledge, rng)?;
            return self.select_arms(choice);
        }
        let (state, seeds) = *self
            .current_determinization
            .get_or_insert_with(|| (knowledge.determinize(rng), Seeds::draw(rng)));
        let arm = &mut self.arms[self.next_arm];
        let value = self.playout.value(knowledge.game(), state, knowledge.seat(), arm.action, seeds);
        arm.visits += 1;
        arm.total += i64::from(value);
        self.next_arm += 1;
        if self.next_arm == self.arms.len() { self.end_determinization() } else { None }
    }

    /// Returns the number of playouts of each action that had any.
    pub(crate) fn visits(&self) -> impl Iterator<Item = (u8, u32)> {
        let arms = self.arms.iter().chain(&self.dropped);
        arms.filter(|arm| arm.visits > 0).map(|arm| (arm.action, arm.visits))
    }

    /// Selects greedy's best actions, as many as the playouts allow. Returns the choice if there is only one action.
    fn select_arms(&mut self, greedy_choice: u8) -> Option<u8> {
        let ranked = self.prior.ranking();
        let maximum = usize::try_from(self.playouts / PLAYOUTS_PER_ACTION).unwrap_or(usize::MAX).max(2);
        self.arms = ranked.take(maximum).map(|action| Arm { action, visits: 0, total: 0 }).collect();
        if self.arms.len() < 2 {
            return Some(greedy_choice);
        }
        self.rounds_left = self.arms.len().ilog2() + u32::from(!self.arms.len().is_power_of_two());
        self.start_round();
        None
    }

    /// Divides the playouts left among the rounds left.
    fn start_round(&mut self) {
        let arms = u32::try_from(self.arms.len()).unwrap_or(u32::MAX);
        self.determinizations_left = (self.playouts / (self.rounds_left * arms)).max(1);
        self.playouts = self.playouts.saturating_sub(self.determinizations_left * arms);
    }

    fn end_determinization(&mut self) -> Option<u8> {
        self.current_determinization = None;
        self.next_arm = 0;
        self.determinizations_left -= 1;
        if self.determinizations_left > 0 {
            return None;
        }
        // The sort is stable: it keeps the order of equals.
        self.arms.sort_by_key(|arm| std::cmp::Reverse(arm.total));
        self.rounds_left -= 1;
        if self.rounds_left == 0 {
            return self.arms.first().map(|arm| arm.action);
        }
        self.dropped.extend(self.arms.drain(self.arms.len().div_ceil(2)..));
        self.start_round();
        None
    }
}

#[cfg(test)]
mod tests {

    use boardwire_games::{IDS, Visitor, visit};
    use boardwire_kernel::{Episode, testkit};

    use super::*;

    /// Counts the playouts for the first decision with several actions. Also returns whether the choice is legal.
    struct CountPlayouts(u32);

    impl Visitor for CountPlayouts {
        type Output = (u32, bool);

        fn visit<G: Estimate>(self) -> (u32, bool) {
            let episode = Episode::seeded(testkit::table::<G>(2, &[]), 3);
            let seat = episode.pending().lowest().expect("the game has begun");
            let (knowledge, mut rng) = (episode.knowledge(seat), RngStream::new(5, 0));
            let mut search = Search::new(self.0);
            let mut steps = 0;
            loop {
                if let Some(action) = search.advance(&knowledge, &mut rng) {
                    return (steps + 1 - DEFAULT_DETERMINIZATIONS, knowledge.legal().contains(action));
                }
                steps += 1;
            }
        }
    }

    #[test]
    fn the_search_makes_the_requested_number_of_playouts() {
        for id in IDS {
            for playouts in [1, 2, 3, 7, 8, 40, 41, 160, 1000] {
                let (playouts_made, legal) = visit(id, CountPlayouts(playouts)).expect("a known game");
                assert!(legal, "{id}, {playouts}");
                assert!(
                    (playouts.saturating_sub(2)..=playouts.max(2)).contains(&playouts_made),
                    "{id}, {playouts}: {playouts_made}"
                );
            }
        }
    }

    #[test]
    fn one_legal_action_needs_no_playout() {
        let game = testkit::table::<boardwire_games::faraway::Faraway>(2, &[]);
        let mut episode = Episode::seeded(game, 3);
        let mut forced = 0;
        while let Some(seat) = episode.pending().lowest() {
            let knowledge = episode.knowledge(seat);
            let (legal, mut rng) = (knowledge.legal(), RngStream::new(5, 0));
            if legal.len() == 1 {
                forced += 1;
                assert_eq!(Search::new(1000).advance(&knowledge, &mut rng), legal.lowest());
                assert_eq!(rng.words(), 0);
            }
            episode.apply(seat, legal.lowest().expect("a choice").into()).expect("it is legal");
        }
        assert!(forced > 0, "no decision had one legal action: the test needs another game");
    }
}

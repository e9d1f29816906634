//! Flat Monte Carlo search with sequential halving: it plays actions to the end in determinizations, and
//! repeatedly drops the worse half of the actions.

use std::cmp::Reverse;
use std::sync::Arc;

use boardwire_kernel::{Estimate, Knowledge, RngStream};

use crate::DEFAULT_DETERMINIZATIONS;
use crate::greedy::Greedy;
use crate::playout::{Playout, Seeds};
use crate::policy::{Policy, PolicyRequest};

/// The number of playouts for which the search considers one more action.
const PLAYOUTS_PER_ACTION: u32 = 8;

/// The value of one nat of a policy's log-probability, in hundredths of a point of a playout.
const NAT_VALUE: i64 = 60;
/// The number of playouts that the policy's preference counts as. So it matters less, the more playouts there are.
const PRIOR_PLAYOUTS: i64 = 60;
/// The value of one point of a playout, in the unit of `NAT_VALUE` times a log-ratio.
const POINT_VALUE: i64 = 100 * 1024;

/// Finds the legal action with the best average result, among the actions that its prior prefers. The preference of a
/// policy also counts, as the result of a few more playouts.
///
/// All actions of a round meet the same worlds and the same random outcomes, so only the actions differ.
pub(crate) struct Search<G: Estimate> {
    /// The playouts left for later rounds.
    playouts: u32,
    prior: Prior<G>,
    /// The actions still considered, from the best to the worst so far; equal ones in the order of the prior.
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

/// What ranks the actions before the first playout.
enum Prior<G: Estimate> {
    /// Greedy's evaluation. In a game without an estimate, greedy makes a few playouts of each action, which are not counted.
    Greedy(Greedy<G>),
    /// The request to a policy, until it has responded. There is none for a forced decision.
    Policy(Option<Box<dyn PolicyRequest>>),
}

/// An action that the search considers.
#[derive(Debug)]
struct Arm {
    action: u8,
    /// Its [log-ratio](crate::ActionWeights::log_ratios); 0 without a policy.
    log_ratio: i32,
    /// The number of its playouts.
    visits: u32,
    /// The sum of their values.
    total: i64,
}

impl Arm {
    fn new(action: u8, log_ratio: i32) -> Self {
        Self { action, log_ratio, visits: 0, total: 0 }
    }

    /// Returns the sum of the values of the playouts, to which the policy's preference adds `PRIOR_PLAYOUTS` more.
    fn score(&self) -> i64 {
        POINT_VALUE * self.total + PRIOR_PLAYOUTS * NAT_VALUE * i64::from(self.log_ratio)
    }
}

impl<G: Estimate> Search<G> {
    /// Creates a search with `playouts` playouts of the actions that greedy prefers.
    pub(crate) fn new(playouts: u32) -> Self {
        Self::with_prior(playouts, Prior::Greedy(Greedy::new(DEFAULT_DETERMINIZATIONS)))
    }

    /// Creates a search with `playouts` playouts of the actions that a policy prefers. Submits the request immediately, so
    /// that the policy can batch simultaneous requests.
    pub(crate) fn with_policy(policy: &Arc<dyn Policy>, playouts: u32, knowledge: &Knowledge<G>) -> Self {
        let legal = knowledge.legal();
        let request = (legal.len() > 1).then(|| Arc::clone(policy).submit(knowledge.view(), legal));
        Self::with_prior(playouts, Prior::Policy(request))
    }

    fn with_prior(playouts: u32, prior: Prior<G>) -> Self {
        Self {
            playouts,
            prior,
            arms: Vec::new(),
            dropped: Vec::new(),
            rounds_left: 0,
            determinizations_left: 0,
            current_determinization: None,
            next_arm: 0,
            playout: Playout::new(G::TYPE.streams.len()),
        }
    }

    /// Makes one more playout, or advances the prior. Returns the choice after the last playout.
    pub(crate) fn advance(
        &mut self,
        knowledge: &Knowledge<G>,
        rng: &mut RngStream,
    ) -> Result<Option<u8>, String> {
        if self.arms.is_empty() {
            return Ok(self.prior.advance(knowledge, rng)?.and_then(|ranked| self.select_arms(ranked)));
        }
        let (state, seeds) = *self
            .current_determinization
            .get_or_insert_with(|| (knowledge.determinize(rng), Seeds::draw(rng)));
        let arm = &mut self.arms[self.next_arm];
        let value = self.playout.value(knowledge.game(), state, knowledge.seat(), arm.action, seeds);
        arm.visits += 1;
        arm.total += i64::from(value);
        self.next_arm += 1;
        Ok(if self.next_arm == self.arms.len() { self.end_determinization() } else { None })
    }

    /// Returns whether the search waits for its policy.
    pub(crate) fn awaits_policy(&self) -> bool {
        matches!(self.prior, Prior::Policy(Some(_)))
    }

    /// Returns the number of playouts of each action that had any.
    pub(crate) fn visits(&self) -> impl Iterator<Item = (u8, u32)> {
        let arms = self.arms.iter().chain(&self.dropped);
        arms.filter(|arm| arm.visits > 0).map(|arm| (arm.action, arm.visits))
    }

    /// Selects the first actions, as many as the playouts allow. Returns the choice if there is only one action.
    fn select_arms(&mut self, ranked: Vec<Arm>) -> Option<u8> {
        let maximum = usize::try_from(self.playouts / PLAYOUTS_PER_ACTION).unwrap_or(usize::MAX).max(2);
        self.arms = ranked;
        self.arms.truncate(maximum);
        if let [only] = &self.arms[..] {
            return Some(only.action);
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
        self.arms.sort_by_key(|arm| Reverse(arm.score()));
        self.rounds_left -= 1;
        if self.rounds_left == 0 {
            return self.arms.first().map(|arm| arm.action);
        }
        self.dropped.extend(self.arms.drain(self.arms.len().div_ceil(2)..));
        self.start_round();
        None
    }
}

impl<G: Estimate> Prior<G> {
    /// Evaluates one more world, or waits for the policy. Once it is complete, returns the actions from the best to the worst;
    /// of equal ones, the lower index first. There is at least one.
    fn advance(&mut self, knowledge: &Knowledge<G>, rng: &mut RngStream) -> Result<Option<Vec<Arm>>, String> {
        let legal = knowledge.legal();
        if legal.len() == 1 {
            return Ok(Some(legal.iter().map(|action| Arm::new(action, 0)).collect()));
        }
        let arms = match self {
            Self::Greedy(greedy) => {
                let complete = greedy.advance(knowledge, rng).is_some();
                complete.then(|| greedy.ranking().map(|action| Arm::new(action, 0)).collect())
            }
            Self::Policy(request) => {
                let request = request.as_mut().expect("a decision that is not forced has a request");
                let Some(response) = request.advance()? else { return Ok(None) };
                let arms = legal.iter().zip(response.log_ratios);
                let mut arms: Vec<Arm> = arms
                    .filter(|&(_, log_ratio)| log_ratio > i32::MIN)
                    .map(|(action, log_ratio)| Arm::new(action, log_ratio))
                    .collect();
                arms.sort_by_key(|arm| Reverse(arm.log_ratio));
                *self = Self::Policy(None);
                Some(arms)
            }
        };
        Ok(arms)
    }
}

#[cfg(test)]
mod tests;

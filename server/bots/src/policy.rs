//! Bots that follow a policy. Policies, such as networks, are outside of this crate.

use std::fmt;
use std::sync::Arc;

use boardwire_kernel::{ActionSet, RngStream};

use crate::{DEFAULT_PLAYOUTS, MAX_PLAYOUTS, count};

/// A policy, such as a network: it prefers some actions to others, by the view of the seat that decides.
///
/// It evaluates requests of many seats in one batch, so a response comes later than its request. A response must not
/// depend on other requests or on the time.
pub trait Policy: fmt::Debug + Send + Sync {
    /// Returns the name that follows `policy:`.
    fn name(&self) -> &str;

    /// Returns whether responses have a value.
    fn has_values(&self) -> bool;

    /// Accepts a request: the view, and the legal actions. Without an action, the response has no weights.
    fn submit(self: Arc<Self>, view: Vec<u8>, legal: ActionSet) -> Box<dyn PolicyRequest>;
}

/// A request that a policy has accepted. The caller drops it to cancel it.
pub trait PolicyRequest: Send {
    /// Works on requests for a short time, not necessarily on this one. Returns the response once there is one.
    ///
    /// # Errors
    /// The policy cannot respond. The text is the reason, as an error message shows it.
    fn advance(&mut self) -> Result<Option<ActionWeights>, String>;
}

/// The response of a policy: weights of the legal actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionWeights {
    /// The most preferred action; 0 without a legal action.
    pub best: u8,
    /// The weight of each legal action, ascending by index: proportional to its probability, with a sum of 1 to 2³² - 1.
    pub weights: Vec<u32>,
    /// The log-probability of each legal action, ascending by index, minus that of the best one: 0 or less, in 1/1024 nat.
    /// `i32::MIN` excludes the action.
    pub log_ratios: Vec<i32>,
    /// The expected final margin of the seat over the best other seat, in thousandths of a point. None if the policy has no
    /// values, or this one is not finite.
    pub value: Option<i32>,
}

/// How a bot chooses by [`ActionWeights`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// A random action with the policy's probabilities, drawn from the seat's stream.
    Sampled,
    /// The most preferred action.
    Best,
    /// The action with the best average result of playouts, plus the policy's preference.
    Searched {
        /// The approximate number of playouts, at least 1.
        playouts: u32,
    },
}

/// A player that follows a policy.
#[derive(Debug, Clone)]
pub struct PolicyPlayer {
    /// The policy.
    pub policy: Arc<dyn Policy>,
    /// How it chooses.
    pub pick: Pick,
}

/// Two values are equal if they have the same policy name and the same pick.
impl PartialEq for PolicyPlayer {
    fn eq(&self, other: &Self) -> bool {
        (self.policy.name(), self.pick) == (other.policy.name(), other.pick)
    }
}

impl Eq for PolicyPlayer {}

impl fmt::Display for PolicyPlayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.policy.name();
        match self.pick {
            Pick::Sampled => write!(f, "policy:{name}"),
            Pick::Best => write!(f, "policy:{name}{}", Self::BEST),
            Pick::Searched { playouts: DEFAULT_PLAYOUTS } => write!(f, "search:{name}"),
            Pick::Searched { playouts } => write!(f, "search:{name}:{playouts}"),
        }
    }
}

impl PolicyPlayer {
    /// The suffix of the policy's name if the bot takes the best action.
    const BEST: &str = ":argmax";

    /// Parses what follows `policy:`. Returns the policy's name and how the player chooses.
    pub(crate) fn parse(rest: &str) -> (&str, Pick) {
        rest.strip_suffix(Self::BEST).map_or((rest, Pick::Sampled), |name| (name, Pick::Best))
    }

    /// Parses what follows `search:`. Returns the policy's name and how the player chooses; none if the number of playouts
    /// is invalid.
    pub(crate) fn parse_search(rest: &str) -> Option<(&str, Pick)> {
        let (name, playouts) = rest.split_once(':').map_or((rest, None), |(name, count)| (name, Some(count)));
        Some((name, Pick::Searched { playouts: count(playouts, DEFAULT_PLAYOUTS, MAX_PLAYOUTS)? }))
    }
}

/// A decision that waits for its policy.
pub(crate) enum PolicyDecision {
    /// The only legal action. There is no request.
    Only(u8),
    /// The request, whether the action is drawn, and the response.
    Requested {
        request: Box<dyn PolicyRequest>,
        legal: ActionSet,
        sampled: bool,
        response: Option<ActionWeights>,
    },
}

impl PolicyDecision {
    /// Submits the request immediately, so that the policy can batch simultaneous requests.
    pub(crate) fn new(
        policy: &Arc<dyn Policy>,
        sampled: bool,
        legal: ActionSet,
        view: impl FnOnce() -> Vec<u8>,
    ) -> Self {
        if let (1, Some(only)) = (legal.len(), legal.lowest()) {
            return Self::Only(only);
        }
        let request = Arc::clone(policy).submit(view(), legal);
        Self::Requested { request, legal, sampled, response: None }
    }

    /// Returns the choice once there is a response.
    pub(crate) fn advance(&mut self, rng: &mut RngStream) -> Result<Option<u8>, String> {
        let (request, legal, sampled, response) = match self {
            Self::Only(action) => return Ok(Some(*action)),
            Self::Requested { request, legal, sampled, response } => (request, *legal, *sampled, response),
        };
        let Some(weights) = request.advance()? else { return Ok(None) };
        let action = if sampled { sample(&weights.weights, legal, rng) } else { weights.best };
        *response = Some(weights);
        Ok(Some(action))
    }

    /// Returns the policy's weights of the actions once it has responded: proportional to the probabilities.
    pub(crate) fn weights(&self) -> Vec<(u8, u32)> {
        match self {
            Self::Requested { legal, response: Some(response), .. } => {
                legal.iter().zip(response.weights.iter().copied()).collect()
            }
            Self::Only(_) | Self::Requested { response: None, .. } => Vec::new(),
        }
    }
}

/// Draws an action with a probability in proportion to its weight.
fn sample(weights: &[u32], legal: ActionSet, rng: &mut RngStream) -> u8 {
    let mut left = rng.below(weights.iter().sum());
    let mut chosen = legal.iter().zip(weights).skip_while(|&(_, &weight)| {
        let beyond = left >= weight;
        left -= if beyond { weight } else { 0 };
        beyond
    });
    chosen.next().expect("the weights are those of the legal actions").0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_sampled_in_proportion_to_their_weights() {
        let legal = ActionSet::from_iter([3, 7, 40, 200]);
        let (mut rng, mut counts) = (RngStream::new(1, 0), [0_u32; 4]);
        for _ in 0..10_000 {
            let action = sample(&[1, 0, 2, 7], legal, &mut rng);
            counts[legal.iter().position(|known| known == action).expect("a legal action")] += 1;
        }
        assert_eq!(counts[1], 0);
        for (count, expected) in counts.into_iter().zip([1_000, 0, 2_000, 7_000]) {
            assert!(count.abs_diff(expected) < 200, "{counts:?}");
        }
    }
}

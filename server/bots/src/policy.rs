//! Bots that ask somebody else which actions to prefer: networks, which live outside of this crate.

use std::fmt;
use std::sync::Arc;

use boardwire_kernel::{ActionSet, Game, Knowledge, RngStream};

/// Something that prefers some actions to others by the view of the seat that decides, such as a network.
///
/// Questions of many deciders are answered together, so that the answer comes later than the question. It must not
/// depend on what else is asked, nor on when.
pub trait Policy: fmt::Debug + Send + Sync {
    /// What it is called, after `policy:`.
    fn name(&self) -> &str;

    /// Takes up a question: the view, and the actions that may be chosen, at least one.
    fn ask(self: Arc<Self>, view: Vec<u8>, legal: ActionSet) -> Box<dyn Question>;
}

/// A question that a policy has taken up. Whoever drops it wants no answer any more.
pub trait Question: Send {
    /// Works on questions for a moment, not necessarily on this one; the answer, once it has come.
    ///
    /// # Errors
    /// Why there will be none, for people.
    fn advance(&mut self) -> Result<Option<Preference>, String>;
}

/// How much a policy likes each of the actions that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preference {
    /// The action it likes best.
    pub best: u8,
    /// How likely it is to choose each action, ascending by index: in proportion, with a sum of 1 to 2³² - 1.
    pub weights: Vec<u32>,
}

/// How an action is taken from a [`Preference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// As likely as the policy says, drawn from the seat's stream.
    Sampled,
    /// The one that the policy likes best.
    Best,
}

/// Who plays by a policy.
#[derive(Debug, Clone)]
pub struct ByPolicy {
    /// The policy.
    pub policy: Arc<dyn Policy>,
    /// How it is followed.
    pub pick: Pick,
}

/// Two are equal that have the same name.
impl PartialEq for ByPolicy {
    fn eq(&self, other: &Self) -> bool {
        (self.policy.name(), self.pick) == (other.policy.name(), other.pick)
    }
}

impl Eq for ByPolicy {}

impl fmt::Display for ByPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pick = if self.pick == Pick::Best { Self::BEST } else { "" };
        write!(f, "policy:{}{pick}", self.policy.name())
    }
}

impl ByPolicy {
    /// What follows the name of a policy whose best action is taken.
    const BEST: &str = ":argmax";

    /// By what follows `policy:`.
    pub(crate) fn named(
        rest: &str,
        find: impl FnOnce(&str) -> Result<Arc<dyn Policy>, String>,
    ) -> Result<Self, String> {
        let (name, pick) =
            rest.strip_suffix(Self::BEST).map_or((rest, Pick::Sampled), |name| (name, Pick::Best));
        Ok(Self { policy: find(name)?, pick })
    }
}

/// A decision that waits for its policy.
pub(crate) enum Asked {
    /// There was nothing to ask.
    Only(u8),
    /// The question, what to make of the answer, and the answer.
    Question { question: Box<dyn Question>, legal: ActionSet, pick: Pick, answer: Option<Preference> },
}

impl Asked {
    /// Asks at once, so that questions that arise together are answered together.
    pub(crate) fn new<G: Game>(by: &ByPolicy, knowledge: &Knowledge<G>) -> Self {
        let legal = knowledge.legal();
        if let (1, Some(only)) = (legal.len(), legal.lowest()) {
            return Self::Only(only);
        }
        let question = Arc::clone(&by.policy).ask(knowledge.view(), legal);
        Self::Question { question, legal, pick: by.pick, answer: None }
    }

    /// The choice, once the answer has come.
    pub(crate) fn advance(&mut self, rng: &mut RngStream) -> Result<Option<u8>, String> {
        let (question, legal, pick, answer) = match self {
            Self::Only(action) => return Ok(Some(*action)),
            Self::Question { question, legal, pick, answer } => (question, *legal, *pick, answer),
        };
        let Some(preference) = question.advance()? else { return Ok(None) };
        let action = match pick {
            Pick::Best => preference.best,
            Pick::Sampled => sample(&preference.weights, legal, rng),
        };
        *answer = Some(preference);
        Ok(Some(action))
    }

    /// How likely the policy is to choose each action, once it has answered; in proportion.
    pub(crate) fn weights(&self) -> Vec<(u8, u32)> {
        match self {
            Self::Question { legal, answer: Some(answer), .. } => {
                legal.iter().zip(answer.weights.iter().copied()).collect()
            }
            Self::Only(_) | Self::Question { answer: None, .. } => Vec::new(),
        }
    }
}

/// An action drawn as likely as its weight says.
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
    fn actions_are_sampled_as_often_as_they_weigh() {
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

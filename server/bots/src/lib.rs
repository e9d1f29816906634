//! Bots that play any game, and use only what their seat knows.
//!
//! A bot receives [`Knowledge`](boardwire_kernel::Knowledge), never a position. It plays in determinizations, called
//! worlds, which it samples from that knowledge. Its budget counts simulations, not milliseconds, so it plays the same
//! on every machine.
#![deny(clippy::float_arithmetic)]

mod decision;
mod greedy;
mod playout;
mod policy;
mod rollout;
mod search;

pub use decision::{BotDecision, BotError, Choice, Round};
pub use policy::{ActionWeights, Pick, Policy, PolicyPlayer, PolicyRequest};
pub use rollout::{PlayoutEnd, Rollout, RunningPlayout};

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use boardwire_kernel::{ActionSet, RngStream};
use thiserror::Error;

/// The number of determinizations for a greedy bot whose name states no number.
pub const DEFAULT_DETERMINIZATIONS: u32 = 8;
/// The maximum number of determinizations for a greedy bot.
pub const MAX_DETERMINIZATIONS: u32 = 1024;

/// The number of playouts for a search whose name states no number.
pub const DEFAULT_PLAYOUTS: u32 = 160;
/// The maximum number of playouts for a search.
pub const MAX_PLAYOUTS: u32 = 10_000;

/// A method to choose actions. The names are `random`, `greedy`, `greedy:WORLDS`, `mc`, `mc:PLAYOUTS`, `policy:NAME`,
/// `policy:NAME:argmax`, `search:NAME` and `search:NAME:PLAYOUTS`.
///
/// ```
/// use boardwire_bots::Bot;
///
/// assert_eq!("greedy:16".parse(), Ok(Bot::Greedy { determinizations: 16 }));
/// assert!("clever".parse::<Bot>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bot {
    /// Chooses uniformly among the legal actions.
    Random,
    /// Chooses the action whose immediate result has the best average value.
    Greedy {
        /// The number of determinizations for the average, at least 1.
        determinizations: u32,
    },
    /// Chooses the action with the best average result of playouts in sampled worlds (flat Monte Carlo).
    Search {
        /// The approximate number of playouts, at least 1.
        playouts: u32,
    },
    /// Chooses by the preference of a policy, with or without playouts.
    Policy(PolicyPlayer),
}

impl Bot {
    /// Returns the bot with this name. `find` returns the policy with a name, or an error that states the valid names.
    ///
    /// # Errors
    /// No bot or no policy has this name.
    pub fn named(
        name: &str,
        find: impl FnOnce(&str) -> Result<Arc<dyn Policy>, String>,
    ) -> Result<Self, UnknownBot> {
        let (kind, rest) = name.split_once(':').map_or((name, None), |(kind, rest)| (kind, Some(rest)));
        let unknown = |expected| UnknownBot { given: name.to_owned(), expected };
        let by_policy = match kind {
            "policy" => rest.map(PolicyPlayer::parse),
            "search" => rest.and_then(PolicyPlayer::parse_search),
            _ => None,
        };
        if let Some((policy, pick)) = by_policy {
            return Ok(Self::Policy(PolicyPlayer { policy: find(policy).map_err(unknown)?, pick }));
        }
        let bot = match kind {
            "random" => rest.is_none().then_some(Self::Random),
            "greedy" => count(rest, DEFAULT_DETERMINIZATIONS, MAX_DETERMINIZATIONS)
                .map(|determinizations| Self::Greedy { determinizations }),
            "mc" => count(rest, DEFAULT_PLAYOUTS, MAX_PLAYOUTS).map(|playouts| Self::Search { playouts }),
            _ => None,
        };
        bot.ok_or_else(|| unknown(UnknownBot::KNOWN.to_owned()))
    }

    /// Chooses only from the legal actions, if the bot needs no other information.
    pub fn choose_from_legal(&self, mut legal: ActionSet, rng: &mut RngStream) -> Option<u8> {
        match self {
            Self::Random if !legal.is_empty() => Some(rng.draw(&mut legal)),
            Self::Random | Self::Greedy { .. } | Self::Search { .. } | Self::Policy(_) => None,
        }
    }

    /// Returns whether the bot makes playouts.
    #[must_use]
    pub fn searches(&self) -> bool {
        match self {
            Self::Random | Self::Greedy { .. } => false,
            Self::Search { .. } => true,
            Self::Policy(player) => matches!(player.pick, Pick::Searched { .. }),
        }
    }

    /// Returns whether a choice is so fast that the caller need not schedule it.
    #[must_use]
    pub fn is_cheap(&self) -> bool {
        *self == Self::Random
    }
}

/// Parses a number from 1 to `maximum`; without a text it is `default`.
fn count(text: Option<&str>, default: u32, maximum: u32) -> Option<u32> {
    let Some(number) = text else { return Some(default) };
    number.parse().ok().filter(|count| (1..=maximum).contains(count))
}

impl fmt::Display for Bot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::Greedy { determinizations: DEFAULT_DETERMINIZATIONS } => f.write_str("greedy"),
            Self::Greedy { determinizations } => write!(f, "greedy:{determinizations}"),
            Self::Search { playouts: DEFAULT_PLAYOUTS } => f.write_str("mc"),
            Self::Search { playouts } => write!(f, "mc:{playouts}"),
            Self::Policy(player) => player.fmt(f),
        }
    }
}

/// The error that no bot has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown bot `{given}`; known bots: {expected}")]
pub struct UnknownBot {
    /// The name that the caller gave.
    pub given: String,
    /// The known names, as text for an error message.
    pub expected: String,
}

impl UnknownBot {
    /// The names of the built-in bots, as text for an error message.
    pub const KNOWN: &'static str = "random, greedy, greedy:WORLDS (1 to 1024), mc, mc:PLAYOUTS (1 to 10000), policy:NAME, policy:NAME:argmax, search:NAME, search:NAME:PLAYOUTS (1 to 10000), strong";
}

/// Parses a name where no policy is registered.
impl FromStr for Bot {
    type Err = UnknownBot;

    fn from_str(name: &str) -> Result<Self, UnknownBot> {
        Self::named(name, |_| Err("bots without a policy (no policy is registered here)".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use boardwire_kernel::ActionSet;

    use super::*;

    /// A policy that is never asked.
    #[derive(Debug)]
    struct NeverAsked(String);

    impl Policy for NeverAsked {
        fn name(&self) -> &str {
            &self.0
        }

        fn has_values(&self) -> bool {
            false
        }

        fn submit(self: Arc<Self>, _: Vec<u8>, _: ActionSet) -> Box<dyn PolicyRequest> {
            unreachable!("no bot plays in these tests")
        }
    }

    fn named(name: &str) -> Result<Bot, UnknownBot> {
        Bot::named(name, |policy| match policy {
            "lion" | "lion-2" => Ok(Arc::new(NeverAsked(policy.to_owned()))),
            _ => Err("policy:lion, policy:lion-2".to_owned()),
        })
    }

    #[test]
    fn names_round_trip() {
        for name in ["random", "greedy", "greedy:1", "greedy:1024", "mc", "mc:1", "mc:10000"] {
            assert_eq!(name.parse::<Bot>().map(|bot| bot.to_string()), Ok(name.to_owned()));
        }
        for name in
            ["policy:lion", "policy:lion-2:argmax", "search:lion", "search:lion-2:1", "search:lion:10000"]
        {
            assert_eq!(named(name).map(|bot| bot.to_string()), Ok(name.to_owned()));
        }
        assert_eq!(named("search:lion"), named("search:lion:160"));
        let others = ["policy:lion:argmax", "search:lion", "search:lion:1"];
        assert!(others.into_iter().all(|other| named("policy:lion") != named(other)));
    }

    #[test]
    fn an_unknown_name_lists_known_names() {
        for name in [
            "",
            "greedy:",
            "greedy:0",
            "greedy:1025",
            "random:3",
            "Greedy",
            "mcts",
            "mc:0",
            "mc:10001",
            "mc:-1",
            "policy",
            "search",
            "search:lion:",
            "search:lion:0",
            "search:lion:10001",
            "search:lion:argmax",
        ] {
            let error = named(name).expect_err(name).to_string();
            assert!(error.contains("greedy:WORLDS"), "{error}");
        }
        for name in [
            "policy:",
            "policy:tiger",
            "policy:lion:best",
            "policy::argmax",
            "search:",
            "search:tiger",
            "search::40",
        ] {
            let error = named(name).expect_err(name).to_string();
            assert!(error.ends_with("known bots: policy:lion, policy:lion-2"), "{error}");
            assert!(name.parse::<Bot>().is_err());
        }
    }
}

//! Decisions in progress. They advance by small steps, so that the caller can stop at any time.

use boardwire_kernel::{Episode, Estimate, Knowledge, RngStream, Seat};
use thiserror::Error;

use crate::greedy::Greedy;
use crate::policy::{Pick, PolicyDecision, PolicyPlayer};
use crate::search::Search;
use crate::{Bot, DEFAULT_DETERMINIZATIONS};

/// A decision that one bot is making, from what its seat knew when the decision became pending.
pub struct BotDecision<G: Estimate> {
    knowledge: Knowledge<G>,
    rng: RngStream,
    method: Method<G>,
}

enum Method<G: Estimate> {
    Random,
    Greedy(Greedy<G>),
    Search(Box<Search<G>>),
    Policy(PolicyDecision),
}

/// The error of a bot that did not choose, or that broke a rule for bots.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the bot at seat {} failed: {reason}", .seat.number())]
pub struct BotError {
    /// The bot's seat.
    pub seat: Seat,
    /// What happened.
    pub reason: String,
}

/// The action that a bot has chosen, with its random stream after the choice.
#[derive(Debug)]
pub struct Choice {
    /// The bot's seat.
    pub seat: Seat,
    /// The index of the action.
    pub action: u8,
    /// The stream for the bot's next draws.
    pub rng: RngStream,
}

impl<G: Estimate> BotDecision<G> {
    /// Starts the pending decision of a seat.
    #[must_use]
    pub fn new(bot: &Bot, knowledge: Knowledge<G>, rng: RngStream) -> Self {
        let method = match *bot {
            Bot::Random => Method::Random,
            Bot::Greedy { determinizations } => Method::Greedy(Greedy::new(determinizations)),
            Bot::Search { playouts } => Method::Search(Box::new(Search::new(playouts))),
            Bot::Policy(PolicyPlayer { ref policy, pick: Pick::Searched { playouts } }) => {
                Method::Search(Box::new(Search::with_policy(policy, playouts, &knowledge)))
            }
            Bot::Policy(PolicyPlayer { ref policy, pick: pick @ (Pick::Sampled | Pick::Best) }) => {
                let (sampled, legal) = (pick == Pick::Sampled, knowledge.legal());
                Method::Policy(PolicyDecision::new(policy, sampled, legal, || knowledge.view()))
            }
        };
        Self { knowledge, rng, method }
    }

    /// Starts the estimates of all legal actions, as the choice of `greedy` with the same `rng` sums them.
    #[must_use]
    pub fn estimating(knowledge: Knowledge<G>, rng: RngStream) -> Self {
        let greedy = Greedy::new(DEFAULT_DETERMINIZATIONS).with_forced();
        Self { knowledge, rng, method: Method::Greedy(greedy) }
    }

    /// Works for about as long as one determinization or playout takes. Returns the action's index once it is chosen.
    ///
    /// # Errors
    /// The bot's policy gives no response.
    ///
    /// # Panics
    /// When the seat has no pending decision, or the action was already returned.
    pub fn step(&mut self) -> Result<Option<u8>, BotError> {
        let seat = self.knowledge.seat();
        let chosen = match &mut self.method {
            Method::Random => Ok(Some(self.rng.draw(&mut self.knowledge.legal()))),
            Method::Greedy(greedy) => Ok(greedy.advance(&self.knowledge, &mut self.rng)),
            Method::Search(search) => search.advance(&self.knowledge, &mut self.rng),
            Method::Policy(policy) => policy.advance(&mut self.rng),
        };
        chosen.map_err(|reason| BotError { seat, reason })
    }

    /// Returns whether the bot waits for its policy. If so, let other bots send requests before the next `step`, to fill a
    /// batch.
    #[must_use]
    pub fn awaits_policy(&self) -> bool {
        match &self.method {
            Method::Random | Method::Greedy(_) => false,
            Method::Search(search) => search.awaits_policy(),
            Method::Policy(policy) => matches!(policy, PolicyDecision::Requested { response: None, .. }),
        }
    }

    /// Returns the weights of the actions after the choice, in proportion: the playouts of a search, or the probabilities of
    /// the policy. Omitted actions have weight 0. For other bots and forced choices, the list is empty.
    #[must_use]
    pub fn weights(&self) -> Vec<(u8, u32)> {
        match &self.method {
            Method::Random | Method::Greedy(_) => Vec::new(),
            Method::Search(search) => search.visits().collect(),
            Method::Policy(policy) => policy.weights(),
        }
    }

    /// Returns each legal action with the sum of its estimates, in index order. Empty for bots other than `greedy`.
    #[must_use]
    pub fn estimates(&self) -> Vec<(u8, i64)> {
        match &self.method {
            Method::Greedy(greedy) => greedy.totals().collect(),
            Method::Random | Method::Search(_) | Method::Policy(_) => Vec::new(),
        }
    }

    /// Steps until the action is chosen.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    ///
    /// # Panics
    /// As [`step`](Self::step).
    pub fn run_to_end(mut self) -> Result<Choice, BotError> {
        loop {
            if let Some(action) = self.step()? {
                return Ok(Choice { seat: self.knowledge.seat(), action, rng: self.rng });
            }
        }
    }
}

/// The decisions of bots that became pending together.
///
/// Each decision uses what its seat knew at that moment. The caller applies none before all are made. So a bot's choice
/// depends neither on its speed nor on the order in which bots choose.
pub struct Round<G: Estimate> {
    unfinished: Vec<BotDecision<G>>,
    chosen: Vec<Choice>,
}

impl<G: Estimate> Round<G> {
    /// Starts the decisions of these seats. All of them must be pending.
    pub fn new(episode: &Episode<G>, due: impl IntoIterator<Item = (Seat, Bot, RngStream)>) -> Self {
        let decision = |(seat, bot, rng)| BotDecision::new(&bot, episode.knowledge(seat), rng);
        Self { unfinished: due.into_iter().map(decision).collect(), chosen: Vec::new() }
    }

    /// Returns the seat of the bot that computes now; none once all have chosen.
    #[must_use]
    pub fn seat(&self) -> Option<Seat> {
        self.unfinished.last().map(|decision| decision.knowledge.seat())
    }

    /// Returns whether a bot waits for its policy. If so, let other bots send requests before the next `advance`, to fill a
    /// batch.
    #[must_use]
    pub fn awaits_policy(&self) -> bool {
        self.unfinished.iter().any(BotDecision::awaits_policy)
    }

    /// Computes for about one world. Returns whether all bots have chosen.
    ///
    /// # Errors
    /// A bot that cannot choose. The round then has no result.
    pub fn advance(&mut self) -> Result<bool, BotError> {
        if let Some(decision) = self.unfinished.last_mut()
            && let Some(action) = decision.step()?
            && let Some(BotDecision { knowledge, rng, .. }) = self.unfinished.pop()
        {
            self.chosen.push(Choice { seat: knowledge.seat(), action, rng });
        }
        Ok(self.unfinished.is_empty())
    }

    /// Returns the choices so far: all of them once [`advance`](Self::advance) has returned true.
    #[must_use]
    pub fn choices(self) -> Vec<Choice> {
        self.chosen
    }
}

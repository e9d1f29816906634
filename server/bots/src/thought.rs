//! Decisions in progress. They advance by small steps, so that the caller can stop at any time.

use boardwire_kernel::{Episode, Estimate, Knowledge, RngStream, Seat};
use thiserror::Error;

use crate::Bot;
use crate::greedy::Greedy;
use crate::policy::Asked;
use crate::search::Search;

/// A decision that one bot is making, from what its seat knew when the decision became pending.
pub struct Thought<G: Estimate> {
    knowledge: Knowledge<G>,
    rng: RngStream,
    method: Method<G>,
}

enum Method<G: Estimate> {
    Random,
    Greedy(Greedy<G>),
    Search(Box<Search<G>>),
    Policy(Asked),
}

/// The error of a bot that did not choose, or that broke a rule for bots.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the bot at seat {} failed: {what}", .seat.number())]
pub struct BotFault {
    /// The bot's seat.
    pub seat: Seat,
    /// What happened.
    pub what: String,
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

impl<G: Estimate> Thought<G> {
    /// Starts the pending decision of a seat.
    #[must_use]
    pub fn new(bot: &Bot, knowledge: Knowledge<G>, rng: RngStream) -> Self {
        let method = match *bot {
            Bot::Random => Method::Random,
            Bot::Greedy { worlds } => Method::Greedy(Greedy::new(worlds)),
            Bot::Search { playouts } => Method::Search(Box::new(Search::new(playouts))),
            Bot::Policy(ref by) => Method::Policy(Asked::new(by, &knowledge)),
        };
        Self { knowledge, rng, method }
    }

    /// Computes for about one determinization (world) or playout. Returns the action's index once it is chosen.
    ///
    /// # Errors
    /// A policy that gives no answer.
    ///
    /// # Panics
    /// When the seat has no pending decision, or the action was already returned.
    pub fn advance(&mut self) -> Result<Option<u8>, BotFault> {
        let seat = self.knowledge.seat();
        match &mut self.method {
            Method::Random => Ok(Some(self.rng.draw(&mut self.knowledge.legal()))),
            Method::Greedy(greedy) => Ok(greedy.advance(&self.knowledge, &mut self.rng)),
            Method::Search(search) => Ok(search.advance(&self.knowledge, &mut self.rng)),
            Method::Policy(asked) => asked.advance(&mut self.rng).map_err(|what| BotFault { seat, what }),
        }
    }

    /// Returns whether the bot has asked a policy. If so, let other bots ask before the next `advance`, to fill a batch.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        matches!(self.method, Method::Policy(Asked::Question { .. }))
    }

    /// Returns the weights of the actions after the choice, in proportion: the playouts of `mc`, or the probabilities of the
    /// policy. Omitted actions have weight 0. For other bots and forced choices, the list is empty.
    #[must_use]
    pub fn weights(&self) -> Vec<(u8, u32)> {
        match &self.method {
            Method::Random | Method::Greedy(_) => Vec::new(),
            Method::Search(search) => search.visits().collect(),
            Method::Policy(asked) => asked.weights(),
        }
    }

    /// Advances to the end.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    ///
    /// # Panics
    /// As [`advance`](Self::advance).
    pub fn finish(mut self) -> Result<Choice, BotFault> {
        loop {
            if let Some(action) = self.advance()? {
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
    thinking: Vec<Thought<G>>,
    chosen: Vec<Choice>,
}

impl<G: Estimate> Round<G> {
    /// Starts the decisions of these seats. All of them must be pending.
    pub fn new(episode: &Episode<G>, due: impl IntoIterator<Item = (Seat, Bot, RngStream)>) -> Self {
        let thought = |(seat, bot, rng)| Thought::new(&bot, episode.knowledge(seat), rng);
        Self { thinking: due.into_iter().map(thought).collect(), chosen: Vec::new() }
    }

    /// Returns the seat of the bot that computes now; none once all have chosen.
    #[must_use]
    pub fn seat(&self) -> Option<Seat> {
        self.thinking.last().map(|thought| thought.knowledge.seat())
    }

    /// Returns whether a bot has asked a policy. If so, let other bots ask before the next `advance`, to fill a batch.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        self.thinking.iter().any(Thought::has_asked)
    }

    /// Computes for about one world. Returns whether all bots have chosen.
    ///
    /// # Errors
    /// A bot that cannot choose. The round then has no result.
    pub fn advance(&mut self) -> Result<bool, BotFault> {
        if let Some(thought) = self.thinking.last_mut()
            && let Some(action) = thought.advance()?
            && let Some(Thought { knowledge, rng, .. }) = self.thinking.pop()
        {
            self.chosen.push(Choice { seat: knowledge.seat(), action, rng });
        }
        Ok(self.thinking.is_empty())
    }

    /// Returns the choices so far: all of them once [`advance`](Self::advance) has returned true.
    #[must_use]
    pub fn choices(self) -> Vec<Choice> {
        self.chosen
    }
}

//! Decisions in the making: they advance by small steps, so that whoever runs them can stop at any moment.

use boardwire_kernel::{Episode, Estimate, Knowledge, RngStream, Seat};
use thiserror::Error;

use crate::Bot;
use crate::greedy::Greedy;
use crate::policy::Asked;
use crate::search::Search;

/// A decision that one bot is making, from what its seat knew when it became due.
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

/// A bot has not chosen, or has done what none may.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the bot at seat {} failed: {what}", .seat.number())]
pub struct BotFault {
    /// Where it sits.
    pub seat: Seat,
    /// What happened.
    pub what: String,
}

/// The action that a bot has chosen, with its randomness as far as it has been used.
#[derive(Debug)]
pub struct Choice {
    /// The bot's seat.
    pub seat: Seat,
    /// The index of the action.
    pub action: u8,
    /// What the bot goes on drawing from.
    pub rng: RngStream,
}

impl<G: Estimate> Thought<G> {
    /// Begins a decision of a seat that owes one.
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

    /// Thinks for about as long as one world or playout takes; gives the index of the action once it is chosen.
    ///
    /// # Errors
    /// A policy that has no answer.
    ///
    /// # Panics
    /// When the seat owes no choice, or the action has been given already.
    pub fn advance(&mut self) -> Result<Option<u8>, BotFault> {
        let seat = self.knowledge.seat();
        match &mut self.method {
            Method::Random => Ok(Some(self.rng.draw(&mut self.knowledge.legal()))),
            Method::Greedy(greedy) => Ok(greedy.advance(&self.knowledge, &mut self.rng)),
            Method::Search(search) => Ok(search.advance(&self.knowledge, &mut self.rng)),
            Method::Policy(asked) => asked.advance(&mut self.rng).map_err(|what| BotFault { seat, what }),
        }
    }

    /// Whether a policy has been asked, so that it pays to let others ask before going on.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        matches!(self.method, Method::Policy(Asked::Question { .. }))
    }

    /// What speaks for each action once one has been chosen, in proportion: the playouts that `mc` has given it, or how
    /// likely the policy is to choose it. Actions that are left out have nothing; where nothing was weighed, all are.
    #[must_use]
    pub fn weights(&self) -> Vec<(u8, u32)> {
        match &self.method {
            Method::Random | Method::Greedy(_) => Vec::new(),
            Method::Search(search) => search.visits().collect(),
            Method::Policy(asked) => asked.weights(),
        }
    }

    /// Thinks to the end.
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

/// The decisions of bots that became due together.
///
/// Each is made from what its seat knew at that moment, and none is played before all have been made: what a bot
/// does depends neither on how fast it thinks nor on when the others choose.
pub struct Round<G: Estimate> {
    thinking: Vec<Thought<G>>,
    chosen: Vec<Choice>,
}

impl<G: Estimate> Round<G> {
    /// Begins the decisions of these seats, all of which owe one.
    pub fn new(episode: &Episode<G>, due: impl IntoIterator<Item = (Seat, Bot, RngStream)>) -> Self {
        let thought = |(seat, bot, rng)| Thought::new(&bot, episode.knowledge(seat), rng);
        Self { thinking: due.into_iter().map(thought).collect(), chosen: Vec::new() }
    }

    /// The seat whose bot thinks; none once all have chosen.
    #[must_use]
    pub fn seat(&self) -> Option<Seat> {
        self.thinking.last().map(|thought| thought.knowledge.seat())
    }

    /// Whether a policy has been asked, so that it pays to let others ask before going on.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        self.thinking.iter().any(Thought::has_asked)
    }

    /// Thinks for about as long as one world takes; whether all have chosen.
    ///
    /// # Errors
    /// A bot that cannot choose: the round comes to nothing.
    pub fn advance(&mut self) -> Result<bool, BotFault> {
        if let Some(thought) = self.thinking.last_mut()
            && let Some(action) = thought.advance()?
            && let Some(Thought { knowledge, rng, .. }) = self.thinking.pop()
        {
            self.chosen.push(Choice { seat: knowledge.seat(), action, rng });
        }
        Ok(self.thinking.is_empty())
    }

    /// What has been chosen so far: everything, once [`advance`](Self::advance) has said so.
    #[must_use]
    pub fn choices(self) -> Vec<Choice> {
        self.chosen
    }
}

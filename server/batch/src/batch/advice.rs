//! Advice: the action that a bot would choose in each decision of an agent.
//!
//! Advice depends on the deciding seat's information set and on a separate stream of random numbers. The position in the
//! stream depends only on the ply. So all requests get the same advice, and a snapshot does not store it.

use boardwire_bots::{BotFault, Thought};
use boardwire_kernel::{Estimate, Seat};

use super::Adviser;
use super::columns::{Column, NOBODY, Rows};
use super::environment::Environment;
use crate::pool::Slice;

/// The advice for an environment's decision.
pub(super) enum Advice<G: Estimate> {
    /// The bot has not started, or there is no decision.
    New,
    Thinking(Box<Thought<G>>),
    /// The bot's action, and the weights of actions.
    Given(u8, Vec<(u8, u32)>),
}

impl<G: Estimate> Advice<G> {
    /// Returns the same advice. No bot may be thinking.
    pub(super) fn copy(&self) -> Self {
        match self {
            Self::New | Self::Thinking(_) => Self::New,
            Self::Given(action, weights) => Self::Given(*action, weights.clone()),
        }
    }

    /// Lets the bot continue to think about the decision of `seat`; returns whether it has finished.
    pub(super) fn advance(
        &mut self,
        adviser: &Adviser,
        environment: &Environment<G>,
        seat: Seat,
        slice: &Slice,
    ) -> Result<bool, BotFault> {
        if let Self::New = self {
            let thought = environment.thought(&adviser.bot, seat);
            let has_asked = thought.has_asked();
            *self = Self::Thinking(Box::new(thought));
            if has_asked {
                return Ok(false);
            }
        }
        let Self::Thinking(thought) = self else { return Ok(true) };
        let as_adviser = |fault: BotFault| BotFault { what: format!("as adviser: {}", fault.what), ..fault };
        loop {
            if let Some(action) = thought.advance().map_err(as_adviser)? {
                let weights = if adviser.shares { thought.weights() } else { Vec::new() };
                *self = Self::Given(action, weights);
                return Ok(true);
            }
            if slice.is_over() {
                return Ok(false);
            }
        }
    }

    pub(super) fn write(&self, row: usize, rows: &mut Rows) {
        let (action, weights) = match self {
            Self::Given(action, weights) => (Some(*action), weights.as_slice()),
            Self::New | Self::Thinking(_) => (None, [].as_slice()),
        };
        rows.put(Column::Advice, row, action.unwrap_or(NOBODY));
        let shares = rows.cell(Column::Shares, row);
        shares.fill(0);
        if shares.is_empty() {
            return;
        }
        let mut put = |action: u8, share: f32| {
            shares[4 * usize::from(action)..][..4].copy_from_slice(&share.to_le_bytes());
        };
        let sum = weights.iter().map(|&(_, weight)| weight).sum();
        for &(action, weight) in weights {
            put(action, share(weight, sum));
        }
        if let (Some(action), []) = (action, weights) {
            put(action, 1.0);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a share needs no more than a float has")]
fn share(weight: u32, sum: u32) -> f32 {
    (f64::from(weight) / f64::from(sum)) as f32
}

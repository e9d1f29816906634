//! Advice: the action that a bot would choose in each decision of an agent.
//!
//! Advice depends on the deciding seat's information set and on a separate stream of random numbers. The position in the
//! stream depends only on the ply. So all requests get the same advice, and a snapshot does not store it.

use boardwire_bots::{BotDecision, BotError};
use boardwire_kernel::{Estimate, Seat};

use super::Adviser;
use super::columns::{Column, NO_VALUE, Rows};
use super::environment::Environment;
use crate::pool::Slice;

/// The advice for an environment's decision.
pub(super) enum Advice<G: Estimate> {
    /// The bot has not started, or there is no decision.
    NotStarted,
    Thinking(Box<BotDecision<G>>),
    /// The bot's action, and the weights of actions.
    Complete(u8, Vec<(u8, u32)>),
}

impl<G: Estimate> Advice<G> {
    /// Returns the same advice. No bot may be thinking.
    pub(super) fn copy(&self) -> Self {
        match self {
            Self::NotStarted | Self::Thinking(_) => Self::NotStarted,
            Self::Complete(action, weights) => Self::Complete(*action, weights.clone()),
        }
    }

    /// Lets the bot continue to think about the decision of `seat`; returns whether it has finished.
    pub(super) fn advance(
        &mut self,
        adviser: &Adviser,
        environment: &Environment<G>,
        seat: Seat,
        slice: &Slice,
    ) -> Result<bool, BotError> {
        if let Self::NotStarted = self {
            let decision = environment.start_advice(&adviser.bot, seat);
            let awaits_policy = decision.awaits_policy();
            *self = Self::Thinking(Box::new(decision));
            if awaits_policy {
                return Ok(false);
            }
        }
        let Self::Thinking(decision) = self else { return Ok(true) };
        let as_adviser =
            |error: BotError| BotError { reason: format!("as adviser: {}", error.reason), ..error };
        loop {
            if let Some(action) = decision.step().map_err(as_adviser)? {
                let weights = if adviser.shares { decision.weights() } else { Vec::new() };
                *self = Self::Complete(action, weights);
                return Ok(true);
            }
            if slice.is_over() {
                return Ok(false);
            }
        }
    }

    pub(super) fn write(&self, row: usize, rows: &mut Rows) {
        let (action, weights) = match self {
            Self::Complete(action, weights) => (Some(*action), weights.as_slice()),
            Self::NotStarted | Self::Thinking(_) => (None, [].as_slice()),
        };
        rows.put(Column::Advice, row, action.unwrap_or(NO_VALUE));
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

//! Advice: what a bot would choose where environments show decisions.
//!
//! It follows from what the deciding seat knows, and from words of a stream that nothing else draws from and whose place
//! depends on the ply alone. So it is the same whenever it is asked for, and nothing needs to be saved of it.

use boardwire_bots::{BotFault, Thought};
use boardwire_kernel::{Estimate, Seat};

use super::Adviser;
use super::columns::{Column, NOBODY, Rows};
use super::environment::Environment;
use crate::pool::Slice;

/// The advice for the decision that an environment shows, as far as it has come.
pub(super) enum Advice<G: Estimate> {
    /// Nobody has thought about it yet, or there is nothing to decide.
    Unasked,
    /// The bot thinks.
    Thinking(Box<Thought<G>>),
    /// The action, and what speaks for each.
    Given(u8, Vec<(u8, u32)>),
}

impl<G: Estimate> Advice<G> {
    /// The same advice; no bot may be thinking.
    pub(super) fn copy(&self) -> Self {
        match self {
            Self::Unasked | Self::Thinking(_) => Self::Unasked,
            Self::Given(action, weights) => Self::Given(*action, weights.clone()),
        }
    }

    /// Goes on thinking about the decision of `seat`, unless advice has been given; whether it has.
    pub(super) fn advance(
        &mut self,
        adviser: &Adviser,
        environment: &Environment<G>,
        seat: Seat,
        slice: &Slice,
    ) -> Result<bool, BotFault> {
        if let Self::Unasked = self {
            let thought = environment.thought(&adviser.bot, seat);
            let has_asked = thought.has_asked();
            *self = Self::Thinking(Box::new(thought));
            if has_asked {
                return Ok(false);
            }
        }
        let Self::Thinking(thought) = self else { return Ok(true) };
        let failed = |fault: BotFault| BotFault { what: format!("as adviser: {}", fault.what), ..fault };
        loop {
            if let Some(action) = thought.advance().map_err(failed)? {
                let weights = if adviser.shares { thought.weights() } else { Vec::new() };
                *self = Self::Given(action, weights);
                return Ok(true);
            }
            if slice.is_over() {
                return Ok(false);
            }
        }
    }

    /// Writes the columns that tell it.
    pub(super) fn write(&self, row: usize, rows: &mut Rows) {
        let (action, weights) = match self {
            Self::Given(action, weights) => (Some(*action), weights.as_slice()),
            Self::Unasked | Self::Thinking(_) => (None, [].as_slice()),
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

/// A part of a sum.
#[expect(clippy::cast_possible_truncation, reason = "a share needs no more than a float has")]
fn share(weight: u32, sum: u32) -> f32 {
    (f64::from(weight) / f64::from(sum)) as f32
}

//! What bots think of the decisions of agents: the action that the adviser would choose, and the estimate of every action.
//!
//! Both depend on the deciding seat's information set and on a separate stream of random numbers. The position in the
//! stream depends only on the ply. So all requests get the same values, and a snapshot does not store them.

use boardwire_bots::{BotDecision, BotError, DEFAULT_DETERMINIZATIONS};
use boardwire_kernel::{Estimate, Seat};

use super::Adviser;
use super::columns::{Column, NO_VALUE, Rows};
use super::environment::Environment;
use crate::pool::Slice;

/// What a bot thinks of an environment's decision.
pub(super) enum Advice<G: Estimate> {
    /// The bot has not started, or there is no decision.
    NotStarted,
    Thinking(Box<BotDecision<G>>),
    /// The bot's action, and the share or estimate of actions.
    Complete(u8, Vec<(u8, f32)>),
}

impl<G: Estimate> Advice<G> {
    /// Returns the same advice. No bot may be thinking.
    pub(super) fn copy(&self) -> Self {
        match self {
            Self::NotStarted | Self::Thinking(_) => Self::NotStarted,
            Self::Complete(action, values) => Self::Complete(*action, values.clone()),
        }
    }

    /// Lets the adviser continue to think about the decision of `seat`, or without adviser continues the estimates of its
    /// actions; returns whether they are complete.
    pub(super) fn advance(
        &mut self,
        adviser: Option<&Adviser>,
        environment: &Environment<G>,
        seat: Seat,
        slice: &Slice,
    ) -> Result<bool, BotError> {
        if let Self::NotStarted = self {
            let decision = environment.start_advice(adviser.map(|adviser| &adviser.bot), seat);
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
                let values = match adviser {
                    None => estimates(&decision.estimates()),
                    Some(adviser) if adviser.shares => shares(action, &decision.weights()),
                    Some(_) => Vec::new(),
                };
                *self = Self::Complete(action, values);
                return Ok(true);
            }
            if slice.is_over() {
                return Ok(false);
            }
        }
    }

    pub(super) fn write_advice(&self, row: usize, rows: &mut Rows) {
        let action = if let Self::Complete(action, _) = self { *action } else { NO_VALUE };
        rows.put(Column::Advice, row, action);
        self.write_values(rows.cell(Column::Shares, row), 0.0);
    }

    pub(super) fn write_estimates(&self, row: usize, rows: &mut Rows) {
        self.write_values(rows.cell(Column::Estimates, row), f32::NAN);
    }

    /// Writes the value of each action; `absent` for actions without one.
    fn write_values(&self, cell: &mut [u8], absent: f32) {
        let (numbers, _) = cell.as_chunks_mut::<{ size_of::<f32>() }>();
        numbers.fill(absent.to_le_bytes());
        if let (Self::Complete(_, values), false) = (self, numbers.is_empty()) {
            for &(action, value) in values {
                numbers[usize::from(action)] = value.to_le_bytes();
            }
        }
    }
}

/// Returns the share of each action in the weights, or 1 for the chosen action of a bot without weights.
#[expect(clippy::cast_possible_truncation, reason = "a share needs no more than a float has")]
fn shares(chosen: u8, weights: &[(u8, u32)]) -> Vec<(u8, f32)> {
    if weights.is_empty() {
        return vec![(chosen, 1.0)];
    }
    let sum: u32 = weights.iter().map(|&(_, weight)| weight).sum();
    weights.iter().map(|&(action, weight)| (action, (f64::from(weight) / f64::from(sum)) as f32)).collect()
}

/// Returns the means of estimates over the determinizations. Equal sums have equal means.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "estimates are small")]
fn estimates(totals: &[(u8, i64)]) -> Vec<(u8, f32)> {
    let mean = |total: i64| (total as f64 / f64::from(DEFAULT_DETERMINIZATIONS)) as f32;
    totals.iter().map(|&(action, total)| (action, mean(total))).collect()
}

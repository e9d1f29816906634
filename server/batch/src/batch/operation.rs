//! The operation that a call applies to the environments of a block, and its progress.

use super::columns::{EpisodeEndColumns, Rows};
use super::snapshot::SavedEnvironment;
use super::{Actions, EpisodeStart};

/// The operation that a call applies. The call has checked the actions and the saved environments before.
#[derive(Debug)]
pub enum Operation {
    /// Deals the first episodes; writes no rows.
    Open,
    /// Makes decisions. The index of an action is the place of its environment among those of the call.
    Step(Actions),
    /// Starts episodes. Entry `i` is for environment `i` of the batch; `None` leaves it unchanged.
    Reset(Vec<Option<EpisodeStart>>),
    /// Replaces environments with saved ones. Entry `i` is for environment `i` of the batch; `None` leaves it
    /// unchanged.
    Load(Vec<Option<SavedEnvironment>>),
}

impl Operation {
    /// Returns the number of rows that the operation writes for this many environments.
    pub(super) fn rows(&self, environments: usize) -> usize {
        if let Self::Open = self { 0 } else { environments }
    }

    /// Returns whether the operation changes the environment in this row of the span.
    pub(super) fn changes(&self, span: Span, row: usize) -> bool {
        match self {
            Self::Open => true,
            Self::Step(actions) => actions.get(span.first_row + row).is_some(),
            Self::Reset(starts) => starts[span.first_environment + row].is_some(),
            Self::Load(saved) => saved[span.first_environment + row].is_some(),
        }
    }

    /// Returns whether the operation makes a decision in an environment, or starts the next episode after the end of one.
    pub(super) fn steps(&self, span: Span, row: usize) -> bool {
        matches!(self, Self::Step(_)) && self.changes(span, row)
    }
}

/// The environments of a block that a call works on.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The index of the first environment within the block.
    pub(super) offset: usize,
    /// The number of environments.
    pub(super) len: usize,
    /// The index of the first environment within the batch.
    pub(super) first_environment: usize,
    /// The index of the first environment within the call.
    pub(super) first_row: usize,
}

/// The output of a call for a block, and the progress of the call between two slices.
#[derive(Debug)]
pub struct Output {
    pub(super) rows: Rows,
    pub(super) ends: EpisodeEndColumns,
    pub(super) decisions: u64,
    pub(super) finished_rows: usize,
    /// The stage of the rows after the finished ones.
    pub(super) stage: Stage,
}

impl Output {
    pub(super) fn new(rows: Rows) -> Self {
        Self {
            rows,
            ends: EpisodeEndColumns::default(),
            decisions: 0,
            finished_rows: 0,
            stage: Stage::NotStarted,
        }
    }

    /// Starts on another block, whose first row is `row`.
    pub(super) fn start_block(&mut self, row: usize) {
        (self.rows.first, self.finished_rows, self.stage) = (row, 0, Stage::NotStarted);
    }

    /// Appends the output of the next block.
    pub(super) fn join(&mut self, next: Self) {
        self.rows.join(next.rows);
        self.ends.append(&next.ends);
        self.decisions += next.decisions;
    }
}

/// The progress of a call with some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The call has not started.
    NotStarted,
    /// The call has made the decisions or started the episodes. Bots play.
    PlayingBots,
    /// The call has started the next episodes in the same step. Bots play.
    PlayingNextEpisode,
    /// All bots have played. The adviser thinks.
    Advising,
}

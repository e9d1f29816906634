//! What a call does to the environments of a block, and how far it is.

use super::columns::{Ends, Rows};
use super::snapshot::Saved;
use super::{Actions, Begin};

/// What a call does to its environments. The call has checked the actions and the saved environments.
#[derive(Debug)]
pub enum Operation {
    /// Deals the first episodes; writes no rows.
    Open,
    /// Makes decisions, by environment of the call.
    Step(Actions),
    /// Begins episodes, by environment of the batch.
    Reset(Vec<Option<Begin>>),
    /// Replaces environments by saved ones, by environment of the batch.
    Load(Vec<Option<Saved>>),
}

impl Operation {
    /// How many rows it writes for so many environments.
    pub(super) fn rows(&self, environments: usize) -> usize {
        if let Self::Open = self { 0 } else { environments }
    }

    /// Whether it changes an environment of the span.
    pub(super) fn changes(&self, span: Span, row: usize) -> bool {
        match self {
            Self::Open => true,
            Self::Step(actions) => actions.at(span.row + row).is_some(),
            Self::Reset(begins) => begins[span.environment + row].is_some(),
            Self::Load(saved) => saved[span.environment + row].is_some(),
        }
    }

    /// Whether it makes a decision in an environment, or begins the next episode after the last decision.
    pub(super) fn steps(&self, span: Span, row: usize) -> bool {
        matches!(self, Self::Step(_)) && self.changes(span, row)
    }
}

/// The environments of a block that a call concerns.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The place of the first in the block.
    pub(super) from: usize,
    /// How many there are.
    pub(super) rows: usize,
    /// The number of the first in the batch.
    pub(super) environment: usize,
    /// The number of the first in the call.
    pub(super) row: usize,
}

/// What a call writes for a block, and how far it is between two slices.
#[derive(Debug)]
pub struct Output {
    pub(super) rows: Rows,
    pub(super) ends: Ends,
    /// Decisions made.
    pub(super) decisions: u64,
    /// Finished rows.
    pub(super) done: usize,
    /// The stage of the rows after them.
    pub(super) stage: Stage,
}

impl Output {
    pub(super) fn new(rows: Rows) -> Self {
        Self { rows, ends: Ends::default(), decisions: 0, done: 0, stage: Stage::New }
    }

    /// Begins with another block, whose first row is `row`.
    pub(super) fn begin_at(&mut self, row: usize) {
        (self.rows.first, self.done, self.stage) = (row, 0, Stage::New);
    }

    /// Appends the output of the next block.
    pub(super) fn join(&mut self, next: Self) {
        self.rows.join(next.rows);
        self.ends.append(&next.ends);
        self.decisions += next.decisions;
    }
}

/// How far the call is with some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has done nothing.
    New,
    /// It has made their decisions or begun their episodes; bots play.
    Playing,
    /// It has begun next episodes in the same step; bots play.
    Restarted,
    /// All bots have played; the adviser thinks.
    Played,
}

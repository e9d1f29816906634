//! What a call does to the environments of a block, and how far it has come.

use super::columns::{Ends, Rows};
use super::snapshot::Saved;
use super::{Actions, Begin};

/// What a call does to its environments. All actions have been checked.
#[derive(Debug)]
pub enum Operation {
    /// Deals the first episodes; shows nothing.
    Open,
    /// Makes decisions, by environment of the call.
    Step(Actions),
    /// Begins the episodes that are named, by environment of the batch.
    Reset(Vec<Option<Begin>>),
    /// Puts saved environments, which have been checked, in the places of some, by environment of the batch.
    Load(Vec<Option<Saved>>),
}

impl Operation {
    /// Whether it changes an environment that the call is about.
    pub(super) fn changes(&self, span: Span, row: usize) -> bool {
        match self {
            Self::Open => true,
            Self::Step(actions) => actions.at(span.row + row).is_some(),
            Self::Reset(begins) => begins[span.environment + row].is_some(),
            Self::Load(saved) => saved[span.environment + row].is_some(),
        }
    }

    /// Whether it makes a decision there, or begins the next episode after one.
    pub(super) fn steps(&self, span: Span, row: usize) -> bool {
        matches!(self, Self::Step(_)) && self.changes(span, row)
    }
}

/// Which environments of a block a call is about.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The place of the first in the block.
    pub(super) from: usize,
    /// How many there are.
    pub(super) rows: usize,
    /// The number of the first in the batch.
    pub(super) environment: usize,
    /// The same, counted from the first environment of the call.
    pub(super) row: usize,
}

/// What a call writes for a block, and how far it has come between two slices.
#[derive(Debug)]
pub struct Output {
    pub(super) rows: Rows,
    pub(super) ends: Ends,
    /// Decisions that have been made.
    pub(super) decisions: u64,
    /// Rows that are done.
    pub(super) done: usize,
    /// What has been done with the rows that come next.
    pub(super) stage: Stage,
}

impl Output {
    pub(super) fn new(rows: Rows) -> Self {
        Self { rows, ends: Ends::default(), decisions: 0, done: 0, stage: Stage::New }
    }

    /// Begins with another block, whose rows are written from this one on.
    pub(super) fn begin_at(&mut self, row: usize) {
        self.rows.begin_at(row);
        (self.done, self.stage) = (0, Stage::New);
    }

    /// Adds what has been written for the rows that follow.
    pub(super) fn join(&mut self, next: Self) {
        self.rows.join(next.rows);
        self.ends.append(&next.ends);
        self.decisions += next.decisions;
    }
}

/// What has been done with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing.
    New,
    /// Their decisions have been made, or episodes begun: bots play.
    Playing,
    /// Next episodes have begun in the same step: bots play.
    Restarted,
    /// All have played: the adviser thinks.
    Played,
}

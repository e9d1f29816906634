//! The numbers of a batch's answers, and the last ones: what keeps a repeated request from being carried out twice.

use std::ops::Range;

use bytes::Bytes;

use super::columns::Step;
use super::{Actions, Reset};
use boardwire_api::Error;

/// What a request asked for, to tell a repetition from another request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// A step with these actions.
    Step(Actions),
    /// A reset.
    Reset(Reset),
}

impl Asked {
    /// A step with these actions.
    pub(super) fn step(Actions { indices, mask }: &Actions) -> Self {
        Self::Step(Actions { indices: own(indices), mask: own(mask) })
    }

    /// A reset.
    pub(super) fn reset(asked: Reset) -> Self {
        Self::Reset(Reset { mask: own(&asked.mask), ..asked })
    }
}

/// The same in memory of their own: bytes of a request are parts of its message, which can be much longer, and would
/// keep all of it.
fn own(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// A request whose sender has stated the number of its answer.
#[derive(Debug, Clone)]
pub(super) struct Numbered {
    pub(super) sequence: u64,
    pub(super) asked: Asked,
}

/// The last answer for a run of environments, to a request with a number.
#[derive(Debug)]
struct Kept {
    range: Range<usize>,
    request: Numbered,
    step: Step,
}

#[derive(Debug)]
pub(super) struct Ledger {
    /// By environment, the highest number of the answers that have covered it.
    last: Vec<u64>,
    kept: Vec<Kept>,
}

impl Ledger {
    pub(super) fn new(environments: usize) -> Self {
        Self { last: vec![0; environments], kept: Vec::new() }
    }

    /// The number of the next answer for these environments.
    pub(super) fn next(&self, range: &Range<usize>) -> u64 {
        self.last[range.clone()].iter().max().map_or(1, |last| last + 1)
    }

    /// The answer to a request that has been carried out already; none of one that is to be carried out now.
    ///
    /// # Errors
    /// A request whose number is neither that of the next answer nor that of the last with what was asked then.
    pub(super) fn answered(&self, range: &Range<usize>, request: &Numbered) -> Result<Option<Step>, Error> {
        let expected = self.next(range);
        if request.sequence == expected {
            return Ok(None);
        }
        let same = |kept: &&Kept| {
            kept.range == *range
                && kept.request.sequence == request.sequence
                && kept.request.asked == request.asked
        };
        let kept = self.kept.iter().find(same).map(|kept| kept.step.clone());
        kept.map(Some).ok_or(Error::SequenceStale { expected, sequence: request.sequence })
    }

    /// Enters an answer; keeps it if its request had a number.
    pub(super) fn enter(&mut self, range: Range<usize>, step: &Step, request: Option<Numbered>) {
        self.last[range.clone()].fill(step.sequence);
        self.kept.retain(|kept| kept.range.end <= range.start || range.end <= kept.range.start);
        self.kept.extend(request.map(|request| Kept { range, request, step: step.clone() }));
    }
}

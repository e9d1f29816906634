//! The numbers of a batch's answers, and the last ones: what keeps a repeated request from being carried out twice.

use std::ops::Range;

use bytes::Bytes;

use super::columns::Step;
use super::{Actions, Reset};
use boardwire_api::Error;

/// What a request asked for, to tell a repetition from another request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestContent {
    /// A step with these actions.
    Step(Actions),
    /// A reset.
    Reset(Reset),
}

impl RequestContent {
    /// A step with these actions.
    pub(super) fn step(Actions { indices, mask }: &Actions) -> Self {
        Self::Step(Actions { indices: copied(indices), mask: copied(mask) })
    }

    /// A reset.
    pub(super) fn reset(content: Reset) -> Self {
        Self::Reset(Reset { mask: copied(&content.mask), ..content })
    }
}

/// The same in memory of their own: bytes of a request are parts of its message, which can be much longer, and would
/// keep all of it.
fn copied(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// A request whose sender has stated the number of its answer.
#[derive(Debug, Clone)]
pub(super) struct NumberedRequest {
    pub(super) sequence: u64,
    pub(super) content: RequestContent,
}

/// The last answer for a run of environments, to a request with a number.
#[derive(Debug)]
struct CachedResponse {
    range: Range<usize>,
    request: NumberedRequest,
    step: Step,
}

#[derive(Debug)]
pub(super) struct ResponseCache {
    /// By environment, the highest number of the answers that have covered it.
    last_sequence: Vec<u64>,
    cached: Vec<CachedResponse>,
}

impl ResponseCache {
    pub(super) fn new(environments: usize) -> Self {
        Self { last_sequence: vec![0; environments], cached: Vec::new() }
    }

    /// The number of the next answer for these environments.
    pub(super) fn next_sequence(&self, range: &Range<usize>) -> u64 {
        self.last_sequence[range.clone()].iter().max().map_or(1, |last| last + 1)
    }

    /// The answer to a request that has been carried out already; none of one that is to be carried out now.
    ///
    /// # Errors
    /// A request whose number is neither that of the next answer nor that of the last with what was asked then.
    pub(super) fn repeated(
        &self,
        range: &Range<usize>,
        request: &NumberedRequest,
    ) -> Result<Option<Step>, Error> {
        let expected = self.next_sequence(range);
        if request.sequence == expected {
            return Ok(None);
        }
        let same = |cached: &&CachedResponse| {
            cached.range == *range
                && cached.request.sequence == request.sequence
                && cached.request.content == request.content
        };
        let cached = self.cached.iter().find(same).map(|cached| cached.step.clone());
        cached.map(Some).ok_or(Error::SequenceStale { expected, sequence: request.sequence })
    }

    /// Enters an answer; keeps it if its request had a number.
    pub(super) fn record(&mut self, range: Range<usize>, step: &Step, request: Option<NumberedRequest>) {
        self.last_sequence[range.clone()].fill(step.sequence);
        self.cached.retain(|cached| cached.range.end <= range.start || range.end <= cached.range.start);
        self.cached.extend(request.map(|request| CachedResponse { range, request, step: step.clone() }));
    }
}

//! Sequence numbers and cached responses of a batch. They make retries idempotent: a repeated request does not run twice.

use std::ops::Range;

use bytes::Bytes;

use super::columns::Step;
use super::{Actions, Reset};
use boardwire_api::Error;

/// The contents of a request, compared to recognize a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestContent {
    Step(Actions),
    Reset(Reset),
}

impl RequestContent {
    pub(super) fn step(Actions { indices, mask }: &Actions) -> Self {
        Self::Step(Actions { indices: copied(indices), mask: copied(mask) })
    }

    pub(super) fn reset(reset: Reset) -> Self {
        Self::Reset(Reset { mask: copied(&reset.mask), ..reset })
    }
}

/// Returns a copy. The bytes of a request share the memory of its message, which can be much longer.
fn copied(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// A request that states the sequence number of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberedRequest {
    pub(super) sequence: u64,
    pub(super) content: RequestContent,
}

/// The last response to a numbered request for a range of environments.
#[derive(Debug)]
struct CachedResponse {
    range: Range<usize>,
    request: NumberedRequest,
    step: Step,
}

#[derive(Debug)]
pub(super) struct ResponseCache {
    /// By environment: the highest sequence number of its responses.
    last_sequence: Vec<u64>,
    cached: Vec<CachedResponse>,
}

impl ResponseCache {
    pub(super) fn new(environments: usize) -> Self {
        Self { last_sequence: vec![0; environments], cached: Vec::new() }
    }

    /// Returns the sequence number of the next response for these environments.
    pub(super) fn next_sequence(&self, range: &Range<usize>) -> u64 {
        self.last_sequence[range.clone()].iter().max().map_or(1, |last| last + 1)
    }

    /// Returns the cached response to a retry. `None` if the request is new.
    ///
    /// # Errors
    /// The sequence number is neither that of the next response nor that of the last response to the same request.
    pub(super) fn repeated(
        &self,
        range: &Range<usize>,
        request: &NumberedRequest,
    ) -> Result<Option<Step>, Error> {
        let (expected, sequence) = (self.next_sequence(range), request.sequence);
        if sequence == expected {
            return Ok(None);
        }
        let same = self.cached.iter().find(|cached| cached.range == *range && cached.request == *request);
        same.map(|cached| Some(cached.step.clone())).ok_or(Error::SequenceStale { expected, sequence })
    }

    /// Records a response, and caches it if its request is numbered.
    pub(super) fn record(&mut self, range: Range<usize>, step: &Step, request: Option<NumberedRequest>) {
        self.last_sequence[range.clone()].fill(step.sequence);
        self.cached.retain(|cached| cached.range.end <= range.start || range.end <= cached.range.start);
        self.cached.extend(request.map(|request| CachedResponse { range, request, step: step.clone() }));
    }
}

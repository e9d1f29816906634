//! Runs a call on the blocks that it has checked out.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_bots::BotFault;
use tokio::sync::oneshot;

use super::Batch;
use super::block::Block;
use super::checkout::{Checkout, PlacedBlock, RunOn};
use super::columns::{Rows, Step};
use super::operation::{Operation, Output, Span};
use super::responses::NumberedRequest;
use crate::pool::{Flow, Once, Slice, Work};
use boardwire_api::Error;

/// A call's work on one block.
struct Job {
    placed: PlacedBlock,
    span: Span,
    out: Output,
    /// A copy of the block from before the call. `None` until a thread starts it, or if the call cannot be undone.
    before: Option<Box<dyn Block>>,
}

/// A running call. Threads take jobs from a queue and put unfinished ones back, until all are done.
struct RunningCall {
    batch: Arc<Batch>,
    op: Operation,
    range: Range<usize>,
    jobs: Mutex<Jobs>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    done: Vec<Job>,
    unfinished: usize,
    /// The remaining buffer after the rows of all jobs were split off. At the end, all rows are joined to it.
    rest: Option<Rows>,
    request: Option<NumberedRequest>,
    /// Sends the response when all jobs are done, or the error.
    finished: Option<oneshot::Sender<Result<Step, Error>>>,
    /// Whether the caller has cancelled the call or a bot has failed. Then the threads stop, and the blocks are restored.
    given_up: bool,
}

impl Checkout {
    /// Runs a short call on the caller's thread; returns the rows of its environments.
    pub(super) fn work_alone(
        mut self,
        op: &Operation,
        request: Option<NumberedRequest>,
    ) -> Result<Step, Error> {
        let batch = Arc::clone(&self.batch);
        let mut out = Output::new(batch.buffers.rows(batch.widths, op.rows(self.range.len())));
        for at in 0..self.blocks.len() {
            let span = self.span(&self.blocks[at]);
            out.begin_at(op.rows(span.row));
            let done = self.blocks[at].block.advance(op, span, &mut out, &Slice::ENDLESS);
            assert!(done.map_err(|fault| batch.bot_failed(fault))?, "its bots are quick");
        }
        Ok(batch.respond(op, self.range.clone(), out, request))
    }

    /// Runs a call; returns the rows of its environments.
    ///
    /// If bots think or the call opens environments, then a cancelled call or a failed bot leaves the batch unchanged.
    /// Other calls are short: they finish even if the caller cancels them.
    pub(super) async fn work(
        mut self,
        op: Operation,
        request: Option<NumberedRequest>,
    ) -> Result<Step, Error> {
        let batch = Arc::clone(&self.batch);
        let (tasks, caller_helps) = match self.run_on {
            RunOn::Caller => return self.work_alone(&op, request),
            RunOn::CallerAndPool => (batch.threads - 1, true),
            RunOn::Pool => (batch.threads, false),
        };
        let (finished, mut finish) = oneshot::channel();
        let run = StopOnDrop(Arc::new(RunningCall::new(&mut self, op, request, finished)));
        drop(self);
        let owner = batch.owner();
        (0..tasks).for_each(|_| owner.spawn(PoolTask(Arc::clone(&run.0))));
        drop(owner);
        if caller_helps {
            run.0.help(&Slice::ENDLESS);
        }
        if let Ok(finished) = finish.try_recv() {
            return finished;
        }
        tokio::select! {
            finished = finish => finished.unwrap_or_else(|_| Err(batch.end_reason())),
            reason = batch.ended() => Err(reason),
        }
    }
}

impl Batch {
    /// Creates and records the response, and counts the decisions.
    fn respond(
        &self,
        op: &Operation,
        range: Range<usize>,
        out: Output,
        request: Option<NumberedRequest>,
    ) -> Step {
        let Output { rows, ends, decisions, .. } = out;
        self.table.decisions.increment(decisions);
        let first = u32::try_from(range.start).unwrap_or(u32::MAX);
        if let Operation::Open = op {
            return self.buffers.finish(rows, first, 0, ends);
        }
        let mut responses = self.responses();
        let step = self.buffers.finish(rows, first, responses.next_sequence(&range), ends);
        responses.record(range, &step, request);
        step
    }

    fn bot_failed(&self, BotFault { seat, what }: BotFault) -> Error {
        tracing::error!(batch_id = self.id(), seat = seat.number(), what, "a bot failed");
        Error::BotFailed { id: self.id().to_owned(), seat: seat.number(), problem: what }
    }
}

impl RunningCall {
    /// Creates a job for each block, with its part of the rows.
    fn new(
        checkout: &mut Checkout,
        op: Operation,
        request: Option<NumberedRequest>,
        finished: oneshot::Sender<Result<Step, Error>>,
    ) -> Self {
        let (batch, range) = (Arc::clone(&checkout.batch), checkout.range.clone());
        let rows = op.rows(range.len());
        let mut rest = batch.buffers.rows(batch.widths, rows).divided(rows);
        let blocks = std::mem::take(&mut checkout.blocks);
        let job = |placed| {
            let span = checkout.span(&placed);
            Job { placed, span, out: Output::new(rest.split_to(op.rows(span.rows))), before: None }
        };
        let waiting: VecDeque<Job> = blocks.into_iter().map(job).collect();
        let (unfinished, done) = (waiting.len(), Vec::with_capacity(waiting.len()));
        let (rest, finished) = (Some(rest), Some(finished));
        let jobs = Jobs { waiting, done, unfinished, rest, request, finished, given_up: false };
        Self { batch, op, range, jobs: Mutex::new(jobs) }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs waiting jobs until none is left or the slice is over.
    fn help(&self, slice: &Slice) -> Flow {
        let _failing = FailOnPanic(self);
        loop {
            let next = {
                let mut jobs = self.lock();
                if jobs.given_up { None } else { jobs.waiting.pop_front() }
            };
            let Some(mut job) = next else { return Flow::Done };
            if self.can_be_undone() && job.before.is_none() {
                job.before = Some(job.placed.block.copy());
            }
            let advanced = job.placed.block.advance(&self.op, job.span, &mut job.out, slice);
            let mut jobs = self.lock();
            match advanced {
                Ok(true) => {
                    jobs.done.push(job);
                    jobs.unfinished -= 1;
                    if jobs.unfinished == 0 {
                        drop(jobs);
                        self.conclude();
                        return Flow::Done;
                    }
                }
                Ok(false) => jobs.waiting.push_back(job),
                Err(fault) => {
                    jobs.waiting.push_back(job);
                    jobs.given_up = true;
                    let failed = self.batch.bot_failed(fault);
                    if let Some(finished) = jobs.finished.take() {
                        // The send fails if the caller has cancelled the call.
                        let _ = finished.send(Err(failed));
                    }
                    return Flow::Done;
                }
            }
            drop(jobs);
            if slice.is_over() {
                return Flow::More;
            }
        }
    }

    /// Finishes the call and gives its blocks back, even if the caller has cancelled it: the environments have changed.
    fn conclude(&self) {
        let Jobs { mut done, rest, request, finished, .. } = std::mem::take(&mut *self.lock());
        let (Some(rest), Some(finished)) = (rest, finished) else { return };
        done.sort_unstable_by_key(|job| job.placed.first);
        let (mut blocks, mut past) = (Vec::with_capacity(done.len()), vec![]);
        let mut all = Output::new(rest);
        for Job { placed, out, before, .. } in done {
            blocks.push(placed);
            past.extend(before);
            all.join(out);
        }
        let batch = &self.batch;
        let step = batch.respond(&self.op, self.range.clone(), all, request);
        batch.give_back(blocks);
        if !past.is_empty() {
            // Freeing this memory is slow, so the pool does it.
            batch.owner().spawn(Once::new(move || drop(past)));
        }
        // The send fails if the caller has cancelled the call.
        let _ = finished.send(Ok(step));
    }

    /// Returns whether the call copies its blocks, to restore them if it does not finish.
    fn can_be_undone(&self) -> bool {
        !matches!(self.op, Operation::Open) && !self.batch.plan.is_quick()
    }
}

impl Drop for RunningCall {
    /// Gives the remaining blocks back, in their state from before the call.
    fn drop(&mut self) {
        let jobs = self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner);
        let whole = |Job { placed, before, .. }| match before {
            Some(block) => PlacedBlock { block, ..placed },
            None => placed,
        };
        let blocks: Vec<PlacedBlock> = jobs.waiting.drain(..).chain(jobs.done.drain(..)).map(whole).collect();
        self.batch.give_back(blocks);
    }
}

/// The caller's handle. Dropping it stops the threads, unless the call is short and need not be undone.
struct StopOnDrop(Arc<RunningCall>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if matches!(self.0.op, Operation::Open) || !self.0.batch.plan.is_quick() {
            self.0.lock().given_up = true;
        }
    }
}

/// The work of one pool thread on a call.
struct PoolTask(Arc<RunningCall>);

impl Work for PoolTask {
    fn advance(&mut self, slice: &Slice) -> Flow {
        self.0.help(slice)
    }
}

/// Ends the batch if the work panics, because the block is lost.
struct FailOnPanic<'a>(&'a RunningCall);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.batch.fail();
            self.0.lock().finished = None;
        }
    }
}

//! Runs a call on the blocks that it has checked out.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_bots::BotError;
use tokio::sync::oneshot;

use super::Batch;
use super::block::Block;
use super::checkout::{Checkout, Executor, PlacedBlock};
use super::columns::{Rows, Step};
use super::operation::{Operation, Output, Span};
use super::responses::NumberedRequest;
use crate::pool::{Flow, OneShot, Slice, Work};
use boardwire_api::Error;

/// A call's work on one block.
struct Job {
    placed: PlacedBlock,
    span: Span,
    out: Output,
    /// A copy of the block from before the call. `None` until a thread starts it, or if the call cannot be undone.
    undo_copy: Option<Box<dyn Block>>,
}

/// A running call. Threads take jobs from a queue and put unfinished ones back, until all are done.
struct RunningCall {
    batch: Arc<Batch>,
    operation: Operation,
    range: Range<usize>,
    jobs: Mutex<Jobs>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    done: Vec<Job>,
    unfinished: usize,
    /// The remaining buffer after the rows of all jobs were split off. At the end, all rows are joined to it.
    remaining_rows: Option<Rows>,
    request: Option<NumberedRequest>,
    /// Sends the response when all jobs are done, or the error.
    finished: Option<oneshot::Sender<Result<Step, Error>>>,
    /// Whether the caller has cancelled the call or a bot has failed. Then the threads stop, and the blocks are restored.
    cancelled: bool,
}

impl Checkout {
    /// Runs a short call on the caller's thread; returns the rows of its environments.
    pub(super) fn work_alone(
        mut self,
        operation: &Operation,
        request: Option<NumberedRequest>,
    ) -> Result<Step, Error> {
        let batch = Arc::clone(&self.batch);
        let mut out = Output::new(batch.buffers.rows(batch.widths, operation.rows(self.range.len())));
        for index in 0..self.blocks.len() {
            let span = self.span(&self.blocks[index]);
            out.start_block(operation.rows(span.first_row));
            let done = self.blocks[index].block.advance(operation, span, &mut out, &Slice::UNLIMITED);
            assert!(
                done.map_err(|error| batch.bot_failed_error(error))?,
                "a call without thinking bots finishes in one slice"
            );
        }
        Ok(batch.respond(operation, self.range.clone(), out, request))
    }

    /// Runs a call; returns the rows of its environments.
    ///
    /// If bots think or the call opens environments, then a cancelled call or a failed bot leaves the batch unchanged.
    /// Other calls are short: they finish even if the caller cancels them.
    pub(super) async fn work(
        mut self,
        operation: Operation,
        request: Option<NumberedRequest>,
    ) -> Result<Step, Error> {
        let batch = Arc::clone(&self.batch);
        let (tasks, caller_helps) = match self.executor {
            Executor::Caller => return self.work_alone(&operation, request),
            Executor::CallerAndPool => (batch.threads - 1, true),
            Executor::Pool => (batch.threads, false),
        };
        let (finished, mut finish) = oneshot::channel();
        let run = CancelOnDrop(Arc::new(RunningCall::new(&mut self, operation, request, finished)));
        drop(self);
        let work_queue = batch.work_queue();
        (0..tasks).for_each(|_| work_queue.spawn(PoolTask(Arc::clone(&run.0))));
        drop(work_queue);
        if caller_helps {
            run.0.run_jobs(&Slice::UNLIMITED);
        }
        if let Ok(finished) = finish.try_recv() {
            return finished;
        }
        tokio::select! {
            finished = finish => finished.unwrap_or_else(|_| Err(batch.end_reason())),
            reason = batch.wait_until_ended() => Err(reason),
        }
    }
}

impl Batch {
    /// Creates and records the response, and counts the decisions.
    fn respond(
        &self,
        operation: &Operation,
        range: Range<usize>,
        out: Output,
        request: Option<NumberedRequest>,
    ) -> Step {
        let Output { rows, ends, decisions, .. } = out;
        self.table.decisions.increment(decisions);
        let first = u32::try_from(range.start).unwrap_or(u32::MAX);
        if let Operation::Open = operation {
            return self.buffers.finish(rows, first, 0, ends);
        }
        let mut responses = self.responses();
        let step = self.buffers.finish(rows, first, responses.next_sequence(&range), ends);
        responses.record(range, &step, request);
        step
    }

    fn bot_failed_error(&self, BotError { seat, reason }: BotError) -> Error {
        tracing::error!(batch_id = self.id(), seat = seat.number(), reason, "a bot failed");
        Error::BotFailed { id: self.id().to_owned(), seat: seat.number(), problem: reason }
    }
}

impl RunningCall {
    /// Creates a job for each block, with its part of the rows.
    fn new(
        checkout: &mut Checkout,
        operation: Operation,
        request: Option<NumberedRequest>,
        finished: oneshot::Sender<Result<Step, Error>>,
    ) -> Self {
        let (batch, range) = (Arc::clone(&checkout.batch), checkout.range.clone());
        let rows = operation.rows(range.len());
        let mut remaining_rows = batch.buffers.rows(batch.widths, rows).divided(rows);
        let blocks = std::mem::take(&mut checkout.blocks);
        let job = |placed| {
            let span = checkout.span(&placed);
            Job {
                placed,
                span,
                out: Output::new(remaining_rows.split_to(operation.rows(span.len))),
                undo_copy: None,
            }
        };
        let waiting: VecDeque<Job> = blocks.into_iter().map(job).collect();
        let (unfinished, done) = (waiting.len(), Vec::with_capacity(waiting.len()));
        let (remaining_rows, finished) = (Some(remaining_rows), Some(finished));
        let jobs = Jobs { waiting, done, unfinished, remaining_rows, request, finished, cancelled: false };
        Self { batch, operation, range, jobs: Mutex::new(jobs) }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs waiting jobs until none is left or the slice is over.
    fn run_jobs(&self, slice: &Slice) -> Flow {
        let _failing = FailOnPanic(self);
        loop {
            let next = {
                let mut jobs = self.lock();
                if jobs.cancelled { None } else { jobs.waiting.pop_front() }
            };
            let Some(mut job) = next else { return Flow::Done };
            if self.can_be_undone() && job.undo_copy.is_none() {
                job.undo_copy = Some(job.placed.block.copy());
            }
            let advanced = job.placed.block.advance(&self.operation, job.span, &mut job.out, slice);
            let mut jobs = self.lock();
            match advanced {
                Ok(true) => {
                    jobs.done.push(job);
                    jobs.unfinished -= 1;
                    if jobs.unfinished == 0 {
                        drop(jobs);
                        self.finish_call();
                        return Flow::Done;
                    }
                }
                Ok(false) => jobs.waiting.push_back(job),
                Err(error) => {
                    jobs.waiting.push_back(job);
                    jobs.cancelled = true;
                    let failed = self.batch.bot_failed_error(error);
                    if let Some(finished) = jobs.finished.take() {
                        // The send fails if the caller has cancelled the call.
                        let _ = finished.send(Err(failed));
                    }
                    return Flow::Done;
                }
            }
            drop(jobs);
            if slice.is_over() {
                return Flow::Continue;
            }
        }
    }

    /// Finishes the call and checks its blocks in, even if the caller has cancelled it: the environments have changed.
    fn finish_call(&self) {
        let Jobs { mut done, remaining_rows, request, finished, .. } = std::mem::take(&mut *self.lock());
        let (Some(remaining_rows), Some(finished)) = (remaining_rows, finished) else { return };
        done.sort_unstable_by_key(|job| job.placed.first);
        let (mut blocks, mut undo_copies) = (Vec::with_capacity(done.len()), vec![]);
        let mut all = Output::new(remaining_rows);
        for Job { placed, out, undo_copy, .. } in done {
            blocks.push(placed);
            undo_copies.extend(undo_copy);
            all.join(out);
        }
        let batch = &self.batch;
        let step = batch.respond(&self.operation, self.range.clone(), all, request);
        batch.check_in(blocks);
        if !undo_copies.is_empty() {
            // Freeing this memory is slow, so the pool does it.
            batch.work_queue().spawn(OneShot::new(move || drop(undo_copies)));
        }
        // The send fails if the caller has cancelled the call.
        let _ = finished.send(Ok(step));
    }

    /// Returns whether the call copies its blocks, to restore them if it does not finish.
    fn can_be_undone(&self) -> bool {
        !matches!(self.operation, Operation::Open) && self.batch.config.bots_think()
    }
}

impl Drop for RunningCall {
    /// Checks the remaining blocks in, in their state from before the call.
    fn drop(&mut self) {
        let jobs = self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner);
        let restored = |Job { placed, undo_copy, .. }| match undo_copy {
            Some(block) => PlacedBlock { block, ..placed },
            None => placed,
        };
        let blocks: Vec<PlacedBlock> =
            jobs.waiting.drain(..).chain(jobs.done.drain(..)).map(restored).collect();
        self.batch.check_in(blocks);
    }
}

/// The caller's handle. Dropping it stops the threads, unless the call is short and need not be undone.
struct CancelOnDrop(Arc<RunningCall>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if matches!(self.0.operation, Operation::Open) || self.0.batch.config.bots_think() {
            self.0.lock().cancelled = true;
        }
    }
}

/// The work of one pool thread on a call.
struct PoolTask(Arc<RunningCall>);

impl Work for PoolTask {
    fn advance(&mut self, slice: &Slice) -> Flow {
        self.0.run_jobs(slice)
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

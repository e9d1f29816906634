//! The work of one call, on the blocks that it has taken out of its batch.

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

/// What a call does to one block.
struct Job {
    placed: PlacedBlock,
    span: Span,
    out: Output,
    /// The block before the call, once that has begun with it, if it may be given up in the middle.
    before: Option<Box<dyn Block>>,
}

/// A call under way: blocks that threads take up and put back, until all are done.
struct RunningCall {
    batch: Arc<Batch>,
    op: Operation,
    range: Range<usize>,
    jobs: Mutex<Jobs>,
}

struct Jobs {
    waiting: VecDeque<Job>,
    done: Vec<Job>,
    /// How many are not done.
    unfinished: usize,
    /// Where the rows stand that are not being written.
    rest: Option<Rows>,
    /// The request with its number, if its sender has stated one.
    request: Option<NumberedRequest>,
    /// Takes the answer when all are done, or the reason why there is none.
    finished: Option<oneshot::Sender<Result<Step, Error>>>,
    /// The caller has gone, or a bot has failed, and what has been done is undone.
    given_up: bool,
}

impl Checkout {
    /// Does a call's work in the thread that asks for it, which is soon done; gives the rows of its environments.
    pub(super) fn work_alone(
        mut self,
        op: &Operation,
        request: Option<NumberedRequest>,
    ) -> Result<Step, Error> {
        let batch = Arc::clone(&self.batch);
        let rows = if let Operation::Open = op { 0 } else { self.range.len() };
        let mut out = Output::new(batch.buffers.rows(batch.widths, rows));
        for at in 0..self.blocks.len() {
            let within = self.within(&self.blocks[at]);
            let placed = &mut self.blocks[at];
            let environment = placed.first + within.start;
            let row = environment - self.range.start;
            let span = Span { from: within.start, rows: within.len(), environment, row };
            out.begin_at(if rows == 0 { 0 } else { row });
            let done = placed.block.advance(op, span, &mut out, &Slice::ENDLESS);
            let done = done.map_err(|fault| batch.bot_failed(fault))?;
            assert!(done, "no bot of it takes its time");
        }
        Ok(batch.conclude(op, self.range.clone(), out, request))
    }

    /// Does a call's work and gives the rows of its environments.
    ///
    /// A caller that goes away in the middle leaves everything as it was, if bots think or environments are opened;
    /// anything else is soon done. So does a bot that fails.
    pub(super) async fn work(
        mut self,
        op: Operation,
        request: Option<NumberedRequest>,
    ) -> Result<Step, Error> {
        let (batch, run_on) = (Arc::clone(&self.batch), self.run_on);
        if run_on == RunOn::Caller {
            return self.work_alone(&op, request);
        }
        let (finished, mut finish) = oneshot::channel();
        let run = StopOnDrop(Arc::new(RunningCall::new(&mut self, op, request, finished)));
        drop(self);
        let helpers = match run_on {
            RunOn::Caller => unreachable!("it needs no help"),
            RunOn::CallerAndPool => batch.threads - 1,
            RunOn::Pool => batch.threads,
        };
        let owner = batch.owner();
        (0..helpers).for_each(|_| owner.spawn(PoolTask(Arc::clone(&run.0))));
        drop(owner);
        if run_on != RunOn::Pool {
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
    /// Makes the answer of what has been written, enters it, and counts the decisions.
    fn conclude(
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

    /// What is said of a bot that failed.
    fn bot_failed(&self, BotFault { seat, what }: BotFault) -> Error {
        tracing::error!(batch_id = self.id(), seat = seat.number(), what, "a bot failed");
        Error::BotFailed { id: self.id().to_owned(), seat: seat.number(), problem: what }
    }
}

impl RunningCall {
    /// Divides the work among the blocks of `taken`, and the rows with it.
    fn new(
        checkout: &mut Checkout,
        op: Operation,
        request: Option<NumberedRequest>,
        finished: oneshot::Sender<Result<Step, Error>>,
    ) -> Self {
        let (batch, range) = (Arc::clone(&checkout.batch), checkout.range.clone());
        let rows = if let Operation::Open = op { 0 } else { range.len() };
        let mut rest = batch.buffers.rows(batch.widths, rows).divided(rows);
        let withins: Vec<_> = checkout.blocks.iter().map(|placed| checkout.within(placed)).collect();
        let start = checkout.range.start;
        let job = |(placed, within): (PlacedBlock, Range<usize>)| {
            let rows = if let Operation::Open = op { 0 } else { within.len() };
            let environment = placed.first + within.start;
            let span = Span { from: within.start, rows: within.len(), environment, row: environment - start };
            Job { placed, span, out: Output::new(rest.split_to(rows)), before: None }
        };
        let waiting: VecDeque<Job> = checkout.blocks.drain(..).zip(withins).map(job).collect();
        let (unfinished, done) = (waiting.len(), Vec::with_capacity(waiting.len()));
        let (rest, finished) = (Some(rest), Some(finished));
        let jobs = Jobs { waiting, done, unfinished, rest, request, finished, given_up: false };
        Self { batch, op, range, jobs: Mutex::new(jobs) }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up block after block until none waits or the slice is over.
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
                    jobs.refuse(&self.batch, fault);
                    return Flow::Done;
                }
            }
            drop(jobs);
            if slice.is_over() {
                return Flow::More;
            }
        }
    }

    /// Makes the answer of what has been written, enters it, and gives everything back: whether or not the caller is
    /// still there, since the environments have moved on.
    fn conclude(&self) {
        let (mut done, rest, request, finished) = {
            let mut jobs = self.lock();
            let Jobs { done, rest, request, finished, .. } = &mut *jobs;
            (std::mem::take(done), rest.take(), request.take(), finished.take())
        };
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
        let step = batch.conclude(&self.op, self.range.clone(), all, request);
        batch.give_back(blocks);
        if !past.is_empty() {
            // Giving back its memory takes a while.
            batch.owner().spawn(Once::new(move || drop(past)));
        }
        // The caller may have gone.
        let _ = finished.send(Ok(step));
    }

    /// Whether blocks are kept as they were before the call.
    fn can_be_undone(&self) -> bool {
        !matches!(self.op, Operation::Open) && !self.batch.plan.is_quick()
    }

    /// Whether a caller that has gone leaves nothing done.
    fn can_be_given_up(&self) -> bool {
        matches!(self.op, Operation::Open) || !self.batch.plan.is_quick()
    }
}

impl Jobs {
    /// Gives the call up, since a bot has failed: the blocks go back as they were.
    fn refuse(&mut self, batch: &Batch, fault: BotFault) {
        self.given_up = true;
        let failed = batch.bot_failed(fault);
        if let Some(finished) = self.finished.take() {
            // The caller may have gone.
            let _ = finished.send(Err(failed));
        }
    }
}

impl Drop for RunningCall {
    /// Puts the blocks back that nobody has collected: as they were, if not all is done.
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

/// The caller's hold on its call: when it lets go, threads stop working on it.
struct StopOnDrop(Arc<RunningCall>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if self.0.can_be_given_up() {
            self.0.lock().given_up = true;
        }
    }
}

/// A thread of the pool that works on a call.
struct PoolTask(Arc<RunningCall>);

impl Work for PoolTask {
    fn advance(&mut self, slice: &Slice) -> Flow {
        self.0.help(slice)
    }
}

/// Ends the batch if what works on it panics: the block is lost.
struct FailOnPanic<'a>(&'a RunningCall);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.batch.fail();
            self.0.lock().finished = None;
        }
    }
}

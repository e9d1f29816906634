//! The slots of a batch's blocks, and the blocks that a call has checked out.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{AutoresetMode, IllegalActionPolicy};
use tokio::sync::oneshot;

use super::block::Block;
use super::columns::Step;
use super::operation::Span;
use super::responses::NumberedRequest;
use super::{Actions, Batch, CALLER_AND_POOL_LIMIT, CALLER_LIMIT};
use crate::pool::OneShot;

/// A block, and the index of its first environment in the batch.
pub(super) struct PlacedBlock {
    pub(super) block: Box<dyn Block>,
    pub(super) first: usize,
}

/// The slots of all blocks, and the queue of calls that wait for blocks.
pub(super) struct Slots {
    /// The block of each slot. `None` while a call has checked it out.
    pub(super) blocks: Vec<Option<PlacedBlock>>,
    /// The numbers of the waiting calls, and the slots that they need. The earliest call comes first.
    queue: VecDeque<(u64, Range<usize>)>,
    last_number: u64,
    /// The reason why the batch has ended, if it has.
    pub(super) ended: Option<Error>,
}

impl Slots {
    pub(super) fn new(blocks: Vec<Option<PlacedBlock>>) -> Self {
        Self { blocks, queue: VecDeque::new(), last_number: 0, ended: None }
    }

    /// Checks out blocks, if no other call holds or waits for one of them. Ignores calls queued behind `waiter`.
    fn try_check_out(
        &mut self,
        slots: Range<usize>,
        waiter: Option<u64>,
    ) -> Result<Option<Vec<PlacedBlock>>, Error> {
        if let Some(reason) = &self.ended {
            return Err(reason.clone());
        }
        let mut ahead = self.queue.iter().take_while(|(number, _)| Some(*number) != waiter);
        let is_behind = ahead.any(|(_, needed)| needed.start < slots.end && slots.start < needed.end);
        let needed = &mut self.blocks[slots];
        let is_free = !is_behind && needed.iter().all(Option::is_some);
        Ok(is_free.then(|| needed.iter_mut().filter_map(Option::take).collect()))
    }

    /// Appends a call to the queue; returns its number.
    fn enqueue(&mut self, slots: Range<usize>) -> u64 {
        self.last_number += 1;
        self.queue.push_back((self.last_number, slots));
        self.last_number
    }
}

/// The blocks that a call has checked out. Dropping it checks them in.
pub(super) struct Checkout {
    pub(super) batch: Arc<Batch>,
    pub(super) blocks: Vec<PlacedBlock>,
    /// The environments of the call.
    pub(super) range: Range<usize>,
    pub(super) executor: Executor,
}

/// The threads that run a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Executor {
    /// Only the caller's thread: the work costs less than waking a pool thread.
    Caller,
    /// The caller's thread and the pool. The caller's thread does not wait for the pool.
    CallerAndPool,
    /// Only the pool: the call has many environments, or bots think.
    Pool,
}

impl Batch {
    /// Returns the threads that step these environments.
    pub(super) fn executor(&self, range: &Range<usize>) -> Executor {
        if self.config.bots_think() || range.len() > CALLER_AND_POOL_LIMIT {
            Executor::Pool
        } else if range.len() > CALLER_LIMIT {
            Executor::CallerAndPool
        } else {
            Executor::Caller
        }
    }

    fn slots_of(&self, range: &Range<usize>) -> Range<usize> {
        range.start / self.block_size..range.end.div_ceil(self.block_size)
    }

    /// Checks out the blocks of these environments, if no other call holds or waits for one. Ignores calls behind `waiter`.
    pub(super) fn try_check_out(
        self: &Arc<Self>,
        range: &Range<usize>,
        waiter: Option<u64>,
    ) -> Result<Option<Checkout>, Error> {
        let blocks = self.lock().try_check_out(self.slots_of(range), waiter)?;
        let (batch, range, executor) = (Arc::clone(self), range.clone(), self.executor(range));
        Ok(blocks.map(|blocks| Checkout { batch, blocks, range, executor }))
    }

    /// Waits in a queue until no other call holds the blocks of these environments, then checks them out.
    pub(super) async fn check_out(self: &Arc<Self>, range: Range<usize>) -> Result<Checkout, Error> {
        if let Some(checkout) = self.try_check_out(&range, None)? {
            return Ok(checkout);
        }
        let number = self.lock().enqueue(self.slots_of(&range));
        let queued = Queued { batch: self, number };
        loop {
            let mut blocks_returned = std::pin::pin!(self.blocks_returned.notified());
            blocks_returned.as_mut().enable();
            // Another call may have given the blocks back before `enable`.
            if let Some(checkout) = self.try_check_out(&range, Some(queued.number))? {
                return Ok(checkout);
            }
            blocks_returned.await;
        }
    }
}

/// A call in the queue. Dropping it removes the call.
struct Queued<'a> {
    batch: &'a Batch,
    number: u64,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.batch.lock().queue.retain(|(number, _)| *number != self.number);
        // Later calls may have waited only for this one.
        self.batch.blocks_returned.notify_waiters();
    }
}

impl Checkout {
    /// Returns the cached response, if the call is a retry of the last request.
    pub(super) fn repeated(&self, request: Option<&NumberedRequest>) -> Result<Option<Step>, Error> {
        request.map_or(Ok(None), |request| self.batch.responses().repeated(&self.range, request))
    }

    /// Refuses actions that are not allowed. The error names the first environment with one.
    pub(super) fn check(&self, actions: &Actions) -> Result<(), Error> {
        let config = &*self.batch.config;
        let space = &self.batch.table.game.info().actions;
        for placed in &self.blocks {
            let span = self.span(placed);
            let decisions = &placed.block.pending_decisions()[span.offset..span.offset + span.len];
            for (decision, environment) in decisions.iter().zip(span.first_environment..) {
                let Some(action) = actions.get(environment - self.range.start) else { continue };
                let Some(seat) = decision.seat else {
                    if config.autoreset == AutoresetMode::Disabled {
                        return Err(Error::EnvironmentOver { environment });
                    }
                    continue;
                };
                if decision.legal.contains(action) {
                    continue;
                }
                let Some(label) = space.label(action) else {
                    return Err(Error::BatchActionOutOfRange { environment, action, actions: space.count() });
                };
                if config.illegal_actions == IllegalActionPolicy::Reject {
                    let (seat, label) = (seat.number(), label.to_owned());
                    return Err(Error::BatchActionIllegal { environment, seat, action, label });
                }
            }
        }
        Ok(())
    }

    /// Returns the environments of a block that the call works on.
    pub(super) fn span(&self, placed: &PlacedBlock) -> Span {
        let first_environment = self.range.start.max(placed.first);
        let end = self.range.end.min(placed.first + placed.block.pending_decisions().len());
        let (offset, first_row) = (first_environment - placed.first, first_environment - self.range.start);
        Span { offset, len: end - first_environment, first_environment, first_row }
    }

    /// Runs a task on the pool; returns the blocks and the task's result.
    pub(super) async fn in_pool<T: Send + 'static>(
        self,
        task: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<(Self, T), Error> {
        let (batch, (done, result)) = (Arc::clone(&self.batch), oneshot::channel());
        batch.work_queue().spawn(OneShot::new(move || {
            let result = task(&self);
            let _ = done.send((self, result));
        }));
        result.await.map_err(|_| batch.end_reason())
    }

    /// Returns the block of an environment, and the environment's index in it.
    pub(super) fn locate(&self, environment: usize) -> (&dyn Block, usize) {
        let placed = self.blocks.iter().rfind(|placed| placed.first <= environment);
        let PlacedBlock { block, first } = placed.expect("the call has checked out its block");
        (&**block, environment - first)
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.batch.fail();
        }
        self.batch.check_in(self.blocks.drain(..));
    }
}

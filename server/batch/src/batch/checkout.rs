//! What a call has taken out of its batch: looked at, checked, and given back.

use std::ops::Range;
use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{AutoresetMode, IllegalActionPolicy};
use boardwire_kernel::Seat;
use tokio::sync::oneshot;

use super::block::Block;
use super::columns::Step;
use super::responses::NumberedRequest;
use super::snapshot::Saved;
use super::{Actions, Batch, CALLER_LIMIT, SHARED_LIMIT};
use crate::play::Insight;
use crate::pool::Once;

/// A block at its place in the batch.
pub(super) struct PlacedBlock {
    pub(super) block: Box<dyn Block>,
    /// The environment at its first place.
    pub(super) first: usize,
}

/// Blocks that a call has taken out of its batch; they go back when it is dropped.
pub(super) struct Checkout {
    pub(super) batch: Arc<Batch>,
    pub(super) blocks: Vec<PlacedBlock>,
    pub(super) range: Range<usize>,
    pub(super) run_on: RunOn,
}

/// How much a call has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOn {
    /// Less than asking for help costs: the thread that has read the call does it.
    Caller,
    /// That thread does it together with the pool, and does not wait for it.
    CallerAndPool,
    /// So much, or such that bots think: the pool does it.
    Pool,
}

impl Batch {
    /// How much a step of these environments has to do.
    pub(super) fn run_on(&self, range: &Range<usize>) -> RunOn {
        if !self.plan.is_quick() || range.len() > SHARED_LIMIT {
            RunOn::Pool
        } else if range.len() > CALLER_LIMIT {
            RunOn::CallerAndPool
        } else {
            RunOn::Caller
        }
    }

    /// The blocks of these environments.
    fn blocks_of(&self, range: &Range<usize>) -> Range<usize> {
        range.start / self.per_block..range.end.div_ceil(self.per_block)
    }

    /// Takes the blocks of these environments, if no other call has any of them or waits for one.
    pub(super) fn take_now(self: &Arc<Self>, range: &Range<usize>) -> Result<Option<Checkout>, Error> {
        self.take_as(range, None)
    }

    /// The same for a call that waits itself, if it has a number: those behind it do not count.
    fn take_as(self: &Arc<Self>, range: &Range<usize>, own: Option<u64>) -> Result<Option<Checkout>, Error> {
        let blocks = self.lock().take(self.blocks_of(range), own)?;
        let (batch, range, run_on) = (Arc::clone(self), range.clone(), self.run_on(range));
        Ok(blocks.map(|blocks| Checkout { batch, blocks, range, run_on }))
    }

    /// Takes the blocks of these environments, once no other call has any of them: of those that wait, the earliest first.
    pub(super) async fn take(self: &Arc<Self>, range: Range<usize>) -> Result<Checkout, Error> {
        if let Some(checkout) = self.take_now(&range)? {
            return Ok(checkout);
        }
        let number = self.lock().enqueue(self.blocks_of(&range));
        let queued = Queued { batch: self, number };
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            // They may have been given back before it was listened for.
            if let Some(checkout) = self.take_as(&range, Some(queued.number))? {
                return Ok(checkout);
            }
            freed.await;
        }
    }
}

/// A call's place among those that wait, until it has what it waits for or goes away.
struct Queued<'a> {
    batch: &'a Batch,
    number: u64,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.batch.lock().leave(self.number);
        // Those behind may have waited for this one alone.
        self.batch.freed.notify_waiters();
    }
}

impl Checkout {
    /// The answer to a request that has been carried out already.
    pub(super) fn repeated(&self, request: Option<&NumberedRequest>) -> Result<Option<Step>, Error> {
        request.map_or(Ok(None), |request| self.batch.responses().repeated(&self.range, request))
    }

    /// Refuses actions that may not be chosen, naming the first environment.
    pub(super) fn check(&self, actions: &Actions) -> Result<(), Error> {
        let (batch, plan) = (&*self.batch, &*self.batch.plan);
        let space = &batch.table.rules.info().actions;
        for placed in &self.blocks {
            let within = self.within(placed);
            for (due, environment) in
                placed.block.dues()[within.clone()].iter().zip(placed.first + within.start..)
            {
                let Some(action) = actions.at(environment - self.range.start) else { continue };
                match due.seat {
                    None if plan.autoreset == AutoresetMode::Disabled => {
                        return Err(Error::EnvironmentOver { environment });
                    }
                    None => {}
                    Some(_) if due.legal.contains(action) => {}
                    Some(seat) => match space.label(action) {
                        None => {
                            let (action, actions) = (action, space.count());
                            return Err(Error::BatchActionOutOfRange { environment, action, actions });
                        }
                        Some(label) if plan.illegal_actions == IllegalActionPolicy::Reject => {
                            let label = label.to_owned();
                            return Err(Error::BatchActionIllegal {
                                environment,
                                seat: seat.number(),
                                action,
                                label,
                            });
                        }
                        Some(_) => {}
                    },
                }
            }
        }
        Ok(())
    }

    /// The places of a piece that the call is about.
    pub(super) fn within(&self, placed: &PlacedBlock) -> Range<usize> {
        let end = self.range.end.min(placed.first + placed.block.dues().len());
        self.range.start.max(placed.first) - placed.first..end - placed.first
    }

    /// Does something else with the blocks, in the pool; gives them back with what came of it.
    pub(super) async fn in_pool<T: Send + 'static>(
        mut self,
        task: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> Result<(Self, T), Error> {
        let (batch, (done, answer)) = (Arc::clone(&self.batch), oneshot::channel());
        batch.owner().spawn(Once::new(move || {
            let answer = task(&mut self);
            let _ = done.send((self, answer));
        }));
        answer.await.map_err(|_| batch.end_reason())
    }

    /// The piece with an environment, whose block has been taken.
    fn placed(&self, at: usize) -> &PlacedBlock {
        self.blocks.iter().rfind(|placed| placed.first <= at).expect("its block has been taken")
    }

    /// What the seat knows whose decision an environment shows.
    pub(super) fn insight(&self, at: usize) -> Result<Box<dyn Insight>, Error> {
        let placed = self.placed(at);
        placed.block.insight(at - placed.first).ok_or(Error::EnvironmentOver { environment: at })
    }

    /// The position of an environment as a seat may know it.
    pub(super) fn text(&self, at: usize, seat: Seat) -> String {
        let placed = self.placed(at);
        placed.block.text(at - placed.first, seat)
    }

    /// Saves an environment.
    pub(super) fn save(&self, at: usize) -> Saved {
        let placed = self.placed(at);
        placed.block.save(at - placed.first)
    }

    /// Looks whether a saved environment can take the place of one.
    pub(super) fn check_saved(&self, at: usize, saved: &Saved) -> Result<(), String> {
        let placed = self.placed(at);
        placed.block.check(at - placed.first, saved)
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.batch.fail();
        }
        self.batch.give_back(self.blocks.drain(..));
    }
}

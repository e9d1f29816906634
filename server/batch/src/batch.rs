//! A batch: many environments of one table, stepped together.
//!
//! The environments lie in blocks. A call takes the blocks it needs out of the batch, works on them, on the
//! threads of the pool if there is much to do, and puts them back: so no lock is held while anything is
//! computed, calls for different environments run side by side, and calls for the same ones wait for each
//! other without keeping a thread. Everything a step needs is checked before any environment is touched, and
//! a caller that goes away while bots think leaves all environments as they were.

mod advice;
mod block;
mod checkout;
mod columns;
mod environment;
mod opening;
mod operation;
mod plan;
mod responses;
mod select;
mod slots;
mod snapshot;
#[cfg(feature = "testkit")]
mod testkit;
mod work;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_kernel::{Digest, Seat};
use bytes::Bytes;
use tokio::sync::Notify;

pub use block::Block;
pub(crate) use block::Environments;
pub use columns::Step;
pub(crate) use columns::{Column, NOBODY};
pub use opening::Opening;
pub use plan::{Actions, Adviser, Begin, Columns, LineUp, Plan, Reset, flag};
pub use snapshot::SnapshotKey;

use crate::play::Insight;
use crate::pool::{Group, Owner};
use crate::tables::Table;
use boardwire_api::Error;
use checkout::{PlacedBlock, RunOn};
use columns::{BufferCache, Widths, row_bytes};
use operation::Operation;
use responses::{NumberedRequest, RequestContent, ResponseCache};
use slots::Slots;
use snapshot::Saved;

/// What a message has beside its columns, at most.
pub(crate) const MESSAGE_HEAD: usize = 1024;
/// What an environment takes in a snapshot, at most: three quarters of it in The Golden Compass, whose states are the largest.
const MAX_SAVED_BYTES: usize = 3 << 10;
/// Environments a block has when no bot of theirs thinks.
const BLOCK_SIZE: usize = 64;
/// Environments a block has when bots think.
const THINKING_BLOCK_SIZE: usize = 8;
/// Up to this many environments without thinking bots the thread that has read the call steps alone: 0.1 ms.
const CALLER_LIMIT: usize = 512;
/// Up to this many it steps together with the pool: it begins at once, and others wait about 1 ms for it.
const SHARED_LIMIT: usize = 2048;

/// One batch.
pub struct Batch {
    id: String,
    table: Arc<Table>,
    opening: Opening,
    plan: Arc<Plan>,
    widths: Widths,
    per_block: usize,
    /// What a snapshot must be of.
    kind: Digest,
    /// On whose behalf the pool works.
    owner: Mutex<Arc<Owner>>,
    /// How many threads it has.
    threads: usize,
    buffers: BufferCache,
    responses: Mutex<ResponseCache>,
    slots: Mutex<Slots>,
    freed: Notify,
}

impl Batch {
    /// Deals the first episode of every environment. A caller that goes away leaves nothing.
    ///
    /// # Errors
    /// A pool that has stopped.
    pub async fn open(
        id: String,
        table: Arc<Table>,
        opening: Opening,
        group: &Group,
    ) -> Result<Arc<Self>, Error> {
        let batch = Arc::new(Self::new(id, table, opening, group));
        batch.take(batch.all()).await?.work(Operation::Open, None).await?;
        Ok(batch)
    }

    fn new(id: String, table: Arc<Table>, opening: Opening, group: &Group) -> Self {
        let info = table.rules.info();
        let plan = Arc::new(opening.plan.clone());
        let widths = Widths::of(info, &plan);
        let whole = plan.is_quick() || plan.asks_policies();
        let per_block = if whole { BLOCK_SIZE } else { THINKING_BLOCK_SIZE };
        let block_at = |first: usize| {
            let count = per_block.min(opening.environments - first);
            let number = opening.first.wrapping_add(first as u64);
            let rules = Arc::clone(&table.rules);
            let block = rules.environments(Arc::clone(&plan), opening.seed, number, count);
            Some(PlacedBlock { block, first })
        };
        let blocks = (0..opening.environments).step_by(per_block).map(block_at).collect();
        Self {
            id,
            kind: Digest::of(&(table.digest, plan.skip_forced)),
            plan,
            widths,
            per_block,
            owner: Mutex::new(Arc::new(group.owner())),
            threads: group.threads(),
            buffers: BufferCache::new(widths, opening.environments),
            responses: Mutex::new(ResponseCache::new(opening.environments)),
            slots: Mutex::new(Slots::new(blocks)),
            freed: Notify::new(),
            table,
            opening,
        }
    }

    /// The batch's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The table its environments are played at.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// What it was opened with.
    #[must_use]
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// The most bytes that a snapshot takes of all environments, or of those of `mask`.
    #[must_use]
    pub fn snapshot_bytes(&self, mask: &[u8]) -> usize {
        let chosen: usize = mask.iter().map(|byte| byte.count_ones() as usize).sum();
        let environments = if mask.is_empty() { self.opening.environments } else { chosen };
        (environments * MAX_SAVED_BYTES).min(self.opening.message_bytes)
    }

    /// The most bytes that the rows of `count` environments take, of all when it is 0.
    #[must_use]
    pub fn step_bytes(&self, count: u32) -> usize {
        let rows = if count == 0 { self.opening.environments } else { count as usize };
        rows.min(self.opening.environments) * row_bytes(self.table.rules.info(), &self.plan)
    }

    fn all(&self) -> Range<usize> {
        0..self.opening.environments
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owner(&self) -> Arc<Owner> {
        Arc::clone(&self.owner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets another pool do the work from now on: in a forked process, which has none of the threads of the last one.
    /// Nothing may have been under way when it was forked.
    pub fn adopt(&self, group: &Group) {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        // The last pool's lock may be held for ever.
        std::mem::forget(std::mem::replace(&mut *owner, Arc::new(group.owner())));
    }

    fn responses(&self) -> MutexGuard<'_, ResponseCache> {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the batch: calls that are under way, wait or come later are refused with `reason`.
    pub fn end(&self, reason: Error) {
        self.lock().ended.get_or_insert(reason);
        self.owner().cancel();
        self.freed.notify_waiters();
    }

    /// Ends the batch, since what worked on it has panicked.
    fn fail(&self) {
        self.end(self.internal_error());
    }

    fn internal_error(&self) -> Error {
        Error::Internal { place: self.id.clone(), what: "work on a batch was lost".to_owned() }
    }

    /// Why the batch has ended.
    fn end_reason(&self) -> Error {
        self.lock().ended.clone().unwrap_or_else(|| self.internal_error())
    }

    /// Waits until the batch ends, and gives the reason.
    async fn ended(&self) -> Error {
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if let Some(reason) = &self.lock().ended {
                return reason.clone();
            }
            freed.await;
        }
    }

    /// Puts blocks back in their places.
    fn give_back(&self, blocks: impl IntoIterator<Item = PlacedBlock>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        let mut slots = self.lock();
        for placed in blocks {
            slots.give_back(placed.first / self.per_block, placed);
        }
        drop(slots);
        self.freed.notify_waiters();
    }

    /// Steps `count` environments from `first` on, all that follow when it is 0. A repeated request with the
    /// `sequence` number of the last answer is given that answer again.
    ///
    /// # Errors
    /// A run that does not fit, as many actions or a mask of as many as it does not have, a number that is not due, or an action that may
    /// not be chosen; then no environment has been stepped.
    pub async fn step(
        self: &Arc<Self>,
        first: u32,
        count: u32,
        actions: Actions,
        sequence: Option<u64>,
    ) -> Result<Step, Error> {
        let range = self.run_for(first, count, &actions)?;
        let request =
            sequence.map(|sequence| NumberedRequest { sequence, content: RequestContent::step(&actions) });
        let checkout = self.take(range).await?;
        if let Some(step) = checkout.repeated(request.as_ref())? {
            return Ok(step);
        }
        checkout.check(&actions)?;
        checkout.work(Operation::Step(actions), request).await
    }

    /// Steps environments as [`step`](Self::step) does, if that takes no waiting and so little work that no thread is
    /// asked for help; or else does nothing, and gives the actions back.
    ///
    /// # Errors
    /// The actions, or within them what [`step`](Self::step) refuses.
    pub fn step_at_once(
        self: &Arc<Self>,
        first: u32,
        count: u32,
        actions: Actions,
    ) -> Result<Result<Step, Error>, Actions> {
        let range = match self.run_for(first, count, &actions) {
            Ok(range) => range,
            Err(refused) => return Ok(Err(refused)),
        };
        if self.run_on(&range) != RunOn::Caller {
            return Err(actions);
        }
        Ok(match self.take_now(&range) {
            Ok(None) => return Err(actions),
            Ok(Some(checkout)) => {
                checkout.check(&actions).and_then(|()| checkout.work_alone(&Operation::Step(actions), None))
            }
            Err(refused) => Err(refused),
        })
    }

    /// Begins episodes in all environments, or in those of a mask. A repeated request with the `sequence` number of the
    /// last answer is given that answer again.
    ///
    /// # Errors
    /// A mask of the wrong length, as many seeds as it does not have environments, or a number that is not due.
    pub async fn reset(self: &Arc<Self>, asked: Reset, sequence: Option<u64>) -> Result<Step, Error> {
        let Reset { mask, seed, seeds } = &asked;
        let chosen = self.chosen(mask)?;
        if !seeds.is_empty() && seeds.len() != chosen.len() {
            let expected = format!("empty or {} seeds", chosen.len());
            return Err(Error::field("seeds", format!("{} seeds", seeds.len()), expected));
        }
        let mut begins = vec![None; self.opening.environments];
        for (at, &environment) in chosen.iter().enumerate() {
            begins[environment] = Some(Begin { batch_seed: *seed, episode_seed: seeds.get(at).copied() });
        }
        let request =
            sequence.map(|sequence| NumberedRequest { sequence, content: RequestContent::reset(asked) });
        let checkout = self.take(self.all()).await?;
        if let Some(step) = checkout.repeated(request.as_ref())? {
            return Ok(step);
        }
        checkout.work(Operation::Reset(begins), request).await
    }

    /// Saves all environments, or those of `mask`.
    ///
    /// # Errors
    /// A mask of the wrong length, or of so many environments that they do not fit a message.
    pub async fn save(self: &Arc<Self>, key: &SnapshotKey, mask: &[u8]) -> Result<Bytes, Error> {
        let chosen = self.chosen(mask)?;
        let (count, most) = (chosen.len(), self.opening.message_bytes);
        let (key, checkout) = (key.clone(), self.take(run_covering(&chosen)).await?);
        let snapshot = checkout.in_pool(move |checkout| {
            let saved = chosen.iter().map(|&at| checkout.save(at));
            snapshot::seal(&key, &checkout.batch.kind, saved, most.saturating_sub(MESSAGE_HEAD))
        });
        let (_, snapshot) = snapshot.await?;
        let too_many = |fit| {
            let expected =
                format!("at most the first {fit} environments, which fit a message of {most} bytes");
            Error::field("mask", format!("{count} environments"), expected)
        };
        snapshot.map(Bytes::from).map_err(too_many)
    }

    /// What the seats know whose decisions are shown: by all environments, or by those of `mask`.
    ///
    /// # Errors
    /// A mask of the wrong length; an environment that is over.
    pub async fn insights(self: &Arc<Self>, mask: &[u8]) -> Result<Vec<Box<dyn Insight>>, Error> {
        let chosen = self.chosen(mask)?;
        let checkout = self.take(run_covering(&chosen)).await?;
        let copied =
            checkout.in_pool(move |checkout| chosen.iter().map(|&at| checkout.insight(at)).collect());
        let (_, insights) = copied.await?;
        insights
    }

    /// The position of an environment as a seat may know it, for people.
    ///
    /// # Errors
    /// There is no such environment or seat.
    pub async fn text(self: &Arc<Self>, environment: u32, seat: u8) -> Result<String, Error> {
        let range = self.run_of(environment, 1)?;
        let seats = self.table.rules.info().seats;
        if seat >= seats {
            return Err(Error::field("seat", seat, format!("below {seats}")));
        }
        let checkout = self.take(range.clone()).await?;
        Ok(checkout.text(range.start, Seat::new(seat)))
    }

    /// Puts saved environments in the places of all, or of those of `mask`.
    ///
    /// # Errors
    /// A mask of the wrong length, a snapshot that is none, of another kind of batch, or of another number
    /// of environments; then everything is as it was.
    pub async fn load(
        self: &Arc<Self>,
        key: &SnapshotKey,
        snapshot: Bytes,
        mask: &[u8],
    ) -> Result<Step, Error> {
        let chosen = self.chosen(mask)?;
        let (key, checkout) = (key.clone(), self.take(self.all()).await?);
        let checked = checkout.in_pool(move |checkout| {
            let saved = snapshot::unseal(&key, &checkout.batch.kind, &snapshot)?;
            if saved.len() != chosen.len() {
                return Err(format!("it holds {} environments, not {}", saved.len(), chosen.len()));
            }
            let mut places: Vec<Option<Saved>> = checkout.batch.all().map(|_| None).collect();
            for (saved, at) in saved.into_iter().zip(chosen) {
                checkout.check_saved(at, &saved)?;
                places[at] = Some(saved);
            }
            Ok(places)
        });
        let (mut checkout, places) = checked.await?;
        let places = places.map_err(|problem| Error::SnapshotInvalid { problem })?;
        checkout.run_on = RunOn::Pool;
        checkout.work(Operation::Load(places), None).await
    }
}

/// From the first of some environments to the last.
fn run_covering(chosen: &[usize]) -> Range<usize> {
    chosen.first().zip(chosen.last()).map_or(0..0, |(first, last)| *first..last + 1)
}

#[cfg(test)]
mod tests;

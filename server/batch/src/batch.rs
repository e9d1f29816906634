//! A batch steps many environments of one table together.
//!
//! Each block holds some of the environments. A call checks out the blocks that it needs, and checks them in at its end.
//! Pool threads run large calls. No call computes under a lock. Calls for different blocks run in parallel. Calls for the
//! same block wait for each other without blocking a thread. A call checks its request before it changes an environment.
//! If the caller cancels a call while bots think, no environment changes.

mod advice;
mod block;
mod checkout;
mod columns;
mod environment;
mod operation;
mod options;
mod responses;
mod select;
mod snapshot;
#[cfg(feature = "testkit")]
mod testkit;
mod work;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_api::v1;
use boardwire_kernel::{Digest, Seat};
use bytes::Bytes;
use tokio::sync::Notify;

pub use block::Block;
pub(crate) use block::Environments;
pub use columns::Step;
pub(crate) use columns::{Column, NO_VALUE};
pub use options::{
    Actions, Adviser, BatchOptions, Columns, EnvironmentConfig, EpisodeStart, LineUp, Reset, flag,
};
pub use snapshot::SnapshotKey;

use crate::messages;
use crate::names::NamePermutation;
use crate::play::InformationSet;
use crate::pool::{CallerGroup, WorkQueue};
use crate::tables::Table;
use boardwire_api::Error;
use checkout::{Executor, PlacedBlock, Slots};
use columns::{BufferCache, Widths, row_bytes};
use operation::Operation;
use responses::{NumberedRequest, RequestContent, ResponseCache};
use snapshot::SavedEnvironment;

/// The maximum size in bytes of a message without its columns.
pub(crate) const MAX_MESSAGE_OVERHEAD_BYTES: usize = 1024;
/// The maximum size in bytes of an environment in a snapshot. The Golden Compass needs the most: three quarters of it.
const MAX_ENVIRONMENT_SNAPSHOT_BYTES: usize = 3 << 10;
/// The number of environments in a block, if no bot thinks or a bot uses a policy network.
const BLOCK_SIZE: usize = 64;
/// The number of environments in a block of any other batch.
const THINKING_BLOCK_SIZE: usize = 8;
/// If no bot thinks, only the caller's thread steps up to this many environments. That takes 0.1 ms.
const CALLER_LIMIT: usize = 512;
/// If no bot thinks, the caller's thread and the pool together step up to this many environments. So the step starts
/// immediately, and other calls of that thread wait about 1 ms.
const CALLER_AND_POOL_LIMIT: usize = 2048;

/// A batch of environments of one table.
pub struct Batch {
    id: String,
    table: Arc<Table>,
    options: BatchOptions,
    config: Arc<EnvironmentConfig>,
    widths: Widths,
    block_size: usize,
    /// The digest of the table and `skip_forced`. The batch refuses a snapshot with another digest.
    snapshot_kind: Digest,
    work_queue: Mutex<Arc<WorkQueue>>,
    /// The number of pool threads.
    threads: usize,
    buffers: BufferCache,
    responses: Mutex<ResponseCache>,
    slots: Mutex<Slots>,
    blocks_returned: Notify,
}

impl Batch {
    /// Opens a batch and deals the first episode of every environment. If the caller cancels the call, nothing remains.
    ///
    /// # Errors
    /// The pool has stopped, or a bot failed.
    pub async fn open(
        id: String,
        table: Arc<Table>,
        options: BatchOptions,
        group: &CallerGroup,
    ) -> Result<Arc<Self>, Error> {
        let batch = Arc::new(Self::new(id, table, options, group));
        batch.check_out(batch.all()).await?.work(Operation::Open, None).await?;
        Ok(batch)
    }

    fn new(id: String, table: Arc<Table>, options: BatchOptions, group: &CallerGroup) -> Self {
        let config = Arc::new(options.config.clone());
        let widths = Widths::of(table.game.info(), &config);
        let block_size = if config.bots_think_long() { THINKING_BLOCK_SIZE } else { BLOCK_SIZE };
        let block_at = |first: usize| {
            let count = block_size.min(options.environments - first);
            let number = options.first.wrapping_add(first as u64);
            let game = Arc::clone(&table.game);
            let block = game.environments(Arc::clone(&config), options.seed, number, count);
            Some(PlacedBlock { block, first })
        };
        let blocks = (0..options.environments).step_by(block_size).map(block_at).collect();
        Self {
            id,
            snapshot_kind: Digest::of(&(table.digest, config.skip_forced)),
            config,
            widths,
            block_size,
            work_queue: Mutex::new(Arc::new(group.work_queue())),
            threads: group.threads(),
            buffers: BufferCache::new(widths, options.environments),
            responses: Mutex::new(ResponseCache::new(options.environments)),
            slots: Mutex::new(Slots::new(blocks)),
            blocks_returned: Notify::new(),
            table,
            options,
        }
    }

    /// Returns the batch's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the table of the environments.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the settings that the batch was opened with.
    #[must_use]
    pub fn options(&self) -> &BatchOptions {
        &self.options
    }

    /// Returns the maximum size in bytes of a snapshot of the environments in `mask`. An empty mask means all.
    #[must_use]
    pub fn snapshot_bytes(&self, mask: &[u8]) -> usize {
        let selected: usize = mask.iter().map(|byte| byte.count_ones() as usize).sum();
        let environments = if mask.is_empty() { self.options.environments } else { selected };
        (environments * MAX_ENVIRONMENT_SNAPSHOT_BYTES).min(self.options.message_bytes)
    }

    /// Returns the maximum size in bytes of the rows of `count` environments. A `count` of 0 means all.
    #[must_use]
    pub fn step_bytes(&self, count: u32) -> usize {
        let rows = if count == 0 { self.options.environments } else { count as usize };
        rows.min(self.options.environments) * row_bytes(self.table.game.info(), &self.config)
    }

    fn all(&self) -> Range<usize> {
        0..self.options.environments
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work_queue(&self) -> Arc<WorkQueue> {
        Arc::clone(&self.work_queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Moves the batch to another pool, in a forked process without threads of the old pool. No call may run at the fork.
    pub fn move_to_pool(&self, group: &CallerGroup) {
        let mut work_queue = self.work_queue.lock().unwrap_or_else(PoisonError::into_inner);
        // The old work queue is never dropped: a thread that the fork did not copy may hold the old pool's lock forever.
        std::mem::forget(std::mem::replace(&mut *work_queue, Arc::new(group.work_queue())));
    }

    fn responses(&self) -> MutexGuard<'_, ResponseCache> {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the batch. Running, waiting and later calls fail with `reason`.
    pub fn end(&self, reason: Error) {
        self.lock().ended.get_or_insert(reason);
        self.work_queue().cancel();
        self.blocks_returned.notify_waiters();
    }

    /// Ends the batch after a panic during a call.
    fn fail(&self) {
        self.end(self.internal_error());
    }

    fn internal_error(&self) -> Error {
        Error::Internal {
            place: self.id.clone(),
            problem: "a pool task of the batch panicked or was dropped".to_owned(),
        }
    }

    fn end_reason(&self) -> Error {
        self.lock().ended.clone().unwrap_or_else(|| self.internal_error())
    }

    /// Waits until the batch ends, and returns the reason.
    async fn wait_until_ended(&self) -> Error {
        loop {
            let mut blocks_returned = std::pin::pin!(self.blocks_returned.notified());
            blocks_returned.as_mut().enable();
            if let Some(reason) = &self.lock().ended {
                return reason.clone();
            }
            blocks_returned.await;
        }
    }

    /// Checks blocks in: puts them back into their slots and wakes waiting calls.
    fn check_in(&self, blocks: impl IntoIterator<Item = PlacedBlock>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        let mut slots = self.lock();
        for placed in blocks {
            let slot = placed.first / self.block_size;
            slots.blocks[slot] = Some(placed);
        }
        drop(slots);
        self.blocks_returned.notify_waiters();
    }

    /// Steps `count` environments from `first` on; a `count` of 0 means all of them. A retry with the `sequence` number of
    /// the last response returns the cached response.
    ///
    /// # Errors
    /// The range, the number of actions, the mask, the sequence number or an action is not valid. Then nothing changes.
    pub async fn step(
        self: &Arc<Self>,
        first: u32,
        count: u32,
        actions: Actions,
        sequence: Option<u64>,
    ) -> Result<Step, Error> {
        let range = self.range_for_actions(first, count, &actions)?;
        let request =
            sequence.map(|sequence| NumberedRequest { sequence, content: RequestContent::step(&actions) });
        let checkout = self.check_out(range).await?;
        if let Some(step) = checkout.repeated(request.as_ref())? {
            return Ok(step);
        }
        checkout.check(&actions)?;
        checkout.work(Operation::Step(actions), request).await
    }

    /// Steps environments like [`step`](Self::step), if the caller's thread can do this without the pool and without
    /// waiting.
    ///
    /// # Errors
    /// If the call would wait or use the pool, it does nothing and returns the actions. The inner error is that of `step`.
    pub fn step_at_once(
        self: &Arc<Self>,
        first: u32,
        count: u32,
        actions: Actions,
    ) -> Result<Result<Step, Error>, Actions> {
        let checkout =
            self.range_for_actions(first, count, &actions).and_then(|range| match self.executor(&range) {
                Executor::Caller => self.try_check_out(&range, None),
                Executor::CallerAndPool | Executor::Pool => Ok(None),
            });
        Ok(match checkout {
            Ok(None) => return Err(actions),
            Ok(Some(checkout)) => {
                checkout.check(&actions).and_then(|()| checkout.work_alone(&Operation::Step(actions), None))
            }
            Err(refused) => Err(refused),
        })
    }

    /// Starts episodes in the environments of a mask; an empty mask means all. A retry with the `sequence` number of the
    /// last response returns the cached response.
    ///
    /// # Errors
    /// The mask, the number of seeds or the sequence number is not valid.
    pub async fn reset(self: &Arc<Self>, reset: Reset, sequence: Option<u64>) -> Result<Step, Error> {
        let Reset { mask, seed, seeds } = &reset;
        let environments = self.mask_environments(mask)?;
        if !seeds.is_empty() && seeds.len() != environments.len() {
            let expected = format!("empty or {} seeds", environments.len());
            return Err(Error::field("seeds", format!("{} seeds", seeds.len()), expected));
        }
        let mut starts = vec![None; self.options.environments];
        for (index, &environment) in environments.iter().enumerate() {
            starts[environment] =
                Some(EpisodeStart { batch_seed: *seed, episode_seed: seeds.get(index).copied() });
        }
        let request =
            sequence.map(|sequence| NumberedRequest { sequence, content: RequestContent::reset(reset) });
        let checkout = self.check_out(self.all()).await?;
        if let Some(step) = checkout.repeated(request.as_ref())? {
            return Ok(step);
        }
        checkout.work(Operation::Reset(starts), request).await
    }

    /// Saves the environments of `mask` as a snapshot. An empty mask means all.
    ///
    /// # Errors
    /// The mask is not valid, or its environments do not fit one message.
    pub async fn save(self: &Arc<Self>, key: &SnapshotKey, mask: &[u8]) -> Result<Bytes, Error> {
        let environments = self.mask_environments(mask)?;
        let (count, max) = (environments.len(), self.options.message_bytes);
        let (key, checkout) = (key.clone(), self.check_out(covering_range(&environments)).await?);
        let snapshot = checkout.in_pool(move |checkout| {
            let saved = environments.iter().map(|&environment| {
                let (block, index) = checkout.locate(environment);
                block.save(index)
            });
            snapshot::seal(
                &key,
                &checkout.batch.snapshot_kind,
                saved,
                max.saturating_sub(MAX_MESSAGE_OVERHEAD_BYTES),
            )
        });
        snapshot.await?.1.map(Bytes::from).map_err(|fit| {
            let expected =
                format!("at most the first {fit} environments, which fit a message of {max} bytes");
            Error::field("mask", format!("{count} environments"), expected)
        })
    }

    /// Returns the information set of the deciding seat in each environment of `mask`. An empty mask means all.
    ///
    /// # Errors
    /// The mask is not valid, or the episode of an environment is over.
    pub async fn information_sets(
        self: &Arc<Self>,
        mask: &[u8],
    ) -> Result<Vec<Box<dyn InformationSet>>, Error> {
        let environments = self.mask_environments(mask)?;
        let checkout = self.check_out(covering_range(&environments)).await?;
        let information_sets = checkout.in_pool(move |checkout| {
            let information_set = |environment| {
                let (block, index) = checkout.locate(environment);
                block.information_set(index).ok_or(Error::EnvironmentOver { environment })
            };
            environments.into_iter().map(information_set).collect()
        });
        information_sets.await?.1
    }

    /// Describes an environment's position and the legal actions of a seat as text, as the seat knows them. With a label
    /// seed, the names in the texts are exchanged.
    ///
    /// # Errors
    /// The environment or the seat does not exist.
    pub async fn describe(
        self: &Arc<Self>,
        environment: u32,
        seat: u32,
        label_seed: Option<u64>,
    ) -> Result<v1::DescribeEnvironmentResponse, Error> {
        let info = self.table.game.info();
        let (environments, seats) = (self.options.environments, info.seats);
        let number = usize::try_from(environment).ok().filter(|number| *number < environments);
        let environment = number.ok_or_else(|| {
            Error::field("environment", environment, format!("from 0 to {}", environments - 1))
        })?;
        let valid_seat = u8::try_from(seat).ok().filter(|seat| *seat < seats);
        let seat =
            valid_seat.ok_or_else(|| Error::field("seat", seat, format!("from 0 to {}", seats - 1)))?;
        let checkout = self.check_out(environment..environment + 1).await?;
        let ((block, index), seat) = (checkout.locate(environment), Seat::new(seat));
        let episode = block.episode(index);
        let mut text = episode.text(seat.into());
        let mut actions = messages::legal_actions(info, episode, seat, block.legal(index, seat));
        if let Some(seed) = label_seed {
            let permutation = NamePermutation::new(&*self.table.game, seed);
            permutation.apply(&mut text);
            permutation.apply_to_actions(&mut actions);
        }
        Ok(v1::DescribeEnvironmentResponse { text, actions })
    }

    /// Replaces the environments of `mask` with the environments of a snapshot. An empty mask means all.
    ///
    /// # Errors
    /// The mask or the snapshot is not valid, or the snapshot is of another kind of batch or has another number of
    /// environments. Then no environment changes.
    pub async fn load(
        self: &Arc<Self>,
        key: &SnapshotKey,
        snapshot: Bytes,
        mask: &[u8],
    ) -> Result<Step, Error> {
        let environments = self.mask_environments(mask)?;
        let (key, checkout) = (key.clone(), self.check_out(self.all()).await?);
        let checked = checkout.in_pool(move |checkout| {
            let saved = snapshot::unseal(&key, &checkout.batch.snapshot_kind, &snapshot)?;
            if saved.len() != environments.len() {
                return Err(format!("it holds {} environments, not {}", saved.len(), environments.len()));
            }
            let mut replacements: Vec<Option<SavedEnvironment>> =
                checkout.batch.all().map(|_| None).collect();
            for (saved, environment) in saved.into_iter().zip(environments) {
                let (block, index) = checkout.locate(environment);
                block.check(index, &saved)?;
                replacements[environment] = Some(saved);
            }
            Ok(replacements)
        });
        let (mut checkout, replacements) = checked.await?;
        let replacements = replacements.map_err(|problem| Error::SnapshotInvalid { problem })?;
        checkout.executor = Executor::Pool;
        checkout.work(Operation::Load(replacements), None).await
    }
}

/// Returns the range from the first of these environments to the last.
fn covering_range(environments: &[usize]) -> Range<usize> {
    environments.first().zip(environments.last()).map_or(0..0, |(first, last)| *first..last + 1)
}

#[cfg(test)]
mod tests;

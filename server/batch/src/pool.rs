//! A bounded thread pool for work that takes longer than reading a request: steps of large batches, bots, deals.
//!
//! Work belongs to an owner (a match, batch or search), which has a work queue. Owners belong to groups, one for each
//! caller. The pool runs work in slices of about a millisecond. The next slice goes to the group that has used the least
//! time, and in it to the owner that has used the least time. Even many heavy owners delay another caller by one slice at
//! most. Dropping an owner's work queue cancels its work. A caller awaits a message from its work, so no connection thread
//! ever blocks on the pool.

#[cfg(feature = "testkit")]
mod blocker;
mod parallel_map;
mod queue;

use std::collections::{HashMap, VecDeque};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

#[cfg(feature = "testkit")]
pub use blocker::PoolBlocker;
use queue::{Queue, TimeAccount};

/// The length of a slice in microseconds. After it, the pool serves the next owner.
const SLICE_MICROS: u64 = 1_000;

/// Work that the pool runs in slices.
///
/// The pool drops work that is not yet [`Done`](Flow::Done) only if it was cancelled or panicked, or if the pool ends.
pub trait Work: Send + 'static {
    /// Continues until the slice is over or the work is done.
    fn advance(&mut self, slice: &Slice) -> Flow;
}

/// Work that takes one slice: it is short, or cannot be divided.
pub struct OneShot<F>(Option<F>);

impl<F: FnOnce() + Send + 'static> OneShot<F> {
    /// Returns work that calls `task` once.
    pub fn new(task: F) -> Self {
        Self(Some(task))
    }
}

impl<F: FnOnce() + Send + 'static> Work for OneShot<F> {
    fn advance(&mut self, _: &Slice) -> Flow {
        if let Some(task) = self.0.take() {
            task();
        }
        Flow::Done
    }
}

/// Whether work has more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The work has more to do, and waits for its next slice.
    Continue,
    /// The work is finished.
    Done,
}

/// A time slice: how long work may run.
#[derive(Debug)]
pub struct Slice {
    until: Option<Instant>,
    /// The owner's current generation, and the generation of the work. They differ if the work was cancelled.
    generation: Option<(Arc<AtomicU64>, u64)>,
}

impl Slice {
    /// A slice without an end, for work that the caller's thread runs itself.
    pub(crate) const UNLIMITED: Self = Self { until: None, generation: None };

    /// Returns whether to stop: the time is up, or the owner has cancelled the work.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Returns whether the owner has cancelled the work.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.generation.as_ref().is_some_and(|(current, of_work)| current.load(Ordering::Relaxed) != *of_work)
    }
}

/// A thread pool. Dropping it ends the threads and drops the queued work.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    threads: usize,
    state: Mutex<State>,
    /// Wakes threads when work was queued or the pool has stopped.
    wake: Condvar,
    /// Whether a test makes the start of threads fail.
    #[cfg(test)]
    fails_to_start: bool,
}

#[derive(Debug, Default)]
struct State {
    /// The groups whose owners have queued work.
    queue: Queue<Queue<VecDeque<Task>>>,
    /// Only `start_time` is used: new groups start at this time.
    root_account: TimeAccount,
    /// The number of accounts that were created. It is also the number of the latest account.
    account_count: u64,
    /// The group of each caller, by the caller's number.
    groups: HashMap<u64, Weak<TimeAccount>>,
    /// Whether a caller has started the threads, or runs the queued work because none started.
    started: bool,
    stopped: bool,
}

struct Task {
    work: Box<dyn Work>,
    generation: u64,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Task({})", self.generation)
    }
}

/// The owners of work of one caller: its matches, batches and searches. They share this caller's part of the thread
/// time.
#[derive(Debug, Clone)]
pub struct CallerGroup {
    shared: Arc<Shared>,
    account: Arc<TimeAccount>,
}

impl CallerGroup {
    /// Returns the number of threads in the pool.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Creates the work queue of an owner.
    #[must_use]
    pub fn work_queue(&self) -> WorkQueue {
        let account = self.shared.lock().account(Some(Arc::clone(&self.account)));
        WorkQueue { shared: Arc::clone(&self.shared), account }
    }
}

/// The work queue of an owner: a match, batch or search. Dropping it cancels the owner's work.
#[derive(Debug)]
pub struct WorkQueue {
    shared: Arc<Shared>,
    account: Arc<TimeAccount>,
}

impl Pool {
    /// Creates a pool and starts `threads` threads; 0 means one per core.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let pool = Self::lazy(threads);
        pool.shared.lock().started = true;
        pool.shared.start().map_err(|(_, error)| error)?;
        Ok(pool)
    }

    /// Creates a pool of `threads` threads (0 means one per core). They start when the first work is queued.
    #[must_use]
    pub fn lazy(threads: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = if threads == 0 { cores() } else { threads };
        Self { shared: Arc::new(Shared { threads, ..Shared::default() }) }
    }

    /// Returns the number of threads in the pool.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Returns the number of queued pieces of work.
    #[must_use]
    pub fn queued(&self) -> usize {
        let state = self.shared.lock();
        let owners = state.queue.members.values().flat_map(|group| group.queued.members.values());
        owners.map(|owner| owner.queued.len()).sum()
    }

    /// Returns the group of the caller with this number.
    #[must_use]
    pub fn group(&self, caller: u64) -> CallerGroup {
        let mut state = self.shared.lock();
        let existing = state.groups.get(&caller).and_then(Weak::upgrade);
        let account = existing.unwrap_or_else(|| {
            // The capacity doubles each time, so this is rare.
            if state.groups.len() == state.groups.capacity() {
                state.groups.retain(|_, group| group.strong_count() > 0);
            }
            let account = state.account(None);
            state.groups.insert(caller, Arc::downgrade(&account));
            account
        });
        CallerGroup { shared: Arc::clone(&self.shared), account }
    }

    /// Creates a group that no caller shares.
    #[must_use]
    pub fn new_group(&self) -> CallerGroup {
        let account = self.shared.lock().account(None);
        CallerGroup { shared: Arc::clone(&self.shared), account }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        self.shared.wake.notify_all();
        let owners = queue.members.into_values().flat_map(|group| group.queued.members.into_values());
        drop_tasks_catching_panics(owners.flat_map(|owner| owner.queued));
    }
}

impl WorkQueue {
    /// Queues work behind the owner's other work.
    pub fn spawn(&self, work: impl Work) {
        let generation = self.account.generation.load(Ordering::Relaxed);
        self.shared.enqueue(&self.account, Task { work: Box::new(work), generation });
    }

    /// Drops the queued work immediately, and running work at the end of its slice.
    pub fn cancel(&self) {
        self.account.generation.fetch_add(1, Ordering::Relaxed);
        // Dropping work may take any lock, so the pool's lock is released first.
        let tasks = self.shared.lock().remove(&self.account);
        drop_tasks_catching_panics(tasks.into_iter().flatten());
    }
}

/// Drops tasks, and catches a panic of each drop. Such a panic must reach neither the code that cancels the tasks nor the
/// drop of another task: a second panic during unwinding aborts the process.
fn drop_tasks_catching_panics(tasks: impl IntoIterator<Item = Task>) {
    for task in tasks {
        if catch_unwind(AssertUnwindSafe(|| drop(task))).is_err() {
            tracing::error!("a pool task panicked while it was dropped");
        }
    }
}

impl Drop for WorkQueue {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl State {
    /// Creates an account: of an owner if `group` is given, else of a group.
    fn account(&mut self, group: Option<Arc<TimeAccount>>) -> Arc<TimeAccount> {
        self.account_count += 1;
        Arc::new(TimeAccount { number: self.account_count, group, ..TimeAccount::default() })
    }

    /// Queues work of an owner.
    fn add(&mut self, owner: &Arc<TimeAccount>, task: Task) {
        let group = owner.group.as_ref().expect("every owner has a group");
        let owners = self.queue.add(group, &self.root_account.start_time);
        owners.add(owner, &group.start_time).push_back(task);
    }

    /// Removes an owner from the queue and returns its queued work.
    fn remove(&mut self, owner: &TimeAccount) -> Option<VecDeque<Task>> {
        let group = owner.group.as_ref()?.number;
        let owners = &mut self.queue.members.get_mut(&group)?.queued;
        let tasks = owners.remove(owner.number);
        if owners.members.is_empty() {
            self.queue.remove(group);
        }
        tasks
    }

    /// Takes the next task from the queue; returns its owner and the task.
    fn next(&mut self) -> Option<(Arc<TimeAccount>, Task)> {
        self.queue.next(
            &self.root_account.start_time,
            |owners| owners.members.is_empty(),
            |group| {
                group.queued.next(&group.account.start_time, VecDeque::is_empty, |owner| {
                    Some((Arc::clone(&owner.account), owner.queued.pop_front()?))
                })
            },
        )
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the threads. An error holds the number of threads that did start.
    fn start(self: &Arc<Self>) -> Result<(), (usize, std::io::Error)> {
        #[cfg(test)]
        if self.fails_to_start {
            return Err((0, std::io::Error::other("test error")));
        }
        for number in 0..self.threads {
            let shared = Arc::clone(self);
            let builder = std::thread::Builder::new().name(format!("pool-{number}"));
            builder.spawn(move || shared.thread_main()).map_err(|error| (number, error))?;
        }
        Ok(())
    }

    fn enqueue(self: &Arc<Self>, account: &Arc<TimeAccount>, task: Task) {
        let mut state = self.lock();
        if state.stopped {
            drop(state);
            return drop_tasks_catching_panics([task]);
        }
        state.add(account, task);
        let starts = !std::mem::replace(&mut state.started, true);
        drop(state);
        if starts && let Err((started, error)) = self.start() {
            tracing::error!(%error, started, "not all threads of the pool could be started");
            if started == 0 {
                self.run_queued();
            }
        }
        self.wake.notify_one();
    }

    /// Runs the queued work on the caller's thread, because no thread started. The next caller tries to start threads again.
    fn run_queued(self: &Arc<Self>) {
        let mut state = self.lock();
        while let Some((account, task)) = state.next() {
            drop(state);
            self.run_slice(&account, task);
            state = self.lock();
        }
        state.started = false;
    }

    /// The main loop of each thread, until the pool stops.
    fn thread_main(self: &Arc<Self>) {
        let mut state = self.lock();
        while !state.stopped {
            let Some((account, task)) = state.next() else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            self.run_slice(&account, task);
            state = self.lock();
        }
    }

    /// Runs one slice of a task. Queues the task again if it has more to do.
    fn run_slice(self: &Arc<Self>, account: &Arc<TimeAccount>, mut task: Task) {
        let start = Instant::now();
        let generation = Some((Arc::clone(&account.generation), task.generation));
        let slice = Slice { until: Some(start + Duration::from_micros(SLICE_MICROS)), generation };
        let has_more = catch_unwind(AssertUnwindSafe(|| {
            !slice.is_cancelled() && task.work.advance(&slice) == Flow::Continue && !slice.is_cancelled()
        }));
        if has_more.is_err() {
            tracing::error!("a pool task panicked");
        }
        if has_more.unwrap_or(false) {
            account.add_time(start);
            self.enqueue(account, task);
        } else {
            // The drop may run code of the work, so its time counts too.
            drop_tasks_catching_panics([task]);
            account.add_time(start);
        }
    }
}

#[cfg(test)]
mod tests;

//! One bounded pool of threads for all that takes longer than reading a call: steps of large batches, bots
//! that think, deals.
//!
//! Work belongs to an owner, a match or a batch, and is done in slices of about a millisecond. The next slice
//! goes to the owner that has used the least time so far, so that a crowd of heavy owners does not delay a
//! light one by more than a slice. An owner that ends takes its work along. Whoever waits for work awaits a
//! message; no thread that reads connections ever waits for the pool.

mod each;
#[cfg(feature = "testkit")]
mod hold;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "testkit")]
pub use hold::Hold;

/// How long work goes on before others have their turn.
const SLICE: Duration = Duration::from_millis(1);

/// Something to be done in slices.
///
/// Work that is dropped before it was [`Done`](Flow::Done) has been cancelled, or has panicked.
pub trait Work: Send + 'static {
    /// Goes on until the slice is over or there is nothing left to do.
    fn advance(&mut self, slice: &Slice) -> Flow;
}

/// Something that takes no more than a slice, or cannot be divided.
pub struct Once<F>(Option<F>);

impl<F: FnOnce() + Send + 'static> Once<F> {
    /// Work that is this task.
    pub fn new(task: F) -> Self {
        Self(Some(task))
    }
}

impl<F: FnOnce() + Send + 'static> Work for Once<F> {
    fn advance(&mut self, _: &Slice) -> Flow {
        if let Some(task) = self.0.take() {
            task();
        }
        Flow::Done
    }
}

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// There is: it waits for its next turn.
    More,
    /// There is not.
    Done,
}

/// How long work may go on.
#[derive(Debug)]
pub struct Slice {
    until: Option<Instant>,
    /// The owner's generation, and that of the work.
    generation: Option<(Arc<AtomicU64>, u64)>,
}

impl Slice {
    /// For work that is done at once, without the pool.
    pub(crate) const ENDLESS: Self = Self { until: None, generation: None };

    /// Whether to stop: the time is up, or the owner wants the work no longer.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Whether the owner wants the work no longer.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.generation.as_ref().is_some_and(|(now, own)| now.load(Ordering::Relaxed) != *own)
    }
}

/// The threads. They end when this is dropped, and work that waits is dropped then.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something can be done, or the pool has stopped.
    called: Condvar,
    /// How many threads the first work starts; none if they have been started before it.
    late: usize,
    /// Whether no thread can be started.
    #[cfg(test)]
    barren: bool,
}

#[derive(Debug, Default)]
struct State {
    /// The owners that have work waiting.
    waiting: BTreeMap<u64, Waiting>,
    /// The same by the time they have used: who comes first is served next.
    turns: BTreeSet<(Duration, u64)>,
    /// What the owner served last had used: whoever comes late has no claim to what others have used before.
    floor: Duration,
    owners: u64,
    /// Whether the first work has started threads, or is being done by whoever asked for it.
    started: bool,
    stopped: bool,
}

/// As many as are asked for, or one a core.
fn as_many(threads: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    if threads == 0 { cores() } else { threads }
}

#[derive(Debug)]
struct Waiting {
    account: Arc<Account>,
    /// The time the owner had used when it was put among the turns.
    used: Duration,
    works: VecDeque<Task>,
}

/// What the pool keeps of an owner.
#[derive(Debug, Default)]
struct Account {
    number: u64,
    /// Microseconds of threads.
    used: AtomicU64,
    /// Moves when all work is cancelled.
    generation: Arc<AtomicU64>,
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

/// On whose behalf work is done. Dropping it cancels the work.
#[derive(Debug)]
pub struct Owner {
    shared: Arc<Shared>,
    account: Arc<Account>,
}

impl Pool {
    /// Starts `threads` threads; 0 for one a core.
    ///
    /// # Errors
    /// When they cannot be started.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let pool = Self { shared: Arc::default(), threads: as_many(threads) };
        pool.shared.start(pool.threads).map_err(|(_, error)| error)?;
        Ok(pool)
    }

    /// Starts `threads` threads, 0 for one a core, once there is work for them.
    #[must_use]
    pub fn late(threads: usize) -> Self {
        let threads = as_many(threads);
        Self { shared: Arc::new(Shared { late: threads, ..Shared::default() }), threads }
    }

    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How much work waits.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.shared.lock().waiting.values().map(|waiting| waiting.works.len()).sum()
    }

    /// Somebody new to do work for.
    #[must_use]
    pub fn owner(&self) -> Owner {
        let mut state = self.shared.lock();
        state.owners += 1;
        let account = Account { number: state.owners, ..Account::default() };
        Owner { shared: Arc::clone(&self.shared), account: Arc::new(account) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        let waiting = std::mem::take(&mut state.waiting);
        state.turns.clear();
        drop(state);
        self.shared.called.notify_all();
        drop(waiting);
    }
}

impl Owner {
    /// Has work done, after that which waits already.
    pub fn spawn(&self, work: impl Work) {
        let generation = self.account.generation.load(Ordering::Relaxed);
        self.shared.put(&self.account, Task { work: Box::new(work), generation });
    }

    /// Drops the work that waits, and that which is being done at the end of its slice.
    pub fn cancel(&self) {
        self.account.generation.fetch_add(1, Ordering::Relaxed);
        // What waits is dropped once the lock is free again: it may lock what it likes.
        let waiting = self.shared.lock().leave(self.account.number);
        drop(waiting);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Account {
    fn used(&self) -> Duration {
        Duration::from_micros(self.used.load(Ordering::Relaxed))
    }

    /// Notes that a thread has been used from `start` on; never nothing, so that turns alternate.
    fn charge(&self, start: Instant) {
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.used.fetch_add(micros.max(1), Ordering::Relaxed);
    }
}

impl State {
    /// Takes an owner out of the turns, with all its work that waits.
    fn leave(&mut self, owner: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&owner)?;
        self.turns.remove(&(waiting.used, owner));
        Some(waiting)
    }

    /// The next thing to do.
    fn next(&mut self) -> Option<(Arc<Account>, Task)> {
        let (used, number) = self.turns.pop_first()?;
        self.floor = self.floor.max(used);
        let waiting = self.waiting.get_mut(&number)?;
        let task = waiting.works.pop_front()?;
        let account = Arc::clone(&waiting.account);
        if waiting.works.is_empty() {
            self.waiting.remove(&number);
        } else {
            // As if the slice that begins now had been used: the threads divide among the owners.
            waiting.used = account.used().max(used) + SLICE;
            self.turns.insert((waiting.used, number));
        }
        Some((account, task))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts threads; how many could be started, if not all.
    fn start(self: &Arc<Self>, threads: usize) -> Result<(), (usize, std::io::Error)> {
        #[cfg(test)]
        if self.barren {
            return Err((0, std::io::Error::other("as the test wants it")));
        }
        for number in 0..threads {
            let shared = Arc::clone(self);
            let builder = std::thread::Builder::new().name(format!("pool-{number}"));
            builder.spawn(move || shared.serve()).map_err(|error| (number, error))?;
        }
        Ok(())
    }

    fn put(self: &Arc<Self>, account: &Arc<Account>, task: Task) {
        let mut state = self.lock();
        if state.stopped {
            drop(state);
            return drop(task);
        }
        let floor = state.floor;
        let waiting = state.waiting.entry(account.number).or_insert_with(|| {
            let late = floor.saturating_sub(account.used());
            let micros = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
            account.used.fetch_add(micros, Ordering::Relaxed);
            Waiting { account: Arc::clone(account), used: account.used(), works: VecDeque::new() }
        });
        waiting.works.push_back(task);
        let turn = (waiting.used, account.number);
        state.turns.insert(turn);
        let starts = !std::mem::replace(&mut state.started, true);
        drop(state);
        if starts && let Err((started, error)) = self.start(self.late) {
            tracing::error!(%error, started, "not all threads of the pool could be started");
            if started == 0 {
                self.exhaust();
            }
        }
        self.called.notify_one();
    }

    /// Does what waits, since no thread does; whoever asks next tries to start some again.
    fn exhaust(self: &Arc<Self>) {
        loop {
            let mut state = self.lock();
            let Some((account, task)) = state.next() else {
                state.started = false;
                return;
            };
            drop(state);
            self.perform(&account, task);
        }
    }

    /// What each thread does until the pool stops.
    fn serve(self: &Arc<Self>) {
        let mut state = self.lock();
        while !state.stopped {
            let Some((account, task)) = state.next() else {
                state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            self.perform(&account, task);
            state = self.lock();
        }
    }

    fn perform(self: &Arc<Self>, account: &Arc<Account>, mut task: Task) {
        let start = Instant::now();
        let generation = Some((Arc::clone(&account.generation), task.generation));
        let slice = Slice { until: Some(start + SLICE), generation };
        if slice.is_cancelled() {
            return;
        }
        // Dropping the work belongs to it: it may run code of its own.
        let more = catch_unwind(AssertUnwindSafe(move || match task.work.advance(&slice) {
            Flow::More if !slice.is_cancelled() => Some(task),
            Flow::More | Flow::Done => None,
        }));
        account.charge(start);
        match more {
            Ok(Some(task)) => self.put(account, task),
            Ok(None) => {}
            Err(_) => tracing::error!("work of the pool panicked"),
        }
    }
}

#[cfg(test)]
mod tests;

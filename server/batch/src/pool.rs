//! One bounded pool of threads for all that takes longer than reading a call: steps of large batches, bots
//! that think, deals.
//!
//! Work belongs to an owner, a match or a batch, and owners belong to groups, one for each caller. Work is done in slices of
//! about a millisecond. The next slice goes to the group that has used the least time so far, and there to the owner that
//! has: a crowd of heavy owners delays one of another caller by no more than a slice. An owner that ends takes its work
//! along. A caller that waits for work awaits a message: no thread that reads connections ever waits for the pool.

mod each;
#[cfg(feature = "testkit")]
mod hold;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
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
    /// The groups with owners that have work waiting.
    waiting: Queue<Queue<VecDeque<Task>>>,
    /// Whose floor is that of all groups.
    all: Account,
    /// How many owners and groups there have been.
    accounts: u64,
    /// One group for each caller, keyed by the caller's number.
    groups: HashMap<u64, Weak<Account>>,
    /// Whether the first work has started threads, or is being done by its caller.
    started: bool,
    stopped: bool,
}

/// As many as are asked for, or one a core.
fn as_many(threads: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    if threads == 0 { cores() } else { threads }
}

/// Owners or groups that have something waiting, in the order of the time that they have used.
#[derive(Debug)]
struct Queue<T> {
    members: BTreeMap<u64, Member<T>>,
    /// The same by the time they have used: who comes first is served next.
    turns: BTreeSet<(Duration, u64)>,
}

#[derive(Debug)]
struct Member<T> {
    account: Arc<Account>,
    /// The time it had used when it was put among the turns.
    used: Duration,
    waiting: T,
}

/// Something that may be empty.
trait Waits: Default {
    fn is_empty(&self) -> bool;
}

impl Waits for VecDeque<Task> {
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

impl<T> Waits for Queue<T> {
    fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { members: BTreeMap::new(), turns: BTreeSet::new() }
    }
}

impl<T: Waits> Queue<T> {
    /// The queued work of a member, which is added if it had none. A new member starts at the floor, so that it gets no
    /// credit for the time it was idle.
    fn enter(&mut self, account: &Arc<Account>, floor: &AtomicU64) -> &mut T {
        let member = self.members.entry(account.number).or_insert_with(|| {
            account.used.fetch_max(floor.load(Ordering::Relaxed), Ordering::Relaxed);
            Member { account: Arc::clone(account), used: account.used(), waiting: T::default() }
        });
        self.turns.insert((member.used, account.number));
        &mut member.waiting
    }

    /// Takes a member out of the turns, with all that it has waiting.
    fn leave(&mut self, number: u64) -> Option<T> {
        let member = self.members.remove(&number)?;
        self.turns.remove(&(member.used, number));
        Some(member.waiting)
    }

    /// Takes work from the member that has used the least time. That time becomes the floor: where new members start.
    fn next<R>(&mut self, floor: &AtomicU64, take: impl FnOnce(&mut Member<T>) -> Option<R>) -> Option<R> {
        let (used, number) = self.turns.pop_first()?;
        floor.fetch_max(micros(used), Ordering::Relaxed);
        let member = self.members.get_mut(&number)?;
        let taken = take(member);
        if member.waiting.is_empty() {
            self.members.remove(&number);
        } else {
            // As if the slice that begins now had been used: the threads divide among all.
            member.used = member.account.used().max(used) + SLICE;
            self.turns.insert((member.used, number));
        }
        taken
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What the pool keeps of an owner, or of a group.
#[derive(Debug, Default)]
struct Account {
    number: u64,
    /// Microseconds of threads.
    used: AtomicU64,
    /// What the owner of this group that was served last had used.
    floor: AtomicU64,
    /// Moves when all work of the owner is cancelled.
    generation: Arc<AtomicU64>,
    /// The owner's group.
    group: Option<Arc<Account>>,
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

/// One caller's owners of work (its matches and batches), which share that caller's part of the threads' time.
#[derive(Debug, Clone)]
pub struct Group {
    shared: Arc<Shared>,
    threads: usize,
    account: Arc<Account>,
}

impl Group {
    /// How many threads the pool has.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// A new owner.
    #[must_use]
    pub fn owner(&self) -> Owner {
        let number = self.shared.lock().number();
        let account = Account { number, group: Some(Arc::clone(&self.account)), ..Account::default() };
        Owner { shared: Arc::clone(&self.shared), account: Arc::new(account) }
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
        let state = self.shared.lock();
        let owners = state.waiting.members.values().flat_map(|group| group.waiting.members.values());
        owners.map(|owner| owner.waiting.len()).sum()
    }

    /// The group of a caller, who is told apart from others by this number.
    #[must_use]
    pub fn group(&self, caller: u64) -> Group {
        let mut state = self.shared.lock();
        let known = state.groups.get(&caller).and_then(Weak::upgrade);
        let account = known.unwrap_or_else(|| {
            // Doubling keeps this rare.
            if state.groups.len() == state.groups.capacity() {
                state.groups.retain(|_, group| group.strong_count() > 0);
            }
            let account = Arc::new(Account { number: state.number(), ..Account::default() });
            state.groups.insert(caller, Arc::downgrade(&account));
            account
        });
        Group { shared: Arc::clone(&self.shared), threads: self.threads, account }
    }

    /// A group of its own.
    #[must_use]
    pub fn alone(&self) -> Group {
        let account = Account { number: self.shared.lock().number(), ..Account::default() };
        Group { shared: Arc::clone(&self.shared), threads: self.threads, account: Arc::new(account) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.shared.called.notify_all();
        let owners = waiting.members.into_values().flat_map(|group| group.waiting.members.into_values());
        discard(owners.flat_map(|owner| owner.waiting));
    }
}

impl Owner {
    /// Queues work behind what waits already.
    pub fn spawn(&self, work: impl Work) {
        let generation = self.account.generation.load(Ordering::Relaxed);
        self.shared.put(&self.account, Task { work: Box::new(work), generation });
    }

    /// Drops the work that waits, and at the end of its slice the work that runs.
    pub fn cancel(&self) {
        self.account.generation.fetch_add(1, Ordering::Relaxed);
        // What waits is dropped once the lock is free again: it may lock what it likes.
        let waiting = self.shared.lock().leave(&self.account);
        discard(waiting.into_iter().flatten());
    }
}

/// Drops tasks that are not to go on. That may panic, which must reach neither the code that cancels them nor the drop of another
/// task: a panic while one unwinds ends the process.
fn discard(tasks: impl IntoIterator<Item = Task>) {
    for task in tasks {
        if catch_unwind(AssertUnwindSafe(|| drop(task))).is_err() {
            tracing::error!("work of the pool panicked when it was dropped");
        }
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
        let micros = micros(start.elapsed()).max(1);
        self.used.fetch_add(micros, Ordering::Relaxed);
        if let Some(group) = &self.group {
            group.used.fetch_add(micros, Ordering::Relaxed);
        }
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.accounts += 1;
        self.accounts
    }

    /// Adds work of an owner.
    fn enter(&mut self, owner: &Arc<Account>, task: Task) {
        let group = owner.group.as_ref().expect("every owner has a group");
        let owners = self.waiting.enter(group, &self.all.floor);
        owners.enter(owner, &group.floor).push_back(task);
    }

    /// Takes an owner out of the turns, with all its work that waits.
    fn leave(&mut self, owner: &Account) -> Option<VecDeque<Task>> {
        let group = owner.group.as_ref()?.number;
        let owners = &mut self.waiting.members.get_mut(&group)?.waiting;
        let left = owners.leave(owner.number);
        if owners.is_empty() {
            self.waiting.leave(group);
        }
        left
    }

    /// The next thing to do.
    fn next(&mut self) -> Option<(Arc<Account>, Task)> {
        self.waiting.next(&self.all.floor, |group| {
            let floor = &group.account.floor;
            group.waiting.next(floor, |owner| Some((Arc::clone(&owner.account), owner.waiting.pop_front()?)))
        })
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
            return discard([task]);
        }
        state.enter(account, task);
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

    /// Does what waits, since no thread does; the next caller tries to start threads again.
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
        let has_more = catch_unwind(AssertUnwindSafe(|| {
            !slice.is_cancelled() && task.work.advance(&slice) == Flow::More && !slice.is_cancelled()
        }));
        if has_more.is_err() {
            tracing::error!("work of the pool panicked");
        }
        if has_more.unwrap_or(false) {
            account.charge(start);
            self.put(account, task);
        } else {
            // To be dropped belongs to the work: it may run code of its own.
            discard([task]);
            account.charge(start);
        }
    }
}

#[cfg(test)]
mod tests;

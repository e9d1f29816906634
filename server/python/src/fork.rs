//! Forks: a child has copies of all batches, but none of the threads that work on them.
//!
//! A batch without pending calls continues in the child, in the child's own pool. A batch with pending calls is torn:
//! its blocks are lost with the threads that held them, and its locks may stay locked forever. A torn batch belongs to
//! the parent alone. The child never touches its copy, not even to drop it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};

use boardwire_api::Error;
use boardwire_batch::batch::Batch;
use boardwire_batch::pool::Pool;
use pyo3::prelude::*;

use crate::refuse;

/// The number of pools, one for each fork depth. In a process whose fork depth is
/// `MAX_FORK_DEPTH` or more, calls fail.
const MAX_FORK_DEPTH: usize = 64;

/// The pools by fork depth. A child never touches its parent's pool.
static POOLS: [OnceLock<Pool>; MAX_FORK_DEPTH] = [const { OnceLock::new() }; MAX_FORK_DEPTH];

/// The fork depth: how many forks lie between this process and the first process that loaded this module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Returns the fork depth of this process.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// Returns the pool of this process. Its threads start with the first work that is large enough for them.
///
/// # Errors
/// The fork depth of this process is `MAX_FORK_DEPTH` or more.
pub(crate) fn pool() -> Result<&'static Pool, Error> {
    let pool = usize::try_from(forks()).ok().and_then(|depth| POOLS.get(depth));
    let too_deep = || Error::Internal {
        place: "a forked process".to_owned(),
        problem: format!(
            "it is {MAX_FORK_DEPTH} or more forks away from the first process: start it without a fork"
        ),
    };
    pool.map(|pool| pool.get_or_init(|| Pool::lazy(0))).ok_or_else(too_deep)
}

extern "C" fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Registers a hook that counts forks, including forks by C code. Python's own hooks see only Python's forks.
#[allow(unsafe_code, reason = "the system has no safe function that reports forks")]
pub(crate) fn register() {
    static REGISTERED: Once = Once::new();
    // A second import of the module uses the same loaded library.
    REGISTERED.call_once(|| {
        // SAFETY: The function lives as long as the library, which is never unloaded. It only increments a counter.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
        assert_eq!(failed, 0, "the system has no memory for a fork hook");
    });
}

/// The number of pending calls of a batch. It changes while Python's lock is held; forks also happen under that lock.
#[derive(Debug)]
pub(crate) struct CallCount {
    forks: AtomicU64,
    pending: AtomicUsize,
}

/// A pending call of a batch.
#[derive(Debug)]
pub(crate) struct CallGuard {
    call_count: Arc<CallCount>,
    forks: u64,
}

impl CallCount {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { forks: AtomicU64::new(forks()), pending: AtomicUsize::new(0) })
    }

    /// Returns whether a fork has torn the batch.
    pub(crate) fn is_torn(&self) -> bool {
        self.is_inherited() && self.pending.load(Ordering::Relaxed) > 0
    }

    /// Returns whether another process opened the batch and this process has not used it yet.
    pub(crate) fn is_inherited(&self) -> bool {
        self.forks.load(Ordering::Relaxed) != forks()
    }

    /// Starts a call of `batch`, whose calls this counts. In a child, the first call moves the batch to the child's pool.
    ///
    /// # Errors
    /// The batch is torn, or the fork depth of this process is `MAX_FORK_DEPTH` or more.
    pub(crate) fn begin(self: &Arc<Self>, py: Python<'_>, batch: &Batch) -> PyResult<CallGuard> {
        if self.is_inherited() {
            if self.is_torn() {
                return Err(refuse::torn(py));
            }
            let pool = pool().map_err(|error| refuse::refused(py, &error))?;
            batch.move_to_pool(&pool.new_group());
            self.forks.store(forks(), Ordering::Relaxed);
        }
        self.pending.fetch_add(1, Ordering::Relaxed);
        Ok(CallGuard { call_count: Arc::clone(self), forks: forks() })
    }
}

impl CallGuard {
    /// Keeps the call counted as pending forever: threads may still work on it, although its caller no longer waits.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }

    /// Returns whether the call started in another process.
    pub(crate) fn is_torn(&self) -> bool {
        self.forks != forks()
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        // A call that started in another process stays pending forever in this one.
        if !self.is_torn() {
            self.call_count.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A value that belongs to the process that created it.
///
/// A child neither uses nor drops its copy: either would act on the parent's behalf.
#[derive(Debug)]
pub(crate) struct Own<T> {
    value: Option<T>,
    forks: u64,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), forks: forks() }
    }

    /// # Errors
    /// Another process created the value.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        let value = self.value.as_ref().filter(|_| self.forks == forks());
        value.ok_or_else(|| refuse::foreign(py))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.forks != forks() {
            std::mem::forget(self.value.take());
        }
    }
}

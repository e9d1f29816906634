//! Forks: a child has copies of all batches, and none of the threads that work on them.
//!
//! What no thread worked on goes on in the child, in a pool of its own. What was under way is torn: blocks are gone with the
//! threads that held them, and locks may be held for ever. So it is the parent's alone, and nothing here touches it, not
//! even to drop it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};

use boardwire_api::Error;
use boardwire_batch::batch::Batch;
use boardwire_batch::pool::Pool;
use pyo3::prelude::*;

use crate::refuse;

/// Forks that may lie between a process that works and the first one: the pool of a process is that of its depth.
const DEPTH: usize = 64;

/// The threads of each process. A child never looks at those of its parent.
static POOLS: [OnceLock<Pool>; DEPTH] = [const { OnceLock::new() }; DEPTH];

/// How many forks lie between this process and the first one that has loaded this module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The number of this process, as forks count.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// The threads of this process, which start with the first work that is worth them.
///
/// # Errors
/// Too many forks lie between this process and the first one.
pub(crate) fn pool() -> Result<&'static Pool, Error> {
    let pool = usize::try_from(forks()).ok().and_then(|depth| POOLS.get(depth));
    let too_deep = || Error::Internal {
        place: "a forked process".to_owned(),
        what: format!("{DEPTH} forks or more lie between it and the first: start it in another way"),
    };
    pool.map(|pool| pool.get_or_init(|| Pool::late(0))).ok_or_else(too_deep)
}

extern "C" fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Sees to it that this library hears of forks, those of C programs included. Python's own hooks hear of Python's alone.
#[allow(unsafe_code, reason = "the system tells of forks by no safe function")]
pub(crate) fn register() {
    static REGISTERED: Once = Once::new();
    // A module that is imported anew is the same library.
    REGISTERED.call_once(|| {
        // SAFETY: The function lives as long as the library, which is never unloaded, and only counts.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
        assert_eq!(failed, 0, "there is memory for a hook");
    });
}

/// How many calls of a batch are under way. It changes while Python's lock is held, as forks do.
#[derive(Debug)]
pub(crate) struct Uses {
    forks: AtomicU64,
    under_way: AtomicUsize,
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Use {
    uses: Arc<Uses>,
    forks: u64,
}

impl Uses {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { forks: AtomicU64::new(forks()), under_way: AtomicUsize::new(0) })
    }

    /// Whether a fork has torn it.
    pub(crate) fn is_torn(&self) -> bool {
        self.is_inherited() && self.under_way.load(Ordering::Relaxed) > 0
    }

    /// Whether it was opened in another process than this one, and has not been used here yet.
    pub(crate) fn is_inherited(&self) -> bool {
        self.forks.load(Ordering::Relaxed) != forks()
    }

    /// Begins a call of the batch that these are the uses of. In a child the first one takes over what the parent had.
    ///
    /// # Errors
    /// It is torn.
    pub(crate) fn begin(self: &Arc<Self>, py: Python<'_>, batch: &Batch) -> PyResult<Use> {
        if self.is_inherited() {
            if self.is_torn() {
                return Err(refuse::torn(py));
            }
            let pool = pool().map_err(|error| refuse::refused(py, &error))?;
            batch.adopt(&pool.alone());
            self.forks.store(forks(), Ordering::Relaxed);
        }
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Ok(Use { uses: Arc::clone(self), forks: forks() })
    }
}

impl Use {
    /// Leaves it under way for good: threads may still work on what nobody waits for any more.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }

    /// Whether it was begun in another process.
    pub(crate) fn is_torn(&self) -> bool {
        self.forks != forks()
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // One that was begun in another process is under way for ever in this one.
        if !self.is_torn() {
            self.uses.under_way.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What belongs to the process that made it. A child neither uses nor drops its copy: that would speak for the parent.
#[derive(Debug)]
pub(crate) struct Own<T> {
    held: Option<T>,
    forks: u64,
}

impl<T> Own<T> {
    pub(crate) fn new(held: T) -> Self {
        Self { held: Some(held), forks: forks() }
    }

    /// # Errors
    /// This is another process.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        let own = self.held.as_ref().filter(|_| self.forks == forks());
        own.ok_or_else(|| refuse::foreign(py))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.forks != forks() {
            std::mem::forget(self.held.take());
        }
    }
}

//! Forks: a child has copies of all batches, and none of the threads that work on them.
//!
//! What no thread worked on goes on in the child as in the parent. What was under way is torn: blocks are gone with the
//! threads that held them, and locks may be held for ever. So it is the parent's alone, and nothing here touches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::pool;

/// How many forks lie between this process and the first one that has loaded this module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The number of this process, as forks count.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

#[pyfunction]
fn before_fork() {
    pool().before_fork();
}

#[pyfunction]
fn after_fork_in_parent() {
    pool().after_fork(false);
}

#[pyfunction]
fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    pool().after_fork(true);
}

/// Sees to it that this module hears of forks, where there are any.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let Ok(register) = py.import("os")?.getattr("register_at_fork") else { return Ok(()) };
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    hooks.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, module)?)?;
    hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, module)?)?;
    register.call((), Some(&hooks)).map(drop)
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
        self.forks.load(Ordering::Relaxed) != forks() && self.under_way.load(Ordering::Relaxed) > 0
    }

    /// Begins a call; none if it is torn.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Use> {
        if self.is_torn() {
            return None;
        }
        self.forks.store(forks(), Ordering::Relaxed);
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Some(Use { uses: Arc::clone(self), forks: forks() })
    }
}

impl Use {
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

//! The engine that a client uses in its own process instead of a server.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use boardwire_api::Error;
use boardwire_batch::batch::{Batch as Inner, SnapshotKey};
use boardwire_batch::search::Search;
use boardwire_batch::tables::Tables;
use bytes::Bytes;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::Batch;
use crate::fork::{CallCount, CallGuard};
use crate::messages::{self, Method};
use crate::pending_step::seconds;
use crate::wait::PendingCall;
use crate::{calls, fork, refuse};

/// The key of all snapshots. It is not secret: a user with a snapshot and this package can read and write it anyway.
static KEY: LazyLock<SnapshotKey> = LazyLock::new(|| SnapshotKey::derive(b"local"));

/// How many batches and searches this process and the processes that it was forked from have started.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// Returns the key that authenticates the snapshots of this process.
pub(crate) fn key() -> &'static SnapshotKey {
    &KEY
}

/// Returns an id that differs from those of all other batches and searches of this process, inherited ones included.
pub(crate) fn id() -> String {
    format!("local-{}", STARTED.fetch_add(1, Ordering::Relaxed) + 1)
}

/// The games, batches and searches of one client.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Engine(Arc<Core>);

/// The state of an [`Engine`], which the engine shares with its batches and calls.
pub(crate) struct Core {
    pub(crate) tables: Tables,
    held: Mutex<Held>,
    /// The fork depth of the process that created the engine.
    forks: u64,
}

impl Drop for Core {
    fn drop(&mut self) {
        // Dropping a search notifies the parent's pool, which a fork may leave locked forever.
        if self.forks != fork::forks() {
            std::mem::forget(std::mem::take(&mut self.held));
        }
    }
}

/// A batch, and the count of its pending calls.
type CountedBatch = (Arc<Inner>, Arc<CallCount>);

#[derive(Default)]
struct Held {
    batches: HashMap<String, CountedBatch>,
    searches: HashMap<String, Arc<Search>>,
}

impl Core {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter_batch(&self, batch: &Arc<Inner>, call_count: &Arc<CallCount>) {
        self.lock().batches.insert(batch.id().to_owned(), (Arc::clone(batch), Arc::clone(call_count)));
    }

    /// # Errors
    /// There is no batch with this id.
    pub(crate) fn batch(&self, id: &str) -> Result<CountedBatch, Error> {
        self.lock().batches.get(id).cloned().ok_or_else(|| Error::BatchUnknown { batch_id: id.to_owned() })
    }

    pub(crate) fn close_batch(&self, batch: &Arc<Inner>) {
        // A fork may leave `held` locked forever. The child has its own engine.
        if self.forks == fork::forks() {
            self.lock().batches.remove(batch.id());
        }
        batch.end(Error::BatchUnknown { batch_id: batch.id().to_owned() });
    }

    pub(crate) fn enter_search(&self, search: &Arc<Search>) {
        self.lock().searches.insert(search.id().to_owned(), Arc::clone(search));
    }

    /// # Errors
    /// There is no search with this id.
    pub(crate) fn search(&self, id: &str) -> Result<Arc<Search>, Error> {
        self.lock().searches.get(id).cloned().ok_or_else(|| Error::SearchUnknown { search_id: id.to_owned() })
    }

    /// # Errors
    /// There is no search with this id.
    pub(crate) fn release(&self, id: &str) -> Result<(), Error> {
        let gone = self.lock().searches.remove(id);
        let unknown = || Error::SearchUnknown { search_id: id.to_owned() };
        gone.map(|search| search.end(unknown())).ok_or_else(unknown)
    }
}

#[pymethods]
impl Engine {
    #[new]
    fn new() -> Self {
        Self(Arc::new(Core {
            tables: Tables::new(crate::games().clone()),
            held: Mutex::default(),
            forks: fork::forks(),
        }))
    }

    /// Calls a method, such as `CatalogService/GetGame`, and returns its response.
    ///
    /// Raises:
    ///     `KeyError`: The method does not exist or needs a server.
    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        request: &Bound<'py, PyDict>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let method = Method::named(name)?;
        let request = method.request(request)?;
        let guard = self.begin_call(py, name, &request)?;
        let work = calls::answer(Arc::clone(&self.0), name.to_owned(), request);
        let response = wait_for(py, timeout, guard, work)?.map_err(|error| refuse::refused(py, &error))?;
        let response = response.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        messages::read(py, &method.output, response.into())
    }

    /// Returns the batch with this id.
    fn batch(&self, py: Python<'_>, id: &str) -> PyResult<Batch> {
        let (batch, call_count) = self.0.batch(id).map_err(|error| refuse::refused(py, &error))?;
        Ok(Batch::new(batch, call_count, Arc::clone(&self.0)))
    }

    /// Takes over a batch that was opened before this process was forked.
    fn adopt(&self, batch: &Bound<'_, Batch>) {
        batch.get().move_to(&self.0);
    }

    /// Ends all batches and searches.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let Held { batches, searches } = std::mem::take(&mut *self.0.lock());
            for (batch, _) in batches.values() {
                self.0.close_batch(batch);
            }
            for search in searches.values() {
                search.end(Error::SearchUnknown { search_id: search.id().to_owned() });
            }
        });
    }
}

impl Engine {
    /// Marks the batch that a call names as in use by the call. Returns `None` if the call names no batch.
    fn begin_call(&self, py: Python<'_>, method: &str, request: &Bytes) -> PyResult<Option<CallGuard>> {
        let named = calls::batch_of(method, request).and_then(|id| self.0.batch(&id).ok());
        named.map(|(batch, call_count)| call_count.begin(py, &batch)).transpose()
    }
}

/// Runs work and waits for its result, which may be a refusal. Meanwhile Python's lock is released.
///
/// `guard` marks a batch as in use until the work ends, if the work uses one.
///
/// # Errors
/// The work exceeds the timeout, or a signal handler raises. Threads may still continue the
/// work, so `guard` then stays pending.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    guard: Option<CallGuard>,
    work: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let mut call = py.detach(|| PendingCall::begin(work));
    let waited = call.wait(py, seconds(timeout));
    match (waited, call) {
        (Ok(_), PendingCall::Done(done)) => Ok(done),
        (waited, _) => {
            guard.into_iter().for_each(CallGuard::leave);
            Err(waited.err().unwrap_or_else(|| refuse::too_late(py, timeout)))
        }
    }
}

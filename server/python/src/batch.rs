//! A batch that the engine in this process plays, as a Python class.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use boardwire_api::Error;
use boardwire_batch::batch::{Actions, Batch as Inner, Reset};
use boardwire_batch::messages;
use bytes::Bytes;
use prost::Message;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::array;
use crate::columns::Columns;
use crate::engine::{self, Core};
use crate::fork::{CallCount, CallGuard};
use crate::messages::decode;
use crate::pending_step::{PendingStep, Stepped};
use crate::refuse;
use crate::shape::Shape;
use crate::step::Step;
use crate::wait::PendingCall;

/// A step of at most this many environments keeps Python's lock: releasing the lock takes longer.
const SMALL_BATCH: usize = 16;

/// A batch of environments of one table. Dropping this object ends the batch.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Batch {
    inner: Arc<Inner>,
    shape: Arc<Shape>,
    /// The engine that has the batch: in a forked process, that of the process once it has adopted the batch.
    core: Mutex<Arc<Core>>,
    call_count: Arc<CallCount>,
}

impl Batch {
    pub(crate) fn new(batch: Arc<Inner>, call_count: Arc<CallCount>, core: Arc<Core>) -> Self {
        let info = batch.table().game.info();
        let (seats, actions) = (info.seats.into(), info.actions.count());
        let shape = Shape::new(&messages::batch(&batch), seats, info.layout.bytes(), actions);
        Self { shape: Arc::new(shape), inner: batch, core: Mutex::new(core), call_count }
    }

    /// Moves the batch to the engine of this process, so that searches can sample from it.
    pub(crate) fn move_to(&self, core: &Arc<Core>) {
        core.enter_batch(&self.inner, &self.call_count);
        *self.core.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(core);
    }

    fn end(&self) {
        let core = Arc::clone(&self.core.lock().unwrap_or_else(PoisonError::into_inner));
        core.close_batch(&self.inner);
    }

    /// Marks the batch as in use by a call.
    fn begin_call(&self, py: Python<'_>) -> PyResult<CallGuard> {
        self.call_count.begin(py, &self.inner)
    }

    /// Starts work that results in a step, and runs it as far as possible without waiting.
    fn begin(
        &self,
        py: Python<'_>,
        work: impl Future<Output = Stepped> + Send + 'static,
    ) -> PyResult<PendingStep> {
        let guard = self.begin_call(py)?;
        Ok(PendingStep::new(&self.shape, py.detach(|| PendingCall::begin(work)), guard))
    }

    /// Runs work and waits at most `timeout` seconds for its result.
    fn wait_for<T: Send>(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> PyResult<T> {
        let done = engine::wait_for(py, timeout, Some(self.begin_call(py)?), work)?;
        done.map_err(|error| refuse::refused(py, &error))
    }
}

#[pymethods]
impl Batch {
    /// Steps all environments without waiting.
    ///
    /// Returns `None` if the step has to wait, or if `actions` is not a contiguous `uint8[environments]`,
    /// `int64[environments]` or `int32[environments]` of actions in 0..=255.
    fn step(&self, py: Python<'_>, actions: &Bound<'_, PyAny>) -> PyResult<Option<Step>> {
        let Some(indices) = array::actions(actions) else { return Ok(None) };
        if indices.len() != self.inner.options().environments {
            return Ok(None);
        }
        let guard = self.begin_call(py)?;
        let few = indices.len() <= SMALL_BATCH;
        let step = || self.inner.step_at_once(0, 0, Actions::of_all(indices));
        let stepped = if few { step() } else { py.detach(step) };
        drop(guard);
        match stepped {
            Ok(Ok(rows)) => Ok(Some(Step::new(&self.shape, Columns::Played(rows)))),
            Ok(Err(refused)) => Err(refuse::refused(py, &refused)),
            Err(_) => Ok(None),
        }
    }

    /// Sends actions for `count` environments, starting at environment `first`.
    fn send(
        &self,
        py: Python<'_>,
        first: u32,
        count: u32,
        actions: &[u8],
        mask: &[u8],
    ) -> PyResult<PendingStep> {
        let actions =
            Actions { indices: Bytes::copy_from_slice(actions), mask: Bytes::copy_from_slice(mask) };
        let batch = Arc::clone(&self.inner);
        self.begin(py, async move { batch.step(first, count, actions, None).await })
    }

    /// Requests new episodes.
    fn reset(
        &self,
        py: Python<'_>,
        mask: &[u8],
        seed: Option<u64>,
        seeds: Vec<u64>,
    ) -> PyResult<PendingStep> {
        let (batch, request) =
            (Arc::clone(&self.inner), Reset { mask: Bytes::copy_from_slice(mask), seed, seeds });
        self.begin(py, async move { batch.reset(request, None).await })
    }

    /// Saves environments as a snapshot.
    fn save<'py>(&self, py: Python<'py>, mask: &[u8], timeout: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
        let (batch, mask) = (Arc::clone(&self.inner), mask.to_vec());
        let saved = self.wait_for(py, timeout, async move { batch.save(engine::key(), &mask).await })?;
        Ok(PyBytes::new(py, &saved))
    }

    /// Returns a `DescribeEnvironmentResponse`, which shows only what the seat may know.
    fn describe<'py>(
        &self,
        py: Python<'py>,
        environment: u32,
        seat: u32,
        label_seed: Option<u64>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let batch = Arc::clone(&self.inner);
        let describe = async move { batch.describe(environment, seat, label_seed).await };
        let described = self.wait_for(py, timeout, describe)?;
        decode(py, "DescribeEnvironmentResponse", &described.encode_to_vec())
    }

    /// Replaces environments with those saved in a snapshot.
    fn load(&self, py: Python<'_>, snapshot: &[u8], mask: &[u8], timeout: Option<f64>) -> PyResult<Step> {
        let batch = Arc::clone(&self.inner);
        let (snapshot, mask) = (Bytes::copy_from_slice(snapshot), mask.to_vec());
        let load = async move { batch.load(engine::key(), snapshot, &mask).await };
        Ok(Step::new(&self.shape, Columns::Played(self.wait_for(py, timeout, load)?)))
    }

    /// Ends the batch. Pending and later requests are refused.
    fn close(&self, py: Python<'_>) {
        if let Ok(_guard) = self.begin_call(py) {
            py.detach(|| self.end());
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.call_count.is_inherited() {
            // In this process the lock of the batch's pool may stay locked forever. The parent ends the batch.
            std::mem::forget(Arc::clone(&self.inner));
            return;
        }
        // Releases Python's lock first: otherwise this thread and the pool's threads could wait for each other.
        Python::attach(|py| py.detach(|| self.end()));
    }
}

//! Requests to the engine, and their responses.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::fork::CallGuard;
use crate::refuse;
use crate::shape::Shape;
use crate::step::Step;
use crate::wait::PendingCall;

/// How often a thread tries the lock of a call that another thread waits for.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// The result of a step.
pub(crate) type Stepped = Result<batch::Step, Error>;

/// A pending step or reset.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct PendingStep {
    shape: Arc<Shape>,
    /// `None` once the caller has received the response.
    call: Mutex<Option<(PendingCall<Stepped>, CallGuard)>>,
}

impl PendingStep {
    pub(crate) fn new(shape: &Arc<Shape>, call: PendingCall<Stepped>, guard: CallGuard) -> Self {
        Self { shape: Arc::clone(shape), call: Mutex::new(Some((call, guard))) }
    }
}

impl Drop for PendingStep {
    fn drop(&mut self) {
        let call = self.call.get_mut().unwrap_or_else(PoisonError::into_inner);
        match call.take() {
            // To drop it would take locks that no thread of this process releases.
            Some(torn) if torn.1.is_torn() => std::mem::forget(torn),
            Some((PendingCall::Waiting(..), guard)) => guard.leave(),
            Some((PendingCall::Done(_), _)) | None => {}
        }
    }
}

#[pymethods]
impl PendingStep {
    /// Waits for the response, at most `timeout` seconds. Returns whether the response is available.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let due = Instant::now().checked_add(seconds(timeout));
        loop {
            let left = due.map_or(Duration::MAX, |due| due.saturating_duration_since(Instant::now()));
            match self.call.try_lock() {
                Ok(mut call) => {
                    let Some((call, guard)) = &mut *call else { return Ok(true) };
                    if guard.is_torn() {
                        return Err(refuse::torn(py));
                    }
                    return call.wait(py, left);
                }
                Err(TryLockError::Poisoned(_)) => return Err(engine_failed()),
                // Another thread waits for the response. The caller of that thread may have given up.
                Err(TryLockError::WouldBlock) if left.is_zero() => return Ok(false),
                Err(TryLockError::WouldBlock) => {
                    py.detach(|| std::thread::sleep(left.min(LOCK_INTERVAL)));
                    py.check_signals()?;
                }
            }
        }
    }

    /// Returns the response. The caller must have waited for it, and can take it once.
    fn take(&self, py: Python<'_>) -> PyResult<Step> {
        let mut call = loop {
            match self.call.try_lock() {
                Ok(call) => break call,
                Err(TryLockError::Poisoned(_)) => return Err(engine_failed()),
                // Another thread waits for the response; its caller may already have given up.
                Err(TryLockError::WouldBlock) => py.detach(|| std::thread::sleep(LOCK_INTERVAL)),
            }
        };
        match call.take() {
            Some((PendingCall::Done(Ok(rows)), _)) => Ok(Step::new(&self.shape, Columns::Played(rows))),
            Some((PendingCall::Done(Err(refused)), _)) => Err(refuse::refused(py, &refused)),
            waiting @ Some((PendingCall::Waiting(..), _)) => {
                *call = waiting;
                Err(PyRuntimeError::new_err("the response is pending: call `wait` first"))
            }
            None => Err(PyRuntimeError::new_err("the response was already received")),
        }
    }
}

/// Returns the exception for a failure of the engine itself.
fn engine_failed() -> PyErr {
    PyRuntimeError::new_err("the engine has failed: open another batch")
}

/// Converts a timeout in seconds. `None` and too large a number give `Duration::MAX`, a negative number or NaN gives zero.
pub(crate) fn seconds(timeout: Option<f64>) -> Duration {
    let timeout = timeout.unwrap_or(f64::INFINITY);
    Duration::try_from_secs_f64(timeout).unwrap_or(if timeout > 0.0 { Duration::MAX } else { Duration::ZERO })
}

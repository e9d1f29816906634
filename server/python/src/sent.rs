//! What has been sent to the engine, and its answer.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::fork::Use;
use crate::refuse;
use crate::shape::Shape;
use crate::step::Step;
use crate::wait::Doing;

/// What comes of a step.
pub(crate) type Stepped = Result<batch::Step, Error>;

/// A step or reset under way.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Sent {
    shape: Arc<Shape>,
    /// Until the answer has been received.
    doing: Mutex<Option<(Doing<Stepped>, Use)>>,
}

impl Sent {
    pub(crate) fn new(shape: &Arc<Shape>, doing: Doing<Stepped>, used: Use) -> Self {
        Self { shape: Arc::clone(shape), doing: Mutex::new(Some((doing, used))) }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        let held = self.doing.get_mut().unwrap_or_else(PoisonError::into_inner);
        match held.take() {
            // To drop it would take locks that nobody gives back here.
            Some(torn) if torn.1.is_torn() => std::mem::forget(torn),
            Some((Doing::Waiting(..), used)) => used.leave(),
            Some((Doing::Done(_), _)) | None => {}
        }
    }
}

#[pymethods]
impl Sent {
    /// Whether the answer can be had without waiting, or has been had.
    #[getter]
    fn done(&self) -> bool {
        match self.doing.try_lock() {
            Ok(doing) => !matches!(*doing, Some((Doing::Waiting(..), _))),
            // Whoever holds it waits for the answer; it is there if that has failed.
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Poisoned(_)) => true,
        }
    }

    /// Waits for the answer, at most so many seconds; whether it is there.
    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let due = Instant::now().checked_add(seconds(timeout));
        loop {
            let left = due.map_or(Duration::MAX, |due| due.saturating_duration_since(Instant::now()));
            match self.doing.try_lock() {
                Ok(mut held) => {
                    let Some((doing, used)) = &mut *held else { return Ok(true) };
                    if used.is_torn() {
                        return Err(refuse::torn(py));
                    }
                    return doing.wait(py, left);
                }
                Err(TryLockError::Poisoned(_)) => return Err(failed()),
                // Another thread waits for it: one whose caller has given up, it may be.
                Err(TryLockError::WouldBlock) if left.is_zero() => return Ok(false),
                Err(TryLockError::WouldBlock) => {
                    py.detach(|| std::thread::sleep(left.min(Duration::from_millis(5))));
                    py.check_signals()?;
                }
            }
        }
    }

    /// Gives the answer, once, after it has been waited for.
    fn take(&self, py: Python<'_>) -> PyResult<Step> {
        let mut held = self.doing.try_lock().map_err(|_| failed())?;
        match held.take() {
            Some((Doing::Done(Ok(rows)), _)) => Ok(Step::new(&self.shape, Columns::Played(rows))),
            Some((Doing::Done(Err(refused)), _)) => Err(refuse::refused(py, &refused)),
            waiting @ Some((Doing::Waiting(..), _)) => {
                *held = waiting;
                Err(PyRuntimeError::new_err("the answer is still to come"))
            }
            None => Err(PyRuntimeError::new_err("the answer has been received")),
        }
    }
}

/// What is said where the engine itself has failed.
fn failed() -> PyErr {
    PyRuntimeError::new_err("the engine has failed: open another batch")
}

/// A time that Python states; what is none is no time at all.
pub(crate) fn seconds(timeout: f64) -> Duration {
    Duration::try_from_secs_f64(timeout).unwrap_or(if timeout > 0.0 { Duration::MAX } else { Duration::ZERO })
}

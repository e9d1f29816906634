//! What has been sent to the engine, and its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use boardwire_batch::{Refused, batch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::fork::Use;
use crate::refuse;
use crate::step::{Shape, Step};
use crate::wait::Doing;

/// What comes of a step.
pub(crate) type Stepped = Result<batch::Step, Refused>;

/// A step or reset under way.
#[pyclass(frozen, module = "boardwire_local")]
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
        if let Some((_, used)) = held
            && used.is_torn()
        {
            // To drop it would take locks that nobody gives back here.
            std::mem::forget(held.take());
        }
    }
}

#[pymethods]
impl Sent {
    /// Whether the answer can be had without waiting, or has been had.
    #[getter]
    fn done(&self) -> bool {
        // Whoever holds it waits for the answer.
        self.doing.try_lock().is_ok_and(|doing| !matches!(*doing, Some((Doing::Waiting(..), _))))
    }

    /// Waits for the answer, at most so many seconds, and gives it once.
    pub(crate) fn receive(&self, py: Python<'_>, timeout: f64) -> PyResult<Step> {
        let Ok(mut held) = self.doing.try_lock() else {
            return Err(PyRuntimeError::new_err("another thread waits for this answer"));
        };
        let Some((doing, used)) = &mut *held else {
            return Err(PyRuntimeError::new_err("the answer has been received"));
        };
        if used.is_torn() {
            return Err(refuse::torn(py));
        }
        if !doing.wait(py, seconds(timeout))? {
            return Err(refuse::too_late(py, timeout));
        }
        match held.take() {
            Some((Doing::Done(Ok(rows)), _)) => Ok(Step::new(&self.shape, rows)),
            Some((Doing::Done(Err(refused)), _)) => Err(refuse::refused(py, &refused)),
            Some((Doing::Waiting(..), _)) | None => unreachable!("it is done"),
        }
    }
}

/// A time that Python states; what is none is no time at all.
pub(crate) fn seconds(timeout: f64) -> Duration {
    Duration::try_from_secs_f64(timeout).unwrap_or(if timeout > 0.0 { Duration::MAX } else { Duration::ZERO })
}

//! Converts the engine's refusals to the exceptions that the client raises for a server's refusals.

use boardwire_api::Error;
use boardwire_api::error::Report;
use pyo3::types::{IntoPyDict as _, PyAnyMethods as _};
use pyo3::{PyErr, Python};

/// Empty metadata.
const NONE: [(&str, String); 0] = [];

/// The reason of a call that exceeds its timeout, whether the client or the server detects it first.
pub(crate) const TIMED_OUT: &str = "TIMED_OUT";

/// Returns the exception for a refusal.
pub(crate) fn refused(py: Python<'_>, error: &Error) -> PyErr {
    let Report { code, reason, mut message, metadata, field: _ } = error.report();
    if let Error::Internal { problem, .. } = error {
        // The engine writes no log, so the message contains the details.
        message = format!("{message}: {problem}");
    }
    raised(py, code.name(), reason, &message, metadata)
}

/// Returns the exception for work that exceeded its timeout.
pub(crate) fn too_late(py: Python<'_>, seconds: Option<f64>) -> PyErr {
    let message = format!("no response within {} s", seconds.unwrap_or(f64::INFINITY));
    raised(py, "DEADLINE_EXCEEDED", TIMED_OUT, &message, NONE)
}

/// Returns the exception for a batch or call that was in use when this process was forked.
pub(crate) fn torn(py: Python<'_>) -> PyErr {
    let message =
        "a call was pending when this process was forked, so the batch is the parent's: open another batch";
    raised(py, "UNAVAILABLE", "", message, NONE)
}

/// Returns the exception for an object that belongs to another process.
pub(crate) fn foreign(py: Python<'_>) -> PyErr {
    let message = "the object belongs to the parent of this forked process: connect again";
    raised(py, "UNAVAILABLE", "", message, NONE)
}

/// Returns the exception for an invalid response.
pub(crate) fn fault(py: Python<'_>, message: &str) -> PyErr {
    raised(py, "INTERNAL", "", message, NONE)
}

/// Creates the Python package's exception for a refusal.
pub(crate) fn raised<K: AsRef<str>>(
    py: Python<'_>,
    code: &str,
    reason: &str,
    message: &str,
    metadata: impl IntoIterator<Item = (K, String)>,
) -> PyErr {
    let metadata: Vec<_> =
        metadata.into_iter().map(|(name, value)| (name.as_ref().to_owned(), value)).collect();
    let error = || {
        py.import("boardwire.errors")?.getattr("from_status")?.call1((
            code,
            reason,
            message,
            metadata.into_py_dict(py)?,
        ))
    };
    error().map_or_else(|error| error, PyErr::from_value)
}

//! Failed calls, as grpcio tells of them.

use std::error::Error;

use pyo3::types::{PyAnyMethods as _, PyBytes};
use pyo3::{PyErr, PyResult, Python};
use tonic::{Code, ConnectError, Status, TimeoutExpired};

/// What is said of a call that takes too long.
pub(crate) const LATE: &str = "Deadline Exceeded";

/// Whether it is a server's, or of our own making: else it has a source, what is wrong with the connection.
pub(crate) fn is_sent(status: &Status) -> bool {
    status.source().is_none()
}

/// The exception for a status, on a connection to a server that has said something before or not.
pub(crate) fn raised(py: Python<'_>, status: &Status, met: bool) -> PyErr {
    let (code, message) = told(status, met);
    exception(py, code, &message, status.details()).unwrap_or_else(|error| error)
}

fn exception(py: Python<'_>, code: Code, message: &str, details: &[u8]) -> PyResult<PyErr> {
    let kind = py.import("boardwire._native")?.getattr("Failed")?;
    Ok(PyErr::from_value(kind.call1((code as i32, message, PyBytes::new(py, details)))?))
}

/// Code and message of a status.
fn told(status: &Status, met: bool) -> (Code, String) {
    let Some(source) = status.source() else { return (status.code(), status.message().to_owned()) };
    let causes = causes(source);
    let reasons = || causes.iter().map(ToString::to_string).collect::<Vec<_>>().join(": ");
    if causes.iter().any(|error| error.is::<TimeoutExpired>()) {
        (Code::DeadlineExceeded, LATE.to_owned())
    } else if !met || causes.iter().any(|error| error.is::<ConnectError>()) {
        (Code::Unavailable, format!("failed to connect: {}", reasons()))
    } else {
        match status.code() {
            // A call that a connection takes along in its end is cancelled.
            Code::Unknown | Code::Internal | Code::Unavailable | Code::Cancelled => {
                (Code::Unavailable, reasons())
            }
            code => (code, status.message().to_owned()),
        }
    }
}

/// An error and what it came of.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let (mut causes, mut next) = (Vec::new(), Some(error));
    while let Some(cause) = next {
        causes.push(cause);
        next = cause.source();
    }
    causes
}

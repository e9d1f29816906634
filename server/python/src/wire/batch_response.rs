//! Responses on the stream of a batch (`boardwire.v1.RunBatchResponse`). Their rows are not copied.

use boardwire_api::rpc;
use boardwire_api::v1::{RunBatchResponse, run_batch_response};
use bytes::Bytes;
use prost::Message as _;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use super::status;
use crate::columns::Columns;
use crate::refuse;
use crate::shape::{Rows, WRONG_SHAPE};
use crate::step::Step;

/// A response on the stream of a batch.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct BatchResponse {
    #[pyo3(get)]
    tag: u32,
    /// Either `step` or `error` is set.
    step: Option<Py<Step>>,
    error: Option<rpc::Status>,
}

impl BatchResponse {
    /// # Errors
    /// The message is not a response from a batch of this shape.
    pub(crate) fn read(py: Python<'_>, message: Bytes, rows: &Rows) -> PyResult<Self> {
        let wrong =
            |what: &str| refuse::fault(py, &format!("the server's response is not one of a batch: {what}"));
        let RunBatchResponse { tag, answer } =
            RunBatchResponse::decode(message).map_err(|error| wrong(&error.to_string()))?;
        match answer {
            Some(run_batch_response::Answer::Step(step)) if rows.0.fits(&step) => Ok(Self {
                tag,
                step: Some(Py::new(py, Step::new(&rows.0, Columns::Received(Box::new(step))))?),
                error: None,
            }),
            Some(run_batch_response::Answer::Step(_)) => Err(refuse::fault(py, WRONG_SHAPE)),
            Some(run_batch_response::Answer::Error(error)) => {
                Ok(Self { tag, step: None, error: Some(error) })
            }
            None => Err(wrong("it is empty")),
        }
    }
}

#[pymethods]
impl BatchResponse {
    /// The rows, or `None` if the request was refused.
    #[getter]
    fn step(&self, py: Python<'_>) -> Option<Py<Step>> {
        self.step.as_ref().map(|step| step.clone_ref(py))
    }

    /// The exception for the refused request, or `None`.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyBaseException>> {
        self.error.as_ref().map(|error| status::refusal(py, error).into_value(py))
    }
}

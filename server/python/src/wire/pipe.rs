//! Streams of messages, whose responses are read as they arrive.

use std::sync::{Arc, Mutex as BlockingMutex, PoisonError};

use bytes::Bytes;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, Receiver, UnboundedSender};
use tokio::task::AbortHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

use super::answer::Answer;
use super::codec::Raw;
use super::{Open, Wire};
use crate::fork::Own;
use crate::messages::{self, Method};
use crate::shape::Rows;

/// The most responses that are buffered for the caller: spectators of a match may fall behind.
const AHEAD: usize = 32;

/// An open stream. Dropping this object ends the stream. The server learns this when the connection is next driven.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Pipe(Own<Ends>);

/// The client's side of a stream.
struct Ends {
    wire: Arc<Wire>,
    method: Method,
    /// `None` once the stream is closed, and if the stream has only one request.
    asked: BlockingMutex<Option<UnboundedSender<Bytes>>>,
    answered: Arc<Mutex<Receiver<Result<Bytes, Status>>>>,
    reader: AbortHandle,
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Pipe {
    pub(crate) fn open(
        py: Python<'_>,
        wire: &Arc<Wire>,
        method: Method,
        token: &str,
        message: Option<Bytes>,
    ) -> PyResult<Self> {
        let Open { mut grpc, runtime } = wire.opened(py)?;
        wire.catch_up(py);
        let (asked, asks) = mpsc::unbounded_channel();
        let (answers, answered) = mpsc::channel(AHEAD);
        let asked = match message {
            Some(message) => {
                asked.send(message).expect("the other end is here");
                None
            }
            None => Some(asked),
        };
        let failed = answers.clone();
        let request = wire.request(UnboundedReceiverStream::new(asks), token)?;
        let path = method.path.clone();
        let read = wire.until_closed(async move {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            let mut stream = grpc.streaming(request, path, Raw).await?.into_inner();
            while let Some(answer) = stream.message().await? {
                if answers.send(Ok(answer)).await.is_err() {
                    break;
                }
            }
            Ok(())
        });
        let reader = runtime.spawn(async move {
            if let Err(status) = read.await {
                // The receiver may be gone.
                let _ = failed.send(Err(status)).await;
            }
        });
        let ends = Ends {
            wire: Arc::clone(wire),
            asked: BlockingMutex::new(asked),
            answered: Arc::new(Mutex::new(answered)),
            reader: reader.abort_handle(),
            method,
        };
        Ok(Self(Own::new(ends)))
    }

    /// Returns the next response, converted with `give`, or `None` at the end of the stream.
    fn next<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        give: impl FnOnce(Python<'_>, Bytes) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ends = self.0.get(py)?;
        let busy = |_| PyRuntimeError::new_err("another thread or task waits for the answer");
        let mut answered = Arc::clone(&ends.answered).try_lock_owned().map_err(busy)?;
        let next = async move { answered.recv().await.transpose() };
        let give =
            |py: Python<'_>, answer: Option<Bytes>| answer.map_or(Ok(py.None()), |answer| give(py, answer));
        ends.wire.finish(py, timeout, next, give)
    }
}

#[pymethods]
impl Pipe {
    /// Sends a request. `receive` raises the errors of the stream.
    fn send(&self, py: Python<'_>, request: &Bound<'_, PyDict>) -> PyResult<()> {
        let ends = self.0.get(py)?;
        let message = ends.method.request(request)?;
        if let Some(asked) = &*ends.asked.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = asked.send(message);
        }
        ends.wire.catch_up(py);
        Ok(())
    }

    /// Waits at most `timeout` seconds for the next response and returns it. Returns `None` at the end of the stream.
    fn receive<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let kind = self.0.get(py)?.method.output.clone();
        self.next(py, timeout, move |py, answer| Ok(messages::read(py, &kind, answer)?.into_any().unbind()))
    }

    /// Does the same as `receive`, for the stream of a batch.
    fn receive_rows<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        rows: &Rows,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows.clone();
        self.next(
            py,
            timeout,
            move |py, answer| Ok(Py::new(py, Answer::read(py, answer, &rows)?)?.into_any()),
        )
    }

    /// Ends the stream and discards pending responses.
    fn close(&self, py: Python<'_>) {
        let Ok(ends) = self.0.get(py) else { return };
        ends.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        ends.reader.abort();
        ends.wire.catch_up(py);
    }
}

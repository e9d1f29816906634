//! Streams of messages, whose responses are read as they arrive.

use std::sync::{Arc, Mutex as BlockingMutex, PoisonError};

use boardwire_api::RawCodec;
use bytes::Bytes;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, Receiver, UnboundedSender};
use tokio::task::AbortHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

use super::batch_response::BatchResponse;
use super::{Open, Wire};
use crate::fork::Own;
use crate::messages::{self, Method};
use crate::shape::Rows;

/// The most responses that are buffered for the caller: spectators of a match may fall behind.
const BUFFERED_RESPONSES: usize = 32;

/// An open stream. Dropping this object ends the stream. The server learns this when the connection is next driven.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct CallStream(Own<StreamState>);

/// The client's side of a stream.
struct StreamState {
    wire: Arc<Wire>,
    method: Method,
    /// The sender of requests; `None` once the stream is closed, and if the stream has only one request.
    requests: BlockingMutex<Option<UnboundedSender<Bytes>>>,
    responses: Arc<Mutex<Receiver<Result<Bytes, Status>>>>,
    reader: AbortHandle,
}

impl Drop for StreamState {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl CallStream {
    pub(crate) fn open(
        py: Python<'_>,
        wire: &Arc<Wire>,
        method: Method,
        token: &str,
        message: Option<Bytes>,
    ) -> PyResult<Self> {
        let Open { mut grpc, runtime } = wire.opened(py)?;
        wire.catch_up(py);
        let (requests, request_receiver) = mpsc::unbounded_channel();
        let (response_sender, responses) = mpsc::channel(BUFFERED_RESPONSES);
        let requests = match message {
            Some(message) => {
                requests.send(message).expect("the receiver exists");
                None
            }
            None => Some(requests),
        };
        let error_sender = response_sender.clone();
        let request = wire.request(UnboundedReceiverStream::new(request_receiver), token)?;
        let path = method.path.clone();
        let read = wire.until_closed(async move {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            let mut stream = grpc.streaming(request, path, RawCodec).await?.into_inner();
            while let Some(response) = stream.message().await? {
                if response_sender.send(Ok(response)).await.is_err() {
                    break;
                }
            }
            Ok(())
        });
        let reader = runtime.spawn(async move {
            if let Err(status) = read.await {
                // The receiver may be gone.
                let _ = error_sender.send(Err(status)).await;
            }
        });
        let state = StreamState {
            wire: Arc::clone(wire),
            requests: BlockingMutex::new(requests),
            responses: Arc::new(Mutex::new(responses)),
            reader: reader.abort_handle(),
            method,
        };
        Ok(Self(Own::new(state)))
    }

    /// Returns the next response, converted with `convert`, or `None` at the end of the stream.
    fn next<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        convert: impl FnOnce(Python<'_>, Bytes) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let state = self.0.get(py)?;
        let already_waiting = |_| {
            PyRuntimeError::new_err("another thread or task waits for this response: use one thread or task")
        };
        let mut responses = Arc::clone(&state.responses).try_lock_owned().map_err(already_waiting)?;
        let next = async move { responses.recv().await.transpose() };
        let convert = |py: Python<'_>, response: Option<Bytes>| {
            response.map_or(Ok(py.None()), |response| convert(py, response))
        };
        state.wire.finish(py, timeout, next, convert)
    }
}

#[pymethods]
impl CallStream {
    /// Sends a request. `receive` raises the errors of the stream.
    fn send(&self, py: Python<'_>, request: &Bound<'_, PyDict>) -> PyResult<()> {
        let state = self.0.get(py)?;
        let message = state.method.request(request)?;
        if let Some(requests) = &*state.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = requests.send(message);
        }
        state.wire.catch_up(py);
        Ok(())
    }

    /// Waits at most `timeout` seconds for the next response and returns it. Returns `None` at the end of the stream.
    fn receive<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let kind = self.0.get(py)?.method.output.clone();
        self.next(py, timeout, move |py, response| {
            Ok(messages::read(py, &kind, response)?.into_any().unbind())
        })
    }

    /// Does the same as `receive`, for the stream of a batch.
    fn receive_rows<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        rows: &Rows,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows.clone();
        self.next(py, timeout, move |py, response| {
            Ok(Py::new(py, BatchResponse::read(py, response, &rows)?)?.into_any())
        })
    }

    /// Ends the stream and discards pending responses.
    fn close(&self, py: Python<'_>) {
        let Ok(state) = self.0.get(py) else { return };
        state.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        state.reader.abort();
        state.wire.catch_up(py);
    }
}

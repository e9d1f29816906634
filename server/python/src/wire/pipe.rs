//! Streams of messages, and answers that are read as they come.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::sync::mpsc::{self, Receiver, UnboundedSender};
use tokio::task::AbortHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;
use tonic::codegen::http::uri::PathAndQuery;

use super::answer::Answer;
use super::codec::Raw;
use super::{Metadata, Open, Wire, request};
use crate::fork::Own;
use crate::sent::seconds;
use crate::shape::Rows;

/// Answers that are read before they are asked for, at most: spectators of a match may fall behind.
const AHEAD: usize = 32;

/// One opening of a stream. It ends with this object; the server hears of it when the connection is driven next.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Pipe(Own<Ends>);

/// What is held of it here.
struct Ends {
    wire: Arc<Wire>,
    /// None once it is closed, and where there is but one message.
    asked: Mutex<Option<UnboundedSender<Bytes>>>,
    answered: Mutex<Receiver<Result<Bytes, Status>>>,
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
        path: PathAndQuery,
        metadata: Metadata,
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
        let (request, end) = (request(UnboundedReceiverStream::new(asks), metadata)?, wire.end());
        let read = async move {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            let mut stream = grpc.streaming(request, path, Raw).await?.into_inner();
            while let Some(answer) = stream.message().await? {
                if answers.send(Ok(answer)).await.is_err() {
                    break;
                }
            }
            Ok::<_, Status>(())
        };
        let reader = runtime.spawn(async move {
            let done = tokio::select! {
                done = read => done,
                _ = end => Ok(()),
            };
            if let Err(status) = done {
                // Nobody may be there to hear of it.
                let _ = failed.send(Err(status)).await;
            }
        });
        let ends = Ends {
            wire: Arc::clone(wire),
            asked: Mutex::new(asked),
            answered: Mutex::new(answered),
            reader: reader.abort_handle(),
        };
        Ok(Self(Own::new(ends)))
    }

    fn next(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<Bytes>> {
        let ends = self.0.get(py)?;
        let busy = |_| PyRuntimeError::new_err("another thread waits for the answer");
        let mut answered = ends.answered.try_lock().map_err(busy)?;
        let answered = &mut *answered;
        let next = async { answered.recv().await.transpose() };
        let late = || PyTimeoutError::new_err(format!("no answer within {timeout} s"));
        ends.wire.wait(py, seconds(timeout), next)?.ok_or_else(late)
    }
}

#[pymethods]
impl Pipe {
    /// Sends a message. What is wrong with the stream, `receive` tells.
    fn send(&self, py: Python<'_>, message: &[u8]) -> PyResult<()> {
        let ends = self.0.get(py)?;
        if let Some(asked) = &*ends.asked.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = asked.send(Bytes::copy_from_slice(message));
        }
        ends.wire.catch_up(py);
        Ok(())
    }

    /// Waits for the next answer at most so many seconds; nothing at the end of the stream.
    fn receive<'py>(&self, py: Python<'py>, timeout: f64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.next(py, timeout)?.map(|answer| PyBytes::new(py, &answer)))
    }

    /// The same for the stream of a batch.
    fn receive_rows(&self, py: Python<'_>, timeout: f64, rows: &Rows) -> PyResult<Option<Answer>> {
        self.next(py, timeout)?.map(|answer| Answer::read(py, answer, rows)).transpose()
    }

    /// Ends the stream, whatever is still to be answered.
    fn close(&self, py: Python<'_>) {
        let Ok(ends) = self.0.get(py) else { return };
        ends.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        ends.reader.abort();
        ends.wire.catch_up(py);
    }
}

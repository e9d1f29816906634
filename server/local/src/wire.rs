//! Connections to servers: what the client calls them by in the place of grpcio, in less than half the time.
//!
//! Who waits for an answer reads the socket itself: no thread has to be woken for it. So nobody reads while
//! nobody waits, but for a thread that looks now and then whether the server asks for a sign of life.

mod answer;
mod codec;
mod pipe;
mod status;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use boardwire_api::client;
use bytes::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::Channel as Http2;
use tonic::{Request, Status};

use crate::fork::Own;
use crate::sent::seconds;
use crate::wait::PATIENCE;
use codec::Raw;
pub(crate) use pipe::Pipe;

/// How often somebody looks at a connection that nobody waits at: well below what servers wait for a sign of life.
const ROUND: Duration = Duration::from_secs(1);
/// How long that one looks.
const LOOK: Duration = Duration::from_millis(1);
/// The bytes of its stack: there may be many clients.
const STACK: usize = 256 << 10;
/// The longest that a server is told to work for an answer.
const LONGEST: Duration = Duration::from_hours(24);

/// Names and values that a call begins with.
pub(crate) type Metadata = Vec<(String, String)>;

/// A connection to one server, which opens with the first call and opens anew when it is lost.
#[pyclass(frozen, module = "boardwire_local")]
pub(crate) struct Channel(Own<Arc<Wire>>);

/// What calls of one channel share.
pub(crate) struct Wire {
    grpc: Grpc<Http2>,
    /// None once the channel has been closed.
    runtime: Mutex<Option<Arc<Runtime>>>,
    closed: watch::Sender<bool>,
    /// Whether the server has ever said anything.
    met: AtomicBool,
}

impl Wire {
    fn open(address: &str) -> PyResult<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let grpc = Grpc::new(client::connect(address).map_err(|error| unusable(address, &error))?)
            .max_decoding_message_size(client::MAX_MESSAGE_BYTES)
            .max_encoding_message_size(client::MAX_MESSAGE_BYTES);
        drop(inside);
        let runtime = Mutex::new(Some(Arc::new(runtime)));
        let (closed, met) = (watch::Sender::new(false), AtomicBool::new(false));
        let wire = Arc::new(Self { grpc, runtime, closed, met });
        let watched = Arc::downgrade(&wire);
        thread::Builder::new()
            .name("boardwire-wire".to_owned())
            .stack_size(STACK)
            .spawn(move || keep_alive(&watched))?;
        Ok(wire)
    }

    fn runtime(&self) -> Option<Arc<Runtime>> {
        self.runtime.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for something that is read or written, at most so long; nothing if it takes longer.
    ///
    /// # Errors
    /// A status that is no success, or what a handler of a signal has raised.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        time: Duration,
        work: impl Future<Output = Result<T, Status>> + Send,
    ) -> PyResult<Option<T>> {
        let Some(runtime) = self.runtime() else { return Err(self.failed(py, &ended())) };
        let due = Instant::now().checked_add(time);
        let mut closed = self.closed.subscribe();
        let mut work = pin!(async move {
            tokio::select! {
                biased;
                done = work => done,
                _ = closed.wait_for(|closed| *closed) => Err(ended()),
            }
        });
        loop {
            let left = due.map_or(PATIENCE, |due| due.saturating_duration_since(Instant::now()));
            let some = async { timeout(left.min(PATIENCE), work.as_mut()).await };
            match py.detach(|| runtime.block_on(some)) {
                Ok(Ok(done)) => {
                    self.met.store(true, Ordering::Relaxed);
                    return Ok(Some(done));
                }
                Ok(Err(status)) => return Err(self.failed(py, &status)),
                Err(_) if left.is_zero() => return Ok(None),
                Err(_) => py.check_signals()?,
            }
        }
    }

    /// The exception for a status.
    fn failed(&self, py: Python<'_>, status: &Status) -> PyErr {
        if status::is_sent(status) {
            self.met.store(true, Ordering::Relaxed);
        }
        status::raised(py, status, self.met.load(Ordering::Relaxed))
    }

    /// Reads and writes what can be without waiting, so that what comes next knows of a lost connection.
    fn catch_up(&self, py: Python<'_>) {
        if let Some(runtime) = self.runtime() {
            // Tasks write; the system is asked what there is to read; tasks read it.
            py.detach(|| {
                runtime.block_on(async {
                    for _ in 0..2 {
                        yield_now().await;
                    }
                });
            });
        }
    }
}

/// Reads and writes now and then, until the channel is gone.
fn keep_alive(wire: &Weak<Wire>) {
    loop {
        thread::sleep(ROUND);
        let Some(runtime) = wire.upgrade().and_then(|wire| wire.runtime()) else { return };
        runtime.block_on(async { sleep(LOOK).await });
    }
}

fn unusable(address: &str, error: &tonic::transport::Error) -> PyErr {
    PyValueError::new_err(format!("{address}: {error}"))
}

fn ended() -> Status {
    Status::unavailable("the client was closed")
}

/// What is asked of a method, as it begins.
fn request<T>(message: T, metadata: Metadata) -> PyResult<Request<T>> {
    let mut request = Request::new(message);
    for (name, value) in metadata {
        let wrong =
            || PyValueError::new_err(format!("no metadata of a call is named {name:?}, or has its value"));
        let name: AsciiMetadataKey = name.parse().map_err(|_| wrong())?;
        let value: AsciiMetadataValue = value.parse().map_err(|_| wrong())?;
        request.metadata_mut().append(name, value);
    }
    Ok(request)
}

fn method(path: &str) -> PyResult<PathAndQuery> {
    path.parse().map_err(|_| PyValueError::new_err(format!("{path:?} is no path of a method")))
}

#[pymethods]
impl Channel {
    /// To `host:port` or `unix:/path`.
    #[new]
    fn new(address: &str) -> PyResult<Self> {
        Ok(Self(Own::new(Wire::open(address)?)))
    }

    /// Calls a method by its path, and waits for the answer at most so many seconds.
    fn call<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        message: &[u8],
        metadata: Metadata,
        timeout: f64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let wire = self.0.get(py)?;
        let time = seconds(timeout);
        let mut request = request(Bytes::copy_from_slice(message), metadata)?;
        request.set_timeout(time.min(LONGEST));
        let (mut grpc, path) = (wire.grpc.clone(), method(path)?);
        let call = async move {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            grpc.unary(request, path, Raw).await
        };
        wire.catch_up(py);
        let late = || wire.failed(py, &Status::deadline_exceeded(status::LATE));
        let answer = wire.wait(py, time, call).and_then(|answer| answer.ok_or_else(late));
        if answer.is_err() {
            // The server is told that nobody waits any more.
            wire.catch_up(py);
        }
        Ok(PyBytes::new(py, answer?.get_ref()))
    }

    /// Opens a stream of answers: to one message, where it is given, else to those that are sent on it.
    #[pyo3(signature = (path, metadata, message=None))]
    fn stream(
        &self,
        py: Python<'_>,
        path: &str,
        metadata: Metadata,
        message: Option<&[u8]>,
    ) -> PyResult<Pipe> {
        let message = message.map(Bytes::copy_from_slice);
        Pipe::open(py, self.0.get(py)?, method(path)?, metadata, message)
    }

    /// Ends all that goes over it.
    fn close(&self, py: Python<'_>) {
        let Ok(wire) = self.0.get(py) else { return };
        wire.closed.send_replace(true);
        let runtime = wire.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(runtime));
    }
}

//! Connections to servers: what the client calls them by in the place of grpcio, which takes twice as long and more for few environments.
//!
//! Who waits for an answer reads the socket itself: no thread has to be woken for it. So nobody reads while
//! nobody waits, but for a thread that looks now and then whether the server asks for a sign of life.

mod answer;
mod codec;
mod pipe;
mod status;

use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
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
/// Rounds that the last words on a connection take: calls end, their channel, the connection, its socket.
const FAREWELL: usize = 8;
/// The longest that a call may take.
const LONGEST: Duration = Duration::from_hours(24);

/// Names and values that a call begins with.
pub(crate) type Metadata = Vec<(String, String)>;

/// A connection to one server, which opens with the first call and opens anew when it is lost.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Channel(Own<Arc<Wire>>);

/// What calls of one channel share.
pub(crate) struct Wire {
    /// None once the channel has been closed.
    open: Mutex<Option<Open>>,
    closed: watch::Sender<bool>,
    /// Whether the server has ever said anything.
    met: AtomicBool,
}

/// A channel that has not been closed.
#[derive(Clone)]
struct Open {
    grpc: Grpc<Http2>,
    runtime: Arc<Driven>,
}

/// A runtime without threads. Whoever drops it does not wait for names that are still being resolved.
struct Driven(Option<Runtime>);

impl Deref for Driven {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("it is taken when it is dropped")
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Wire {
    fn open(address: &str) -> PyResult<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let grpc = Grpc::new(client::connect(address).map_err(|error| unusable(address, &error))?)
            .max_decoding_message_size(boardwire_api::MAX_MESSAGE_BYTES)
            .max_encoding_message_size(boardwire_api::MAX_MESSAGE_BYTES);
        drop(inside);
        let open = Mutex::new(Some(Open { grpc, runtime: Arc::new(Driven(Some(runtime))) }));
        let (closed, met) = (watch::Sender::new(false), AtomicBool::new(false));
        let wire = Arc::new(Self { open, closed, met });
        let watched = Arc::downgrade(&wire);
        thread::Builder::new()
            .name("boardwire-wire".to_owned())
            .stack_size(STACK)
            .spawn(move || keep_alive(&watched))?;
        Ok(wire)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// The channel has been closed.
    fn opened(&self, py: Python<'_>) -> PyResult<Open> {
        let open = self.lock().clone();
        open.ok_or_else(|| status::raised(py, &ended(), true))
    }

    /// Resolves when the channel is closed.
    fn end(&self) -> impl Future<Output = Status> + Send + 'static {
        let mut closed = self.closed.subscribe();
        async move {
            // An error means that the channel is gone.
            let _ = closed.wait_for(|closed| *closed).await;
            ended()
        }
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
        let Open { runtime, .. } = self.opened(py)?;
        let due = Instant::now().checked_add(time);
        let end = self.end();
        let mut work = pin!(async move {
            tokio::select! {
                biased;
                done = work => done,
                ended = end => Err(ended),
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
                Ok(Err(status)) => {
                    if status::is_sent(&status) {
                        self.met.store(true, Ordering::Relaxed);
                    }
                    return Err(status::raised(py, &status, self.met.load(Ordering::Relaxed)));
                }
                Err(_) if left.is_zero() => return Ok(None),
                Err(_) => py.check_signals()?,
            }
        }
    }

    /// Reads and writes what can be without waiting, so that what comes next knows of a lost connection.
    fn catch_up(&self, py: Python<'_>) {
        // Not within the condition: no lock is held while Python's is waited for, or while Python collects garbage.
        let open = self.lock().clone();
        if let Some(Open { runtime, .. }) = open {
            py.detach(|| drive(&runtime, 2));
        }
    }
}

/// Lets tasks write, asks the system what there is to read, and lets tasks read it, so many times.
fn drive(runtime: &Runtime, rounds: usize) {
    // As a task, since another thread may be driving: then it is that one which gets so far.
    let rounds = async move {
        for _ in 0..rounds {
            yield_now().await;
        }
    };
    runtime.block_on(async {
        // It does not panic.
        let _ = tokio::spawn(rounds).await;
    });
}

/// Reads and writes now and then, until the channel is gone.
fn keep_alive(wire: &Weak<Wire>) {
    loop {
        thread::sleep(ROUND);
        let Some(Open { runtime, .. }) = wire.upgrade().and_then(|wire| wire.lock().clone()) else { return };
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
        let time = seconds(timeout).min(LONGEST);
        if message.len() > boardwire_api::MAX_MESSAGE_BYTES {
            let what = format!(
                "a message has at most {} bytes, not {}",
                boardwire_api::MAX_MESSAGE_BYTES,
                message.len()
            );
            return Err(status::raised(py, &Status::resource_exhausted(what), true));
        }
        let mut request = request(Bytes::copy_from_slice(message), metadata)?;
        request.set_timeout(time);
        let (Open { mut grpc, .. }, path) = (wire.opened(py)?, method(path)?);
        let call = async move {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            grpc.unary(request, path, Raw).await
        };
        wire.catch_up(py);
        let late = || status::raised(py, &Status::deadline_exceeded(status::LATE), true);
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

    /// Ends all that goes over it, and tells the server so: a forked child may still hold the socket.
    fn close(&self, py: Python<'_>) {
        let Ok(wire) = self.0.get(py) else { return };
        let open = wire.lock().take();
        wire.closed.send_replace(true);
        if let Some(Open { grpc, runtime }) = open {
            drop(grpc);
            py.detach(|| drive(&runtime, FAREWELL));
        }
    }
}

//! Connections to servers.
//!
//! A caller that blocks for a response reads the socket in its own thread, so no other thread has to wake up. While no
//! caller waits, a background thread reads briefly in every interval, to answer the server's keepalive pings. For an
//! event loop, the background thread reads all the time.

mod address;
mod batch_response;
mod call_stream;
mod connect;
mod status;
mod tls;

use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use boardwire_api::RawCodec;
use bytes::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tonic::client::Grpc;
use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::{Request, Status};

use crate::fork::Own;
use crate::messages::{self, Method};
use crate::pending_step::seconds;
use crate::wait::SIGNAL_CHECK_INTERVAL;
use crate::{awaiting, refuse};
use address::Address;
pub(crate) use call_stream::CallStream;
pub(crate) use status::refusal;
use status::{ConnectionState, Http2};
pub(crate) use tls::Tls;

/// How often the background thread drives an idle connection: well below the keepalive timeout of servers.
const DRIVE_INTERVAL: Duration = Duration::from_secs(1);
/// How long the background thread drives an idle connection each time.
const DRIVE_TIME: Duration = Duration::from_millis(1);
/// The stack size of the background thread in bytes. It is small because there may be many clients.
const STACK_BYTES: usize = 256 << 10;
/// The rounds that it takes to close a connection: calls end first, then the channel, the connection and the socket.
const CLOSE_ROUNDS: usize = 8;
/// The timeout of a call whose response no caller waits for.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest timeout that a request carries.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);

/// The metadata key with which an account authenticates.
const ACCOUNT: &str = "boardwire-token";
/// The metadata key with which a seat, a host or an owner authenticates.
const AUTHORIZATION: &str = "authorization";

/// A connection to one server. It connects with the first call and reconnects when the connection is lost.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Channel(Own<Arc<Wire>>);

/// The state that all calls of one channel share.
pub(crate) struct Wire {
    /// `None` once the channel is closed.
    open: Mutex<Option<Open>>,
    closed: watch::Sender<bool>,
    /// Whether the server has ever responded.
    has_responded: AtomicBool,
    has_identity: bool,
    /// Whether calls return futures of an event loop.
    awaits: bool,
    account: Option<AsciiMetadataValue>,
}

/// The parts of an open channel.
#[derive(Clone)]
struct Open {
    grpc: Grpc<Http2>,
    runtime: Arc<Driven>,
}

/// A runtime without threads. Dropping it does not wait for pending name resolution.
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
    fn open(address: Address, tls: Option<&Tls>, account: Option<&str>, awaits: bool) -> PyResult<Arc<Self>> {
        let account = account.map(sensitive).transpose()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let channel = connect::channel(address, tls).map_err(PyValueError::new_err)?;
        let grpc = Grpc::new(status::checked(channel))
            .max_decoding_message_size(boardwire_api::MAX_MESSAGE_BYTES)
            .max_encoding_message_size(boardwire_api::MAX_MESSAGE_BYTES);
        drop(inside);
        let wire = Arc::new(Self {
            open: Mutex::new(Some(Open { grpc, runtime: Arc::new(Driven(Some(runtime))) })),
            closed: watch::Sender::new(false),
            has_responded: AtomicBool::new(false),
            has_identity: tls.is_some_and(Tls::has_identity),
            awaits,
            account,
        });
        let watched = Arc::downgrade(&wire);
        thread::Builder::new()
            .name("boardwire-wire".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || keep_alive(&watched, awaits))?;
        Ok(wire)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// The channel is closed.
    fn opened(&self, py: Python<'_>) -> PyResult<Open> {
        let open = self.lock().clone();
        open.ok_or_else(|| self.raised(py, &ended()))
    }

    /// Returns the runtime, or `None` once the channel is closed.
    fn runtime(&self) -> Option<Arc<Driven>> {
        // The lock is released here. A thread must not hold it while it waits for Python's lock, or while Python collects
        // garbage.
        self.lock().as_ref().map(|open| Arc::clone(&open.runtime))
    }

    /// Returns the exception for a failed call.
    fn raised(&self, py: Python<'_>, status: &Status) -> PyErr {
        if status::is_sent(status) {
            self.has_responded.store(true, Ordering::Relaxed);
        }
        let has_responded = self.has_responded.load(Ordering::Relaxed);
        status::raised(py, status, ConnectionState { has_responded, has_identity: self.has_identity })
    }

    /// Runs work until it is done, or fails once the channel is closed.
    fn until_closed<T, W>(&self, work: W) -> impl Future<Output = Result<T, Status>> + Send + use<T, W>
    where
        W: Future<Output = Result<T, Status>> + Send,
    {
        let mut closed = self.closed.subscribe();
        async move {
            tokio::select! {
                biased;
                done = work => done,
                // An error means that the channel was dropped.
                _ = closed.wait_for(|closed| *closed) => Err(ended()),
            }
        }
    }

    /// Waits for reads or writes, at most `time` seconds, and converts the result with `convert`.
    ///
    /// Returns the converted result, or a future of the event loop if calls of this channel return futures.
    ///
    /// # Errors
    /// The call fails, the timeout is over, or a signal handler raises.
    fn finish<'py, T: Send + 'static>(
        self: &Arc<Self>,
        py: Python<'py>,
        time: Option<f64>,
        work: impl Future<Output = Result<T, Status>> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (wire, work) = (Arc::clone(self), self.until_closed(work));
        let convert = move |py: Python<'_>, done| match done {
            Some(Ok(done)) => {
                wire.has_responded.store(true, Ordering::Relaxed);
                convert(py, done)
            }
            Some(Err(status)) => Err(wire.raised(py, &status)),
            None => Err(refuse::too_late(py, time)),
        };
        let runtime = self.runtime().ok_or_else(|| self.raised(py, &ended()))?;
        if self.awaits {
            let work = async move { timeout(seconds(time), work).await.ok() };
            return awaiting::begin(py, runtime.handle(), work, convert);
        }
        let done = block(py, &runtime, seconds(time), work)?;
        Ok(convert(py, done)?.into_bound(py))
    }

    /// Reads and writes as far as possible without waiting, so that the next call detects a lost connection.
    fn catch_up(&self, py: Python<'_>) {
        if self.awaits {
            return;
        }
        if let Some(runtime) = self.runtime() {
            py.detach(|| drive(&runtime, 2));
        }
    }

    /// Creates a request with the metadata that authenticates it.
    ///
    /// # Errors
    /// The token contains characters that are not allowed in tokens.
    fn request<T>(&self, message: T, token: &str) -> PyResult<Request<T>> {
        let mut metadata = MetadataMap::new();
        if let Some(account) = &self.account {
            metadata.insert(ACCOUNT, account.clone());
        }
        if !token.is_empty() {
            metadata.insert(AUTHORIZATION, sensitive(&format!("Bearer {}", token.trim()))?);
        }
        let mut request = Request::new(message);
        *request.metadata_mut() = metadata;
        Ok(request)
    }
}

/// Creates a metadata value that is never shown in debug output.
fn sensitive(value: &str) -> PyResult<AsciiMetadataValue> {
    let wrong = |_| PyValueError::new_err("a token must be one word of printable ASCII");
    let mut value: AsciiMetadataValue = value.parse().map_err(wrong)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Runs work in this thread for at most `time`. Returns `None` if the work takes longer.
///
/// # Errors
/// A signal handler raises.
fn block<T: Send>(
    py: Python<'_>,
    runtime: &Runtime,
    time: Duration,
    work: impl Future<Output = T> + Send,
) -> PyResult<Option<T>> {
    let due = Instant::now().checked_add(time);
    let mut work = pin!(work);
    loop {
        let left = due.map_or(SIGNAL_CHECK_INTERVAL, |due| due.saturating_duration_since(Instant::now()));
        let some = async { timeout(left.min(SIGNAL_CHECK_INTERVAL), work.as_mut()).await };
        match py.detach(|| runtime.block_on(some)) {
            Ok(done) => return Ok(Some(done)),
            Err(_) if left.is_zero() => return Ok(None),
            Err(_) => py.check_signals()?,
        }
    }
}

/// Drives the runtime for this number of turns of its event loop. In a turn, tasks write, the runtime polls the system
/// for input, and tasks read the input.
fn drive(runtime: &Runtime, rounds: usize) {
    // A task counts the turns. This thread cannot, because another thread may be driving the runtime.
    let rounds = async move {
        for _ in 0..rounds {
            yield_now().await;
        }
    };
    runtime.block_on(async {
        // The task does not panic.
        let _ = tokio::spawn(rounds).await;
    });
}

/// Reads and writes briefly in every interval, or all the time if `always`, until the channel is closed or dropped.
fn keep_alive(wire: &Weak<Wire>, always: bool) {
    loop {
        if !always {
            thread::sleep(DRIVE_INTERVAL);
        }
        let Some(runtime) = wire.upgrade().and_then(|wire| wire.runtime()) else { return };
        let time = if always { DRIVE_INTERVAL } else { DRIVE_TIME };
        runtime.block_on(async { sleep(time).await });
    }
}

fn ended() -> Status {
    Status::unavailable("the client was closed")
}

/// Checks an address and returns it in the form that error messages use.
///
/// Raises:
///     `ValueError`: The address is neither `host:port` nor `unix:/path`.
#[pyfunction]
pub(crate) fn check_address(address: &str) -> PyResult<String> {
    let parsed: Address = address.parse().map_err(PyValueError::new_err)?;
    Ok(parsed.to_string())
}

/// Returns whether data sent to an address stays on this machine. It does not resolve names.
///
/// Raises:
///     `ValueError`: The address is neither `host:port` nor `unix:/path`.
#[pyfunction]
pub(crate) fn is_local(address: &str) -> PyResult<bool> {
    let parsed: Address = address.parse().map_err(PyValueError::new_err)?;
    Ok(parsed.is_local())
}

#[pymethods]
impl Channel {
    /// Creates a connection to `host:port` or `unix:/path`. With `awaits`, calls return futures of the running event loop.
    #[new]
    #[pyo3(signature = (address, *, tls=None, account=None, awaits=false))]
    fn new(address: &str, tls: Option<&Tls>, account: Option<&str>, awaits: bool) -> PyResult<Self> {
        let address = address.parse().map_err(PyValueError::new_err)?;
        Ok(Self(Own::new(Wire::open(address, tls, account, awaits)?)))
    }

    /// Calls a method, such as `MatchService/Act`. Waits at most `timeout` seconds for the response and returns it.
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        request: &Bound<'py, PyDict>,
        token: &str,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (wire, method) = (self.0.get(py)?, Method::named(method)?);
        let message = method.request(request)?;
        let (maximum, bytes) = (boardwire_api::MAX_MESSAGE_BYTES, message.len());
        if bytes > maximum {
            let what = format!("a message must be at most {maximum} bytes; got {bytes}");
            return Err(wire.raised(py, &Status::resource_exhausted(what)));
        }
        let mut request = wire.request(message, token)?;
        if timeout.is_some() {
            request.set_timeout(seconds(timeout).min(MAX_TIMEOUT));
        }
        let Open { mut grpc, .. } = wire.opened(py)?;
        let (path, output) = (method.path, method.output);
        let call = async move {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            grpc.unary(request, path, RawCodec).await
        };
        wire.catch_up(py);
        let convert = move |py: Python<'_>, response: tonic::Response<Bytes>| {
            Ok(messages::read(py, &output, response.into_inner())?.into_any().unbind())
        };
        let response = wire.finish(py, timeout, call, convert);
        if response.is_err() {
            // Tells the server that no caller waits any more.
            wire.catch_up(py);
        }
        response
    }

    /// Makes a call without waiting for its response. It is sent with the next call, or within a second.
    fn notify(&self, py: Python<'_>, method: &str, request: &Bound<'_, PyDict>, token: &str) -> PyResult<()> {
        let (wire, method) = (self.0.get(py)?, Method::named(method)?);
        let mut request = wire.request(method.request(request)?, token)?;
        request.set_timeout(NOTICE_TIMEOUT);
        let Open { mut grpc, runtime } = wire.opened(py)?;
        runtime.spawn(async move {
            if grpc.ready().await.is_ok() {
                let _ = grpc.unary(request, method.path, RawCodec).await;
            }
        });
        Ok(())
    }

    /// Opens a stream of responses: to `request` if it is given, otherwise to the requests that the caller sends on it.
    #[pyo3(signature = (method, token, request=None))]
    fn stream(
        &self,
        py: Python<'_>,
        method: &str,
        token: &str,
        request: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CallStream> {
        let method = Method::named(method)?;
        let request = request.map(|request| method.request(request)).transpose()?;
        CallStream::open(py, self.0.get(py)?, method, token, request)
    }

    /// Ends all calls and streams of the connection, and tells the server: a forked child may still hold the socket.
    fn close(&self, py: Python<'_>) {
        let Ok(wire) = self.0.get(py) else { return };
        let open = wire.lock().take();
        wire.closed.send_replace(true);
        if let Some(Open { grpc, runtime }) = open {
            drop(grpc);
            py.detach(|| drive(&runtime, CLOSE_ROUNDS));
        }
    }
}

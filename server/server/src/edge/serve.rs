//! Serves a listener: accepts its connections and drives each one to its end.
//!
//! tonic's own loop cannot close a silent connection, neither while the server runs nor when it stops. So this module drives
//! connections itself, with `hyper` as tonic does.

use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming as RequestBody;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{Service, StdError};
use tower::util::MapRequest;

use super::accept::{Accept, Accepted, Incoming};
use super::caller::Caller;
use super::io::{PrefacedIo, TaskLimiter};
use super::ledger::CONNECTION_BYTES;
use super::proxy;
use super::{Bounds, Edge};
use crate::origin::Origin;

/// The HTTP/2 flow-control window of a stream.
pub const STREAM_WINDOW: u32 = 256 << 10;
/// The HTTP/2 flow-control window of a connection.
pub const CONNECTION_WINDOW: u32 = 512 << 10;
/// The time without traffic after which the server pings the client.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_mins(1);
/// The timeout for the client's response to the ping.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum size in bytes of a call's headers, and of its trailers.
const MAX_HEADER_BYTES: u32 = 16 << 10;
/// The maximum bytes that the server buffers of a page's request or response.
const PAGE_BUFFER: usize = 32 << 10;
/// How long a connection without calls stays open for its GOAWAY frame once the server stops.
const GOAWAY_TIMEOUT: Duration = Duration::from_millis(200);

/// The protocol of a listener's connections.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocol {
    /// gRPC, over HTTP/2.
    Grpc,
    /// HTTP/1.1, for pages: browsers use HTTP/2 only with TLS.
    Http1,
}

/// A service that responds to HTTP requests.
pub(crate) trait HttpService<B>:
    Service<Request<RequestBody>, Response = Response<B>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static
{
}

impl<S, B> HttpService<B> for S where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static
{
}

/// Serves the connections of a listener until the server stops and all of them have ended. Dropping the future closes them.
pub(crate) async fn serve<A, S, B>(edge: Arc<Edge>, listener: A, (protocol, service): (Protocol, S))
where
    A: Accept,
    S: HttpService<B>,
    B: Body<Data = Bytes, Error: Into<StdError>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut incoming = Incoming::new(listener);
    loop {
        let (io, origin) = tokio::select! {
            accepted = incoming.next() => accepted,
            Some(_) = connections.join_next() => continue,
            () = edge.stopped() => break,
        };
        let (edge, service) = (Arc::clone(&edge), service.clone());
        connections.spawn(async move {
            let Some((io, origin)) = client_origin(io, (protocol, origin), &edge).await else { return };
            let Some(slot) = edge.connections.admit(origin) else { return };
            edge.rates.prune_idle_origins();
            let budget = edge.ledger.budget(origin);
            let Ok(charge) = budget.charge(CONNECTION_BYTES) else { return };
            let connection_guard = edge.batches.connect();
            let caller = Caller::new(connection_guard.connection, origin, budget, charge, slot);
            handle(io, (protocol, service), caller, &edge).await;
            drop(connection_guard);
        });
    }
    // Closes the listener: clients can no longer connect.
    drop(incoming);
    while connections.join_next().await.is_some() {}
}

/// Returns a connection with its origin: the peer, or the client that a trusted proxy names. Connections for pages come from
/// browsers and scrapers, which send no proxy header.
async fn client_origin<IO: Accepted>(
    mut io: IO,
    (protocol, peer): (Protocol, Origin),
    edge: &Edge,
) -> Option<(IO, Origin)> {
    let trusted = |address: SocketAddr| {
        matches!(protocol, Protocol::Grpc) && edge.access.proxies.contains(&address.ip().to_canonical())
    };
    let Some(tcp) = io.tcp().filter(|tcp| tcp.peer_addr().is_ok_and(trusted)) else {
        return Some((io, peer));
    };
    let client = tokio::time::timeout(edge.access.bounds.handshake_timeout, proxy::read(tcp));
    let client = tokio::select! {
        client = client => client.map_err(io::Error::from).flatten(),
        () = edge.stopped() => return None,
    };
    match client {
        Ok(client) => Some((io, client.unwrap_or(peer))),
        Err(error) => {
            tracing::debug!(%peer, %error, "a trusted proxy sent no valid PROXY header");
            None
        }
    }
}

/// Serves one connection until it ends, or until the server stops and the connection has no open call.
async fn handle<IO, S, B>(accepted: IO, (protocol, service): (Protocol, S), caller: Caller, edge: &Edge)
where
    IO: Accepted,
    S: HttpService<B>,
    B: Body<Data = Bytes, Error: Into<StdError>> + Send + 'static,
{
    let bounds = &edge.access.bounds;
    let request_caller = caller.clone();
    let service = MapRequest::new(service, move |mut request: Request<RequestBody>| {
        request.extensions_mut().insert(request_caller.clone());
        request
    });
    let service = TowerToHyperService::new(service);
    // A client may reset all open calls together and open the same number again.
    let tasks = TaskLimiter::new(2 * bounds.connection_streams as usize);
    let last_read = Arc::clone(&caller.connection.last_read);
    let handshaken = async {
        let io = accepted.handshake().await?;
        Ok(match protocol {
            Protocol::Grpc => HandshakenIo::Grpc(PrefacedIo::read(io, tasks.clone(), last_read).await?),
            Protocol::Http1 => HandshakenIo::Http1(io),
        })
    };
    let handshaken: Result<io::Result<_>, _> = tokio::select! {
        handshaken = tokio::time::timeout(bounds.handshake_timeout, handshaken) => handshaken,
        () = caller.connection.slot.closed() => return,
        () = edge.stopped() => return,
    };
    match handshaken {
        Ok(Ok(HandshakenIo::Grpc(io))) => {
            let connection = http2(bounds, tasks.clone()).serve_connection(TokioIo::new(io), service);
            drive(connection, &caller, edge).await;
        }
        Ok(Ok(HandshakenIo::Http1(io))) => {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(bounds.handshake_timeout);
            let connection = builder.max_buf_size(PAGE_BUFFER).serve_connection(TokioIo::new(io), service);
            drive(connection, &caller, edge).await;
        }
        Ok(Err(error)) => {
            tracing::debug!(connection = caller.connection_id().0, %error, "a handshake failed");
        }
        Err(_) => tracing::debug!(connection = caller.connection_id().0, "a handshake took too long"),
    }
}

/// A connection after its handshakes.
enum HandshakenIo<IO> {
    Grpc(PrefacedIo<IO>),
    Http1(IO),
}

/// Drives a connection to its end. Once the server stops, the connection ends gracefully after its last call.
async fn drive<C: GracefulConnection<Error: Display>>(connection: C, caller: &Caller, edge: &Edge) {
    let mut connection = pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = caller.connection.slot.closed() => {
            tracing::debug!(connection = caller.connection_id().0, "closed: it reset too many calls, or a new connection took its slot");
            return;
        }
        () = edge.stopped() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                result = connection => result,
                () = idle(&caller.connection.calls) => Ok(()),
            }
        }
    };
    if let Err(error) = result {
        tracing::debug!(connection = caller.connection_id().0, %error, "a connection failed");
    }
}

fn http2(bounds: &Bounds, tasks: TaskLimiter) -> http2::Builder<TaskLimiter> {
    let mut builder = http2::Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_concurrent_streams(bounds.connection_streams)
        // A client may reset all its open calls together without losing the connection.
        .max_pending_accept_reset_streams(bounds.connection_streams as usize);
    builder
}

/// Resolves when no call has been open for [`GOAWAY_TIMEOUT`]. In this time the peer receives the GOAWAY frame.
async fn idle(calls: &TaskTracker) {
    calls.close();
    loop {
        calls.wait().await;
        tokio::time::sleep(GOAWAY_TIMEOUT).await;
        if calls.is_empty() {
            return;
        }
    }
}

//! Serving a listener: from a connection's first byte to its end.
//!
//! tonic's own loop offers no hold on a connection that says nothing, neither while the server runs nor when
//! it stops. So connections are driven here, by the same `hyper`.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming as Received;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};
use tower::util::MapRequest;

use super::accept::{Accept, Accepted, Incoming};
use super::caller::Caller;
use super::ledger::CONNECTION_BYTES;
use super::preface::PrefacedIo;
use super::proxy;
use super::tasks::Tasks;
use super::{Bounds, Edge};
use crate::origin::Origin;

/// What a stream may send before the other side has read it.
pub const STREAM_WINDOW: u32 = 256 << 10;
/// The same for a connection.
pub const CONNECTION_WINDOW: u32 = 512 << 10;
/// After this long without a word a peer is asked whether it is still there.
pub const KEEPALIVE: Duration = Duration::from_mins(1);
/// How long it may take to answer.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes of headers that a call may have, and of trailers.
const MAX_HEADER_BYTES: u32 = 16 << 10;
/// What is read of a browser's request, or written to it, before the rest.
const PAGE_BUFFER: usize = 32 << 10;
/// How long a connection without calls may take to say goodbye once the server stops.
const GOODBYE_TIMEOUT: Duration = Duration::from_millis(200);

/// What the connections of a listener speak.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocol {
    /// HTTP/2, as gRPC does.
    Grpc,
    /// HTTP/1.1, as browsers do without TLS.
    Page,
}

/// Serves the connections of one listener with `service` until the server stops and all have ended. Dropping
/// the future cuts off those that are left.
pub(crate) async fn serve<A, S, B>(edge: Arc<Edge>, listener: A, (protocol, service): (Protocol, S))
where
    A: Accept,
    S: Service<Request<Received>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    let mut incoming = Incoming::new(listener);
    let mut stop = edge.stopping.clone();
    loop {
        let (io, origin) = tokio::select! {
            accepted = incoming.next() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stopped(&mut stop) => break,
        };
        let (edge, service) = (Arc::clone(&edge), service.clone());
        connections.spawn(async move {
            let named = named(io, (protocol, origin), &edge).await;
            let Some((io, origin)) = named else { return };
            let Some(place) = edge.connections.admit(origin) else { return };
            edge.rates.forget();
            let budget = edge.ledger.budget(origin);
            let Ok(charge) = budget.charge(CONNECTION_BYTES) else { return };
            let connected = edge.batches.connect();
            let caller = Caller::new(connected.peer, origin, budget, charge, place);
            connection(io, (protocol, service), caller, &edge).await;
            drop(connected);
        });
    }
    // Nobody can connect from here on.
    drop(incoming);
    while connections.join_next().await.is_some() {}
}

/// A connection with the origin that counts: the peer, or the client that a trusted proxy names. Pages are for browsers and
/// scrapers, which name nobody.
async fn named<IO: Accepted>(
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
    let mut stop = edge.stopping.clone();
    let read = tokio::time::timeout(edge.access.bounds.handshake_timeout, proxy::read(tcp));
    let read = tokio::select! {
        read = read => read.map_err(io::Error::from).flatten(),
        () = stopped(&mut stop) => return None,
    };
    match read {
        Ok(named) => Some((io, named.unwrap_or(peer))),
        Err(error) => {
            tracing::debug!(%peer, %error, "a proxy named no client");
            None
        }
    }
}

/// Serves one connection until it ends, or until the server stops and no call is under way on it.
async fn connection<IO, S, B>(accepted: IO, (protocol, service): (Protocol, S), caller: Caller, edge: &Edge)
where
    IO: Accepted,
    S: Service<Request<Received>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (bounds, mut stop) = (&edge.access.bounds, edge.stopping.clone());
    let of = caller.clone();
    let named = MapRequest::new(service, move |mut request: Request<Received>| {
        request.extensions_mut().insert(of.clone());
        request
    });
    let service = TowerToHyperService::new(named);
    // Of as many calls as may be open all may be reset, and as many follow.
    let tasks = Tasks::new(2 * bounds.connection_streams as usize);
    let opened = async {
        let io = accepted.open().await?;
        Ok(match protocol {
            Protocol::Grpc => Opened::Grpc(PrefacedIo::read(io, tasks.clone(), caller.reading()).await?),
            Protocol::Page => Opened::Page(io),
        })
    };
    let opened = tokio::time::timeout(bounds.handshake_timeout, opened);
    let opened: Result<io::Result<_>, _> = tokio::select! {
        opened = opened => opened,
        () = caller.place().closed() => return,
        () = stopped(&mut stop) => return,
    };
    match opened {
        Ok(Ok(Opened::Grpc(io))) => {
            drive(http2(bounds, tasks.clone()).serve_connection(TokioIo::new(io), service), &caller, stop)
                .await;
        }
        Ok(Ok(Opened::Page(io))) => {
            drive(http1(bounds).serve_connection(TokioIo::new(io), service), &caller, stop).await;
        }
        Ok(Err(error)) => tracing::debug!(peer = caller.peer().0, %error, "no call was made"),
        Err(_) => tracing::debug!(peer = caller.peer().0, "a connection said nothing"),
    }
}

/// A connection on which the first call can be read.
enum Opened<IO> {
    Grpc(PrefacedIo<IO>),
    Page(IO),
}

/// Drives a connection to its end.
async fn drive<C: GracefulConnection<Error: Display>>(
    connection: C,
    caller: &Caller,
    mut stop: watch::Receiver<bool>,
) {
    let mut served = pin!(connection);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = caller.place().closed() => {
            tracing::debug!(peer = caller.peer().0, "closed: it reset too many calls, or others had no place");
            return;
        }
        () = stopped(&mut stop) => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                ended = served => ended,
                () = unused(caller.calls()) => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(peer = caller.peer().0, %error, "a connection failed");
    }
}

/// How browsers' connections are served.
fn http1(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(bounds.handshake_timeout).max_buf_size(PAGE_BUFFER);
    builder
}

/// How connections are served.
fn http2(bounds: &Bounds, tasks: Tasks) -> http2::Builder<Tasks> {
    let mut builder = http2::Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_concurrent_streams(bounds.connection_streams)
        // All calls that may be open can be cancelled at once: that is no reason to drop the connection.
        .max_pending_accept_reset_streams(bounds.connection_streams as usize);
    builder
}

/// Resolves when the server stops.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the server is gone.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Resolves when no call has been under way for a moment, in which the peer can be told that the connection
/// ends.
async fn unused(calls: &TaskTracker) {
    calls.close();
    loop {
        calls.wait().await;
        tokio::time::sleep(GOODBYE_TIMEOUT).await;
        if calls.is_empty() {
            return;
        }
    }
}

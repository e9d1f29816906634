//! Serves on given listeners until a shutdown.

use std::future::Future;
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::batches::Batches;
use crate::edge::{
    self, Accept, Access, Edge, GrpcService, Protocol, Tls, TlsListener, UnixSocket, metrics_page, watch_page,
};
use crate::matches::Matches;
use crate::rpc::{self, Health};
use crate::stall;
use crate::telemetry::{self, GaugeValues};

/// A socket that accepts connections.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A TCP socket whose connections use TLS.
    Tls(TcpListener, Arc<Tls>),
    /// A Unix socket.
    Unix(UnixSocket),
    /// A TCP socket that serves the watch page to browsers.
    WatchPage(TcpListener),
    /// A TCP socket that serves metrics to Prometheus.
    Metrics(TcpListener),
}

/// Creates the runtime whose threads read and write connections. It uses half of the cores. The pool threads, which step
/// batches, and local clients need the other half.
///
/// # Errors
/// The threads cannot be started.
pub fn runtime() -> std::io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads(cores.div_ceil(2)).enable_all().build()
}

/// Serves `matches` and `batches` on all `listeners` until `shutdown` resolves. Then open calls may take the drain timeout
/// of `access` to end.
///
/// # Errors
/// The server cannot be set up.
pub async fn run(
    access: impl Into<Access>,
    listeners: Vec<Listener>,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let serve_all =
        |edge: Arc<Edge>| listeners.into_iter().map(|each| serve_listener(Arc::clone(&edge), each)).collect();
    serve_with(access.into(), matches, batches, shutdown, serve_all).await
}

/// Does the same as [`run`], but `serve_all` starts the tasks that serve.
pub(crate) async fn serve_with(
    access: Access,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
    serve_all: impl FnOnce(Arc<Edge>) -> JoinSet<()>,
) -> anyhow::Result<()> {
    let (stop, stopping) = watch::channel(false);
    let health = Arc::new(Health::serving());
    let drain_timeout = access.bounds.drain_timeout;
    let methods = rpc::methods(&matches, &batches, &health);
    let edge = Arc::new(Edge::new(access, methods, Arc::clone(&batches), stopping));
    let watched = Arc::clone(&matches);
    let _stall_monitor = stall::start_monitor(move || watched.tick_journal() | watched.journal_fails())?;
    let gauge_values = || GaugeValues {
        matches: matches.len(),
        batches: batches.len(),
        environments: batches.environments(),
        connections: edge.connections(),
        queued: batches.queued(),
        journal_lag: matches.journal_lag(),
    };
    telemetry::set_gauges(&gauge_values());
    let mut serving = serve_all(Arc::clone(&edge));
    tokio::select! {
        () = shutdown => {}
        () = expire(&matches, &batches) => {}
        () = health.update_from_journal(&matches) => {}
        () = telemetry::sample_gauges(gauge_values) => {}
        () = return_memory() => {}
        Some(ended) = serving.join_next() => ended?,
    }
    tracing::info!("stopping");
    health.stop();
    matches.stop();
    batches.stop();
    stop.send_replace(true);
    let drained = async {
        while let Some(ended) = serving.join_next().await {
            ended?;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(drain_timeout, drained).await.unwrap_or_else(|_| {
        tracing::warn!("drain timeout: the open calls are cancelled");
        Ok(())
    })
}

/// Ends matches and leases after their idle timeouts. Never returns.
async fn expire(matches: &Matches, batches: &Batches) {
    let idle = matches.limits().idle.min(batches.limits().idle);
    let mut interval = tokio::time::interval((idle / 8).max(Duration::from_millis(10)));
    loop {
        interval.tick().await;
        matches.expire(Instant::now());
        batches.expire(Instant::now());
    }
}

/// Makes the allocator return freed memory to the system. Never returns. `mimalloc` does so only when a large block is
/// freed, which does not happen in an idle server.
async fn return_memory() {
    let mut interval = tokio::time::interval(Duration::from_secs(1));
    loop {
        interval.tick().await;
        drop(std::hint::black_box(Vec::<u8>::with_capacity(4 << 20)));
    }
}

/// Serves one listener until the server stops and its connections have ended.
async fn serve_listener(edge: Arc<Edge>, listener: Listener) {
    match listener {
        Listener::Tcp(listener) => serve_grpc(edge, listener).await,
        Listener::Tls(listener, tls) => serve_grpc(edge, TlsListener { listener, tls }).await,
        Listener::Unix(socket) => serve_grpc(edge, socket).await,
        Listener::WatchPage(listener) => {
            edge::serve(Arc::clone(&edge), listener, (Protocol::Http1, watch_page(&edge))).await;
        }
        Listener::Metrics(listener) => {
            edge::serve(Arc::clone(&edge), listener, (Protocol::Http1, metrics_page(&edge))).await;
        }
    }
}

/// Serves gRPC on a listener.
pub(crate) async fn serve_grpc(edge: Arc<Edge>, listener: impl Accept) {
    edge::serve(Arc::clone(&edge), listener, (Protocol::Grpc, GrpcService(edge))).await;
}

//! Serving on listeners that are given, until told to stop.

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
use crate::held_up;
use crate::matches::Matches;
use crate::rpc::{self, Health};
use crate::telemetry::{self, Counts};

/// Something connections come in on.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A TCP socket whose connections speak TLS.
    Tls(TcpListener, Arc<Tls>),
    /// A Unix socket.
    Unix(UnixSocket),
    /// A TCP socket for browsers, to which the page that follows matches is served.
    WatchPage(TcpListener),
    /// A TCP socket for Prometheus.
    Metrics(TcpListener),
}

/// The threads that read and write connections: half as many as there are cores, since what they carry takes
/// the other half, in the threads that step batches and in clients on the same machine.
///
/// # Errors
/// When they cannot be started.
pub fn runtime() -> std::io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads(cores.div_ceil(2)).enable_all().build()
}

/// Serves `matches` and `batches` on all `listeners`, for callers with access and within its bounds, until `shutdown` resolves. Then
/// calls under way may end, for a while.
///
/// # Errors
/// When the server cannot be set up.
pub async fn run(
    access: impl Into<Access>,
    listeners: Vec<Listener>,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let all = |edge: Arc<Edge>| listeners.into_iter().map(|each| listen(Arc::clone(&edge), each)).collect();
    run_serving(access.into(), matches, batches, shutdown, all).await
}

/// The same, on what `serve` listens on.
pub(crate) async fn run_serving(
    access: Access,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
    serve: impl FnOnce(Arc<Edge>) -> JoinSet<()>,
) -> anyhow::Result<()> {
    let (stop, stopping) = watch::channel(false);
    let health = Arc::new(Health::well());
    let draining = access.bounds.drain_timeout;
    let methods = rpc::methods(&matches, &batches, &health);
    let edge = Arc::new(Edge::new(access, methods, Arc::clone(&batches), stopping));
    let of = Arc::clone(&matches);
    let _watch = held_up::watch(move || of.look_at_journal() | of.journal_fails())?;
    let mut serving = serve(Arc::clone(&edge));
    tokio::select! {
        () = shutdown => {}
        () = expire(&matches, &batches) => {}
        () = health.follow(&matches) => {}
        () = telemetry::follow(|| counts(&edge, &matches, &batches)) => {}
        () = give_back_memory() => {}
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
    tokio::time::timeout(draining, drained).await.unwrap_or_else(|_| {
        tracing::warn!("calls still under way are cut off");
        Ok(())
    })
}

/// What Prometheus is told of.
fn counts(edge: &Edge, matches: &Matches, batches: &Batches) -> Counts {
    Counts {
        matches: matches.len(),
        batches: batches.len(),
        environments: batches.environments(),
        connections: edge.connections(),
        queued: batches.queued(),
        journal_lag: matches.journal_lag(),
    }
}

/// Ends matches and the leases of batches that nobody uses, for ever.
async fn expire(matches: &Matches, batches: &Batches) {
    let idle = matches.limits().idle.min(batches.limits().idle);
    let mut often = tokio::time::interval((idle / 8).max(Duration::from_millis(10)));
    loop {
        often.tick().await;
        matches.expire(Instant::now());
        batches.expire(Instant::now());
    }
}

/// Lets the allocator return to the system what has been freed, for ever. `mimalloc` does so when a large block is freed, which
/// a server that has become idle does not do by itself.
async fn give_back_memory() {
    let mut often = tokio::time::interval(Duration::from_secs(1));
    loop {
        often.tick().await;
        drop(std::hint::black_box(Vec::<u8>::with_capacity(4 << 20)));
    }
}

/// Serves one listener until the server stops and its connections have ended.
async fn listen(edge: Arc<Edge>, listener: Listener) {
    match listener {
        Listener::Tcp(listener) => accept(edge, listener).await,
        Listener::Tls(listener, tls) => accept(edge, TlsListener { listener, tls }).await,
        Listener::Unix(socket) => accept(edge, socket).await,
        Listener::WatchPage(listener) => {
            let page = watch_page(&edge);
            edge::serve(edge, listener, (Protocol::Page, page)).await;
        }
        Listener::Metrics(listener) => {
            let page = metrics_page(&edge);
            edge::serve(edge, listener, (Protocol::Page, page)).await;
        }
    }
}

/// Serves gRPC on whatever accepts connections.
pub(crate) async fn accept(edge: Arc<Edge>, listener: impl Accept) {
    let gate = GrpcService(Arc::clone(&edge));
    edge::serve(edge, listener, (Protocol::Grpc, gate)).await;
}

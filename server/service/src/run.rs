//! Serving on listeners that are given, until told to stop.

use std::future::Future;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_api::dm_env_rpc::environment_server::EnvironmentServer;
use boardwire_api::v1::batch_service_server::BatchServiceServer;
use boardwire_api::v1::catalog_service_server::CatalogServiceServer;
use boardwire_api::v1::match_service_server::MatchServiceServer;
use boardwire_api::v1::search_service_server::SearchServiceServer;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::service::Routes;

use crate::batches::Batches;
use crate::edge::{self, Accept, Access, Edge, Secured, Socket, Speech, Tls, WatchPage};
use crate::health::Health;
use crate::held_up;
use crate::matches::Matches;
use crate::rpc::{BatchPlane, Catalog, MatchPlane, SearchPlane, Unbuffered, WorldPlane};
use crate::telemetry;

/// The largest message either side accepts.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// Something connections come in on.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A TCP socket whose connections speak TLS.
    Tls(TcpListener, Arc<Tls>),
    /// A Unix socket, with the path that is removed as soon as it is listened on no longer.
    Unix(UnixListener, PathBuf),
    /// A TCP socket for browsers, to which the page that follows matches is served.
    WatchPage(TcpListener),
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

/// Serves `matches` and `batches` on all `listeners` until `shutdown` resolves, then lets calls end, and
/// ends them. What callers may ask for is bounded as by default.
///
/// # Errors
/// When the server cannot be set up.
pub async fn run(
    listeners: Vec<Listener>,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    run_within(Access::default(), listeners, matches, batches, shutdown).await
}

/// As [`run`], for those who have access, within its bounds.
///
/// # Errors
/// When the server cannot be set up.
pub async fn run_within(
    access: impl Into<Access>,
    listeners: Vec<Listener>,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let all = |served: Served| listeners.into_iter().map(|listener| served.clone().on(listener)).collect();
    run_serving(access.into(), matches, batches, shutdown, all).await
}

/// What every connection is served with.
#[derive(Clone)]
pub(crate) struct Served {
    routes: Routes,
    edge: Arc<Edge>,
    batches: Arc<Batches>,
    stopping: watch::Receiver<bool>,
}

/// The same, on what `serve` listens on.
pub(crate) async fn run_serving(
    access: Access,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
    serve: impl FnOnce(Served) -> JoinSet<()>,
) -> anyhow::Result<()> {
    let (stop, stopping) = watch::channel(false);
    let (health, health_service) = Health::well().await;
    let routes = add_services(Routes::new(health_service), &matches, &batches)?;
    let draining = access.bounds.drain_timeout;
    let edge = Arc::new(Edge::new(access));
    let served = Served { routes, edge: Arc::clone(&edge), batches: Arc::clone(&batches), stopping };
    let mut serving = serve(served);
    tokio::select! {
        () = shutdown => {}
        () = expire(&matches, &batches) => {}
        () = held_up::notice(&matches) => {}
        () = health.follow(&matches) => {}
        () = telemetry::look(&edge, &matches, &batches) => {}
        Some(ended) = serving.join_next() => ended?,
    }
    tracing::info!("stopping");
    health.stop().await;
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

/// All services but that of health.
fn add_services(routes: Routes, matches: &Arc<Matches>, batches: &Arc<Batches>) -> anyhow::Result<Routes> {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(boardwire_api::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()?;
    let catalog = Catalog { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    let catalog = CatalogServiceServer::new(catalog)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let plane = MatchServiceServer::new(MatchPlane(Arc::clone(matches)))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let batch = BatchPlane { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    let batch = BatchServiceServer::new(batch)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let search = SearchPlane { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    let search = SearchServiceServer::new(search)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let worlds = WorldPlane { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    let worlds = EnvironmentServer::new(worlds)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    Ok(routes
        .add_service(reflection)
        .add_service(catalog)
        .add_service(plane)
        .add_service(Unbuffered(batch))
        .add_service(search)
        .add_service(worlds)
        .prepare())
}

impl Served {
    /// Serves one listener until the server stops and its connections have ended.
    async fn on(self, listener: Listener) {
        match listener {
            Listener::Tcp(listener) => self.accepting(listener).await,
            Listener::Tls(listener, tls) => self.accepting(Secured { listener, tls }).await,
            Listener::Unix(listener, path) => self.accepting(Socket { listener, path }).await,
            Listener::WatchPage(listener) => {
                let Self { routes, edge, batches, stopping } = self;
                let page = WatchPage::new(edge.protect(routes));
                edge::serve(listener, (Speech::Page, page), edge, batches, stopping).await;
            }
        }
    }

    /// The same on whatever accepts connections.
    pub(crate) async fn accepting(self, listener: impl Accept) {
        let Self { routes, edge, batches, stopping } = self;
        edge::serve(listener, (Speech::Grpc, edge.protect(routes)), edge, batches, stopping).await;
    }
}

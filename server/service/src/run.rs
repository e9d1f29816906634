//! Serving on listeners that are given, until told to stop.

use std::future::Future;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
use crate::edge::{self, Access, Edge, Secured, Tls};
use crate::health::Health;
use crate::held_up;
use crate::matches::Matches;
use crate::rpc::{BatchPlane, Catalog, MatchPlane, SearchPlane, Unbuffered};
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
    /// A Unix socket, with the path that is removed at the end.
    Unix(UnixListener, PathBuf),
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
    let (stop, stopping) = watch::channel(false);
    let (health, health_service) = Health::well().await;
    let routes = Routes::new(health_service);
    let routes = add_services(routes, &matches, &batches)?;
    let access = access.into();
    let draining = access.bounds.drain_timeout;
    let edge = Arc::new(Edge::new(access));
    let mut serving = JoinSet::new();
    for listener in listeners {
        let (edge, batches) = (Arc::clone(&edge), Arc::clone(&batches));
        serving.spawn(serve(routes.clone(), listener, edge, batches, stopping.clone()));
    }
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
pub(crate) fn add_services(
    routes: Routes,
    matches: &Arc<Matches>,
    batches: &Arc<Batches>,
) -> anyhow::Result<Routes> {
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
    Ok(routes
        .add_service(reflection)
        .add_service(catalog)
        .add_service(plane)
        .add_service(Unbuffered(batch))
        .add_service(search)
        .prepare())
}

/// Serves `routes` on one listener until `stop` is true and its connections have ended.
async fn serve(
    routes: Routes,
    listener: Listener,
    edge: Arc<Edge>,
    batches: Arc<Batches>,
    stop: watch::Receiver<bool>,
) {
    let service = edge.protect(routes);
    match listener {
        Listener::Tcp(listener) => edge::serve(listener, service, edge, batches, stop).await,
        Listener::Tls(listener, tls) => {
            edge::serve(Secured { listener, tls }, service, edge, batches, stop).await;
        }
        Listener::Unix(listener, path) => {
            edge::serve(listener, service, edge, batches, stop).await;
            let _ = std::fs::remove_file(path);
        }
    }
}

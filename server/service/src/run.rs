//! Serving on listeners that are given, until told to stop.

use std::future::Future;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_api::v1::batch_service_server::BatchServiceServer;
use boardwire_api::v1::catalog_service_server::CatalogServiceServer;
use boardwire_api::v1::match_service_server::MatchServiceServer;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::server::{Router, Server, TcpIncoming};

use crate::batches::Batches;
use crate::lease::Leased;
use crate::matches::Matches;
use crate::rpc::{BatchPlane, Catalog, MatchPlane, Unbuffered};

/// The largest message either side accepts.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// What a stream may send before the other side has read it.
const STREAM_WINDOW: u32 = 4 << 20;
/// The same for a connection.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// After this long without a word a peer is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// How long calls under way may take to end once the server stops.
const DRAINING: Duration = Duration::from_secs(5);

/// Something connections come in on.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
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
/// ends them.
///
/// # Errors
/// When a listener fails.
pub async fn run(
    listeners: Vec<Listener>,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    shutdown: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let (stop, stopping) = watch::channel(false);
    let router = router(&matches, &batches).await?;
    let mut serving = tokio::task::JoinSet::new();
    for listener in listeners {
        let mut stopping = stopping.clone();
        serving.spawn(serve(router.clone(), listener, Arc::clone(&batches), async move {
            let _ = stopping.wait_for(|stop| *stop).await;
        }));
    }
    tokio::select! {
        () = shutdown => {}
        () = expire(&batches) => {}
        Some(ended) = serving.join_next() => ended??,
    }
    tracing::info!("stopping");
    matches.stop();
    batches.stop();
    stop.send_replace(true);
    let drained = async {
        while let Some(ended) = serving.join_next().await {
            ended??;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(DRAINING, drained).await.unwrap_or_else(|_| {
        tracing::warn!("calls still under way are cut off");
        Ok(())
    })
}

/// Ends the leases of batches that nobody uses, for ever.
async fn expire(batches: &Batches) {
    let mut often = tokio::time::interval((batches.idle_time() / 8).max(Duration::from_millis(10)));
    loop {
        often.tick().await;
        batches.expire(Instant::now());
    }
}

/// A server without services: what every connection is served with.
#[must_use]
pub fn transport() -> Server {
    Server::builder()
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keepalive_interval(Some(KEEPALIVE))
}

/// All services with all middleware.
async fn router(matches: &Arc<Matches>, batches: &Arc<Batches>) -> anyhow::Result<Router> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<CatalogServiceServer<Catalog>>().await;
    health.set_serving::<MatchServiceServer<MatchPlane>>().await;
    health.set_serving::<BatchServiceServer<BatchPlane>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(boardwire_api::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()?;
    let catalog = CatalogServiceServer::new(Catalog(Arc::clone(matches)))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let plane = MatchServiceServer::new(MatchPlane(Arc::clone(matches)))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let batch = BatchPlane { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    let batch = BatchServiceServer::new(batch)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    Ok(transport()
        .add_service(health_service)
        .add_service(reflection)
        .add_service(catalog)
        .add_service(plane)
        .add_service(Unbuffered(batch)))
}

/// Serves `router` on one listener until `stop` resolves and the calls under way have ended. Leases of
/// `batches` may end with the connections that come in.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    router: Router,
    listener: Listener,
    batches: Arc<Batches>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    match listener {
        Listener::Tcp(listener) => {
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            let incoming = incoming.map(|io| io.map(|io| Leased::new(io, &batches)));
            router.serve_with_incoming_shutdown(incoming, stop).await?;
        }
        Listener::Unix(listener, path) => {
            let incoming = UnixListenerStream::new(listener);
            let incoming = incoming.map(|io| io.map(|io| Leased::new(io, &batches)));
            let served = router.serve_with_incoming_shutdown(incoming, stop).await;
            let _ = std::fs::remove_file(path);
            served?;
        }
    }
    Ok(())
}

//! The edge of the server: all code between a listener and the services.
//!
//! This module [accepts](accept), [counts](connections) and [drives](serve) connections. One function admits each
//! [call](call) and responds to it. One [ledger](ledger) counts the memory that the server holds for each caller.

mod accept;
mod accounts;
mod call;
mod caller;
mod connections;
mod http_pages;
mod io;
mod ledger;
mod methods;
mod proxy;
mod rates;
mod serve;
mod tls;
mod wire;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

pub(crate) use accept::Accept;
#[cfg(test)]
pub(crate) use accept::Accepted;
pub use accept::UnixSocket;
pub use accounts::{Accounts, is_valid_name, token_line};
pub(crate) use call::{Call, GrpcService};
pub(crate) use caller::Caller;
pub(crate) use http_pages::{metrics_page, watch_page};
pub(crate) use ledger::MemoryCharge;
#[cfg(test)]
pub(crate) use methods::MethodShape;
pub(crate) use methods::{Methods, Service, ServiceKind};
pub use serve::{CONNECTION_WINDOW, KEEPALIVE_INTERVAL, STREAM_WINDOW};
pub(crate) use serve::{Protocol, serve};
pub(crate) use tls::TlsListener;
pub use tls::{Tls, TlsFiles};
pub(crate) use wire::{EncodedMessage, Reply, RequestStream};

use crate::batches::Batches;
use connections::Connections;
use ledger::{CALL_BYTES, MemoryLedger};
use rates::RateLimits;

/// The limits on connections and calls. Each is a flag of `boardwire serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of open connections.
    pub connections: usize,
    /// The maximum number of open connections from one origin.
    pub connections_per_caller: usize,
    /// The maximum number of concurrent calls on one connection.
    pub connection_streams: u32,
    /// The maximum size in bytes of responses and unfinished messages that one connection may hold.
    pub connection_bytes: usize,
    /// The maximum bytes that the server may hold for connections, calls, responses and unfinished messages.
    pub bytes: usize,
    /// The maximum number of calls per second of one origin; 0 for no limit.
    pub rate: u32,
    /// The timeout for the HTTP/2 preface of a connection, and for the message of a call.
    pub handshake_timeout: Duration,
    /// The time that open calls have to end once the server stops.
    pub drain_timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 4_096,
            connections_per_caller: 1_024,
            connection_streams: 1_024,
            connection_bytes: 128 << 20,
            bytes: 1 << 30,
            rate: 100_000,
            handshake_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(5),
        }
    }
}

/// The callers that the server accepts, and their limits.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The limits on connections and calls.
    pub bounds: Bounds,
    /// The accounts that may call. If `None`, every client that can connect may call.
    pub accounts: Option<Arc<Accounts>>,
    /// The addresses of trusted proxies. Their connections begin with a header that names the client.
    pub proxies: Arc<[IpAddr]>,
    /// The host names, besides addresses and `localhost`, under which the server serves pages.
    pub page_hosts: Arc<[String]>,
    /// The other origins whose pages may call the methods of the watch page, such as `https://example.org`; `*` for all.
    pub allowed_origins: Arc<[String]>,
}

impl From<Bounds> for Access {
    fn from(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }
}

/// State that all listeners of a server share.
pub(crate) struct Edge {
    access: Access,
    /// Holds the leases that end with their connection.
    batches: Arc<Batches>,
    /// True once the server stops.
    stopping: watch::Receiver<bool>,
    connections: Arc<Connections>,
    ledger: MemoryLedger,
    /// The ledger for health checks while the main ledger is full.
    health: MemoryLedger,
    rates: RateLimits,
    methods: Methods,
}

/// The maximum number of concurrent health checks while the ledger is full.
const HEALTH_CHECKS: usize = 64;

impl Edge {
    pub(crate) fn new(
        access: Access,
        methods: Methods,
        batches: Arc<Batches>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let bounds = &access.bounds;
        let connections = Connections::new(bounds.connections, bounds.connections_per_caller);
        Self {
            connections: Arc::new(connections),
            ledger: MemoryLedger::new(bounds.connection_bytes, bounds.bytes),
            health: MemoryLedger::new(0, HEALTH_CHECKS * CALL_BYTES),
            rates: RateLimits::new(bounds.rate),
            methods,
            batches,
            stopping,
            access,
        }
    }

    /// Resolves when the server stops.
    async fn stopped(&self) {
        // An error means that the server no longer exists.
        let _ = self.stopping.clone().wait_for(|stop| *stop).await;
    }

    /// Returns the number of open connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }
}

#[cfg(test)]
mod tests;

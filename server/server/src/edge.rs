//! The edge of the server: what stands between a listener and the services.
//!
//! Connections are [accepted](accept), [counted](connections) and [driven](serve) here. Every [call](call) is then admitted
//! and answered in one function. All that callers make the server hold is charged to one [ledger](ledger).

mod accept;
mod accounts;
mod call;
mod caller;
mod connections;
mod ledger;
mod methods;
mod pages;
mod preface;
mod proxy;
mod rates;
mod serve;
mod tasks;
mod tls;
mod traces;
mod wire;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub use accounts::Accounts;
pub use serve::{CONNECTION_WINDOW, KEEPALIVE, STREAM_WINDOW};
pub use tls::{Tls, TlsFiles};

pub(crate) use accept::Accept;
#[cfg(test)]
pub(crate) use accept::Accepted;
pub use accept::UnixSocket;
pub use accounts::{is_name, line};
pub(crate) use call::{Call, GrpcService};
pub(crate) use caller::Caller;
pub(crate) use ledger::{Budget, Charge};
#[cfg(test)]
pub(crate) use methods::Shape;
pub(crate) use methods::{Kind, Methods, Service};
pub(crate) use pages::{metrics_page, watch_page};
pub(crate) use serve::{Protocol, serve};
pub(crate) use tls::TlsListener;
pub(crate) use wire::{EncodedMessage, Reply, RequestStream};

use tokio::sync::watch;

use crate::batches::Batches;
use connections::Connections;
use ledger::{CALL_BYTES, Ledger};
use rates::Rates;

/// What the server takes from its callers. Each limit is a flag of `boardwire serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The most connections that may be open at once.
    pub connections: usize,
    /// The most connections that may be open from one origin.
    pub connections_per_caller: usize,
    /// The most calls that may be under way on one connection.
    pub connection_streams: u32,
    /// The most bytes of answers and unfinished messages that one connection may hold.
    pub connection_bytes: usize,
    /// The most bytes that the server may hold for connections, calls, answers and unfinished messages.
    pub bytes: usize,
    /// The most calls a second of one origin; 0 for as many as it likes.
    pub rate: u32,
    /// How long a connection may take until its HTTP/2 preface has come, and a call until its message has.
    pub handshake_timeout: Duration,
    /// How long calls under way may take to end once the server stops.
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

/// Who may call, and how much.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// What the server takes from its callers.
    pub bounds: Bounds,
    /// The accounts that may call; without it, every client that can connect.
    pub accounts: Option<Arc<Accounts>>,
    /// The proxies whose connections begin with a header that names the client.
    pub proxies: Arc<[IpAddr]>,
    /// The names, beside addresses and `localhost`, under which pages are served.
    pub page_hosts: Arc<[String]>,
}

impl From<Bounds> for Access {
    fn from(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }
}

/// What all listeners of a server share.
pub(crate) struct Edge {
    access: Access,
    /// The leases that end with a connection are found here.
    batches: Arc<Batches>,
    /// True once the server stops.
    stopping: watch::Receiver<bool>,
    connections: Arc<Connections>,
    ledger: Ledger,
    /// For health checks for which there is no room otherwise.
    health: Ledger,
    rates: Rates,
    methods: Methods,
}

/// Health checks that may be under way.
const HEALTH_CHECKS: usize = 64;

impl Edge {
    /// The edge before these methods.
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
            ledger: Ledger::new(bounds.connection_bytes, bounds.bytes),
            health: Ledger::new(0, HEALTH_CHECKS * CALL_BYTES),
            rates: Rates::new(bounds.rate),
            methods,
            batches,
            stopping,
            access,
        }
    }

    /// How many connections are open.
    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }
}

#[cfg(test)]
mod tests;

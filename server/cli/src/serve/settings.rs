//! The settings of a server, as flags and as a configuration file has them.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use boardwire_batch::batch::SnapshotKey;
use boardwire_batch::pool::Pool;
use boardwire_batch::tables::Tables;
use clap::Args;
use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};
use toml::Table;

use super::Address;
use super::observing::{LogFormat, Observing};
use crate::address::{look_up, sheltered};
use crate::flags::{pair, usage};
use crate::policies::PolicyFiles;
use crate::table::Catalogues;
use boardwire_server::arbiter::MAX_TIMEOUT;
use boardwire_server::batches::{self, Batches};
use boardwire_server::edge::{Accounts, Bounds, TlsFiles};
use boardwire_server::journal::{Retention, Sync};
use boardwire_server::matches::{self, Matches};
use boardwire_server::secret;

/// What can be set; whatever is not given has its default.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    /// Where to listen; may be repeated. [default: 127.0.0.1:50051]
    #[arg(long, value_name = "HOST:PORT|unix:PATH", env = "BOARDWIRE_LISTEN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    listen: Vec<Address>,
    /// The server's certificate, and those up to its root, in PEM: TCP is then served with TLS.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The private key of this certificate, in PEM.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Only clients may connect over TCP that have a certificate of one of these roots, in PEM.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_TLS_CLIENT_CA")]
    tls_client_ca: Option<PathBuf>,
    /// Serves only callers that have a token of one of the accounts in this TOML file; `boardwire token` makes them.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_AUTH_TOKEN_FILE")]
    auth_token_file: Option<PathBuf>,
    /// A proxy: its connections over TCP begin with the PROXY protocol, version 2, which names the client; may be repeated.
    #[arg(long, value_name = "IP", env = "BOARDWIRE_TRUSTED_PROXY", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trusted_proxy: Vec<IpAddr>,
    /// Listens without TLS, too, where other machines can connect.
    #[arg(
        long,
        value_name = "true|false",
        env = "BOARDWIRE_INSECURE",
        value_parser = BoolishValueParser::new(),
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    insecure: Option<bool>,
    /// The most matches that may be open at once. [default: 100000]
    #[arg(long, env = "BOARDWIRE_MAX_MATCHES")]
    max_matches: Option<usize>,
    /// The most matches that one caller may have open: a user of this machine, or a host. [default: 50000]
    #[arg(long, env = "BOARDWIRE_MAX_MATCHES_PER_CALLER")]
    max_matches_per_caller: Option<usize>,
    /// The most calls that one seat of a match may have waiting. [default: 16]
    #[arg(long, env = "BOARDWIRE_MAX_WAITING_CALLS")]
    max_waiting_calls: Option<usize>,
    /// After this many seconds without use a match is closed; 0 for never. [default: 14400]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_MATCH_IDLE_TIMEOUT")]
    match_idle_timeout: Option<u64>,
    /// How many seconds agents may take to open their parts of fair deals, once all have joined; 0 for any. [default: 30]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_OPENING_TIMEOUT")]
    opening_timeout: Option<u64>,
    /// The most batches and searches that may be open at once; one caller may have three quarters. [default: 1000]
    #[arg(long, env = "BOARDWIRE_MAX_BATCHES")]
    max_batches: Option<usize>,
    /// The most environments that all batches may have. [default: 262144]
    #[arg(long, env = "BOARDWIRE_MAX_ENVIRONMENTS")]
    max_environments: Option<usize>,
    /// The most environments that one caller may have. [default: 196608]
    #[arg(long, env = "BOARDWIRE_MAX_ENVIRONMENTS_PER_CALLER")]
    max_environments_per_caller: Option<usize>,
    /// After this many seconds without use a batch is closed; 0 for never. [default: 1800]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_IDLE_TIMEOUT")]
    idle_timeout: Option<u64>,
    /// Threads of the pool, which steps environments and lets bots think. [default: one a core]
    #[arg(long, env = "BOARDWIRE_THREADS")]
    threads: Option<usize>,
    /// A secret file: servers with the same one accept each other's snapshots. [default: drawn at the start]
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_SNAPSHOT_KEY")]
    snapshot_key: Option<PathBuf>,
    /// Keeps matches in this file: they go on when the server is started again with it.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_JOURNAL")]
    pub(super) journal: Option<PathBuf>,
    /// When what is answered is safe: `always` from a loss of power, before it is answered; `interval` from a crash of the
    /// server before it is answered, from a loss of power within a second. [default: always]
    #[arg(long, env = "BOARDWIRE_JOURNAL_SYNC", value_parser = journal_sync())]
    journal_sync: Option<Sync>,
    /// Matches that have ended are deleted from the journal after so many days; 0 keeps them for ever. [default: 30]
    #[arg(long, value_name = "DAYS", env = "BOARDWIRE_JOURNAL_KEEP")]
    journal_keep: Option<u32>,
    /// Goes on without the matches of the journal that are damaged or cannot be played here.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) journal_give_up: bool,
    /// Answers Prometheus at this address.
    #[arg(long, value_name = "HOST:PORT", env = "BOARDWIRE_METRICS")]
    metrics: Option<String>,
    /// Serves browsers a page at this address that follows matches as everybody may see them.
    #[arg(long, value_name = "HOST:PORT", env = "BOARDWIRE_WATCH_PAGE")]
    watch_page: Option<String>,
    /// A name under which the page and the metrics are served, beside addresses and localhost; may be repeated.
    #[arg(long, value_name = "NAME", env = "BOARDWIRE_PAGE_HOST", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    page_host: Vec<String>,
    /// The most connections that may be open at once. [default: 4096]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTIONS")]
    max_connections: Option<usize>,
    /// The most connections of one caller: a user of this machine, or a host. [default: 1024]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTIONS_PER_CALLER")]
    max_connections_per_caller: Option<usize>,
    /// The most calls that may be under way on one connection. [default: 1024]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTION_STREAMS")]
    max_connection_streams: Option<u32>,
    /// The most bytes that one connection may hold: answers nobody has read, messages under way. [default: 134217728]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTION_BYTES")]
    max_connection_bytes: Option<usize>,
    /// The most bytes of all connections: what they take, their calls, answers and messages. [default: 1073741824]
    #[arg(long, env = "BOARDWIRE_MAX_BYTES")]
    max_bytes: Option<usize>,
    /// The most calls a second of one caller; 0 for as many as it likes. [default: 100000]
    #[arg(long, env = "BOARDWIRE_MAX_RATE")]
    max_rate: Option<u32>,
    /// How many seconds a connection may take to begin HTTP/2, and a call to bring its message; 0 for any. [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_HANDSHAKE_TIMEOUT")]
    handshake_timeout: Option<u64>,
    /// Calls under way have this many seconds to end once the server stops. [default: 5]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_DRAIN_TIMEOUT")]
    drain_timeout: Option<u64>,
    /// How to log. [default: text]
    #[arg(long, env = "BOARDWIRE_LOG")]
    log: Option<LogFormat>,
    /// What to log: `error`, `warn`, `info`, `debug`, or a tracing filter. [default: info]
    #[arg(long, env = "BOARDWIRE_LOG_LEVEL")]
    log_level: Option<String>,
    /// Sends traces to a collector of OpenTelemetry at this address, by OTLP over gRPC.
    #[arg(long, value_name = "http://HOST:PORT", env = "BOARDWIRE_OTLP_ENDPOINT")]
    otlp_endpoint: Option<String>,
    /// Plays a game with the components of a file instead of those built in; may be repeated.
    #[arg(long, value_name = "GAME=FILE", value_parser = paired)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    catalogue: Vec<String>,
    /// Lets bots called `policy:NAME` play by the network of an ONNX file; may be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = paired)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy: Vec<String>,
    /// A network whose evaluation takes longer than this many seconds is given up. [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_POLICY_TIMEOUT")]
    policy_timeout: Option<u64>,
}

/// Reads when what is answered is safe.
fn journal_sync() -> impl TypedValueParser<Value = Sync> {
    PossibleValuesParser::new(["always", "interval"])
        .map(|word| if word == "always" { Sync::Always } else { Sync::Interval })
}

/// Checks that a name is given with its value; a file cannot, so it is split later.
fn paired(text: &str) -> Result<String, String> {
    pair(text).map(|_| text.to_owned())
}

/// The same, split.
fn pairs(texts: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    texts.iter().map(|text| pair(text).map_err(anyhow::Error::msg)).collect()
}

impl Settings {
    /// Reads a configuration file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let about = || format!("configuration {}", path.display());
        let text = secret::read_text(path).with_context(about)?;
        toml::from_str(&text).with_context(about)
    }

    /// These settings, and `file`'s where these say nothing.
    ///
    /// # Errors
    /// A path that is no UTF-8.
    pub(super) fn or(self, file: Self) -> anyhow::Result<Self> {
        let mut merged = Table::try_from(file)?;
        merged.extend(Table::try_from(self).context("flags beside a configuration file")?);
        Ok(merged.try_into()?)
    }

    /// Begins to tell what the server does.
    pub(super) fn observe(&self) -> anyhow::Result<Observing> {
        let (format, level) = (self.log.unwrap_or(LogFormat::Text), self.log_level.as_deref());
        Observing::begin(format, level.unwrap_or("info"), self.otlp_endpoint.as_deref())
    }

    /// Where to listen.
    pub(super) fn addresses(&self) -> Vec<Address> {
        if self.listen.is_empty() {
            return vec![Address::Tcp("127.0.0.1:50051".to_owned())];
        }
        self.listen.clone()
    }

    /// Whether to listen without TLS, too, where other machines can connect.
    pub(super) fn is_insecure(&self) -> bool {
        self.insecure.unwrap_or_default()
    }

    /// The proxies that say for whom they connect.
    pub(super) fn proxies(&self) -> Arc<[IpAddr]> {
        self.trusted_proxy.iter().map(IpAddr::to_canonical).collect()
    }

    /// The threads that do what takes longer than reading a call.
    pub(super) fn pool(&self) -> std::io::Result<Pool> {
        Pool::new(self.threads.unwrap_or_default())
    }

    /// Where to answer Prometheus. What it is told is no secret, but whom it is for is not asked.
    pub(super) fn metrics(&self) -> anyhow::Result<Option<SocketAddr>> {
        self.plain(self.metrics.as_deref())
    }

    /// Where to serve browsers: without TLS, which a proxy in front of it may speak.
    pub(super) fn watch_page(&self) -> anyhow::Result<Option<SocketAddr>> {
        self.plain(self.watch_page.as_deref())
    }

    /// The names under which pages are served.
    pub(super) fn page_hosts(&self) -> Arc<[String]> {
        self.page_host.as_slice().into()
    }

    /// An address at which no TLS is spoken.
    fn plain(&self, address: Option<&str>) -> anyhow::Result<Option<SocketAddr>> {
        let Some(address) = address else { return Ok(None) };
        let sockets = if self.is_insecure() { look_up(address) } else { sheltered(address, "--insecure") };
        Ok(sockets?.into_iter().next())
    }

    /// The games of a server with these settings, and the networks that play them.
    pub(super) fn tables(&self) -> anyhow::Result<Tables> {
        let catalogues = Catalogues { catalogues: pairs(&self.catalogue)? };
        let policies = PolicyFiles { policies: pairs(&self.policy)?, timeout: self.policy_timeout };
        Ok(Tables::new(catalogues.load()?).with_policies(policies.load()?))
    }

    /// The matches of a server with these settings, whose bots think in `pool`.
    pub(super) fn matches(&self, pool: &Arc<Pool>) -> anyhow::Result<Matches> {
        Ok(Matches::new(self.tables()?, self.match_limits(), Arc::clone(pool)))
    }

    /// How their journal keeps them.
    pub(super) fn keeping(&self) -> Retention {
        let default = Retention::default();
        let day = |days: u32| (days > 0).then(|| Duration::from_hours(24 * u64::from(days)));
        Retention {
            sync: self.journal_sync.unwrap_or(default.sync),
            ended: self.journal_keep.map_or(default.ended, day),
        }
    }

    /// What TLS is spoken with, if it is.
    pub(super) fn tls(&self) -> anyhow::Result<Option<TlsFiles>> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => {
                let client_ca = self.tls_client_ca.clone();
                Ok(Some(TlsFiles { cert: cert.clone(), key: key.clone(), client_ca }))
            }
            (Some(_), None) => Err(usage("--tls-cert needs the certificate's key: --tls-key")),
            (None, Some(_)) => Err(usage("--tls-key needs the key's certificate: --tls-cert")),
            (None, None) if self.tls_client_ca.is_some() => {
                Err(usage("--tls-client-ca needs a certificate of the server's own: --tls-cert, --tls-key"))
            }
            (None, None) => Ok(None),
        }
    }

    /// Who may call, if not everybody may.
    pub(super) fn accounts(&self) -> anyhow::Result<Option<Accounts>> {
        self.auth_token_file.clone().map(Accounts::load).transpose().map_err(anyhow::Error::msg)
    }

    fn match_limits(&self) -> matches::MatchLimits {
        let limits = matches::MatchLimits::default();
        matches::MatchLimits {
            matches: self.max_matches.unwrap_or(limits.matches),
            per_caller: self.max_matches_per_caller.unwrap_or(limits.per_caller),
            waiting: self.max_waiting_calls.unwrap_or(limits.waiting),
            idle: self.match_idle_timeout.map_or(limits.idle, time_out),
            opening: self.opening_timeout.map_or(limits.opening, time_out),
        }
    }

    fn batch_limits(&self) -> batches::BatchLimits {
        let limits = batches::BatchLimits::default();
        batches::BatchLimits {
            batches: self.max_batches.unwrap_or(limits.batches),
            environments: self.max_environments.unwrap_or(limits.environments),
            per_caller: self.max_environments_per_caller.unwrap_or(limits.per_caller),
            idle: self.idle_timeout.map_or(limits.idle, time_out),
        }
    }

    /// What snapshots are signed with, if a file says it.
    pub(super) fn snapshot_key(&self) -> anyhow::Result<Option<SnapshotKey>> {
        let key = self.snapshot_key.as_ref().map(|path| {
            let secret =
                secret::read_file(path).with_context(|| format!("snapshot key {}", path.display()))?;
            anyhow::ensure!(secret.len() >= 16, "snapshot key {}: fewer than 16 bytes", path.display());
            Ok(SnapshotKey::derive(&secret))
        });
        key.transpose()
    }

    /// The batches of a server with these settings, stepped by `pool`.
    pub(super) fn batches(&self, pool: &Arc<Pool>) -> anyhow::Result<Batches> {
        Ok(Batches::new(self.batch_limits(), self.snapshot_key()?, Arc::clone(pool)))
    }

    /// What a server with these settings takes from its callers.
    pub(super) fn bounds(&self) -> Bounds {
        let bounds = Bounds::default();
        Bounds {
            connections: self.max_connections.unwrap_or(bounds.connections),
            connections_per_caller: self.max_connections_per_caller.unwrap_or(bounds.connections_per_caller),
            connection_streams: self.max_connection_streams.unwrap_or(bounds.connection_streams),
            connection_bytes: self.max_connection_bytes.unwrap_or(bounds.connection_bytes),
            bytes: self.max_bytes.unwrap_or(bounds.bytes),
            rate: self.max_rate.unwrap_or(bounds.rate),
            handshake_timeout: self.handshake_timeout.map_or(bounds.handshake_timeout, time_out),
            drain_timeout: self.drain_timeout.map_or(bounds.drain_timeout, lasting),
        }
    }
}

/// A time in seconds.
fn lasting(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(MAX_TIMEOUT)
}

/// A time-out in seconds; 0 for none.
fn time_out(seconds: u64) -> Duration {
    if seconds == 0 { MAX_TIMEOUT } else { lasting(seconds) }
}

#[cfg(test)]
mod tests;

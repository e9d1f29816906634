//! The settings of a server, from flags, environment variables and a configuration file.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use boardwire_batch::batch::SnapshotKey;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use clap::Args;
use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::observability::{LogFormat, Observability};
use crate::address::{Address, resolve};
use crate::flags::{Catalogues, PolicyFiles, parse_name_value, usage_error};
use boardwire_server::arbiter::MAX_TIMEOUT;
use boardwire_server::batches::{self, Batches};
use boardwire_server::edge::{Access, Accounts, Bounds, TlsFiles};
use boardwire_server::journal::{Retention, Sync};
use boardwire_server::matches::{self, Matches};
use boardwire_server::operator_files;

/// All settings. Absent settings have their defaults.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    /// The addresses to listen on; may be repeated. [default: 127.0.0.1:50051]
    #[arg(long, value_name = "HOST:PORT|unix:PATH", env = "BOARDWIRE_LISTEN", value_delimiter = ',')]
    listen: Vec<Address>,
    /// The server's certificate chain, in PEM. With it, TCP uses TLS.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Root certificates, in PEM. TCP clients must then have a certificate signed by one of them.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_TLS_CLIENT_CA")]
    tls_client_ca: Option<PathBuf>,
    /// Serves only callers with a token of an account in this TOML file. `boardwire token` makes tokens.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_AUTH_TOKEN_FILE")]
    pub(super) auth_token_file: Option<PathBuf>,
    /// The IP address of a proxy; may be repeated. Its TCP connections must begin with a PROXY protocol v2 header that
    /// names the client.
    #[arg(long, value_name = "IP", env = "BOARDWIRE_TRUSTED_PROXY", value_delimiter = ',')]
    trusted_proxy: Vec<IpAddr>,
    /// Allows TCP without TLS at addresses that other machines can reach.
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
    /// The maximum number of open matches. [default: 100000]
    #[arg(long, env = "BOARDWIRE_MAX_MATCHES")]
    max_matches: Option<usize>,
    /// The maximum number of open matches per caller: a user of this machine, or a host. [default: 50000]
    #[arg(long, env = "BOARDWIRE_MAX_MATCHES_PER_CALLER")]
    max_matches_per_caller: Option<usize>,
    /// The maximum number of waiting calls per seat of a match. [default: 16]
    #[arg(long, env = "BOARDWIRE_MAX_WAITING_CALLS")]
    max_waiting_calls: Option<usize>,
    /// Closes a match after this many seconds without use; 0 for never. [default: 14400]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_MATCH_IDLE_TIMEOUT")]
    match_idle_timeout: Option<u64>,
    /// Ends a match with fair deals if an agent has not sent its secret this many seconds after all agents joined; 0 for no
    /// limit. [default: 30]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_OPENING_TIMEOUT")]
    opening_timeout: Option<u64>,
    /// The maximum number of open batches and searches. One caller may have three quarters of them. [default: 1000]
    #[arg(long, env = "BOARDWIRE_MAX_BATCHES")]
    max_batches: Option<usize>,
    /// The maximum number of environments of all batches together. [default: 262144]
    #[arg(long, env = "BOARDWIRE_MAX_ENVIRONMENTS")]
    max_environments: Option<usize>,
    /// The maximum number of environments per caller. [default: 196608]
    #[arg(long, env = "BOARDWIRE_MAX_ENVIRONMENTS_PER_CALLER")]
    max_environments_per_caller: Option<usize>,
    /// Closes a batch after this many seconds without use; 0 for never. [default: 1800]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_IDLE_TIMEOUT")]
    idle_timeout: Option<u64>,
    /// The size of the thread pool, which steps environments and computes bots' decisions. [default: the number of cores]
    #[arg(long, env = "BOARDWIRE_THREADS")]
    threads: Option<usize>,
    /// A file with a secret. Servers with the same secret accept each other's snapshots. [default: random at each start]
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_SNAPSHOT_KEY")]
    snapshot_key: Option<PathBuf>,
    /// Saves matches in this file. A server that is started with it later continues them.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_JOURNAL")]
    pub(super) journal: Option<PathBuf>,
    /// When to flush the journal to disk. `always`: before each response, so a power loss loses nothing acknowledged.
    /// `interval`: every second; a server crash loses nothing, a power loss at most the last second. [default: always]
    #[arg(long, env = "BOARDWIRE_JOURNAL_SYNC", value_parser = journal_sync())]
    journal_sync: Option<Sync>,
    /// Deletes ended matches from the journal after this many days; 0 keeps them forever. [default: 30]
    #[arg(long, value_name = "DAYS", env = "BOARDWIRE_JOURNAL_KEEP")]
    journal_keep: Option<u32>,
    /// Starts without the matches of the journal that are damaged or that this server cannot continue.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) journal_give_up: bool,
    /// Serves metrics for Prometheus at this address.
    #[arg(long, value_name = "HOST:PORT", env = "BOARDWIRE_METRICS")]
    pub(super) metrics: Option<String>,
    /// Serves a web page at this address that shows matches live, with the public view.
    #[arg(long, value_name = "HOST:PORT", env = "BOARDWIRE_WATCH_PAGE")]
    pub(super) watch_page: Option<String>,
    /// A host name under which browsers may open the web page and the metrics; may be repeated. IP addresses and
    /// `localhost` always work.
    #[arg(long, value_name = "NAME", env = "BOARDWIRE_PAGE_HOST", value_delimiter = ',')]
    page_host: Vec<String>,
    /// An origin, such as `https://example.org`, whose pages may call the methods of the watch page; may be repeated. `*`
    /// allows all origins.
    #[arg(long, value_name = "ORIGIN", env = "BOARDWIRE_ALLOW_ORIGIN", value_delimiter = ',')]
    allow_origin: Vec<String>,
    /// The maximum number of open connections. [default: 4096]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTIONS")]
    max_connections: Option<usize>,
    /// The maximum number of open connections per caller: a user of this machine, or a host. [default: 1024]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTIONS_PER_CALLER")]
    max_connections_per_caller: Option<usize>,
    /// The maximum number of open calls per connection. [default: 1024]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTION_STREAMS")]
    max_connection_streams: Option<u32>,
    /// The maximum number of bytes buffered per connection: unread responses and incoming messages. [default: 134217728]
    #[arg(long, env = "BOARDWIRE_MAX_CONNECTION_BYTES")]
    max_connection_bytes: Option<usize>,
    /// The maximum number of bytes of all connections, with their calls, responses and messages. [default: 1073741824]
    #[arg(long, env = "BOARDWIRE_MAX_BYTES")]
    max_bytes: Option<usize>,
    /// The maximum number of calls per second of one caller; 0 for no limit. [default: 100000]
    #[arg(long, env = "BOARDWIRE_MAX_RATE")]
    max_rate: Option<u32>,
    /// How many seconds a connection has to begin HTTP/2, and a call to send its message; 0 for no limit. [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_HANDSHAKE_TIMEOUT")]
    handshake_timeout: Option<u64>,
    /// How many seconds open calls have to end when the server stops. [default: 5]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_DRAIN_TIMEOUT")]
    drain_timeout: Option<u64>,
    /// The format of the log. [default: text]
    #[arg(long, env = "BOARDWIRE_LOG")]
    log: Option<LogFormat>,
    /// The level of the log: `error`, `warn`, `info`, `debug`, or a filter of the crate `tracing`. [default: info]
    #[arg(long, env = "BOARDWIRE_LOG_LEVEL")]
    log_level: Option<String>,
    /// Sends traces to an OpenTelemetry collector at this address, by OTLP over gRPC.
    #[arg(long, value_name = "http://HOST:PORT", env = "BOARDWIRE_OTLP_ENDPOINT")]
    otlp_endpoint: Option<String>,
    /// Plays a game with the components in this file instead of the built-in ones; may be repeated.
    #[arg(long, value_name = "GAME=FILE", value_parser = validate_name_value)]
    catalogue: Vec<String>,
    /// Lets bots called `policy:NAME` and `search:NAME` play with the network in this ONNX file; may be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = validate_name_value)]
    policy: Vec<String>,
    /// Lets the bot `strong` play with the networks in this folder, files `GAME-SEATS.onnx`. They are the policy `opponents`.
    #[arg(long, value_name = "DIR", env = "BOARDWIRE_OPPONENTS")]
    opponents: Option<PathBuf>,
    /// A policy fails when one evaluation of its network takes longer than this, in seconds. [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_POLICY_TIMEOUT")]
    policy_timeout: Option<u64>,
}

fn journal_sync() -> impl TypedValueParser<Value = Sync> {
    PossibleValuesParser::new(["always", "interval"])
        .map(|word| if word == "always" { Sync::Always } else { Sync::Interval })
}

/// Checks that a flag is `NAME=VALUE`. It is split later, since it may also come from a file.
fn validate_name_value(text: &str) -> Result<String, String> {
    parse_name_value(text).map(|_| text.to_owned())
}

fn parse_name_values(texts: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    texts.iter().map(|text| parse_name_value(text).map_err(anyhow::Error::msg)).collect()
}

impl Settings {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let about = || format!("configuration {}", path.display());
        let text = operator_files::read_text(path).with_context(about)?;
        toml::from_str(&text).with_context(about)
    }

    /// Returns these settings. Absent settings come from `file`.
    ///
    /// # Errors
    /// A path is not UTF-8.
    pub(super) fn or(self, file: Self) -> anyhow::Result<Self> {
        let mut merged = Table::try_from(file)?;
        let flags = Table::try_from(self).context("flags beside a configuration file")?;
        let is_given = |value: &Value| value.as_array().is_none_or(|values| !values.is_empty());
        merged.extend(flags.into_iter().filter(|(_, value)| is_given(value)));
        Ok(merged.try_into()?)
    }

    pub(super) fn observe(&self) -> anyhow::Result<Observability> {
        let (format, level) = (self.log.unwrap_or(LogFormat::Text), self.log_level.as_deref());
        Observability::begin(format, level.unwrap_or("info"), self.otlp_endpoint.as_deref())
    }

    pub(super) fn addresses(&self) -> Vec<Address> {
        if self.listen.is_empty() {
            return vec![Address::Tcp("127.0.0.1:50051".to_owned())];
        }
        self.listen.clone()
    }

    pub(super) fn is_insecure(&self) -> bool {
        self.insecure.unwrap_or_default()
    }

    pub(super) fn access(&self, accounts: Option<Arc<Accounts>>) -> Access {
        Access {
            bounds: self.bounds(),
            accounts,
            proxies: self.trusted_proxy.iter().map(IpAddr::to_canonical).collect(),
            page_hosts: self.page_host.as_slice().into(),
            allowed_origins: self.allow_origin.as_slice().into(),
        }
    }

    /// Returns an error if a browser never sends one of the origins of `--allow-origin`.
    pub(super) fn check_origins(&self) -> anyhow::Result<()> {
        let is_sent = |origin: &str| {
            let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_host_byte))
        };
        match self.allow_origin.iter().find(|origin| *origin != "*" && !is_sent(origin)) {
            Some(wrong) => Err(usage_error(&format!(
                "--allow-origin must be `*`, or a scheme and a host in lower case, such as https://example.org; got `{wrong}`"
            ))),
            None => Ok(()),
        }
    }

    pub(super) fn pool(&self) -> std::io::Result<Pool> {
        Pool::new(self.threads.unwrap_or_default())
    }

    /// Resolves the address of an HTTP server. It has no TLS; a proxy in front of it may add TLS.
    pub(super) fn http_address(&self, address: Option<&str>) -> anyhow::Result<Option<SocketAddr>> {
        let Some(address) = address else { return Ok(None) };
        Ok(resolve(address, self.is_insecure(), "--insecure")?.into_iter().next())
    }

    pub(super) fn tables(&self, games: &Registry) -> anyhow::Result<Tables> {
        let catalogues = Catalogues { catalogues: parse_name_values(&self.catalogue)? };
        let policies = PolicyFiles {
            policies: parse_name_values(&self.policy)?,
            opponents: self.opponents.clone(),
            timeout: self.policy_timeout,
        };
        Ok(Tables::new(catalogues.load(games)?).with_policies(policies.load()?))
    }

    pub(super) fn matches(&self, games: &Registry, pool: &Arc<Pool>) -> anyhow::Result<Matches> {
        Ok(Matches::new(self.tables(games)?, self.match_limits(), Arc::clone(pool)))
    }

    pub(super) fn retention(&self) -> Retention {
        let default = Retention::default();
        let limit = |days: u32| (days > 0).then(|| Duration::from_hours(24 * u64::from(days)));
        Retention {
            sync: self.journal_sync.unwrap_or(default.sync),
            ended: self.journal_keep.map_or(default.ended, limit),
        }
    }

    pub(super) fn tls(&self) -> anyhow::Result<Option<TlsFiles>> {
        match (self.tls_cert.clone(), self.tls_key.clone(), self.tls_client_ca.clone()) {
            (Some(cert), Some(key), client_ca) => Ok(Some(TlsFiles { cert, key, client_ca })),
            (Some(_), None, _) => Err(usage_error("--tls-cert needs the certificate's key: --tls-key")),
            (None, Some(_), _) => Err(usage_error("--tls-key needs the key's certificate: --tls-cert")),
            (None, None, Some(_)) => Err(usage_error(
                "--tls-client-ca needs a certificate of the server: --tls-cert and --tls-key",
            )),
            (None, None, None) => Ok(None),
        }
    }

    fn match_limits(&self) -> matches::MatchLimits {
        let limits = matches::MatchLimits::default();
        matches::MatchLimits {
            matches: self.max_matches.unwrap_or(limits.matches),
            per_caller: self.max_matches_per_caller.unwrap_or(limits.per_caller),
            waiting: self.max_waiting_calls.unwrap_or(limits.waiting),
            idle: self.match_idle_timeout.map_or(limits.idle, timeout),
            opening_timeout: self.opening_timeout.map_or(limits.opening_timeout, timeout),
        }
    }

    fn batch_limits(&self) -> batches::BatchLimits {
        let limits = batches::BatchLimits::default();
        batches::BatchLimits {
            batches: self.max_batches.unwrap_or(limits.batches),
            environments: self.max_environments.unwrap_or(limits.environments),
            per_caller: self.max_environments_per_caller.unwrap_or(limits.per_caller),
            idle: self.idle_timeout.map_or(limits.idle, timeout),
        }
    }

    /// Returns the key that signs snapshots, if it comes from a file.
    pub(super) fn snapshot_key(&self) -> anyhow::Result<Option<SnapshotKey>> {
        let key = self.snapshot_key.as_ref().map(|path| {
            let about = || format!("snapshot key {}", path.display());
            let secret = operator_files::read_file(path).with_context(about)?;
            anyhow::ensure!(secret.len() >= 16, "{} must have 16 bytes; got {}", about(), secret.len());
            Ok(SnapshotKey::derive(&secret))
        });
        key.transpose()
    }

    pub(super) fn batches(&self, pool: &Arc<Pool>) -> anyhow::Result<Batches> {
        Ok(Batches::new(self.batch_limits(), self.snapshot_key()?, Arc::clone(pool)))
    }

    pub(super) fn bounds(&self) -> Bounds {
        let bounds = Bounds::default();
        Bounds {
            connections: self.max_connections.unwrap_or(bounds.connections),
            connections_per_caller: self.max_connections_per_caller.unwrap_or(bounds.connections_per_caller),
            connection_streams: self.max_connection_streams.unwrap_or(bounds.connection_streams),
            connection_bytes: self.max_connection_bytes.unwrap_or(bounds.connection_bytes),
            bytes: self.max_bytes.unwrap_or(bounds.bytes),
            rate: self.max_rate.unwrap_or(bounds.rate),
            handshake_timeout: self.handshake_timeout.map_or(bounds.handshake_timeout, timeout),
            drain_timeout: self.drain_timeout.map_or(bounds.drain_timeout, at_most_max),
        }
    }
}

fn is_host_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b':' | b'[' | b']')
}

fn at_most_max(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(MAX_TIMEOUT)
}

/// Converts a timeout in seconds; 0 means no timeout.
fn timeout(seconds: u64) -> Duration {
    if seconds == 0 { MAX_TIMEOUT } else { at_most_max(seconds) }
}

#[cfg(test)]
mod tests;

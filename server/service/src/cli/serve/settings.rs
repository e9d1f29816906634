//! The settings of a server, as flags and as a configuration file has them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::{Address, LogFormat, journal};
use crate::batch::SnapshotKey;
use crate::batches::{self, Batches};
use crate::cli::{Catalogues, PolicyFiles, pair};
use crate::edge::Bounds;
use crate::journal::{Journal, Sync};
use crate::matches::{self, Matches};
use crate::pool::Pool;
use crate::tables::Tables;

/// What can be set; whatever is not given has its default.
#[derive(Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    /// Where to listen; may be repeated. [default: 127.0.0.1:50051]
    #[arg(long, value_name = "HOST:PORT|unix:PATH", env = "BOARDWIRE_LISTEN", value_delimiter = ',')]
    listen: Vec<Address>,
    /// The most matches that may be open at once. [default: 100000]
    #[arg(long, env = "BOARDWIRE_MAX_MATCHES")]
    max_matches: Option<usize>,
    /// The most matches that one caller may have open: a user of this machine, or a host. [default: 50000]
    #[arg(long, env = "BOARDWIRE_MAX_MATCHES_PER_CALLER")]
    max_matches_per_caller: Option<usize>,
    /// The most calls that one seat of a match may have waiting. [default: 16]
    #[arg(long, env = "BOARDWIRE_MAX_WAITING_CALLS")]
    max_waiting_calls: Option<usize>,
    /// After this many seconds without use a match is closed. [default: 14400]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_MATCH_IDLE_TIMEOUT")]
    match_idle_timeout: Option<u64>,
    /// How many seconds agents may take to open what they contribute to fair deals, once all have joined. [default: 30]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_OPENING_TIMEOUT")]
    opening_timeout: Option<u64>,
    /// The most batches that may be open at once. [default: 1000]
    #[arg(long, env = "BOARDWIRE_MAX_BATCHES")]
    max_batches: Option<usize>,
    /// The most environments that all batches may have. [default: 262144]
    #[arg(long, env = "BOARDWIRE_MAX_ENVIRONMENTS")]
    max_environments: Option<usize>,
    /// The most environments that one caller may have. [default: 196608]
    #[arg(long, env = "BOARDWIRE_MAX_ENVIRONMENTS_PER_CALLER")]
    max_environments_per_caller: Option<usize>,
    /// After this many seconds without use a batch is closed. [default: 1800]
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
    journal: Option<PathBuf>,
    /// When what is answered is safe: `always` from a loss of power, before it is answered; `interval` from a crash of the
    /// server before it is answered, from a loss of power within a second. [default: always]
    #[arg(long, env = "BOARDWIRE_JOURNAL_SYNC")]
    journal_sync: Option<JournalSync>,
    /// Goes on without the matches of the journal that are damaged or cannot be played here.
    #[arg(long)]
    journal_give_up: bool,
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
    /// The most of these bytes that all connections may hold. [default: 1073741824]
    #[arg(long, env = "BOARDWIRE_MAX_BYTES")]
    max_bytes: Option<usize>,
    /// The most calls of one message each way that may be under way. [default: 16384]
    #[arg(long, env = "BOARDWIRE_MAX_CALLS")]
    max_calls: Option<usize>,
    /// The most streams that may be open. [default: 16384]
    #[arg(long, env = "BOARDWIRE_MAX_STREAMS")]
    max_streams: Option<usize>,
    /// The most calls a second of one caller; 0 for as many as it likes. [default: 100000]
    #[arg(long, env = "BOARDWIRE_MAX_RATE")]
    max_rate: Option<u32>,
    /// A connection is closed that has not begun HTTP/2 after this many seconds. [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_HANDSHAKE_TIMEOUT")]
    handshake_timeout: Option<u64>,
    /// Calls under way have this many seconds to end once the server stops. [default: 5]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_DRAIN_TIMEOUT")]
    drain_timeout: Option<u64>,
    /// How to log. [default: text]
    #[arg(long, env = "BOARDWIRE_LOG")]
    pub(super) log: Option<LogFormat>,
    /// What to log: `error`, `warn`, `info`, `debug`, or a tracing filter. [default: info]
    #[arg(long, env = "BOARDWIRE_LOG_LEVEL")]
    pub(super) log_level: Option<String>,
    /// Plays a game with the components of a file instead of those built in; may be repeated.
    #[arg(long, value_name = "GAME=FILE", value_parser = paired)]
    catalogue: Vec<String>,
    /// Lets bots called `policy:NAME` play by the network of an ONNX file; may be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = paired)]
    policy: Vec<String>,
    /// A network whose evaluation takes longer than this many seconds is given up. [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_POLICY_TIMEOUT")]
    policy_timeout: Option<u64>,
}

/// When what is answered is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
enum JournalSync {
    Always,
    Interval,
}

impl From<JournalSync> for Sync {
    fn from(sync: JournalSync) -> Self {
        match sync {
            JournalSync::Always => Self::Always,
            JournalSync::Interval => Self::Interval,
        }
    }
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
        let text = std::fs::read_to_string(path).with_context(about)?;
        toml::from_str(&text).with_context(about)
    }

    /// These settings, and `file`'s where these say nothing.
    pub(super) fn or(self, file: Self) -> Self {
        Self {
            listen: if self.listen.is_empty() { file.listen } else { self.listen },
            max_matches: self.max_matches.or(file.max_matches),
            max_matches_per_caller: self.max_matches_per_caller.or(file.max_matches_per_caller),
            max_waiting_calls: self.max_waiting_calls.or(file.max_waiting_calls),
            match_idle_timeout: self.match_idle_timeout.or(file.match_idle_timeout),
            opening_timeout: self.opening_timeout.or(file.opening_timeout),
            max_batches: self.max_batches.or(file.max_batches),
            max_environments: self.max_environments.or(file.max_environments),
            max_environments_per_caller: self
                .max_environments_per_caller
                .or(file.max_environments_per_caller),
            idle_timeout: self.idle_timeout.or(file.idle_timeout),
            threads: self.threads.or(file.threads),
            snapshot_key: self.snapshot_key.or(file.snapshot_key),
            journal: self.journal.or(file.journal),
            journal_sync: self.journal_sync.or(file.journal_sync),
            journal_give_up: self.journal_give_up || file.journal_give_up,
            max_connections: self.max_connections.or(file.max_connections),
            max_connections_per_caller: self.max_connections_per_caller.or(file.max_connections_per_caller),
            max_connection_streams: self.max_connection_streams.or(file.max_connection_streams),
            max_connection_bytes: self.max_connection_bytes.or(file.max_connection_bytes),
            max_bytes: self.max_bytes.or(file.max_bytes),
            max_calls: self.max_calls.or(file.max_calls),
            max_streams: self.max_streams.or(file.max_streams),
            max_rate: self.max_rate.or(file.max_rate),
            handshake_timeout: self.handshake_timeout.or(file.handshake_timeout),
            drain_timeout: self.drain_timeout.or(file.drain_timeout),
            log: self.log.or(file.log),
            log_level: self.log_level.or(file.log_level),
            catalogue: if self.catalogue.is_empty() { file.catalogue } else { self.catalogue },
            policy: if self.policy.is_empty() { file.policy } else { self.policy },
            policy_timeout: self.policy_timeout.or(file.policy_timeout),
        }
    }

    /// Where to listen.
    pub(super) fn addresses(&self) -> Vec<Address> {
        if self.listen.is_empty() {
            return vec![Address::Tcp("127.0.0.1:50051".to_owned())];
        }
        self.listen.clone()
    }

    /// The threads that do what takes longer than reading a call.
    pub(super) fn pool(&self) -> std::io::Result<Pool> {
        Pool::new(self.threads.unwrap_or_default())
    }

    /// The matches of a server with these settings, whose bots think in `pool`, and the journal that keeps them, if one
    /// does.
    pub(super) fn matches(&self, pool: &Arc<Pool>) -> anyhow::Result<(Matches, Option<Arc<Journal>>)> {
        let catalogues = Catalogues { catalogues: pairs(&self.catalogue)? };
        let policies = PolicyFiles { policies: pairs(&self.policy)?, timeout: self.policy_timeout };
        let tables = Tables::new(catalogues.load()?).with_policies(policies.load()?);
        let matches = Matches::new(tables, self.match_limits(), Arc::clone(pool));
        let Some(path) = &self.journal else { return Ok((matches, None)) };
        let sync = self.journal_sync.map_or(Sync::default(), Sync::from);
        let (matches, journal) = journal::keep(matches, path, sync, self.journal_give_up)?;
        Ok((matches, Some(journal)))
    }

    fn match_limits(&self) -> matches::Limits {
        let limits = matches::Limits::default();
        matches::Limits {
            matches: self.max_matches.unwrap_or(limits.matches),
            per_caller: self.max_matches_per_caller.unwrap_or(limits.per_caller),
            waiting: self.max_waiting_calls.unwrap_or(limits.waiting),
            idle: self.match_idle_timeout.map_or(limits.idle, Duration::from_secs),
            opening: self.opening_timeout.map_or(limits.opening, Duration::from_secs),
        }
    }

    fn batch_limits(&self) -> batches::Limits {
        let limits = batches::Limits::default();
        batches::Limits {
            batches: self.max_batches.unwrap_or(limits.batches),
            environments: self.max_environments.unwrap_or(limits.environments),
            per_caller: self.max_environments_per_caller.unwrap_or(limits.per_caller),
            idle: self.idle_timeout.map_or(limits.idle, Duration::from_secs),
        }
    }

    /// The batches of a server with these settings, stepped by `pool`.
    pub(super) fn batches(&self, pool: &Arc<Pool>) -> anyhow::Result<Batches> {
        let key = self.snapshot_key.as_ref().map(|path| {
            let secret = std::fs::read(path).with_context(|| format!("snapshot key {}", path.display()))?;
            anyhow::ensure!(secret.len() >= 16, "snapshot key {}: fewer than 16 bytes", path.display());
            Ok(SnapshotKey::derive(&secret))
        });
        Ok(Batches::new(self.batch_limits(), key.transpose()?, Arc::clone(pool)))
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
            calls: self.max_calls.unwrap_or(bounds.calls),
            streams: self.max_streams.unwrap_or(bounds.streams),
            rate: self.max_rate.unwrap_or(bounds.rate),
            handshake_timeout: self.handshake_timeout.map_or(bounds.handshake_timeout, Duration::from_secs),
            drain_timeout: self.drain_timeout.map_or(bounds.drain_timeout, Duration::from_secs),
        }
    }
}

#[cfg(test)]
mod tests {
    use boardwire_policy::DEFAULT_PATIENCE;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        settings: Settings,
    }

    fn flags(line: &[&str]) -> Settings {
        Line::try_parse_from([&["serve"], line].concat()).unwrap_or_else(|wrong| panic!("{wrong}")).settings
    }

    #[test]
    fn a_configuration_with_an_unknown_setting_is_refused() {
        let good: Settings = toml::from_str("listen = ['unix:/tmp/b']\nlog = 'json'").expect("it is right");
        assert_eq!((good.listen.len(), good.log), (1, Some(LogFormat::Json)));
        let wrong = toml::from_str::<Settings>("lisen = []").expect_err("it is wrong").to_string();
        assert!(wrong.contains("lisen"), "{wrong}");
    }

    #[test]
    fn flags_go_over_the_file_and_the_file_over_defaults() {
        let file = "max_calls = 1\nmax_streams = 2\nlisten = ['a:1']\ncatalogue = ['a=b']\ndrain_timeout = 0";
        let settings = flags(&["--max-calls", "3"]).or(toml::from_str(file).expect("it is right"));
        let bounds = Bounds { calls: 3, streams: 2, drain_timeout: Duration::ZERO, ..Bounds::default() };
        assert_eq!(settings.bounds(), bounds);
        assert_eq!((settings.listen.len(), settings.catalogue), (1, vec!["a=b".to_owned()]));
    }

    #[test]
    fn every_limit_of_the_edge_has_a_flag() {
        let line = "--max-connections 1 --max-connections-per-caller 2 --max-connection-streams 3 \
                    --max-connection-bytes 4 --max-calls 5 --max-streams 6 --max-rate 7 \
                    --handshake-timeout 8 --drain-timeout 9 --max-bytes 10";
        let bounds = flags(&line.split_whitespace().collect::<Vec<_>>()).bounds();
        let expected = Bounds {
            connections: 1,
            connections_per_caller: 2,
            connection_streams: 3,
            connection_bytes: 4,
            bytes: 10,
            calls: 5,
            streams: 6,
            rate: 7,
            handshake_timeout: Duration::from_secs(8),
            drain_timeout: Duration::from_secs(9),
        };
        assert_eq!(bounds, expected);
    }

    #[test]
    fn every_limit_of_what_is_held_has_a_flag() {
        let line = "--max-matches 1 --max-matches-per-caller 2 --max-waiting-calls 3 --match-idle-timeout 4 \
                    --opening-timeout 9 --max-batches 5 --max-environments 6 --max-environments-per-caller 7 --idle-timeout 8";
        let settings = flags(&line.split_whitespace().collect::<Vec<_>>());
        let idle = Duration::from_secs(4);
        let opening = Duration::from_secs(9);
        let expected = matches::Limits { matches: 1, per_caller: 2, waiting: 3, idle, opening };
        assert_eq!(settings.match_limits(), expected);
        let idle = Duration::from_secs(8);
        let expected = batches::Limits { batches: 5, environments: 6, per_caller: 7, idle };
        assert_eq!(settings.batch_limits(), expected);
    }

    #[test]
    fn the_defaults_in_the_help_are_those_of_the_code() {
        let (matches, batches) = (matches::Limits::default(), batches::Limits::default());
        let Bounds { connections, connections_per_caller, connection_streams, .. } = Bounds::default();
        let Bounds {
            connection_bytes, bytes, calls, streams, rate, handshake_timeout, drain_timeout, ..
        } = Bounds::default();
        let command = <Line as clap::CommandFactory>::command();
        for (flag, default) in [
            ("max-connections", connections.to_string()),
            ("max-connections-per-caller", connections_per_caller.to_string()),
            ("max-connection-streams", connection_streams.to_string()),
            ("max-connection-bytes", connection_bytes.to_string()),
            ("max-bytes", bytes.to_string()),
            ("max-calls", calls.to_string()),
            ("max-streams", streams.to_string()),
            ("max-rate", rate.to_string()),
            ("handshake-timeout", handshake_timeout.as_secs().to_string()),
            ("drain-timeout", drain_timeout.as_secs().to_string()),
            ("max-matches", matches.matches.to_string()),
            ("max-matches-per-caller", matches.per_caller.to_string()),
            ("max-waiting-calls", matches.waiting.to_string()),
            ("match-idle-timeout", matches.idle.as_secs().to_string()),
            ("opening-timeout", matches.opening.as_secs().to_string()),
            ("max-batches", batches.batches.to_string()),
            ("max-environments", batches.environments.to_string()),
            ("max-environments-per-caller", batches.per_caller.to_string()),
            ("idle-timeout", batches.idle.as_secs().to_string()),
            ("policy-timeout", DEFAULT_PATIENCE.as_secs().to_string()),
        ] {
            let argument = command.get_arguments().find(|argument| argument.get_long() == Some(flag));
            let help = argument.and_then(clap::Arg::get_help).expect("a flag with help").to_string();
            assert!(help.ends_with(&format!("[default: {default}]")), "{flag}: {help}");
            let manual = include_str!("../../../../../docs/operations.md");
            let row = manual.lines().find(|line| line.starts_with(&format!("| `--{flag} ")));
            assert!(row.is_some_and(|row| row.ends_with(&format!("| {default} |"))), "{flag}: {row:?}");
        }
    }
}

//! `serve`: flags over environment over a configuration file over defaults.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use tokio::net::{TcpListener, UnixListener, UnixStream};

use super::{Catalogues, pair};
use crate::batch::SnapshotKey;
use crate::batches::{Batches, Limits};
use crate::matches::{self, Matches};
use crate::pool::Pool;
use crate::run::{Listener, run, runtime};
use crate::tables::Tables;

/// Serves matches.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen; may be repeated. [default: 127.0.0.1:50051]
    #[arg(long, value_name = "HOST:PORT|unix:PATH", env = "BOARDWIRE_LISTEN", value_delimiter = ',')]
    listen: Vec<Address>,
    /// The most matches that may be open at once. [default: 100000]
    #[arg(long, env = "BOARDWIRE_MAX_MATCHES")]
    max_matches: Option<usize>,
    /// The most batches that may be open at once. [default: 1000]
    #[arg(long, env = "BOARDWIRE_MAX_BATCHES")]
    max_batches: Option<usize>,
    /// The most environments that all batches may have. [default: 262144]
    #[arg(long, env = "BOARDWIRE_MAX_ENVIRONMENTS")]
    max_environments: Option<usize>,
    /// After this many seconds without use a batch is closed. [default: 1800]
    #[arg(long, value_name = "SECONDS", env = "BOARDWIRE_IDLE_TIMEOUT")]
    idle_timeout: Option<u64>,
    /// Threads that step environments. [default: one a core]
    #[arg(long, env = "BOARDWIRE_THREADS")]
    threads: Option<usize>,
    /// A secret file: servers with the same one accept each other's snapshots. [default: drawn at the start]
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_SNAPSHOT_KEY")]
    snapshot_key: Option<PathBuf>,
    /// How to log. [default: text]
    #[arg(long, env = "BOARDWIRE_LOG")]
    log: Option<LogFormat>,
    /// What to log: `error`, `warn`, `info`, `debug`, or a tracing filter. [default: info]
    #[arg(long, env = "BOARDWIRE_LOG_LEVEL")]
    log_level: Option<String>,
    /// A TOML file with any of these settings, `-` written as `_`: `listen`, `max_matches`, `catalogue` ...
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_CONFIG")]
    config: Option<PathBuf>,
    /// Stops when standard input ends: a parent that dies takes its server along.
    #[arg(long)]
    exit_with_stdin: bool,
    #[command(flatten)]
    catalogues: Catalogues,
}

/// The settings a configuration file may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<Vec<Address>>,
    max_matches: Option<usize>,
    max_batches: Option<usize>,
    max_environments: Option<usize>,
    idle_timeout: Option<u64>,
    threads: Option<usize>,
    snapshot_key: Option<PathBuf>,
    log: Option<LogFormat>,
    log_level: Option<String>,
    /// `GAME=FILE`.
    catalogue: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LogFormat {
    /// For people.
    Text,
    /// A JSON object a line.
    Json,
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum Address {
    Tcp(String),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Self::Tcp(text.to_owned()))
            }
            _ => Err(format!("`{text}` is neither HOST:PORT nor unix:PATH")),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Serve {
    pub(super) fn run(mut self) -> anyhow::Result<ExitCode> {
        let file = self.config.as_deref().map_or_else(|| Ok(File::default()), read)?;
        let pool = Arc::new(Pool::new(self.threads.or(file.threads).unwrap_or_default())?);
        let batches = Arc::new(batches(&self, &file, Arc::clone(&pool))?);
        if self.listen.is_empty() {
            self.listen = file.listen.unwrap_or_else(|| vec![Address::Tcp("127.0.0.1:50051".to_owned())]);
        }
        if self.catalogues.catalogues.is_empty() {
            let pairs = file.catalogue.unwrap_or_default();
            let pairs = pairs.iter().map(|text| pair(text).map_err(anyhow::Error::msg));
            self.catalogues.catalogues = pairs.collect::<anyhow::Result<_>>()?;
        }
        let level = self.log_level.or(file.log_level).unwrap_or_else(|| "info".to_owned());
        log(self.log.or(file.log).unwrap_or(LogFormat::Text), &level)?;
        let limits = matches::Limits::default();
        let limit = self.max_matches.or(file.max_matches).unwrap_or(limits.matches);
        let limits = matches::Limits { matches: limit, ..limits };
        let matches = Arc::new(Matches::new(Tables::new(self.catalogues.load()?), limits, pool));
        let runtime = runtime()?;
        runtime.block_on(async {
            let mut listeners = Vec::new();
            for address in &self.listen {
                let listener =
                    bind(address).await.with_context(|| format!("cannot listen on {address:?}"))?;
                println!("listening on {}", bound(&listener)?);
                listeners.push(listener);
            }
            run(listeners, matches, batches, stopped(self.exit_with_stdin)).await
        })?;
        // A call that would not end must not keep the process.
        runtime.shutdown_background();
        Ok(ExitCode::SUCCESS)
    }
}

/// Batches within the limits that were given.
fn batches(flags: &Serve, file: &File, pool: Arc<Pool>) -> anyhow::Result<Batches> {
    let Limits { batches, environments, idle, per_caller } = Limits::default();
    let seconds = flags.idle_timeout.or(file.idle_timeout);
    let limits = Limits {
        batches: flags.max_batches.or(file.max_batches).unwrap_or(batches),
        environments: flags.max_environments.or(file.max_environments).unwrap_or(environments),
        idle: seconds.map_or(idle, Duration::from_secs),
        per_caller,
    };
    let key = flags.snapshot_key.as_ref().or(file.snapshot_key.as_ref()).map(|path| {
        let secret = std::fs::read(path).with_context(|| format!("snapshot key {}", path.display()))?;
        anyhow::ensure!(secret.len() >= 16, "snapshot key {}: fewer than 16 bytes", path.display());
        Ok(SnapshotKey::derive(&secret))
    });
    Ok(Batches::new(limits, key.transpose()?, pool))
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path).with_context(|| format!("configuration {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("configuration {}", path.display()))
}

fn log(format: LogFormat, level: &str) -> anyhow::Result<()> {
    let filter =
        tracing_subscriber::EnvFilter::try_new(level).with_context(|| format!("log level `{level}`"))?;
    let logger = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => logger.init(),
        LogFormat::Json => logger.json().init(),
    }
    Ok(())
}

async fn bind(address: &Address) -> anyhow::Result<Listener> {
    match address {
        Address::Tcp(address) => Ok(Listener::Tcp(TcpListener::bind(address).await?)),
        Address::Unix(path) => {
            // A socket nobody answers on was left behind by a server that was killed.
            if path.exists() && UnixStream::connect(path).await.is_err() {
                std::fs::remove_file(path)?;
            }
            Ok(Listener::Unix(UnixListener::bind(path)?, path.clone()))
        }
    }
}

/// Where a listener accepts connections, as clients write it.
fn bound(listener: &Listener) -> anyhow::Result<String> {
    match listener {
        Listener::Tcp(listener) => Ok(SocketAddr::to_string(&listener.local_addr()?)),
        Listener::Unix(_, path) => Ok(format!("unix:{}", path.display())),
    }
}

/// Resolves on an interrupt, on SIGTERM, and if asked for at the end of standard input.
async fn stopped(with_stdin: bool) {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).expect("SIGTERM can be listened for");
    let (gone, stdin) = tokio::sync::oneshot::channel();
    if with_stdin {
        // A thread of its own: a blocked read must not keep the runtime from stopping.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let _ = gone.send(());
        });
    }
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
        _ = stdin, if with_stdin => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_sockets_or_paths() {
        assert_eq!("unix:/tmp/b".parse(), Ok(Address::Unix("/tmp/b".into())));
        assert_eq!("127.0.0.1:0".parse(), Ok(Address::Tcp("127.0.0.1:0".to_owned())));
        for wrong in ["", "50051", ":50051", "localhost:x", "localhost:70000"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_configuration_with_an_unknown_setting_is_refused() {
        let good: File = toml::from_str("listen = ['unix:/tmp/b']\nlog = 'json'").expect("it is right");
        assert_eq!((good.listen.map(|all| all.len()), good.log), (Some(1), Some(LogFormat::Json)));
        let wrong = toml::from_str::<File>("lisen = []").expect_err("it is wrong").to_string();
        assert!(wrong.contains("lisen"), "{wrong}");
    }
}

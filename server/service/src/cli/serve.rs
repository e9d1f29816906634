//! `serve`: flags over environment over a configuration file over defaults.

mod journal;
mod settings;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::run::{Listener, run_within, runtime};
use settings::Settings;

/// Serves matches.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    settings: Settings,
    /// A TOML file with any of these settings, `-` written as `_`: `listen`, `max_matches`, `catalogue` ...
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_CONFIG")]
    config: Option<PathBuf>,
    /// Stops when standard input ends: a parent that dies takes its server along.
    #[arg(long)]
    exit_with_stdin: bool,
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
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let file = self.config.as_deref().map_or_else(|| Ok(Settings::default()), Settings::read)?;
        let settings = self.settings.or(file);
        let level = settings.log_level.as_deref().unwrap_or("info");
        log(settings.log.unwrap_or(LogFormat::Text), level)?;
        let pool = Arc::new(settings.pool()?);
        let batches = Arc::new(settings.batches(&pool)?);
        let runtime = runtime()?;
        // Matches that the journal has kept go on at once, and so do their clocks.
        let _inside = runtime.enter();
        let (matches, journal) = settings.matches(&pool)?;
        let matches = Arc::new(matches);
        let bounds = settings.bounds();
        runtime.block_on(async {
            let mut listeners = Vec::new();
            for address in &settings.addresses() {
                let listener =
                    bind(address).await.with_context(|| format!("cannot listen on {address:?}"))?;
                println!("listening on {}", bound(&listener)?);
                listeners.push(listener);
            }
            run_within(bounds, listeners, matches, batches, stopped(self.exit_with_stdin)).await
        })?;
        if let Some(journal) = journal {
            journal.close();
        }
        // A call that would not end must not keep the process.
        runtime.shutdown_background();
        Ok(ExitCode::SUCCESS)
    }
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
}

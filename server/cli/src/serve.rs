//! `serve`: flags over environment over a configuration file over defaults.

mod check;
mod journal;
mod listeners;
mod log_lines;
mod observing;
mod renewal;
mod settings;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Command};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use super::address::{Address, bound};
use boardwire_server::edge::Access;
use boardwire_server::run::{Listener, run, runtime};
use boardwire_server::telemetry;
use listeners::ListenerConfig;
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
    /// Checks all of this without serving: a line each with `ok`, `warn` or `fail`. It ends with 1 if the server would not start.
    #[arg(long)]
    check: bool,
}

impl Serve {
    pub(super) fn run(self, line: &Command) -> anyhow::Result<ExitCode> {
        let settings = match &self.config {
            Some(file) => self.settings.or(Settings::read(file)?)?,
            None => self.settings,
        };
        if self.check {
            return check::check(&settings, line);
        }
        let runtime = runtime()?;
        // What is sent to a collector, and what Prometheus is answered, takes tasks.
        let _inside = runtime.enter();
        let observing = settings.observe()?;
        let front = ListenerConfig::of(&settings)?;
        let pool = Arc::new(settings.pool()?);
        let batches = Arc::new(settings.batches(&pool)?);
        if front.metrics.is_some() {
            telemetry::begin()?;
        }
        let matches = settings.matches(&pool)?;
        let (matches, journal) = match &settings.journal {
            Some(path) => {
                let (matches, journal) =
                    journal::keep(matches, path, settings.keeping(), settings.journal_give_up)?;
                (Arc::new(matches), Some(journal))
            }
            None => (Arc::new(matches), None),
        };
        let access = Access {
            bounds: settings.bounds(),
            accounts: front.accounts.clone(),
            proxies: settings.proxies(),
            page_hosts: settings.page_hosts(),
        };
        runtime.block_on(async {
            // A file that has become too large fails to be written, as on a full disk, instead of ending the server.
            let _too_large = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?;
            // Before anything says that the server listens: a parent that reads it may stop the server at once.
            let stopped = stopped(self.exit_with_stdin)?;
            renewal::begin(front.tls.clone(), front.accounts.clone())?;
            let listeners = front.listen().await?;
            for listener in &listeners {
                let place = bound(listener)?;
                match listener {
                    Listener::Tcp(_) | Listener::Tls(..) | Listener::Unix(_) => {
                        writeln!(std::io::stdout(), "listening on {place}")?;
                    }
                    Listener::WatchPage(_) => {
                        writeln!(std::io::stdout(), "matches can be watched at {place}")?;
                    }
                    Listener::Metrics(_) => {
                        writeln!(std::io::stdout(), "metrics are served at {place}/metrics")?;
                    }
                }
            }
            // Their clocks run from now on: clients that connect are answered soon.
            matches.begin();
            run(access, listeners, matches, batches, stopped).await
        })?;
        if let Some(journal) = journal {
            journal.close();
        }
        observing.end();
        // A call that would not end must not keep the process.
        runtime.shutdown_background();
        Ok(ExitCode::SUCCESS)
    }
}

/// Listens for signals from now on; the future resolves on SIGINT, on SIGTERM, and if asked for at the end of
/// standard input.
fn stopped(with_stdin: bool) -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (gone, stdin) = tokio::sync::oneshot::channel();
    if with_stdin {
        // A thread of its own: a blocked read must not keep the runtime from stopping.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let _ = gone.send(());
        });
    }
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = stdin, if with_stdin => {}
        }
    })
}

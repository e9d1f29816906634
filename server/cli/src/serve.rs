//! `serve`: runs the server. Flags override environment variables, which override the configuration file.

mod check;
mod journal;
mod listeners;
mod observability;
mod settings;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use boardwire_batch::registry::Registry;
use clap::{Args, Command};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use boardwire_server::run::{Listener, run, runtime};
use boardwire_server::telemetry;
use listeners::ListenerConfig;
use settings::Settings;

/// Serves matches.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    settings: Settings,
    /// A TOML file with any of these settings, with `_` for `-`: `listen`, `max_matches`, `catalogue` ...
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_CONFIG")]
    config: Option<PathBuf>,
    /// Stops the server when standard input ends, so that it does not outlive its parent process.
    #[arg(long)]
    exit_with_stdin: bool,
    /// Checks all settings without serving. Prints one line per check, with `ok`, `warn` or `fail`. Exits with 1 if the
    /// server would not start.
    #[arg(long)]
    check: bool,
}

impl Serve {
    pub(super) fn run(self, games: &Registry, command: &Command) -> anyhow::Result<ExitCode> {
        let settings = match &self.config {
            Some(file) => self.settings.or(Settings::read(file)?)?,
            None => self.settings,
        };
        if self.check {
            return check::check(&settings, games, command);
        }
        let runtime = runtime()?;
        // The exporters of traces and metrics spawn tasks.
        let _inside = runtime.enter();
        let observability = settings.observe()?;
        let config = ListenerConfig::of(&settings)?;
        let pool = Arc::new(settings.pool()?);
        let batches = Arc::new(settings.batches(&pool)?);
        if config.metrics.is_some() {
            telemetry::install_recorder()?;
        }
        let (mut matches, mut journal) = (settings.matches(games, &pool)?, None);
        if let Some(path) = &settings.journal {
            let (restored, opened) =
                journal::restore(matches, path, settings.retention(), settings.journal_give_up)?;
            (matches, journal) = (restored, Some(opened));
        }
        let matches = Arc::new(matches);
        runtime.block_on(async {
            // With a handler, a write beyond the file size limit fails like on a full disk. Else it ends the process.
            let _too_large = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?;
            // Handle signals before the addresses are printed: a parent that reads them may stop the server
            // immediately.
            let stopped = stopped(self.exit_with_stdin)?;
            config.reload_on_sighup()?;
            let listeners = config.listen().await?;
            for listener in &listeners {
                writeln!(std::io::stdout(), "{}", announcement(listener)?)?;
            }
            // Clients can connect from now on, so the clocks of restored matches start.
            matches.start_restored();
            run(settings.access(config.accounts), listeners, matches, batches, stopped).await
        })?;
        if let Some(journal) = journal {
            journal.close();
        }
        observability.end();
        // Unfinished blocking tasks must not keep the process alive.
        runtime.shutdown_background();
        Ok(ExitCode::SUCCESS)
    }
}

fn announcement(listener: &Listener) -> std::io::Result<String> {
    Ok(match listener {
        Listener::Tcp(tcp) | Listener::Tls(tcp, _) => format!("listening on {}", tcp.local_addr()?),
        Listener::Unix(socket) => format!("listening on unix:{}", socket.path().display()),
        Listener::WatchPage(tcp) => format!("matches can be watched at http://{}", tcp.local_addr()?),
        Listener::Metrics(tcp) => format!("metrics are served at http://{}/metrics", tcp.local_addr()?),
    })
}

/// Handles signals from now on. The future resolves on SIGINT, on SIGTERM, and, if `with_stdin`, at the end of stdin.
fn stopped(with_stdin: bool) -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (ended, stdin) = tokio::sync::oneshot::channel();
    if with_stdin {
        // A separate thread reads stdin: a blocked read must not keep the runtime from stopping.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let _ = ended.send(());
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

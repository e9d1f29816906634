//! `agent-check`: does an agent, in any language, keep the protocol?

mod examiner;
mod expected;
mod proxy;
mod scenario;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use boardwire_batch::pool::Pool;
use boardwire_batch::tables::Tables;
use clap::Args;
use futures_util::{StreamExt as _, stream};
use tokio::net::TcpListener;

use self::examiner::Examiner;
use self::scenario::scenarios;
use crate::table::Catalogues;
use boardwire_server::batches::{self, Batches};
use boardwire_server::edge::Access;
use boardwire_server::matches::{self, Matches};
use boardwire_server::run::{Listener, run, runtime};

/// Tells whether an agent in any language keeps the protocol.
///
/// It is put through matches, lost answers and cut connections, of each of which a line tells how it went.
///
/// The command is started with two more arguments, the server's address and the code of an invitation. It joins, chooses
/// the legal action number `decision` modulo their count, asks for the next episode when one is over, and ends with 0 when
/// its match is closed. It repeats what has got lost with its connection, and observes again when it is told that its
/// decision is stale. An agent that nobody has invited says so on standard error and does not end with 0.
#[derive(Debug, Args)]
pub(super) struct AgentCheck {
    /// Only what has this in its name.
    #[arg(long, default_value = "")]
    only: String,
    /// How many seconds each may take.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// How many agents play at once.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// The command that starts the agent.
    #[arg(last = true, required = true)]
    command: Vec<String>,
    #[command(flatten)]
    catalogues: Catalogues,
}

impl AgentCheck {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        runtime()?.block_on(self.examine())
    }

    async fn examine(self) -> anyhow::Result<ExitCode> {
        let registry = self.catalogues.load()?;
        let scenarios = scenarios(&registry);
        let scenarios: Vec<_> = scenarios.iter().filter(|one| one.name.contains(&self.only)).collect();
        anyhow::ensure!(!scenarios.is_empty(), "nothing that is examined has `{}` in its name", self.only);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let pool = Arc::new(Pool::new(1)?);
        let matches =
            Arc::new(Matches::new(Tables::new(registry), matches::MatchLimits::default(), Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::BatchLimits::default(), None, pool));
        let kit = Examiner {
            matches: Arc::clone(&matches),
            address,
            command: self.command,
            limit: Duration::from_secs(self.limit),
        };
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving =
            tokio::spawn(run(Access::default(), vec![Listener::Tcp(listener)], matches, batches, async {
                let _ = stopped.await;
            }));
        let mut failed = 0;
        let examined = stream::iter(&scenarios).map(|scenario| kit.examine(scenario));
        let mut verdicts = examined.buffered(self.jobs.into());
        for scenario in &scenarios {
            match verdicts.next().await.expect("a verdict of every scenario") {
                Ok(()) => writeln!(std::io::stdout(), "ok    {}", scenario.name)?,
                Err(problem) => {
                    failed += 1;
                    writeln!(std::io::stdout(), "FAIL  {}\n      {}", scenario.name, in_words(&problem))?;
                }
            }
        }
        drop(stop);
        serving.await??;
        writeln!(std::io::stdout(), "{} of {} passed", scenarios.len() - failed, scenarios.len())?;
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What was wrong first, then what the agent said of it.
fn in_words(problem: &anyhow::Error) -> String {
    let words: Vec<String> = problem.chain().map(ToString::to_string).collect();
    words.into_iter().rev().collect::<Vec<_>>().join("; ").replace('\n', "\n      ")
}

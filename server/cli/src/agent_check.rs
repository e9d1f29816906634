//! `agent-check`: checks whether an agent in any language follows the protocol.

mod examiner;
mod proxy;
mod scenario;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use boardwire_batch::tables::Tables;
use clap::Args;
use futures_util::{StreamExt as _, stream};

use self::examiner::Examiner;
use self::scenario::scenarios;
use crate::flags::Catalogues;
use crate::local_server::LocalServer;
use boardwire_server::matches::MatchLimits;
use boardwire_server::run::runtime;

/// Checks whether an agent in any language follows the protocol.
///
/// The agent plays matches while responses are lost and connections break. The command prints a result per scenario.
///
/// The agent's command gets two more arguments: the server's address and an invitation's code. The agent must join, and
/// choose the legal action with index `decision` modulo their number. At the end of an episode it must ask for the next.
/// When its match is closed, it must exit with 0. After a lost connection it must repeat its request; after a stale
/// decision it must observe again. If its invitation is invalid, it must report that on stderr and not exit with 0.
#[derive(Debug, Args)]
pub(super) struct AgentCheck {
    /// Runs only scenarios whose name contains this text.
    #[arg(long, default_value = "")]
    only: String,
    /// The timeout of each scenario, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// How many scenarios run at the same time.
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
        let mut scenarios = scenarios(&registry);
        scenarios.retain(|scenario| scenario.name.contains(&self.only));
        anyhow::ensure!(!scenarios.is_empty(), "no scenario has `{}` in its name", self.only);
        let server =
            LocalServer::start("127.0.0.1:0", Tables::new(registry), MatchLimits::default(), 1).await?;
        let examiner = Examiner {
            matches: Arc::clone(&server.matches),
            address: server.address.to_string(),
            command: self.command,
            limit: Duration::from_secs(self.limit),
        };
        let results = stream::iter(&scenarios).map(|scenario| examiner.examine(scenario));
        let mut results = results.buffered(self.jobs.into());
        let mut failed = 0;
        for scenario in &scenarios {
            match results.next().await.expect("every scenario has a result") {
                Ok(()) => writeln!(std::io::stdout(), "ok    {}", scenario.name)?,
                Err(problem) => {
                    failed += 1;
                    writeln!(std::io::stdout(), "FAIL  {}\n      {}", scenario.name, describe(&problem))?;
                }
            }
        }
        server.stop().await?;
        writeln!(std::io::stdout(), "{} of {} passed", scenarios.len() - failed, scenarios.len())?;
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Returns the problem, followed by the agent's stderr.
fn describe(problem: &anyhow::Error) -> String {
    problem.chain().rev().map(ToString::to_string).collect::<Vec<_>>().join("; ").replace('\n', "\n      ")
}

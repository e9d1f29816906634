//! `agent-check`: checks whether an agent in any language follows the protocol.

mod examiner;
mod gate;
mod messages;
mod proxy;
mod scenario;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use clap::{Args, ValueEnum as _};
use futures_util::{StreamExt as _, stream};
use tokio::sync::Semaphore;

use self::examiner::Examiner;
use self::scenario::{Feature, Scenario, scenarios};
use crate::flags::Catalogues;
use crate::local_server::LocalServer;
use boardwire_server::matches::MatchLimits;
use boardwire_server::run::runtime;

/// What no scenario covers, because the check cannot see it or has no such server.
const NEVER_COVERED: &str = "TLS, accounts, searches; connections other than TCP; whether views and rewards are decoded; \
    whether tokens and secrets are stored safely; whether a match continues after the agent restarts";

/// Checks whether an agent in any language follows the protocol.
///
/// The agent plays matches while the server refuses requests, responses are lost and connections break. The command prints
/// a result per scenario, and what the check does not cover.
///
/// The agent's command gets two more arguments: the server's address and an invitation's code. The agent must join, and
/// choose the legal action with index `decision` modulo their number. At the end of an episode it must ask for the next.
/// When its match is closed, it must exit with 0. After a lost connection it must repeat its request; after a stale
/// decision it must observe again. If its invitation is invalid, it must print message and reason on stderr and not exit
/// with 0. If the environment variable `BOARDWIRE_CHECK_THINK` is set, it must wait this many seconds before each action.
#[derive(Debug, Args)]
pub(super) struct AgentCheck {
    /// Runs only scenarios whose name contains this text.
    #[arg(long, default_value = "")]
    only: String,
    /// The features that the agent does not have. Their scenarios are left out.
    #[arg(long, value_delimiter = ',', value_name = "FEATURE")]
    without: Vec<Feature>,
    /// The timeout of each scenario, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// How much longer an agent may take to find with its pings that a connection is silent, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    keepalive: u64,
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
    pub(super) fn run(self, games: &Registry) -> anyhow::Result<ExitCode> {
        runtime()?.block_on(self.examine(games))
    }

    async fn examine(self, games: &Registry) -> anyhow::Result<ExitCode> {
        let registry = self.catalogues.load(games)?;
        let mut scenarios = scenarios(&registry);
        scenarios.retain(|scenario| scenario.name.contains(&self.only));
        scenarios.retain(|scenario| scenario.feature.is_none_or(|feature| !self.without.contains(&feature)));
        anyhow::ensure!(!scenarios.is_empty(), "no scenario has `{}` in its name", self.only);
        let server =
            LocalServer::start("127.0.0.1:0", Tables::new(registry), MatchLimits::default(), 1).await?;
        let examiner = Examiner {
            matches: Arc::clone(&server.matches),
            address: server.address.to_string(),
            command: self.command,
            limit: Duration::from_secs(self.limit),
            keepalive: Duration::from_secs(self.keepalive),
        };
        let failed = examine_all(&examiner, &scenarios, self.jobs).await?;
        server.stop().await?;
        writeln!(std::io::stdout(), "{} of {} passed", scenarios.len() - failed, scenarios.len())?;
        report_gaps(&self.without)?;
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Runs all scenarios, `jobs` at the same time, and prints their results in order. Returns how many failed.
async fn examine_all(examiner: &Examiner, scenarios: &[Scenario], jobs: u16) -> anyhow::Result<usize> {
    let slots = &Semaphore::new(jobs.into());
    let results = stream::iter(scenarios).map(async |scenario| {
        let _slot = slots.acquire().await?;
        examiner.examine(scenario).await
    });
    let mut results = results.buffered(scenarios.len());
    let mut failed = 0;
    for scenario in scenarios {
        match results.next().await.expect("every scenario has a result") {
            Ok(()) => writeln!(std::io::stdout(), "ok    {}", scenario.name)?,
            Err(problem) => {
                failed += 1;
                writeln!(std::io::stdout(), "FAIL  {}\n      {}", scenario.name, describe(&problem))?;
            }
        }
    }
    Ok(failed)
}

/// Prints what the check does not cover.
fn report_gaps(without: &[Feature]) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    for feature in Feature::value_variants().iter().filter(|feature| without.contains(feature)) {
        let name = feature.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        writeln!(out, "not covered: {name} (left out by --without)")?;
    }
    writeln!(out, "not covered: {NEVER_COVERED}")
}

/// Returns the problem, followed by the agent's stderr.
fn describe(problem: &anyhow::Error) -> String {
    problem.chain().rev().map(ToString::to_string).collect::<Vec<_>>().join("; ").replace('\n', "\n      ")
}

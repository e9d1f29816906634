//! `arena`: measures the strength of bots against each other, with confidence intervals.

mod deal;
mod host;
mod replays;
mod report;
mod schedule;
mod sprt;
mod standings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use boardwire_batch::messages::options;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_bots::Bot;
use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;

use self::deal::{Deal, PlayedDeal};
use self::host::{Host, Reports};
use self::replays::Replays;
use self::schedule::{Entrant, Schedule};
use self::sprt::{Hypotheses, Test, Verdict};
use self::standings::{u64_to_f64, width};
use crate::address::{Address, resolve};
use crate::agent::Credentials;
use crate::flags::{BotTable, bot_name, parse_name_value};
use boardwire_server::arbiter::{Clock, OnTimeout};
use boardwire_server::secret;

/// The fewest deals before `--until-width` stops: with fewer, the interval is unreliable.
const MIN_DEALS: usize = 30;

/// Plays the same deals from every seat, and prints shares of first places with 95 % intervals, and ratings.
///
/// Each deal is played once in each rotation of the bots around the table. So luck of the deal and of the seat is equal for
/// all. Intervals are computed over deals, since matches of the same deal are dependent. The same command gives the same
/// numbers with any number of cores, except times: `ms/decision` is the mean elapsed time of a bot's decision, with matches on
/// all cores.
#[derive(Debug, Args)]
pub(super) struct Arena {
    #[command(flatten)]
    table: BotTable,
    /// Plays these bots at several tables: one table for every choice of `--at` bots. Replaces `--seats`.
    #[arg(long, value_delimiter = ',', conflicts_with = "seats", requires = "at", value_parser = bot_name)]
    field: Vec<String>,
    /// The number of seats of each table, for `--field`.
    #[arg(long, requires = "field")]
    at: Option<usize>,
    /// The number of matches, rounded up to whole deals. The default is 1000, or no limit with `--until-width` or `--sprt`.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    matches: Option<u64>,
    /// Stops when no interval is wider than this, such as 0.05, but not before 30 deals.
    #[arg(long, value_name = "WIDTH", value_parser = proportion)]
    until_width: Option<f64>,
    /// Tests whether the first of two players is ELO1 or ELO0 points of logistic Elo stronger than the second, and stops when
    /// it is decided: a sequential probability ratio test over deals, with errors of 5 %.
    #[arg(long, value_name = "ELO0,ELO1", allow_hyphen_values = true, conflicts_with = "until_width")]
    sprt: Option<Hypotheses>,
    /// Saves the replay of every match in a folder, as JSON for `boardwire verify`. After an interruption, the same command
    /// continues from the deals in the folder.
    #[arg(long, value_name = "DIR")]
    replays: Option<PathBuf>,
    /// Starts the agent at seats called `agent:NAME` with this command, followed by the server's address and an invitation;
    /// may be repeated. Without a command, the invitation is printed and you start the agent.
    #[arg(long = "agent", value_name = "NAME=COMMAND", value_parser = parse_name_value)]
    agents: Vec<(String, String)>,
    /// The time limits of agents in seconds, such as `limit=1`, `bank=60,increment=0.5` or both: `limit` for each decision,
    /// `bank` for the rest of a whole match, and `increment` added to it after each decision. An agent forfeits the match
    /// when its time runs out.
    #[arg(long, value_name = "NAME=SECONDS,...", value_parser = |text: &str| clock(text).map(|_| text.to_owned()))]
    clock: Option<String>,
    /// Plays on the server at this address instead of one in this process. The server must have the same policies under the
    /// same names.
    #[arg(long, value_name = "HOST:PORT|unix:PATH", conflicts_with_all = ["listen", "insecure"])]
    server: Option<Address>,
    #[command(flatten)]
    credentials: Credentials,
    /// The address to which agents connect.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Allows an address that other machines can reach. Connections are plaintext and can be read and changed in transit.
    #[arg(long)]
    insecure: bool,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

struct Results {
    collected: Collected,
    interrupted: bool,
    decisions_per_second: f64,
    reports: Reports,
}

/// The deals that count, in order of their numbers.
#[derive(Debug)]
struct Collected {
    deals: Vec<Deal>,
    /// The test of `--sprt` with these deals.
    test: Option<Test>,
    /// The number of decisions in newly played deals.
    decisions: u64,
}

impl Arena {
    pub(super) fn run(mut self, games: &Registry) -> anyhow::Result<ExitCode> {
        resolve(&self.listen, self.insecure, "--insecure")?;
        let schedule = match self.at {
            Some(seats) => Schedule::field(&self.field, seats)?,
            None => Schedule::table(&self.table.seats),
        };
        self.check_sprt(&schedule)?;
        self.table.seed = Some(self.seed(&schedule));
        let (tables, table) = self.table.set_up(games, schedule.seats())?;
        let entrants = self.entrants(&schedule, &tables, &table)?;
        let replays = self.replays(&schedule, &table)?;
        let interrupted = interruption()?;
        let results = self.play(tables, &table, &schedule, &entrants, replays.as_ref(), &interrupted)?;
        anyhow::ensure!(!results.collected.deals.is_empty(), "interrupted before the first deal was over");
        self.report(&schedule, &results)?;
        Ok(if results.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Returns an error if `--sprt` is given for other than two players at two seats.
    fn check_sprt(&self, schedule: &Schedule) -> anyhow::Result<()> {
        let has_two = (schedule.seats(), schedule.entrants.len()) == (2, 2);
        anyhow::ensure!(
            self.sprt.is_none() || has_two,
            "--sprt needs two different players at two seats, such as `--seats mc:160,greedy`; got {} at {} seats",
            schedule.entrants.join(","),
            schedule.seats()
        );
        Ok(())
    }

    /// Returns the given seed, else the seed of the replays to continue, else 0. With agents it returns a random seed
    /// instead of 0: an agent that knows the seed can compute hidden cards.
    fn seed(&self, schedule: &Schedule) -> u64 {
        let has_agents = schedule.entrants.iter().any(|name| name.starts_with("agent:"));
        let replayed = || self.replays.as_deref().and_then(replays::seed_of);
        let default = || if has_agents { secret::seed() } else { 0 };
        self.table.seed.or_else(replayed).unwrap_or_else(default)
    }

    fn entrants(&self, schedule: &Schedule, tables: &Tables, table: &Table) -> anyhow::Result<Vec<Entrant>> {
        for (name, _) in &self.agents {
            let agent = format!("agent:{name}");
            anyhow::ensure!(schedule.entrants.contains(&agent), "--agent {name}: no seat is `{agent}`");
        }
        schedule.entrants.iter().map(|name| Entrant::named(name, tables, table, &self.agents)).collect()
    }

    fn replays(&self, schedule: &Schedule, table: &Table) -> anyhow::Result<Option<Replays>> {
        let Some(folder) = &self.replays else { return Ok(None) };
        // Everything that affects the results: an arena continues only deals with equal settings.
        let settings = json!({
            "game": self.table.game,
            "spec_digest": table.game.info().digest().to_string(),
            "options": options(table.game.info()),
            "seed": self.table.seed(),
            "bots": schedule.entrants,
            "policies": self.table.policies.hashes()?,
            "agents": self.agents,
            "clock": self.clock,
            "line_ups": schedule.line_ups,
            "version": env!("CARGO_PKG_VERSION"),
        });
        Replays::open(folder, schedule.line_ups.len(), &settings).map(Some)
    }

    fn deal_limit(&self, schedule: &Schedule) -> u64 {
        let has_goal = self.until_width.is_some() || self.sprt.is_some();
        let matches = self.matches.or(if has_goal { None } else { Some(1000) });
        matches.map_or(u64::MAX, |matches| matches.div_ceil(schedule.line_ups.len() as u64))
    }

    fn host<'a>(
        &'a self,
        table: &'a Table,
        schedule: &'a Schedule,
        entrants: &'a [Entrant],
        done: &'a BTreeSet<u64>,
        replays: Option<&'a Replays>,
    ) -> Host<'a> {
        Host {
            table,
            schedule,
            entrants,
            seed: self.table.seed(),
            deal_limit: self.deal_limit(schedule),
            listen: &self.listen,
            server: self.server.as_ref().map(|address| (address, &self.credentials)),
            clocks: self.clock.iter().filter_map(|text| Some(clock(text).ok()?.to_message())).collect(),
            done,
            replays,
        }
    }

    /// Plays deals on all cores until there are enough, or the user interrupts. The results are those of the first deals by
    /// number.
    fn play(
        &self,
        tables: Tables,
        table: &Arc<Table>,
        schedule: &Schedule,
        entrants: &[Entrant],
        replays: Option<&Replays>,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<Results> {
        let deal_limit = self.deal_limit(schedule);
        let (stop, next) = (AtomicBool::new(false), AtomicU64::new(0));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let replayed = replays.map_or_else(|| Ok(BTreeMap::new()), Replays::read)?;
        let replayed: BTreeMap<_, _> =
            replayed.into_iter().map(|(number, played)| (number, Deal::of(schedule, &played))).collect();
        let done: BTreeSet<u64> = replayed.keys().copied().collect();
        // The channel is bounded for backpressure: playing threads wait for the collecting thread.
        let (finished, receiver) = mpsc::sync_channel(2 * cores);
        let should_stop = || stop.load(Ordering::Relaxed) || interrupted.load(Ordering::Relaxed);
        let bot = |entrant: &Entrant| match entrant {
            Entrant::Bot(bot) => Some(bot.clone()),
            Entrant::Agent { .. } => None,
        };
        // Bots without agents need no server, and are many times faster without one.
        let bots: Option<Vec<Bot>> = entrants.iter().map(bot).collect();
        let bots = bots.filter(|_| replays.is_none() && self.server.is_none());
        let host = |finished: mpsc::SyncSender<anyhow::Result<PlayedDeal>>| {
            let host = self.host(table, schedule, entrants, &done, replays);
            host.play(tables, &finished, should_stop).unwrap_or_else(|error| {
                // Sending fails only after the collector has stopped.
                let _ = finished.send(Err(error));
                Reports::new()
            })
        };
        let work = |bots: &[Bot], finished: mpsc::SyncSender<anyhow::Result<PlayedDeal>>| {
            let numbers = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < deal_limit);
            for number in std::iter::from_fn(numbers).filter(|number| !done.contains(number)) {
                let seed = self.table.seed();
                match PlayedDeal::play_bots(table, schedule, bots, seed, number, should_stop).transpose() {
                    // Sending fails only after the collector has stopped.
                    Some(played) => drop(finished.send(played)),
                    None => return,
                }
            }
        };
        let (start, progress) = (Instant::now(), report::progress(deal_limit, schedule)?);
        let (collected, reports) = std::thread::scope(|scope| {
            let mut hosting = None;
            match &bots {
                Some(bots) => {
                    for _ in 0..cores {
                        let finished = finished.clone();
                        scope.spawn(|| work(bots, finished));
                    }
                    drop(finished);
                }
                None => hosting = Some(scope.spawn(|| host(finished))),
            }
            let collected = self.collect(deal_limit, schedule, replayed, receiver, interrupted, &progress);
            stop.store(true, Ordering::Relaxed);
            let reports = hosting.map(|host| host.join().expect("the host does not panic"));
            (collected, reports.unwrap_or_default())
        });
        let collected = collected?;
        progress.finish_and_clear();
        let decisions_per_second = u64_to_f64(collected.decisions) / start.elapsed().as_secs_f64();
        let interrupted = interrupted.load(Ordering::Relaxed);
        Ok(Results { collected, interrupted, decisions_per_second, reports })
    }

    /// Collects deals in order of their numbers, until there are enough, all senders end, or the user interrupts.
    fn collect(
        &self,
        deal_limit: u64,
        schedule: &Schedule,
        mut out_of_order: BTreeMap<u64, Deal>,
        receiver: mpsc::Receiver<anyhow::Result<PlayedDeal>>,
        interrupted: &AtomicBool,
        progress: &ProgressBar,
    ) -> anyhow::Result<Collected> {
        // This function drops the receiver when it returns, so that senders do not block.
        let mut receiver = receiver.into_iter();
        let (mut deals, mut decisions, mut test) = (Vec::new(), 0, self.sprt.map(Test::new));
        let is_decided =
            |test: &Option<Test>| test.as_ref().is_some_and(|test| test.verdict() != Verdict::Undecided);
        let is_narrow = |deals: &[Deal]| {
            self.until_width.is_some_and(|limit| deals.len() >= MIN_DEALS && width(deals) <= limit)
        };
        while (deals.len() as u64) < deal_limit && !is_narrow(&deals) && !is_decided(&test) {
            if let Some(deal) = out_of_order.remove(&(deals.len() as u64)) {
                if let Some(test) = &mut test {
                    test.add(&deal);
                    progress.set_message(format!(", LLR {:.2}", test.llr()));
                }
                deals.push(deal);
                progress.inc(1);
            } else if !interrupted.load(Ordering::Relaxed)
                && let Some(played) = receiver.next()
            {
                let deal = Deal::of(schedule, &played?);
                decisions += deal.decisions;
                out_of_order.insert(deal.number, deal);
            } else {
                break;
            }
        }
        Ok(Collected { deals, test, decisions })
    }
}

/// Reads the time limits of `--clock`.
fn clock(text: &str) -> Result<Clock, String> {
    let mut clock = Clock {
        limit: Duration::ZERO,
        bank: Duration::ZERO,
        increment: Duration::ZERO,
        strikes: 0,
        on_timeout: OnTimeout::Forfeit,
    };
    for part in text.split(',') {
        let (name, value) = parse_name_value(part)?;
        let seconds = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let time = seconds.ok_or_else(|| format!("`{name}` must be a number of seconds; got `{value}`"))?;
        match name.as_str() {
            "limit" => clock.limit = time,
            "bank" => clock.bank = time,
            "increment" => clock.increment = time,
            _ => return Err(format!("a time must be `limit`, `bank` or `increment`; got `{name}`")),
        }
    }
    Ok(clock)
}

/// Returns a flag that becomes true on Ctrl-C. A second Ctrl-C ends the process.
fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context("signals")?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if flag.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    });
    Ok(interrupted)
}

/// Parses a number above 0 and below 1.
fn proportion(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number < 1.0);
    number.ok_or_else(|| "a width is between 0 and 1".to_owned())
}

//! `arena`: how strong bots are against each other, and how sure that is.

mod deal;
mod entrant;
mod host;
mod replays;
mod schedule;
mod standings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use anyhow::Context as _;
use boardwire_batch::messages::options;
use boardwire_batch::tables::{Table, Tables};
use boardwire_bots::Bot;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use self::deal::{Deal, Played};
use self::entrant::Entrant;
use self::host::Host;
use self::replays::Replays;
use self::schedule::Schedule;
use self::standings::{Standing, float, standings, width};
use crate::address::{Address, sheltered};
use crate::flags::pair;
use crate::table::{BotTable, bot_name};
use boardwire_server::secret;

/// Fewer deals than this prove nothing of how wide an interval is.
const FEWEST_DEALS: usize = 30;

/// Plays the same deals from every seat, and prints shares of first places with 95 % intervals, and ratings.
///
/// Each deal is played once for each way round that the bots can be seated. So luck of deal and seat is the same for all,
/// and what a deal tells is counted once: intervals are those of deals. The same command gives the same figures, whatever
/// the number of cores.
#[derive(Debug, Args)]
pub(super) struct Arena {
    #[command(flatten)]
    table: BotTable,
    /// Instead of one table, the tables at which every choice of `--at` of these bots meet.
    #[arg(long, value_delimiter = ',', conflicts_with = "seats", requires = "at", value_parser = bot_name)]
    field: Vec<String>,
    /// How many seats a table of the field has.
    #[arg(long, requires = "field")]
    at: Option<usize>,
    /// How many matches, or a few more: as many as make whole deals. 1000 when left out, but no end beside `--until-width`.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    matches: Option<u64>,
    /// Ends as soon as no interval is wider than this, such as 0.05, but not before 30 deals.
    #[arg(long, value_name = "WIDTH", value_parser = proportion)]
    until_width: Option<f64>,
    /// Keeps the replay of every match in a folder, as JSON that `boardwire verify` checks. After an interruption the same
    /// command goes on with the deals that are there.
    #[arg(long, value_name = "DIR")]
    replays: Option<PathBuf>,
    /// Starts what sits at the seats called `agent:NAME` with this command, to which the server's address and an invitation
    /// are added; may be repeated. Without one, invitations are printed, for somebody else to start it.
    #[arg(long = "agent", value_name = "NAME=COMMAND", value_parser = pair)]
    agents: Vec<(String, String)>,
    /// Plays on the server at this address, which speaks no TLS and has no accounts, instead of one of its own. The policies that play
    /// are registered there under the same names.
    #[arg(long, value_name = "HOST:PORT|unix:PATH", conflicts_with_all = ["listen", "insecure"])]
    server: Option<Address>,
    /// Where agents find their tables.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Listens there, too, where other machines can connect. All that is said can then be read and changed on its way.
    #[arg(long)]
    insecure: bool,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// What has been played, and how long it took.
struct Results {
    deals: Vec<Deal>,
    interrupted: bool,
    decisions_per_second: f64,
}

impl Arena {
    pub(super) fn run(mut self) -> anyhow::Result<ExitCode> {
        if !self.insecure {
            sheltered(&self.listen, "--insecure")?;
        }
        let schedule = match self.at {
            Some(seats) => Schedule::field(&self.field, seats)?,
            None => Schedule::table(&self.table.seats),
        };
        self.table.seed = Some(self.seed(&schedule));
        let (tables, table) = self.table.set_up(schedule.seats())?;
        let entrants = self.entrants(&schedule, &tables, &table)?;
        let replays = self.replays(&schedule, &table)?;
        let interrupted = interruption()?;
        let found = self.play(tables, &table, &schedule, &entrants, replays.as_ref(), &interrupted)?;
        anyhow::ensure!(!found.deals.is_empty(), "interrupted before the first deal was over");
        let standings = standings(&found.deals);
        if self.json {
            writeln!(std::io::stdout(), "{}", self.as_json(&schedule, &found, &standings))?;
        } else {
            self.print(&schedule, &found, &standings)?;
        }
        Ok(if found.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The seed that is given, that of the replays which are continued, a new one where agents play, or 0. An agent that knew
    /// the seed could deal the hidden cards to itself.
    fn seed(&self, schedule: &Schedule) -> u64 {
        let known = || self.replays.as_deref().and_then(replays::seed_of);
        let have_agents = schedule.entrants.iter().any(|name| name.starts_with("agent:"));
        let new = || if have_agents { secret::seed() } else { 0 };
        self.table.seed.or_else(known).unwrap_or_else(new)
    }

    /// Who takes part.
    fn entrants(&self, schedule: &Schedule, tables: &Tables, table: &Table) -> anyhow::Result<Vec<Entrant>> {
        for (name, _) in &self.agents {
            let agent = format!("agent:{name}");
            anyhow::ensure!(schedule.entrants.contains(&agent), "--agent {name}: no seat is `{agent}`");
        }
        schedule.entrants.iter().map(|name| Entrant::named(name, tables, table, &self.agents)).collect()
    }

    /// What is played: deals of nothing else are counted with those of this arena.
    fn what(&self, schedule: &Schedule, table: &Table) -> anyhow::Result<Value> {
        Ok(json!({
            "game": self.table.game,
            "spec_digest": table.rules.info().digest().to_string(),
            "options": options(table.rules.info()),
            "seed": self.table.seed(),
            "bots": schedule.entrants,
            "policies": self.table.policies.hashes()?,
            "agents": self.agents,
            "line_ups": schedule.line_ups,
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }

    /// Where replays are kept, if they are.
    fn replays(&self, schedule: &Schedule, table: &Table) -> anyhow::Result<Option<Replays>> {
        let Some(folder) = &self.replays else { return Ok(None) };
        Replays::open(folder, schedule.line_ups.len(), &self.what(schedule, table)?).map(Some)
    }

    /// How many deals at most.
    fn most(&self, schedule: &Schedule) -> u64 {
        let matches = self.matches.or(if self.until_width.is_some() { None } else { Some(1000) });
        matches.map_or(u64::MAX, |matches| matches.div_ceil(schedule.line_ups.len() as u64))
    }

    /// Plays deals on all cores until there are enough, or it is interrupted. What counts are the first ones, in their
    /// order.
    fn play(
        &self,
        tables: Tables,
        table: &Arc<Table>,
        schedule: &Schedule,
        entrants: &[Entrant],
        replays: Option<&Replays>,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<Results> {
        let most = self.most(schedule);
        let (stop, next) = (AtomicBool::new(false), AtomicU64::new(0));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let known = replays.map_or_else(|| Ok(BTreeMap::new()), Replays::read)?;
        let known: BTreeMap<_, _> =
            known.into_iter().map(|(number, played)| (number, Deal::of(schedule, &played))).collect();
        let done: BTreeSet<u64> = known.keys().copied().collect();
        // Threads that play wait for the one that counts.
        let (finished, arriving) = mpsc::sync_channel(2 * cores);
        let halted = || stop.load(Ordering::Relaxed) || interrupted.load(Ordering::Relaxed);
        // Bots alone need no server, and play many times as fast without.
        let bots: Option<Vec<Bot>> = entrants.iter().map(|entrant| entrant.bot().cloned()).collect();
        let bots = bots.filter(|_| replays.is_none() && self.server.is_none());
        let host = |finished: mpsc::SyncSender<anyhow::Result<Played>>| {
            let (seed, listen, server, done) =
                (self.table.seed(), &*self.listen, self.server.as_ref(), &done);
            let host = Host { table, schedule, entrants, seed, most, listen, server, done, replays };
            if let Err(error) = host.play(tables, &finished, halted) {
                // A receiver that is gone has all that it wanted.
                let _ = finished.send(Err(error));
            }
        };
        let work = |bots: &[Bot], finished: mpsc::SyncSender<anyhow::Result<Played>>| {
            let numbers = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < most);
            for number in std::iter::from_fn(numbers).filter(|number| !done.contains(number)) {
                match Played::by_bots(table, schedule, bots, self.table.seed(), number, halted).transpose() {
                    // A receiver that is gone does not want it.
                    Some(played) => drop(finished.send(played)),
                    None => return,
                }
            }
        };
        let (begun, progress) = (Instant::now(), progress(most, schedule)?);
        let (deals, decisions) = std::thread::scope(|scope| {
            match &bots {
                Some(bots) => {
                    for _ in 0..cores {
                        let finished = finished.clone();
                        scope.spawn(|| work(bots, finished));
                    }
                    drop(finished);
                }
                None => drop(scope.spawn(|| host(finished))),
            }
            let collected = self.collect(most, schedule, known, arriving, interrupted, &progress);
            stop.store(true, Ordering::Relaxed);
            collected
        })?;
        progress.finish_and_clear();
        let decisions_per_second = float(decisions) / begun.elapsed().as_secs_f64();
        Ok(Results { deals, interrupted: interrupted.load(Ordering::Relaxed), decisions_per_second })
    }

    /// Puts deals in order as they arrive, until there are enough, no more come, or no more are taken since it was
    /// interrupted; gives how many decisions were made.
    fn collect(
        &self,
        most: u64,
        schedule: &Schedule,
        mut known: BTreeMap<u64, Deal>,
        arriving: mpsc::Receiver<anyhow::Result<Played>>,
        interrupted: &AtomicBool,
        progress: &ProgressBar,
    ) -> anyhow::Result<(Vec<Deal>, u64)> {
        // It ends with this function, however that ends: nobody waits any more to be received.
        let mut arriving = arriving.into_iter();
        let (mut deals, mut decisions) = (Vec::new(), 0);
        while (deals.len() as u64) < most && !self.is_enough(&deals) {
            if let Some(deal) = known.remove(&(deals.len() as u64)) {
                deals.push(deal);
                progress.inc(1);
            } else if !interrupted.load(Ordering::Relaxed)
                && let Some(played) = arriving.next()
            {
                let deal = Deal::of(schedule, &played?);
                decisions += deal.decisions;
                known.insert(deal.number, deal);
            } else {
                break;
            }
        }
        Ok((deals, decisions))
    }

    /// Whether intervals are as narrow as wanted.
    fn is_enough(&self, deals: &[Deal]) -> bool {
        self.until_width.is_some_and(|most| deals.len() >= FEWEST_DEALS && width(deals) <= most)
    }

    fn as_json(&self, schedule: &Schedule, found: &Results, standings: &[Standing]) -> Value {
        let row = |(bot, standing): (&String, &Standing)| {
            json!({
                "bot": bot,
                "seats": standing.seats,
                "share": standing.share,
                "interval": [standing.interval.0, standing.interval.1],
                "mean_score": standing.score,
                "rating": standing.rating,
            })
        };
        json!({
            "game": self.table.game,
            "seats": schedule.seats(),
            "seed": self.table.seed(),
            "deals": found.deals.len(),
            "matches": found.deals.len() * schedule.line_ups.len(),
            "interrupted": found.interrupted,
            "decisions_per_second": found.decisions_per_second.round(),
            "bots": schedule.entrants.iter().zip(standings).map(row).collect::<Value>(),
        })
    }

    /// What has been found.
    fn heading(&self, schedule: &Schedule, found: &Results) -> String {
        let (deals, ways) = (found.deals.len(), schedule.line_ups.len());
        format!(
            "{} matches of {} at {} seats, seed {}: {deals} deals, each {ways} ways round",
            deals * ways,
            self.table.game,
            schedule.seats(),
            self.table.seed(),
        )
    }

    fn print(&self, schedule: &Schedule, found: &Results, standings: &[Standing]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", self.heading(schedule, found))?;
        writeln!(
            out,
            "{:<16} {:>7} {:>19} {:>11} {:>8}",
            "bot", "first", "95 % interval", "mean score", "rating"
        )?;
        for (bot, standing) in schedule.entrants.iter().zip(standings) {
            writeln!(
                out,
                "{:<16} {:>6.1}% {:>8.1}% to {:>5.1}% {:>11} {:>8.0}",
                bot,
                100.0 * standing.share,
                100.0 * standing.interval.0,
                100.0 * standing.interval.1,
                standing.score.map_or_else(|| "none".to_owned(), |score| format!("{score:.1}")),
                standing.rating,
            )?;
        }
        let fair = 100.0 * fair_share(schedule);
        writeln!(out, "a fair share is {fair:.1} %; {:.0} decisions per second", found.decisions_per_second)?;
        if found.interrupted {
            writeln!(out, "interrupted: with --replays the same command goes on")?;
        }
        Ok(())
    }
}

/// What everybody would have who is as strong as the others.
fn fair_share(schedule: &Schedule) -> f64 {
    1.0 / float(schedule.seats() as u64)
}

fn progress(most: u64, schedule: &Schedule) -> anyhow::Result<ProgressBar> {
    let matches = schedule.line_ups.len();
    let bar = if most == u64::MAX { ProgressBar::new_spinner() } else { ProgressBar::new(most) };
    let style = if most == u64::MAX {
        format!("{{spinner}} {{pos}} deals of {matches} matches, {{per_sec}}, {{elapsed}}")
    } else {
        format!("{{bar:40}} {{pos}}/{{len}} deals of {matches} matches, {{per_sec}}, {{eta}} left")
    };
    bar.set_style(ProgressStyle::with_template(&style)?);
    Ok(bar)
}

/// Becomes true when the user interrupts; a second interruption ends the process.
fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&interrupted);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context("signals")?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if told.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    });
    Ok(interrupted)
}

/// A number above 0 and below 1.
fn proportion(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number < 1.0 => Ok(number),
        Ok(_) | Err(_) => Err("a width is between 0 and 1".to_owned()),
    }
}

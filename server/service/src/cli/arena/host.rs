//! Deals with agents at the table: a server of our own, and a match for each way round, whose episodes are the deals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Context as _;
use boardwire_batch::Player;
use boardwire_batch::pool::Pool;
use boardwire_batch::tables::{Table, Tables};
use futures_util::future::join_all;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::deal::{End, Played};
use super::entrant::Entrant;
use super::schedule::Schedule;
use crate::agent::Agent;
use crate::arbiter::{Arbiter, CloseReason, Ended, Role, Series, Settings};
use crate::batches::{self, Batches};
use crate::edge::Origin;
use crate::matches::{self, Matches};
use crate::run::{Listener, run, runtime};

/// How often it is looked whether to stop, and whether agents are still there.
const OFTEN: Duration = Duration::from_millis(100);
/// How long an agent may take to end once its match is closed.
const GRACE: Duration = Duration::from_secs(10);
/// How long there is somebody to tell the agents that others have started that their matches are closed.
const LINGER: Duration = Duration::from_secs(2);
/// One way round is at most so many deals ahead of another.
const AHEAD: u32 = 32;

/// What is played, and by whom.
pub(super) struct Host<'a> {
    pub(super) table: &'a Arc<Table>,
    pub(super) schedule: &'a Schedule,
    pub(super) entrants: &'a [Entrant],
    pub(super) seed: u64,
    /// Where agents find it.
    pub(super) listen: &'a str,
    /// Deals that have been played already.
    pub(super) done: &'a BTreeSet<u64>,
}

/// An agent that was started for a seat.
struct Seated<'a> {
    name: &'a str,
    /// Nothing, once it has ended.
    process: Option<Agent>,
}

impl Host<'_> {
    /// Plays deal after deal until `halted`, and hands each on when it has been played every way round.
    ///
    /// # Errors
    /// An address that cannot be listened on; an agent that cannot be started, or ends before it is told to; a bot that
    /// fails.
    pub(super) fn play(
        &self,
        tables: Tables,
        finished: &mpsc::SyncSender<anyhow::Result<Played>>,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let runtime = runtime()?;
        let played = runtime.block_on(self.serve(tables, finished, halted));
        runtime.shutdown_background();
        played
    }

    async fn serve(
        &self,
        tables: Tables,
        finished: &mpsc::SyncSender<anyhow::Result<Played>>,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let listener = TcpListener::bind(self.listen);
        let listener = listener.await.with_context(|| format!("cannot listen on {}", self.listen))?;
        let address = listener.local_addr()?.to_string();
        let pool = Arc::new(Pool::new(0)?);
        let limits = matches::Limits { idle: Duration::from_hours(24 * 365), ..matches::Limits::default() };
        let matches = Arc::new(Matches::new(tables, limits, Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::Limits::default(), None, pool));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving =
            tokio::spawn(run(vec![Listener::Tcp(listener)], Arc::clone(&matches), batches, async {
                let _ = stopped.await;
            }));
        let (told, ends) = unbounded_channel();
        let first = self.first();
        let until = Arc::new(AtomicU32::new(first.saturating_add(AHEAD)));
        let series = Series { number: 0, skip: first, until: Arc::clone(&until), ends: told };
        let (mut ways, mut seated) = (vec![], vec![]);
        for way in 0..self.schedule.line_ups.len() {
            let arbiter = self.open(&matches, Series { number: way, ..series.clone() }).await?;
            seated.extend(self.seat(&arbiter, way, &address)?);
            ways.push(arbiter);
        }
        let played = self.count(&ways, &mut seated, ends, &until, finished, halted).await;
        for way in &ways {
            way.close(CloseReason::Host);
        }
        let ended = end(seated, GRACE).await;
        if self.entrants.iter().any(|entrant| matches!(entrant, Entrant::Agent { command: None, .. })) {
            tokio::time::sleep(LINGER).await;
        }
        drop(stop);
        let served = serving.await;
        // Why play has ended comes first, whatever went wrong after that.
        played?;
        served??;
        ended
    }

    /// The first deal that is still to be played.
    fn first(&self) -> u32 {
        (0..=u32::MAX).find(|deal| !self.done.contains(&u64::from(*deal))).unwrap_or(u32::MAX)
    }

    /// Opens the match of one way round.
    async fn open(&self, matches: &Matches, series: Series) -> anyhow::Result<Arc<Arbiter>> {
        let player = |&entrant: &usize| match &self.entrants[entrant] {
            Entrant::Bot(bot) => Player::Bot(bot.clone()),
            Entrant::Agent { .. } => Player::Remote,
        };
        let players = self.schedule.line_ups[series.number].iter().map(player).collect();
        let settings =
            Settings { seed: Some(self.seed), private: true, series: Some(series), ..Settings::of(players) };
        Ok(matches.create(None, Origin::Unknown, Arc::clone(self.table), settings).await?)
    }

    /// Starts the agents of a match, and tells the invitations of those that somebody else starts.
    fn seat(&self, arbiter: &Arbiter, way: usize, address: &str) -> anyhow::Result<Vec<Seated<'_>>> {
        let mut seated = vec![];
        for (seat, code) in arbiter.invitations() {
            let Entrant::Agent { name, command } = &self.entrants[self.schedule.line_ups[way][seat.index()]]
            else {
                continue;
            };
            if let Some(command) = command {
                let process = Agent::start(command, address, &code).with_context(|| name.clone())?;
                seated.push(Seated { name, process: Some(process) });
            } else {
                eprintln!("invitation for {name}: {address} {code}");
            }
        }
        Ok(seated)
    }

    /// Puts deals together as their episodes end.
    async fn count(
        &self,
        ways: &[Arc<Arbiter>],
        seated: &mut [Seated<'_>],
        mut ends: UnboundedReceiver<Ended>,
        until: &AtomicU32,
        finished: &mpsc::SyncSender<anyhow::Result<Played>>,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let mut often = tokio::time::interval(OFTEN);
        let mut counted = vec![self.first(); ways.len()];
        // How the ways round have ended of deals that are not over in all of them.
        let mut unfinished: BTreeMap<u32, BTreeMap<usize, End>> = BTreeMap::new();
        let mut resting = BTreeSet::new();
        while !halted() {
            let ended = tokio::select! {
                ended = ends.recv() => ended.context("the matches have a sender each")?,
                _ = often.tick() => {
                    // Ctrl-C in a terminal ends the agents as well.
                    if halted() {
                        break;
                    }
                    // A bot that has failed has ended its match, and so the agents of that.
                    ways.iter().try_for_each(|way| way.check_open())?;
                    self.see(seated).await?;
                    continue;
                }
            };
            let way = ended.series;
            // An end is told again when its match is asked for something else.
            if ended.episode != counted[way] {
                continue;
            }
            counted[way] += 1;
            unfinished.entry(ended.episode).or_default().insert(way, ended.into());
            let whole = counted.iter().copied().min().unwrap_or_default();
            let rest = unfinished.split_off(&whole);
            for (deal, ends) in std::mem::replace(&mut unfinished, rest) {
                let number = deal.into();
                if !self.done.contains(&number) {
                    // Whoever does not receive it any more does not want it.
                    let _ = finished.send(Ok(Played { number, ends: ends.into_values().collect() }));
                }
            }
            // Agents ask for the next episode, and wait where they are far ahead; where bots are alone, nobody asks.
            until.store(whole.saturating_add(AHEAD), Ordering::Relaxed);
            for way in ways {
                way.look_again();
            }
            if ways[way].settings().remote().is_empty() {
                resting.insert(way);
            }
            for way in resting.extract_if(.., |way| counted[*way] < whole.saturating_add(AHEAD)) {
                ways[way].reset(Role::Host, None, None).await?;
            }
        }
        Ok(())
    }

    /// Looks whether all agents are still there.
    async fn see(&self, seated: &mut [Seated<'_>]) -> anyhow::Result<()> {
        for Seated { name, process } in seated {
            let Some(status) = process.as_mut().map(Agent::has_ended).transpose()?.flatten() else {
                continue;
            };
            let said = process.take().expect("it has ended").end(GRACE).await?.1;
            let said =
                if said.is_empty() { "it said nothing".to_owned() } else { format!("it said: {said}") };
            anyhow::bail!("{name} has ended with {status} before its matches were over; {said}");
        }
        Ok(())
    }
}

/// Waits until agents end, for all at once; those are killed that take longer than `limit`.
async fn end(seated: Vec<Seated<'_>>, limit: Duration) -> anyhow::Result<()> {
    let agents = seated.into_iter().filter_map(|seated| seated.process);
    let ended = join_all(agents.map(|agent| agent.end(limit))).await;
    ended.into_iter().try_for_each(|ended| ended.map(drop))
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn agents_that_do_not_end_are_waited_for_all_at_once() {
        let (limit, command) = (Duration::from_hours(1), ["sleep", "600"].map(str::to_owned));
        let start = |_| Agent::start(&command, "1", "1").expect("there is such a command");
        let seated = (0..10).map(start).map(|agent| Seated { name: "agent:deaf", process: Some(agent) });
        let begun = Instant::now();
        end(seated.collect(), limit).await.expect("they are killed");
        assert!(begun.elapsed() < 2 * limit, "{:?}", begun.elapsed());
    }
}

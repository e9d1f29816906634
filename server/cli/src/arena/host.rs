//! Deals as matches of a server: one match for each way round, whose episodes are the deals. The arena is their host, and asks
//! the server for nothing but what the protocol offers to anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Context as _;
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{
    CloseMatchRequest, CreateMatchRequest, CreateMatchResponse, GetReplayRequest, MatchConfig,
    ResetMatchRequest, WatchRequest,
};
use boardwire_batch::Player;
use boardwire_batch::messages::{bot_to, options, player_to};
use boardwire_batch::pool::Pool;
use boardwire_batch::tables::{Table, Tables};
use futures_util::future::{join, join_all, try_join_all};
use tokio::net::TcpListener;
use tokio::sync::{mpsc as waiting, watch};
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use super::deal::{End, Played, deal_seed};
use super::entrant::Entrant;
use super::replays::Replays;
use super::schedule::Schedule;
use crate::address::Address;
use crate::agent::Agent;
use boardwire_server::batches::{self, Batches};
use boardwire_server::edge::Access;
use boardwire_server::matches::{self, Matches};
use boardwire_server::run::{Listener, run, runtime};

/// How often it is looked whether to stop, and whether agents are still there.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How long an agent may take to end once its match is closed.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long there is somebody to tell the agents that others have started that their matches are closed.
const CLOSE_DELAY: Duration = Duration::from_secs(2);
/// One way round is at most so many deals ahead of another.
const AHEAD: usize = 32;

/// How many ways round share a connection: each has two calls on it at once, of 1,024 that a server takes.
const SEATINGS_PER_CONNECTION: usize = 256;

/// What is played, and by whom.
pub(super) struct Host<'a> {
    pub(super) table: &'a Table,
    pub(super) schedule: &'a Schedule,
    pub(super) entrants: &'a [Entrant],
    pub(super) seed: u64,
    /// How many deals there are at most.
    pub(super) most: u64,
    /// Where a server of our own listens.
    pub(super) listen: &'a str,
    /// Another server that it is played on.
    pub(super) server: Option<&'a Address>,
    /// Deals that have been played already.
    pub(super) done: &'a BTreeSet<u64>,
    /// Where replays are kept, if they are.
    pub(super) replays: Option<&'a Replays>,
}

/// The match of one way round, in the hands of its host.
struct Seating {
    number: usize,
    id: String,
    host_token: String,
    server: MatchServiceClient<Channel>,
}

/// An agent that was started for a seat.
struct StartedAgent<'a> {
    name: &'a str,
    /// Nothing, once it has ended.
    process: Option<Agent>,
}

impl Host<'_> {
    /// Plays deal after deal until there are enough or `halted`, and hands each on when it has been played every way round.
    ///
    /// # Errors
    /// An address that cannot be listened on; an agent that cannot be started, or ends before it is told to; a bot that
    /// fails; a replay that cannot be written.
    pub(super) fn play(
        &self,
        tables: Tables,
        finished: &mpsc::SyncSender<anyhow::Result<Played>>,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let runtime = runtime()?;
        let played = runtime.block_on(async {
            match self.server {
                Some(address) => self.host(address, &address.endpoint()?, finished, halted).await,
                None => self.serve(tables, finished, halted).await,
            }
        });
        runtime.shutdown_background();
        played
    }

    /// Lets a server of our own run as long as it plays.
    async fn serve(
        &self,
        tables: Tables,
        finished: &mpsc::SyncSender<anyhow::Result<Played>>,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let listener = TcpListener::bind(self.listen);
        let listener = listener.await.with_context(|| format!("cannot listen on {}", self.listen))?;
        let address = listener.local_addr()?;
        let pool = Arc::new(Pool::new(0)?);
        let limits =
            matches::MatchLimits { idle: Duration::from_hours(24 * 365), ..matches::MatchLimits::default() };
        let matches = Arc::new(Matches::new(tables, limits, Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::BatchLimits::default(), None, pool));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving =
            tokio::spawn(run(Access::default(), vec![Listener::Tcp(listener)], matches, batches, async {
                let _ = stopped.await;
            }));
        let own = Address::Tcp(near(address).to_string()).endpoint()?;
        let played = self.host(&Address::Tcp(address.to_string()), &own, finished, halted).await;
        drop(stop);
        let served = serving.await;
        // A server that has failed is why play has.
        served??;
        played
    }

    /// Hosts the matches on a server, which agents find at an address.
    async fn host(
        &self,
        address: &Address,
        endpoint: &Endpoint,
        finished: &mpsc::SyncSender<anyhow::Result<Played>>,
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let mut server = MatchServiceClient::new(endpoint.connect().await?);
        let mut deals = (0..self.most).filter(|deal| !self.done.contains(deal)).peekable();
        let Some(&first) = deals.peek() else { return Ok(()) };
        let deals: Vec<_> = std::iter::repeat_n(deals, self.schedule.line_ups.len()).collect();
        let (mut ways, mut seated) = (vec![], vec![]);
        for number in 0..self.schedule.line_ups.len() {
            if number > 0 && number.is_multiple_of(SEATINGS_PER_CONNECTION) {
                server = MatchServiceClient::new(endpoint.connect().await?);
            }
            let (way, agents) = self.open(server.clone(), number, first, &address.to_string()).await?;
            ways.push(way);
            seated.extend(agents);
        }
        let (told, ended) = waiting::unbounded_channel();
        let (whole, until) = watch::channel(0);
        let playing = ways.iter().zip(deals).map(|(way, deals)| {
            let (told, until) = (told.clone(), until.clone());
            self.play_way(way, deals, told, until)
        });
        let playing: Vec<_> = playing.collect();
        drop(told);
        let playing = async { try_join_all(playing).await.map(drop) };
        let played = tokio::select! {
            (played, ()) = join(playing, self.put_together(ended, &whole, finished)) => played,
            stopped = self.look_after(&mut seated, halted) => stopped,
        };
        for way in &ways {
            let closed = CloseMatchRequest { match_id: way.id.clone() };
            let _ = way.server.clone().close_match(way.asks(closed)?).await;
        }
        let ended = end(seated, END_TIMEOUT).await;
        if self.entrants.iter().any(|entrant| matches!(entrant, Entrant::Agent { command: None, .. })) {
            tokio::time::sleep(CLOSE_DELAY).await;
        }
        played?;
        ended
    }

    /// Opens the match of one way round, whose first episode is the deal `first`; starts its agents, and tells the invitations
    /// of those that somebody else starts.
    async fn open(
        &self,
        mut server: MatchServiceClient<Channel>,
        number: usize,
        first: u64,
        address: &str,
    ) -> anyhow::Result<(Seating, Vec<StartedAgent<'_>>)> {
        let line_up = &self.schedule.line_ups[number];
        let player = |&entrant: &usize| match &self.entrants[entrant] {
            Entrant::Bot(bot) => bot_to(bot),
            Entrant::Agent { .. } => player_to(&Player::Agent),
        };
        let config = MatchConfig {
            game: self.table.rules.info().id.to_owned(),
            players: line_up.iter().map(player).collect(),
            options: options(self.table.rules.info()),
            private: true,
            host_begins: true,
            ..MatchConfig::default()
        };
        let seed = Some(deal_seed(self.seed, first)?);
        let created = CreateMatchRequest { config: Some(config), seed, ..CreateMatchRequest::default() };
        let created = server.create_match(created);
        let created = created.await.map_err(said)?.into_inner();
        let CreateMatchResponse { r#match, invitations, host_token, .. } = created;
        let mut seated = vec![];
        for invitation in invitations {
            let seat = usize::try_from(invitation.seat)?;
            let entrant = line_up.get(seat).map(|&entrant| &self.entrants[entrant]);
            let Some(Entrant::Agent { name, command }) = entrant else { continue };
            if let Some(command) = command {
                let process =
                    Agent::start(command, address, &invitation.code).with_context(|| name.clone())?;
                seated.push(StartedAgent { name, process: Some(process) });
            } else {
                eprintln!("invitation for {name}: {address} {}", invitation.code);
            }
        }
        let created = r#match.context("the server has created no match")?;
        anyhow::ensure!(
            created.spec_digest == self.table.digest.to_string(),
            "the server plays by other rules or components: its spec digest is {}, that of this program {}",
            created.spec_digest,
            self.table.digest
        );
        let id = created.id;
        Ok((Seating { number, id, host_token, server }, seated))
    }

    /// Plays the deals one way round, and tells how each has ended. It begins none that is far ahead of those which have been
    /// played every way round.
    async fn play_way(
        &self,
        way: &Seating,
        deals: impl Iterator<Item = u64>,
        ended: waiting::UnboundedSender<(u64, usize, End)>,
        mut until: watch::Receiver<usize>,
    ) -> anyhow::Result<()> {
        let mut server = way.server.clone();
        let asked = WatchRequest { match_id: way.id.clone(), after: Some(0), depict: false };
        let mut frames = server.watch(way.asks(asked)?).await.map_err(said)?.into_inner();
        for (position, deal) in deals.enumerate() {
            until.wait_for(|whole| position < whole + AHEAD).await?;
            let episode = u32::try_from(position).context("more deals than a match has episodes")?;
            if let Some(before) = episode.checked_sub(1) {
                let (seed, leave) = (Some(deal_seed(self.seed, deal)?), Some(before));
                let asked = ResetMatchRequest { match_id: way.id.clone(), seed, episode: leave };
                server.reset_match(way.asks(asked)?).await.map_err(said)?;
            }
            let end = loop {
                let frame = frames.message().await.map_err(said)?.and_then(|shown| shown.frame);
                let frame = frame.context("the server has closed a match")?;
                if let (true, Some(outcome)) = (frame.episode == episode, frame.outcome) {
                    break End::of(frame.ply, outcome);
                }
            };
            if let Some(replays) = self.replays {
                let asked = GetReplayRequest { match_id: way.id.clone(), episode: Some(episode) };
                let replay = server.get_replay(way.asks(asked)?).await.map_err(said)?.into_inner().replay;
                replays.keep(deal, way.number, &replay.context("the server has no replay")?)?;
            }
            // A receiver that is gone does not want it.
            let _ = ended.send((deal, way.number, end));
        }
        Ok(())
    }

    /// Puts deals together as their ways round end, until there are no more.
    async fn put_together(
        &self,
        mut ended: waiting::UnboundedReceiver<(u64, usize, End)>,
        whole: &watch::Sender<usize>,
        finished: &mpsc::SyncSender<anyhow::Result<Played>>,
    ) {
        // How the ways round have ended of deals that are not over in all of them.
        let mut unfinished: BTreeMap<u64, BTreeMap<usize, End>> = BTreeMap::new();
        while let Some((number, way, end)) = ended.recv().await {
            let ends = unfinished.entry(number).or_default();
            ends.insert(way, end);
            if ends.len() < self.schedule.line_ups.len() {
                continue;
            }
            let ends = unfinished.remove(&number).into_iter().flatten().map(|(_, end)| end).collect();
            // A receiver that is gone does not want it.
            let _ = finished.send(Ok(Played { number, ends }));
            whole.send_modify(|whole| *whole += 1);
        }
    }

    /// Looks whether agents are still there until it is halted: Ctrl-C in a terminal ends the agents as well.
    async fn look_after(
        &self,
        seated: &mut [StartedAgent<'_>],
        halted: impl Fn() -> bool,
    ) -> anyhow::Result<()> {
        let mut often = tokio::time::interval(CHECK_INTERVAL);
        loop {
            often.tick().await;
            if halted() {
                return Ok(());
            }
            self.see(seated).await?;
        }
    }

    /// Looks whether all agents are still there.
    async fn see(&self, seated: &mut [StartedAgent<'_>]) -> anyhow::Result<()> {
        for StartedAgent { name, process } in seated {
            let Some(status) = process.as_mut().map(Agent::has_ended).transpose()?.flatten() else {
                continue;
            };
            let said = process.take().expect("it has ended").end(END_TIMEOUT).await?.1;
            let said =
                if said.is_empty() { "it said nothing".to_owned() } else { format!("it said: {said}") };
            anyhow::bail!("{name} has ended with {status} before its matches were over; {said}");
        }
        Ok(())
    }
}

impl Seating {
    /// A request of the match's host.
    fn asks<T>(&self, request: T) -> anyhow::Result<Request<T>> {
        let mut request = Request::new(request);
        let token: MetadataValue<_> = format!("Bearer {}", self.host_token).parse()?;
        request.metadata_mut().insert("authorization", token);
        Ok(request)
    }
}

/// Where this machine finds a server that listens there.
fn near(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// What a server has refused, in its words.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` gives it away")]
fn said(status: Status) -> anyhow::Error {
    anyhow::anyhow!("{}", status.message())
}

/// Waits until agents end, for all at once; those are killed that take longer than `limit`.
async fn end(seated: Vec<StartedAgent<'_>>, limit: Duration) -> anyhow::Result<()> {
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
        let seated =
            (0..10).map(start).map(|agent| StartedAgent { name: "agent:deaf", process: Some(agent) });
        let begun = Instant::now();
        end(seated.collect(), limit).await.expect("they are killed");
        assert!(begun.elapsed() < 2 * limit, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_server_that_listens_everywhere_is_found_here() {
        for (listens, found) in
            [("0.0.0.0:7", "127.0.0.1:7"), ("[::]:7", "[::1]:7"), ("192.0.2.1:7", "192.0.2.1:7")]
        {
            let address = |text: &str| text.parse().expect("an address");
            assert_eq!(near(address(listens)), address(found));
        }
    }
}

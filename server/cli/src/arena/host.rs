//! Plays deals as matches on a server: one match per line-up, one episode per deal. The arena is the host of the matches,
//! and uses only calls that every client can use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use anyhow::Context as _;
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{
    self, CloseMatchRequest, CreateMatchRequest, CreateMatchResponse, GetMatchRequest, GetReplayRequest,
    MatchConfig, ResetMatchRequest, WatchRequest,
};
use boardwire_batch::Player;
use boardwire_batch::messages::{bot_message, options, player_message};
use boardwire_batch::tables::{Table, Tables};
use futures_util::future::{join, join_all, try_join_all};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use super::deal::{MatchResult, PlayedDeal, deal_seed};
use super::replays::Replays;
use super::schedule::{Entrant, Schedule};
use crate::address::Address;
use crate::agent::{Agent, Credentials, Totals};
use crate::local_server::LocalServer;
use boardwire_server::matches::MatchLimits;
use boardwire_server::run::runtime;

/// How often to check for an interruption and for agents that have ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How long an agent may take to end after its match is closed.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server runs after it closes the matches, so that agents which the user started learn of it.
const CLOSE_DELAY: Duration = Duration::from_secs(2);
/// How many deals one line-up may be ahead of another.
const MAX_LEAD: usize = 32;
/// The line-ups per connection. Each has two open calls, and a server accepts 1,024 calls per connection.
const LINE_UPS_PER_CONNECTION: usize = 256;

type Finished = SyncSender<anyhow::Result<PlayedDeal>>;
/// What the processes of each entrant have reported, by the name of the entrant.
pub(super) type Reports = BTreeMap<String, Totals>;
/// The number of the deal, the line-up, and the result of its match.
type NumberedResult = (u64, usize, MatchResult);

pub(super) struct Host<'a> {
    pub(super) table: &'a Table,
    pub(super) schedule: &'a Schedule,
    pub(super) entrants: &'a [Entrant],
    pub(super) seed: u64,
    pub(super) deal_limit: u64,
    /// Where to listen with a server in this process.
    pub(super) listen: &'a str,
    /// A running server to use instead of one in this process.
    pub(super) server: Option<(&'a Address, &'a Credentials)>,
    /// The time limits of all agents; empty for none.
    pub(super) clocks: Vec<v1::Clock>,
    /// The deals that an earlier run has finished.
    pub(super) done: &'a BTreeSet<u64>,
    pub(super) replays: Option<&'a Replays>,
}

/// The match of one line-up.
struct HostedMatch {
    line_up: usize,
    id: String,
    host_token: String,
    server: MatchServiceClient<Channel>,
    credentials: Credentials,
}

struct StartedAgent<'a> {
    name: &'a str,
    line_up: usize,
    /// Whether the process has ended after its match.
    has_finished: bool,
    /// `None` after a failure.
    process: Option<Agent>,
}

impl Host<'_> {
    /// Plays deals until the limit, or until `should_stop` returns true. Sends each finished deal to `finished`. Returns what
    /// the agents have reported.
    ///
    /// # Errors
    /// The server, a bot or an agent fails, or a replay cannot be written.
    pub(super) fn play(
        &self,
        tables: Tables,
        finished: &Finished,
        should_stop: impl Fn() -> bool,
    ) -> anyhow::Result<Reports> {
        let runtime = runtime()?;
        let played = runtime.block_on(async {
            match self.server {
                Some((address, credentials)) => {
                    self.host(address, &credentials.endpoint(address)?, finished, should_stop).await
                }
                None => self.serve(tables, finished, should_stop).await,
            }
        });
        runtime.shutdown_background();
        played
    }

    /// Plays on a new server in this process.
    async fn serve(
        &self,
        tables: Tables,
        finished: &Finished,
        should_stop: impl Fn() -> bool,
    ) -> anyhow::Result<Reports> {
        let limits = MatchLimits { idle: Duration::from_hours(24 * 365), ..MatchLimits::default() };
        let server = LocalServer::start(self.listen, tables, limits, 0).await?;
        let endpoint = Address::Tcp(reachable(server.address).to_string()).endpoint()?;
        let played =
            self.host(&Address::Tcp(server.address.to_string()), &endpoint, finished, should_stop).await;
        // Check the server first: if it fails, its error is the cause of the error in `played`.
        server.stop().await?;
        played
    }

    /// Hosts the matches on the server at `endpoint`. Agents connect to `address`.
    async fn host(
        &self,
        address: &Address,
        endpoint: &Endpoint,
        finished: &Finished,
        should_stop: impl Fn() -> bool,
    ) -> anyhow::Result<Reports> {
        let mut server = MatchServiceClient::new(endpoint.connect().await?);
        let mut deals = (0..self.deal_limit).filter(|deal| !self.done.contains(deal)).peekable();
        let Some(&first) = deals.peek() else { return Ok(Reports::new()) };
        // Without a limit, the arena closes the matches.
        let is_limited = self.deal_limit < u64::MAX;
        let episodes = if is_limited { u32::try_from(deals.clone().count())? } else { 0 };
        let (mut matches, mut agents) = (vec![], vec![]);
        for line_up in 0..self.schedule.line_ups.len() {
            if line_up > 0 && line_up.is_multiple_of(LINE_UPS_PER_CONNECTION) {
                server = MatchServiceClient::new(endpoint.connect().await?);
            }
            let (hosted, started) =
                self.open(server.clone(), line_up, first, episodes, &address.to_string()).await?;
            matches.push(hosted);
            agents.extend(started);
        }
        let (send_result, results) = unbounded_channel();
        let (complete, completed) = watch::channel(0);
        let play = |hosted| self.play_line_up(hosted, deals.clone(), send_result.clone(), completed.clone());
        let playing: Vec<_> = matches.iter().map(play).collect();
        drop(send_result);
        let playing = async { try_join_all(playing).await.map(drop) };
        let played = tokio::select! {
            (played, ()) = join(playing, self.assemble_deals(results, &complete, finished)) => played,
            stopped = watch_agents(&mut agents, &matches, should_stop) => stopped,
        };
        for hosted in &matches {
            let close = CloseMatchRequest { match_id: hosted.id.clone() };
            let _ = hosted.server.clone().close_match(hosted.request(close)?).await;
        }
        let ended = end_agents(agents, END_TIMEOUT).await;
        if self.entrants.iter().any(|entrant| matches!(entrant, Entrant::Agent { command: None, .. })) {
            tokio::time::sleep(CLOSE_DELAY).await;
        }
        played?;
        ended
    }

    /// Creates the match of a line-up; its first episode is the deal `first`. Starts the agents that have a command, and
    /// prints the invitations of the other agents.
    async fn open(
        &self,
        mut server: MatchServiceClient<Channel>,
        line_up: usize,
        first: u64,
        episodes: u32,
        address: &str,
    ) -> anyhow::Result<(HostedMatch, Vec<StartedAgent<'_>>)> {
        let seats = &self.schedule.line_ups[line_up];
        let player = |&entrant: &usize| match &self.entrants[entrant] {
            Entrant::Bot(bot) => bot_message(bot),
            Entrant::Agent { .. } => player_message(&Player::Agent),
        };
        let config = MatchConfig {
            game: self.table.game.info().id.to_owned(),
            players: seats.iter().map(player).collect(),
            options: options(self.table.game.info()),
            private: true,
            clocks: self.clocks.clone(),
            episodes,
            host_begins: true,
            ..MatchConfig::default()
        };
        let seed = Some(deal_seed(self.seed, first)?);
        let credentials = self.server.map(|(_, credentials)| credentials.clone()).unwrap_or_default();
        let mut create =
            Request::new(CreateMatchRequest { config: Some(config), seed, ..CreateMatchRequest::default() });
        credentials.authenticate(&mut create)?;
        let created = server.create_match(create).await.map_err(status_to_error)?.into_inner();
        let CreateMatchResponse { r#match, invitations, host_token, .. } = created;
        let mut agents = vec![];
        for invitation in invitations {
            let entrant =
                seats.get(usize::try_from(invitation.seat)?).map(|&entrant| &self.entrants[entrant]);
            let Some(Entrant::Agent { name, command }) = entrant else { continue };
            if let Some(command) = command {
                let process = Agent::start(command, address, &invitation.code, &credentials.environment());
                let process = Some(process.with_context(|| name.clone())?);
                agents.push(StartedAgent { name, line_up, has_finished: false, process });
            } else {
                eprintln!("invitation for {name}: {address} {}", invitation.code);
            }
        }
        let created = r#match.context("the server's response has no match")?;
        anyhow::ensure!(
            created.spec_digest == self.table.digest.to_string(),
            "the server has other rules or components: its spec digest is {}, that of this program {}",
            created.spec_digest,
            self.table.digest
        );
        Ok((HostedMatch { line_up, id: created.id, host_token, server, credentials }, agents))
    }

    /// Plays the deals of one line-up, and sends the result of each. Waits while it is [`MAX_LEAD`] deals ahead of
    /// `completed`, the number of deals that all line-ups have played.
    async fn play_line_up(
        &self,
        hosted: &HostedMatch,
        deals: impl Iterator<Item = u64>,
        results: UnboundedSender<NumberedResult>,
        mut completed: watch::Receiver<usize>,
    ) -> anyhow::Result<()> {
        let match_id = || hosted.id.clone();
        let mut server = hosted.server.clone();
        let watch = WatchRequest { match_id: match_id(), after: Some(0), depict: false };
        let mut frames = server.watch(hosted.request(watch)?).await.map_err(status_to_error)?.into_inner();
        for (position, deal) in deals.enumerate() {
            completed.wait_for(|completed| position < completed + MAX_LEAD).await?;
            let episode = u32::try_from(position).context("a match has at most 2^32 episodes")?;
            if let Some(previous) = episode.checked_sub(1) {
                let seed = Some(deal_seed(self.seed, deal)?);
                let reset = ResetMatchRequest { match_id: match_id(), seed, episode: Some(previous) };
                server.reset_match(hosted.request(reset)?).await.map_err(status_to_error)?;
            }
            let result = loop {
                let frame =
                    frames.message().await.map_err(status_to_error)?.and_then(|response| response.frame);
                let frame = frame.context("the server has closed a match")?;
                if let (true, Some(outcome)) = (frame.episode == episode, frame.outcome) {
                    break MatchResult::from_outcome(frame.ply, outcome);
                }
            };
            if let Some(replays) = self.replays {
                let get = GetReplayRequest { match_id: match_id(), episode: Some(episode) };
                let replay = server
                    .get_replay(hosted.request(get)?)
                    .await
                    .map_err(status_to_error)?
                    .into_inner()
                    .replay;
                replays.save(
                    deal,
                    hosted.line_up,
                    &replay.context("the server's response has no replay")?,
                )?;
            }
            // Sending fails only when the arena ends.
            let _ = results.send((deal, hosted.line_up, result));
        }
        Ok(())
    }

    /// Collects the results of matches. Sends a deal when all line-ups have played it.
    async fn assemble_deals(
        &self,
        mut results: UnboundedReceiver<NumberedResult>,
        completed: &watch::Sender<usize>,
        finished: &Finished,
    ) {
        let mut incomplete: BTreeMap<u64, BTreeMap<usize, MatchResult>> = BTreeMap::new();
        while let Some((number, line_up, result)) = results.recv().await {
            let deal = incomplete.entry(number).or_default();
            deal.insert(line_up, result);
            if deal.len() < self.schedule.line_ups.len() {
                continue;
            }
            let results = incomplete.remove(&number).into_iter().flat_map(BTreeMap::into_values).collect();
            // Sending fails only when the arena ends.
            let _ = finished.send(Ok(PlayedDeal { number, results }));
            completed.send_modify(|completed| *completed += 1);
        }
    }
}

impl HostedMatch {
    /// Returns whether all episodes of the match are over.
    async fn is_closed(&self) -> anyhow::Result<bool> {
        let get = GetMatchRequest { match_id: self.id.clone(), ..GetMatchRequest::default() };
        let shown = self.server.clone().get_match(self.request(get)?).await.map_err(status_to_error)?;
        let shown = shown.into_inner().r#match.context("the server's response has no match")?;
        Ok(shown.state() == v1::MatchState::Closed)
    }

    /// Returns a request with the tokens of the host and its account.
    fn request<T>(&self, message: T) -> anyhow::Result<Request<T>> {
        let mut request = Request::new(message);
        let token: MetadataValue<_> = format!("Bearer {}", self.host_token).parse()?;
        request.metadata_mut().insert("authorization", token);
        self.credentials.authenticate(&mut request)?;
        Ok(request)
    }
}

/// Fails when an agent ends before its match; returns when `should_stop` returns true. Checks `should_stop` first, since
/// Ctrl-C in a terminal also ends the agents.
async fn watch_agents(
    agents: &mut [StartedAgent<'_>],
    matches: &[HostedMatch],
    should_stop: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let mut interval = tokio::time::interval(CHECK_INTERVAL);
    loop {
        interval.tick().await;
        if should_stop() {
            return Ok(());
        }
        for StartedAgent { name, line_up, has_finished, process } in &mut *agents {
            if *has_finished {
                continue;
            }
            let Some(status) = process.as_mut().map(Agent::exit_status).transpose()?.flatten() else {
                continue;
            };
            if status.success() && matches[*line_up].is_closed().await? {
                *has_finished = true;
                continue;
            }
            let (_, output) = process.take().expect("the process has ended").end(END_TIMEOUT).await?;
            anyhow::bail!(
                "{name} has ended with {status} before its matches were over; its stderr: {}",
                output.stderr
            );
        }
    }
}

/// Returns the address at which this machine reaches a server that may listen on all interfaces.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it by value")]
fn status_to_error(status: Status) -> anyhow::Error {
    anyhow::anyhow!("{}", status.message())
}

/// Waits for all agents concurrently, and returns what they have reported. Kills each agent that takes longer than `limit`.
async fn end_agents(agents: Vec<StartedAgent<'_>>, limit: Duration) -> anyhow::Result<Reports> {
    let end = |StartedAgent { name, process, .. }| {
        process.map(|process: Agent| async move { (name, process.end(limit).await) })
    };
    let mut reports = Reports::new();
    for (name, ended) in join_all(agents.into_iter().filter_map(end)).await {
        for (figure, total) in ended?.1.totals {
            *reports.entry(name.to_owned()).or_default().entry(figure).or_default() += total;
        }
    }
    Ok(reports)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn slow_agents_are_waited_for_all_at_once() {
        let (limit, command) = (Duration::from_hours(1), ["sleep", "600"].map(str::to_owned));
        let start = |_| Agent::start(&command, "1", "1", &[]).expect("`sleep` starts");
        let agents = (0..10).map(start).map(|agent| StartedAgent {
            name: "agent:slow",
            line_up: 0,
            has_finished: false,
            process: Some(agent),
        });
        let begun = Instant::now();
        end_agents(agents.collect(), limit).await.expect("the agents are killed");
        assert!(begun.elapsed() < 2 * limit, "{:?}", begun.elapsed());
    }

    #[test]
    fn an_unspecified_address_is_reachable_on_loopback() {
        for (listens, expected) in
            [("0.0.0.0:7", "127.0.0.1:7"), ("[::]:7", "[::1]:7"), ("192.0.2.1:7", "192.0.2.1:7")]
        {
            let address = |text: &str| text.parse().expect("an address");
            assert_eq!(reachable(address(listens)), address(expected));
        }
    }
}

//! Runs scenarios with an agent, and compares each episode with one that the required policy plays.
//!
//! A server in this process hosts the matches. A [`Proxy`] between agent and server passes each message to a [`Gate`],
//! which judges it and injects the scenario's faults.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use boardwire_batch::pool::Pool;
use boardwire_batch::tables::Table;
use boardwire_kernel::{Digest, Seat};
use bytes::Bytes;
use tokio::sync::watch;

use super::gate::Gate;
use super::messages::Kind;
use super::proxy::Proxy;
use super::scenario::{Direction, Effect, Fault, PlayerKind, Scenario};
use crate::agent::{Agent, Output};
use boardwire_api::Error;
use boardwire_server::arbiter::{
    Arbiter, CloseReason, Decision, Extras, Observation, Phase, Reset, Role, Settings,
};
use boardwire_server::matches::Matches;
use boardwire_server::origin::Origin;

const EXTRAS: Extras =
    Extras { text: false, explanation: false, actions: true, head: false, history: false, label_seed: None };
/// The longest report of an invalid invitation, in lines.
const MAX_MESSAGE_LINES: usize = 6;
/// What the lines of stack traces begin with, in common languages.
const STACK_TRACES: [&str; 6] = ["Traceback ", "at ", "goroutine ", "stack backtrace", "thread '", "File \""];

/// The end of an episode: the number of plies and the digest of the position.
type EpisodeEnd = (u32, Digest);

pub(super) struct Examiner {
    pub(super) matches: Arc<Matches>,
    /// The server's address, `host:port`.
    pub(super) address: String,
    /// The agent's command, without the server's address and the invitation.
    pub(super) command: Vec<String>,
    /// The timeout of a scenario.
    pub(super) limit: Duration,
    /// How much longer a scenario may take in which the agent's keepalive has to find a silent connection.
    pub(super) keepalive: Duration,
}

impl Examiner {
    /// Runs a scenario with the agent.
    ///
    /// # Errors
    /// The agent breaks the protocol; the error's context is its stderr. Or the check itself fails.
    pub(super) async fn examine(&self, scenario: &Scenario) -> anyhow::Result<()> {
        if scenario.is_refused {
            return self.examine_refusal().await;
        }
        let table = scenario.table(self.matches.tables())?;
        let expected = expected_ends(&table, scenario).await?;
        let arbiter = self.matches.create(None, Origin::Unknown, table, scenario.settings()).await?;
        let examined = Arc::new(ExaminedMatch::new(Arc::clone(&arbiter), scenario));
        let mut agents = vec![];
        for (seat, code) in arbiter.invitations() {
            match scenario.players[seat.index()] {
                PlayerKind::Agent => {
                    let gate = Arc::new(Gate::new(Arc::clone(&examined)));
                    let proxy = Proxy::start(&self.address, Arc::clone(&gate)).await?;
                    let agent = Agent::start(&self.command, &proxy.address, &code, &scenario.environment())?;
                    agents.push(ExaminedAgent { agent, gate, _proxy: proxy });
                }
                PlayerKind::Examiner => {
                    arbiter.join(seat, None, None)?;
                    tokio::spawn(play(Arc::clone(&arbiter), seat, scenario.opponent_delay));
                }
                PlayerKind::Random => {}
            }
        }
        let limit = self.limit + if scenario.is_silent() { self.keepalive } else { Duration::ZERO };
        let played = tokio::time::timeout(limit, examined.wait_for_ends(&mut agents)).await;
        arbiter.close(CloseReason::Host);
        let mut result = played.unwrap_or_else(|_| anyhow::bail!("{}", examined.describe_timeout(limit)));
        result = result.and_then(|()| examined.compare(&expected));
        let mut outputs = vec![];
        for ExaminedAgent { agent, .. } in agents {
            let (status, Output { stderr, .. }) = agent.end(self.limit).await?;
            outputs.extend(Some(stderr).filter(|stderr| !stderr.is_empty()));
            result = result.and_then(|()| match status {
                None => anyhow::bail!("the match was closed, and the agent did not end"),
                Some(status) if status.success() => Ok(()),
                Some(status) => {
                    anyhow::bail!("the match was closed, and the agent ended with {status}, not with 0")
                }
            });
        }
        result.with_context(|| match outputs.join("\n") {
            stderr if stderr.is_empty() => "the agent's stderr is empty".to_owned(),
            stderr => format!("the agent's stderr: {stderr}"),
        })
    }

    /// Starts the agent with an invalid invitation. The agent must report that, and must not wait forever.
    async fn examine_refusal(&self) -> anyhow::Result<()> {
        let code = "00000000000000000000000000000000";
        let agent = Agent::start(&self.command, &self.address, code, &[])?;
        let (status, Output { stderr, .. }) = agent.end(self.limit).await?;
        let status = status.context("the invitation was invalid, and the agent did not end")?;
        anyhow::ensure!(!status.success(), "the invitation was invalid, and the agent ended with 0");
        anyhow::ensure!(!stderr.is_empty(), "the invitation was invalid, and the agent's stderr is empty");
        let is_trace = |line: &str| STACK_TRACES.iter().any(|start| line.trim_start().starts_with(start));
        let is_message = stderr.lines().count() <= MAX_MESSAGE_LINES && !stderr.lines().any(is_trace);
        anyhow::ensure!(
            is_message && stderr.contains("INVITATION_UNKNOWN"),
            "stderr must have message and reason (INVITATION_UNKNOWN) in at most {MAX_MESSAGE_LINES} lines, without a \
             stack trace; the agent's stderr: {stderr}"
        );
        Ok(())
    }
}

/// An agent's process, with what stands between it and the server.
struct ExaminedAgent {
    agent: Agent,
    gate: Arc<Gate>,
    _proxy: Proxy,
}

/// A match that the agents of a scenario play.
pub(super) struct ExaminedMatch {
    pub(super) arbiter: Arc<Arbiter>,
    episodes: u32,
    think: Duration,
    response_delay: Option<Duration>,
    progress: Mutex<Progress>,
    /// Whether the first agent of a fair deal has looked for the other commitments. The other agents join after that.
    others_may_join: watch::Sender<bool>,
}

#[derive(Default)]
struct Progress {
    /// The faults that have not happened yet.
    faults: VecDeque<Fault>,
    /// The description of the last fault that happened.
    last_fault: Option<String>,
    /// The first thing that an agent did wrong.
    problem: Option<String>,
    /// The ends of episodes, by episode number.
    ends: BTreeMap<u32, EpisodeEnd>,
    commitments: Vec<Bytes>,
    has_joined: bool,
}

impl ExaminedMatch {
    fn new(arbiter: Arc<Arbiter>, scenario: &Scenario) -> Self {
        let progress = Progress { faults: scenario.faults.clone().into(), ..Progress::default() };
        Self {
            arbiter,
            episodes: scenario.episodes,
            think: scenario.think,
            response_delay: scenario.response_delay,
            progress: Mutex::new(progress),
            others_may_join: watch::Sender::new(false),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn settings(&self) -> &Settings {
        self.arbiter.settings()
    }

    pub(super) fn think(&self) -> Duration {
        self.think
    }

    pub(super) fn response_delay(&self) -> Option<Duration> {
        self.response_delay
    }

    /// Notes what an agent did wrong.
    pub(super) fn find(&self, problem: impl Into<String>) {
        self.progress().problem.get_or_insert(problem.into());
    }

    /// Notes the end of an episode, before an agent observes it.
    pub(super) fn note_end_of_episode(&self) {
        let position = self.arbiter.position();
        if self.arbiter.phase() == Phase::Over {
            let end = (position.ply, position.digest);
            self.progress().ends.entry(position.episode).or_insert(end);
        }
    }

    /// Returns whether all episodes of the scenario have ended.
    pub(super) fn has_played_all(&self) -> bool {
        self.progress().ends.len() >= self.episodes as usize
    }

    /// Adds an agent's commitment for fair deals. Returns false if another agent has the same.
    pub(super) fn add_commitment(&self, commitment: &Bytes) -> bool {
        let commitments = &mut self.progress().commitments;
        let is_new = !commitments.contains(commitment);
        commitments.push(commitment.clone());
        is_new
    }

    /// With fair deals, delays all joins but the first, until the first agent has looked for the other commitments.
    pub(super) async fn wait_to_join(&self) {
        if self.settings().fair_deals && std::mem::replace(&mut self.progress().has_joined, true) {
            // The sender exists as long as this match.
            let _ = self.others_may_join.subscribe().wait_for(|may_join| *may_join).await;
        }
    }

    pub(super) fn let_others_join(&self) {
        self.others_may_join.send_replace(true);
    }

    /// Takes the next fault if it happens at this message.
    pub(super) fn next_fault(
        &self,
        direction: Direction,
        kind: Option<Kind>,
        is_over: bool,
    ) -> Option<Effect> {
        let position = self.arbiter.position();
        let progress = &mut *self.progress();
        progress.faults.front().filter(|fault| fault.matches(direction, kind, &position, is_over))?;
        let fault = progress.faults.pop_front()?;
        progress.last_fault = Some(fault.describe());
        Some(fault.effect)
    }

    /// Waits until all episodes are over, and every agent has asked for the next one.
    ///
    /// # Errors
    /// An agent did something wrong, or its process ended earlier. A fault did not happen.
    async fn wait_for_ends(&self, agents: &mut [ExaminedAgent]) -> anyhow::Result<()> {
        let mut interval = tokio::time::interval(Duration::from_millis(10));
        loop {
            interval.tick().await;
            if let Some(problem) = &self.progress().problem {
                anyhow::bail!("{problem}");
            }
            for ExaminedAgent { agent, .. } in &mut *agents {
                if let Some(status) = agent.exit_status()? {
                    let (over, episodes) = (self.progress().ends.len(), self.episodes);
                    anyhow::bail!(
                        "the agent ended with {status} when {over} of {episodes} episodes were over and the match was \
                         open; {}",
                        self.describe_fault()
                    );
                }
            }
            if self.has_played_all() && agents.iter().all(|agent| agent.gate.has_asked()) {
                let missed =
                    self.progress().faults.iter().find(|fault| !fault.is_optional()).map(Fault::describe);
                return missed
                    .map_or(Ok(()), |fault| Err(anyhow::anyhow!("a fault did not happen: {fault}")));
            }
        }
    }

    /// Describes a scenario that was not over in time.
    fn describe_timeout(&self, limit: Duration) -> String {
        let (over, episodes) = (self.progress().ends.len(), self.episodes);
        let waits =
            if over < episodes as usize { "" } else { ", and an agent did not ask for the next episode" };
        format!("{over} of {episodes} episodes were over after {limit:?}{waits}; {}", self.describe_fault())
    }

    fn describe_fault(&self) -> String {
        let progress = self.progress();
        let last = progress.last_fault.as_deref().unwrap_or("none");
        format!("the last fault: {last}")
    }

    fn compare(&self, expected: &BTreeMap<u32, EpisodeEnd>) -> anyhow::Result<()> {
        let ends = &self.progress().ends;
        for (episode, (plies, digest)) in expected {
            let end = ends.get(episode).with_context(|| format!("episode {episode} was not played"))?;
            anyhow::ensure!(
                (plies, digest) == (&end.0, &end.1),
                "episode {episode} ended after {} plies with digest {}; the policy ends it after {plies} with {digest}",
                end.0,
                end.1
            );
        }
        Ok(())
    }
}

/// Returns the policy's decision: the legal action with index `decision` modulo their number.
fn decide(observation: &Observation) -> Decision {
    let action = &observation.actions[observation.decision as usize % observation.actions.len()];
    Decision { episode: observation.episode, number: observation.decision, action: action.index }
}

/// Plays the scenario with only the policy, without the agent. Returns the ends of its episodes, by number.
async fn expected_ends(table: &Arc<Table>, scenario: &Scenario) -> anyhow::Result<BTreeMap<u32, EpisodeEnd>> {
    if scenario.settings().fair_deals {
        // The deal depends on secrets.
        return Ok(BTreeMap::new());
    }
    let pool = Pool::new(1)?;
    let settings = scenario.settings();
    let agents: Vec<Seat> = settings.seats().filter(|seat| settings.agents().contains(*seat)).collect();
    let arbiter = Arc::new(Arbiter::new(Arc::clone(table), settings, pool.new_group().work_queue(), 1));
    arbiter.start();
    if scenario.host_resets() {
        arbiter.reset_match(Role::Host, None, None).await?;
    }
    let mut ends = BTreeMap::new();
    while ends.len() < scenario.episodes as usize {
        while arbiter.phase() == Phase::Playing {
            for &seat in &agents {
                let observation = arbiter.observe(seat, false, EXTRAS).await?;
                if observation.pending.contains(&seat.number().into()) {
                    arbiter.act(seat, decide(&observation)).await?;
                }
            }
        }
        let position = arbiter.position();
        ends.insert(position.episode, (position.ply, position.digest));
        arbiter.reset_match(Role::Host, None, None).await?;
    }
    Ok(ends)
}

/// Plays a seat with the policy until the match is closed. The first decisions are slow.
async fn play(arbiter: Arc<Arbiter>, seat: Seat, delay: Duration) -> Result<(), Error> {
    loop {
        let observation = arbiter.observe(seat, true, EXTRAS).await?;
        if observation.pending.contains(&seat.number().into()) {
            if observation.episode == 0 && observation.decision < 2 {
                tokio::time::sleep(delay).await;
            }
            arbiter.act(seat, decide(&observation)).await?;
        } else {
            arbiter
                .reset(seat, Reset { from_episode: Some(observation.episode), ..Reset::default() })
                .await?;
        }
    }
}

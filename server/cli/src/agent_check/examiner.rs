//! Runs scenarios with an agent, and compares each episode with one that the required policy plays.
//!
//! A server in this process hosts the matches. A [`Proxy`] between agent and server drops responses, cuts connections and
//! adds delays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use boardwire_batch::pool::Pool;
use boardwire_batch::tables::Table;
use boardwire_kernel::{Digest, Seat};
use futures_util::FutureExt as _;

use super::proxy::{Direction, Gate, Proxy, Verdict};
use super::scenario::{Fault, PlayerKind, Scenario};
use crate::agent::Agent;
use boardwire_api::Error;
use boardwire_server::arbiter::{
    Arbiter, Audience, CloseReason, Decision, Extras, Observation, Phase, Reset, Role,
};
use boardwire_server::matches::Matches;
use boardwire_server::origin::Origin;

/// How long the examiner's seat waits before each of its first decisions, so that the agent has to wait.
const OPPONENT_DELAY: Duration = Duration::from_millis(1_500);
const EXTRAS: Extras =
    Extras { text: false, explanation: false, actions: true, head: false, history: false, label_seed: None };

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
}

impl Examiner {
    /// Runs a scenario with the agent.
    ///
    /// # Errors
    /// The agent breaks the protocol; the error's context is its stderr. Or the check itself fails.
    pub(super) async fn examine(&self, scenario: &Scenario) -> anyhow::Result<()> {
        if let Fault::BadInvitation = scenario.fault {
            return self.examine_refusal().await;
        }
        let table = scenario.table(self.matches.tables())?;
        let expected = expected_ends(&table, scenario).await?;
        let arbiter = self.matches.create(None, Origin::Unknown, table, scenario.settings()).await?;
        let examined = Arc::new(ExaminedMatch {
            arbiter: Arc::clone(&arbiter),
            fault: Mutex::new(scenario.fault.clone()),
            ends: Mutex::default(),
        });
        let mut agents = vec![];
        for (seat, code) in arbiter.invitations() {
            match scenario.players[seat.index()] {
                PlayerKind::Agent => {
                    let examined = Arc::clone(&examined);
                    let gate: Gate =
                        Arc::new(move |direction| Arc::clone(&examined).judge(direction).boxed());
                    let proxy = Proxy::start(self.address.clone(), gate).await?;
                    agents.push((Agent::start(&self.command, &proxy.address, &code)?, proxy));
                }
                PlayerKind::Examiner => {
                    arbiter.join(seat, None, None)?;
                    tokio::spawn(play(Arc::clone(&arbiter), seat));
                }
                PlayerKind::Random => {}
            }
        }
        let played = examined.wait_for_ends(scenario.episodes, &mut agents);
        let played = tokio::time::timeout(self.limit, played).await;
        arbiter.close(CloseReason::Host);
        let mut result = played.unwrap_or_else(|_| {
            let (over, episodes) = (examined.ends().len(), scenario.episodes);
            anyhow::bail!("{over} of {episodes} episodes were over after {:?}", self.limit)
        });
        result = result.and_then(|()| examined.compare(&expected));
        let mut outputs = vec![];
        for (agent, _proxy) in agents {
            let (status, stderr) = agent.end(self.limit).await?;
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
        let agent = Agent::start(&self.command, &self.address, "00000000000000000000000000000000")?;
        let (status, stderr) = agent.end(self.limit).await?;
        let status = status.context("the invitation was invalid, and the agent did not end")?;
        anyhow::ensure!(!status.success(), "the invitation was invalid, and the agent ended with 0");
        anyhow::ensure!(!stderr.is_empty(), "the invitation was invalid, and the agent's stderr is empty");
        Ok(())
    }
}

struct ExaminedMatch {
    arbiter: Arc<Arbiter>,
    /// The fault that has not happened yet.
    fault: Mutex<Fault>,
    /// The ends of episodes, by episode number.
    ends: Mutex<BTreeMap<u32, EpisodeEnd>>,
}

impl ExaminedMatch {
    fn ends(&self) -> MutexGuard<'_, BTreeMap<u32, EpisodeEnd>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides what the proxy does with bytes. Records the end of an episode before the agent observes it.
    async fn judge(self: Arc<Self>, direction: Direction) -> Verdict {
        let position = self.arbiter.position();
        if self.arbiter.phase() == Phase::Over {
            self.ends().entry(position.episode).or_insert((position.ply, position.digest));
        }
        let joined = self.arbiter.describe(Audience::Host).joined;
        let agents = self.arbiter.settings().agents();
        let joined = agents.iter().all(|seat| joined.contains(&seat.number().into()));
        let (verdict, resets) = {
            let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.apply(direction, joined, &position)
        };
        if resets {
            // This fails only if the match is closed.
            let _ = self.arbiter.reset_match(Role::Host, None, None).await;
        }
        verdict
    }

    /// Waits until `episodes` episodes are over. It is an error if an agent's process ends earlier.
    async fn wait_for_ends(&self, episodes: u32, agents: &mut [(Agent, Proxy)]) -> anyhow::Result<()> {
        let mut interval = tokio::time::interval(Duration::from_millis(10));
        loop {
            interval.tick().await;
            let over = self.ends().len();
            if over >= episodes as usize {
                return Ok(());
            }
            for (agent, _) in &mut *agents {
                if let Some(status) = agent.exit_status()? {
                    anyhow::bail!(
                        "the agent ended with {status} when {over} of {episodes} episodes were over"
                    );
                }
            }
        }
    }

    fn compare(&self, expected: &BTreeMap<u32, EpisodeEnd>) -> anyhow::Result<()> {
        let ends = self.ends();
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
    let pool = Pool::new(1)?;
    let settings = scenario.settings();
    let agents: Vec<Seat> = settings.seats().filter(|seat| settings.agents().contains(*seat)).collect();
    let arbiter = Arc::new(Arbiter::new(Arc::clone(table), settings, pool.new_group().work_queue(), 1));
    arbiter.start();
    if let Fault::Reset(_) = scenario.fault {
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
async fn play(arbiter: Arc<Arbiter>, seat: Seat) -> Result<(), Error> {
    loop {
        let observation = arbiter.observe(seat, true, EXTRAS).await?;
        if observation.pending.contains(&seat.number().into()) {
            if observation.episode == 0 && observation.decision < 2 {
                tokio::time::sleep(OPPONENT_DELAY).await;
            }
            arbiter.act(seat, decide(&observation)).await?;
        } else {
            arbiter
                .reset(seat, Reset { from_episode: Some(observation.episode), ..Reset::default() })
                .await?;
        }
    }
}

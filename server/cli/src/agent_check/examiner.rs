//! Whether an agent, in whatever language, keeps the protocol.
//!
//! A server of our own hosts matches for a command that plays a known policy; between the two stands a [`Proxy`] that
//! loses answers, cuts connections and delays. What was played is compared with what the policy plays here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use boardwire_kernel::Seat;

use super::expected::{self, End, SEEN, decide};
use super::proxy::{Proxy, Toward, Verdict};
use super::scenario::{Fault, PlayerKind, Scenario};
use crate::agent::Agent;
use boardwire_api::Error;
use boardwire_server::arbiter::{Arbiter, Audience, CloseReason, Phase, Reset, Role};
use boardwire_server::matches::Matches;
use boardwire_server::origin::Origin;

/// How long our own seat takes for its first decisions where others have to wait for it.
const OPPONENT_DELAY: Duration = Duration::from_millis(1_500);

/// A server, and the command that is put to the test.
pub(super) struct Examiner {
    /// The matches of the server.
    pub(super) matches: Arc<Matches>,
    /// Where the server listens: `host:port`.
    pub(super) address: String,
    /// The command and its first arguments; the server's address and an invitation follow.
    pub(super) command: Vec<String>,
    /// How long a scenario may take.
    pub(super) limit: Duration,
}

impl Examiner {
    /// Puts the command through a scenario.
    ///
    /// # Errors
    /// What it did wrong, with what it said; or what went wrong here.
    pub(super) async fn examine(&self, scenario: &Scenario) -> anyhow::Result<()> {
        if let Fault::BadInvitation = scenario.fault {
            return self.examine_refusal().await;
        }
        let table = scenario.table(self.matches.tables())?;
        let expected = expected::ends(&table, scenario).await?;
        let settings = scenario.settings();
        let arbiter = self.matches.create(None, Origin::Unknown, table, settings).await?;
        let examined = Arc::new(ExaminedMatch {
            arbiter: Arc::clone(&arbiter),
            fault: Mutex::new(scenario.fault.clone()),
            ends: Mutex::default(),
        });
        let mut agents = vec![];
        for (seat, code) in arbiter.invitations() {
            match scenario.players[seat.index()] {
                PlayerKind::Agent => {
                    let watching = Arc::clone(&examined);
                    let gate = move |toward| {
                        let examined = Arc::clone(&watching);
                        async move { examined.judge(toward).await }
                    };
                    let proxy = Proxy::start(self.address.clone(), gate).await?;
                    agents.push((self.start(&proxy.address, &code)?, proxy));
                }
                PlayerKind::Kit => {
                    arbiter.join(seat, None, None)?;
                    tokio::spawn(play(Arc::clone(&arbiter), seat));
                }
                PlayerKind::Random => {}
            }
        }
        let played =
            tokio::time::timeout(self.limit, examined.until_over(scenario.episodes, &mut agents)).await;
        arbiter.close(CloseReason::Host);
        let played = played
            .map_err(|_| anyhow::anyhow!("it had not played {} after {:?}", scenario.episodes(), self.limit));
        let mut said = vec![];
        let mut left = vec![];
        for (agent, _proxy) in agents {
            let (status, words) = agent.end(self.limit).await?;
            left.push(status);
            said.extend(Some(words).filter(|words| !words.is_empty()));
        }
        let verdict =
            played.and_then(|played| played).and_then(|()| examined.compare(&expected)).and_then(|()| {
                let bad = left.iter().find(|status| !status.is_some_and(|status| status.success()));
                match bad {
                    None => Ok(()),
                    Some(Some(status)) => {
                        anyhow::bail!("the match was closed, and it ended with {status}, not with 0")
                    }
                    Some(None) => anyhow::bail!("the match was closed, and it did not end"),
                }
            });
        verdict.with_context(|| match said.join("\n") {
            said if said.is_empty() => "it said nothing".to_owned(),
            said => format!("it said: {said}"),
        })
    }

    /// An agent that nobody has invited must say so, and not wait for ever.
    async fn examine_refusal(&self) -> anyhow::Result<()> {
        let agent = self.start(&self.address, "00000000000000000000000000000000")?;
        let (status, said) = agent.end(self.limit).await?;
        let status = status.context("nobody had invited it, and it did not end")?;
        anyhow::ensure!(!status.success(), "nobody had invited it, and it ended with 0");
        anyhow::ensure!(
            !said.is_empty(),
            "nobody had invited it, and it said nothing of that on standard error"
        );
        Ok(())
    }

    fn start(&self, address: &str, code: &str) -> anyhow::Result<Agent> {
        Agent::start(&self.command, address, code)
    }
}

/// A match under examination.
struct ExaminedMatch {
    arbiter: Arc<Arbiter>,
    /// What is still to be done to the agent.
    fault: Mutex<Fault>,
    /// How its episodes have ended.
    ends: Mutex<BTreeMap<u32, End>>,
}

impl ExaminedMatch {
    /// What becomes of bytes on their way. An agent is told of nothing that has not been seen here first.
    async fn judge(&self, toward: Toward) -> Verdict {
        let position = self.arbiter.position();
        if self.arbiter.phase() == Phase::Over {
            let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
            ends.entry(position.episode).or_insert((position.ply, position.digest));
        }
        let joined = self.arbiter.describe(Audience::Host).joined;
        let joined =
            self.arbiter.settings().agents().iter().all(|seat| joined.contains(&seat.number().into()));
        let (verdict, resets) = {
            let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.apply(toward, joined, &position)
        };
        if resets {
            // It is there to reset, or has been closed.
            let _ = self.arbiter.reset_match(Role::Host, None, None).await;
        }
        verdict
    }

    /// Waits until so many episodes are over; an agent that ends before has failed.
    async fn until_over(&self, episodes: u32, agents: &mut [(Agent, Proxy)]) -> anyhow::Result<()> {
        let mut often = tokio::time::interval(Duration::from_millis(10));
        loop {
            often.tick().await;
            let over = self.ends.lock().unwrap_or_else(PoisonError::into_inner).len();
            if over >= episodes as usize {
                return Ok(());
            }
            for (agent, _) in &mut *agents {
                if let Some(status) = agent.has_ended()? {
                    anyhow::bail!("it ended with {status} when {over} of {episodes} episodes were over");
                }
            }
        }
    }

    fn compare(&self, expected: &BTreeMap<u32, End>) -> anyhow::Result<()> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        for (episode, (plies, digest)) in expected {
            let (own_plies, own_digest) =
                ends.get(episode).with_context(|| format!("episode {episode} has not been played"))?;
            anyhow::ensure!(
                (plies, digest) == (own_plies, own_digest),
                "episode {episode} ended after {own_plies} plies with digest {own_digest}; the policy ends it after \
                 {plies} with {digest}"
            );
        }
        Ok(())
    }
}

/// Plays a seat of our own until the match is closed, and lets others wait at first.
async fn play(arbiter: Arc<Arbiter>, seat: Seat) -> Result<(), Error> {
    loop {
        let seen = arbiter.observe(seat, true, SEEN).await?;
        if seen.pending.contains(&seat.number().into()) {
            if seen.episode == 0 && seen.decision < 2 {
                tokio::time::sleep(OPPONENT_DELAY).await;
            }
            arbiter.act(seat, decide(&seen)).await?;
        } else {
            arbiter.reset(seat, Reset { leave: Some(seen.episode), ..Reset::default() }).await?;
        }
    }
}

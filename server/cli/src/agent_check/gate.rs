//! Judges each message of an agent: finds what breaks the protocol, and injects the faults of a scenario.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::v1::{ActRequest, Match, Observation};
use boardwire_server::arbiter::Role;
use bytes::Bytes;

use super::examiner::ExaminedMatch;
use super::messages::{AgentRequest, Call, Kind, ServerResponse};
use super::proxy::Verdict;
use super::scenario::{Direction, Effect};

/// The shortest deadline of a single call that waits for players.
const MIN_WAIT_DEADLINE: Duration = Duration::from_mins(1);

/// Judges the messages of one agent.
pub(super) struct Gate {
    examined: Arc<ExaminedMatch>,
    agent: Mutex<AgentState>,
}

/// What the check knows of an agent.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
struct AgentState {
    /// Whether a response has passed on the agent's stream since the last fault or refusal.
    has_working_stream: bool,
    /// The kind of the last request.
    last_kind: Option<Kind>,
    /// Whether the last request was an `Observe` without `wait`.
    has_peeked: bool,
    /// Whether the response to that request showed no decision and no end of the episode.
    has_to_wait: bool,
    /// Whether a response has shown the commitments of all agents.
    knows_commitments: bool,
    /// The commitment of the agent's first join.
    commitment: Option<Bytes>,
    /// The episode and decision that the agent has to act in, and when the check forwarded the observation.
    due: Option<(u32, u32, Instant)>,
    /// Whether the agent has asked for the next episode after the last one of the scenario.
    has_asked: bool,
}

impl Gate {
    pub(super) fn new(examined: Arc<ExaminedMatch>) -> Self {
        Self { examined, agent: Mutex::default() }
    }

    fn agent(&self) -> MutexGuard<'_, AgentState> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the agent has asked for the next episode after the last one of the scenario.
    pub(super) fn has_asked(&self) -> bool {
        self.agent().has_asked
    }

    /// Judges the start of a call.
    pub(super) fn open(&self, call: &Call) {
        if !call.is_stream() {
            return;
        }
        if let Some(timeout) = call.timeout {
            self.examined.find(format!("the stream has a deadline of {timeout:?}; it must have none"));
        }
        if std::mem::take(&mut self.agent().has_working_stream) {
            self.examined.find("the agent opened a second stream, although the first one had not failed");
        }
    }

    /// Notes that the server has ended a call with an error.
    pub(super) fn note_end(&self) {
        self.agent().has_working_stream = false;
    }

    /// Judges a message of the agent.
    pub(super) async fn judge_request(&self, call: &Call, message: &Bytes) -> Verdict {
        self.examined.note_end_of_episode();
        let request = call.read_request(message);
        if let Some(problem) = self.problem_with(call, &request) {
            self.examined.find(problem);
        }
        match request.kind() {
            Kind::JoinMatch => self.examined.wait_to_join().await,
            // The agent no longer looks for the other commitments.
            Kind::OpenDeal | Kind::Observe => self.examined.let_others_join(),
            _ => {}
        }
        let verdict = match self.examined.next_fault(Direction::ToServer, Some(request.kind()), false) {
            None => Verdict::Pass,
            Some(effect) => self.disturb(effect, call, message).await,
        };
        let mut agent = self.agent();
        agent.last_kind = Some(request.kind());
        agent.has_peeked = matches!(&request, AgentRequest::Observe(observe) if !observe.wait);
        agent.has_to_wait = false;
        agent.has_asked |= request.kind() == Kind::Reset
            && matches!(verdict, Verdict::Pass)
            && self.examined.has_played_all();
        verdict
    }

    /// Judges a message of the server.
    pub(super) async fn judge_response(&self, call: &Call, message: &Bytes) -> Verdict {
        self.examined.note_end_of_episode();
        let (kind, response) = call.read_response(message);
        let is_over =
            matches!(&response, ServerResponse::Observation(shown) if shown.terminated || shown.truncated);
        // The agent waits for each response, so a refusal on the stream belongs to the last request.
        let kind = kind.or(self.agent().last_kind);
        let verdict = match self.examined.next_fault(Direction::ToAgent, kind, is_over) {
            None => Verdict::Pass,
            Some(effect) => self.disturb(effect, call, message).await,
        };
        if let Some(delay) = self.examined.response_delay() {
            tokio::time::sleep(delay).await;
        }
        let has_passed = matches!(verdict, Verdict::Pass);
        let mut agent = self.agent();
        if call.is_stream() {
            agent.has_working_stream = has_passed && !matches!(response, ServerResponse::Refused);
        }
        match response {
            ServerResponse::Observation(shown) => agent.note_observation(&shown),
            ServerResponse::Match(shown) => {
                agent.knows_commitments |= has_all_commitments(&shown);
                if kind == Some(Kind::GetMatch) {
                    self.examined.let_others_join();
                }
            }
            ServerResponse::Refused => agent.has_to_wait = agent.has_peeked,
            ServerResponse::Other => {}
        }
        verdict
    }

    /// Returns the verdict for a fault.
    async fn disturb(&self, effect: Effect, call: &Call, message: &Bytes) -> Verdict {
        self.agent().has_working_stream = false;
        match effect {
            Effect::Cut => Verdict::Cut,
            Effect::CutLater(time) => Verdict::CutAfter(time),
            Effect::Silence => Verdict::Silence,
            Effect::Refuse(refusal) => call.refuse(message, &refusal),
            Effect::End(refusal) => Verdict::End(refusal.status()),
            Effect::Truncate => call.truncate(message),
            Effect::HostResets => {
                // This fails only if the match is closed.
                let _ = self.examined.arbiter.reset_match(Role::Host, None, None).await;
                Verdict::Pass
            }
        }
    }

    /// Returns what is wrong with a request.
    fn problem_with(&self, call: &Call, request: &AgentRequest) -> Option<String> {
        let agent = &mut *self.agent();
        if let Some(timeout) = call.timeout.filter(|timeout| *timeout < MIN_WAIT_DEADLINE)
            && request.waits()
        {
            return Some(format!(
                "a call that waits for players has a deadline of {timeout:?}; allow minutes"
            ));
        }
        match request {
            AgentRequest::Observe(observe) if !observe.wait && agent.has_to_wait => {
                Some("the agent polls: it called Observe without `wait` twice in succession".to_owned())
            }
            AgentRequest::Reset(reset) if reset.episode.is_none() => {
                Some("Reset has no `episode`: a repeated call could skip an episode".to_owned())
            }
            AgentRequest::OpenDeal if !agent.knows_commitments => Some(
                "the agent called OpenDeal before it saw the commitments of all agents in GetMatch"
                    .to_owned(),
            ),
            AgentRequest::Join(join) if self.examined.settings().fair_deals => {
                let is_first = agent.commitment.is_none();
                let commitment = agent.commitment.get_or_insert_with(|| join.commitment.clone());
                if *commitment != join.commitment {
                    return Some("a repeated JoinMatch has another commitment".to_owned());
                }
                let is_new = !is_first || self.examined.add_commitment(&join.commitment);
                (!is_new).then(|| "two agents have the same commitment: secrets must be random".to_owned())
            }
            AgentRequest::Act(act) => {
                let (_, _, since) = agent.due.filter(|due| (due.0, due.1) == (act.episode, act.decision))?;
                let has_clock = !self.examined.settings().clocks.is_empty();
                problem_with_time(act, since.elapsed(), self.examined.think(), has_clock)
            }
            _ => None,
        }
    }
}

impl AgentState {
    fn note_observation(&mut self, shown: &Observation) {
        let is_due = shown.mask.iter().any(|byte| *byte != 0);
        self.has_to_wait = self.has_peeked && !is_due && !(shown.terminated || shown.truncated);
        self.due = is_due.then(|| (shown.episode, shown.decision, Instant::now()));
    }
}

/// Returns whether a match shows the commitment of every agent.
fn has_all_commitments(shown: &Match) -> bool {
    let players = shown.config.iter().flat_map(|config| &config.players);
    let commitments = shown.fair.iter().flat_map(|fair| &fair.seat_commitments);
    shown.fair.is_some()
        && players.zip(commitments).all(|(player, commitment)| {
            let is_agent = matches!(player.kind, Some(boardwire_api::v1::player::Kind::Agent(_)));
            !is_agent || !commitment.is_empty()
        })
}

/// Returns what is wrong with the time of an action, for an observation of this age.
///
/// The agent thinks for at least `think`. It sees the observation after the check has passed it, so an honest `thought` is
/// never longer than the observation's age.
fn problem_with_time(act: &ActRequest, age: Duration, think: Duration, has_clock: bool) -> Option<String> {
    if age < think {
        return Some(format!(
            "BOARDWIRE_CHECK_THINK asks for {think:?} before each Act; one came after {age:?}"
        ));
    }
    if !has_clock {
        return None;
    }
    let Some(thought) = &act.thought else {
        return Some("the agent has a clock, and its Act has no `thought`".to_owned());
    };
    let thought = Duration::try_from(*thought).unwrap_or_default();
    let is_wrong = thought < think || thought > age;
    is_wrong.then(|| format!("`thought` is {thought:?}; it must be at least {think:?} and at most {age:?}"))
}

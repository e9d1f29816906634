//! The scenarios of `agent-check`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use boardwire_api::Error;
use boardwire_batch::Player;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_kernel::OptionKind;

use super::messages::{Kind, Refusal};
use boardwire_bots::Bot;
use boardwire_server::arbiter::{Clock, OnTimeout, Position, Settings};

/// The delay of every response in one scenario.
const RESPONSE_DELAY: Duration = Duration::from_millis(15);
/// How long another seat waits before each of its first decisions, so that the agent has to wait.
const SHORT_WAIT: Duration = Duration::from_millis(1_500);
/// The same, longer than a hasty deadline.
const LONG_WAIT: Duration = Duration::from_secs(6);
/// How long the agent has to think before each action, if a scenario asks for it.
const THINK: Duration = Duration::from_millis(200);
/// The clock of agents, so long that no agent loses time.
const CLOCK: Duration = Duration::from_mins(5);
/// The seed of every match. It makes the expected end of each episode computable.
const SEED: u64 = 7;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToServer,
    ToAgent,
}

/// A feature that not every agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Feature {
    Clocks,
    FairDeals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlayerKind {
    Agent,
    /// The examiner, which plays the same policy that the agent must play.
    Examiner,
    /// The random bot.
    Random,
}

/// What happens to a message.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    /// The message is lost and the connection breaks. The next connection breaks immediately.
    Cut,
    /// The message passes. After this time, the connection breaks.
    CutLater(Duration),
    /// From this message on, the connection carries no byte.
    Silence,
    /// The request is refused. A request to the server is then not executed.
    Refuse(Refusal),
    /// The same, and the stream ends.
    End(Refusal),
    /// The end of an episode is shown as a truncation.
    Truncate,
    /// The host starts the next episode before the message passes.
    HostResets,
}

/// A message at which a fault happens.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    direction: Direction,
    /// The kind of the message's request; none for any request of a seat.
    kind: Option<Kind>,
    /// The first episode and ply at which the fault can happen.
    from: (u32, u32),
    pub(super) effect: Effect,
}

impl Fault {
    fn new(direction: Direction, kind: Kind, effect: Effect) -> Self {
        Self { direction, kind: Some(kind), from: (0, 0), effect }
    }

    /// A fault at any request of a seat, from a ply of the first episode on.
    fn at(direction: Direction, ply: u32, effect: Effect) -> Self {
        Self { direction, kind: None, from: (0, ply), effect }
    }

    /// Returns whether the fault happens at a message.
    pub(super) fn matches(
        &self,
        direction: Direction,
        kind: Option<Kind>,
        position: &Position,
        is_over: bool,
    ) -> bool {
        let is_play = matches!(kind, Some(Kind::Observe | Kind::Act | Kind::Reset));
        self.direction == direction
            && self.kind.map_or(is_play, |expected| kind == Some(expected))
            && (position.episode, position.ply) >= self.from
            && match self.effect {
                Effect::Truncate => is_over,
                Effect::CutLater(_) => !is_over,
                _ => true,
            }
    }

    /// Returns whether an agent may play without such a request.
    pub(super) fn is_optional(&self) -> bool {
        self.kind == Some(Kind::GetGame)
    }

    /// Describes the fault for a report.
    pub(super) fn describe(&self) -> String {
        let Self { direction, kind, from: (episode, ply), effect } = self;
        let message = if *direction == Direction::ToServer { "request" } else { "response" };
        let kind = kind.map_or_else(String::new, |kind| format!(" of {kind:?}"));
        let effect = match effect {
            Effect::Cut => "is lost, and the connection breaks".to_owned(),
            Effect::CutLater(_) => "passes, and the connection breaks while the agent thinks".to_owned(),
            Effect::Silence => "is lost, and the connection is silent from then on".to_owned(),
            Effect::Refuse(refusal) => format!("is refused with {}", refusal.name()),
            Effect::End(refusal) => format!("ends the stream with {}", refusal.name()),
            Effect::Truncate => "shows a truncated episode".to_owned(),
            Effect::HostResets => "passes after the host has reset the match".to_owned(),
        };
        format!("a {message}{kind} from ply {ply} of episode {episode} on {effect}")
    }
}

/// A match with faults.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) game: &'static str,
    pub(super) players: Vec<PlayerKind>,
    pub(super) options: BTreeMap<&'static str, String>,
    pub(super) skip_forced: bool,
    pub(super) episodes: u32,
    /// The faults, in the order in which they happen.
    pub(super) faults: Vec<Fault>,
    /// Whether the invitation is invalid.
    pub(super) is_refused: bool,
    /// The delay of every response.
    pub(super) response_delay: Option<Duration>,
    /// How long the examiner's seat waits before each of its first decisions.
    pub(super) opponent_delay: Duration,
    /// How long the agent must think before each action.
    pub(super) think: Duration,
    /// The feature that the agent needs.
    pub(super) feature: Option<Feature>,
}

impl Scenario {
    fn new(name: &str, game: &'static str, players: &[PlayerKind]) -> Self {
        Self {
            name: format!("{game}, {} seats: {name}", players.len()),
            game,
            players: players.to_vec(),
            options: BTreeMap::new(),
            skip_forced: false,
            episodes: 1,
            faults: vec![],
            is_refused: false,
            response_delay: None,
            opponent_delay: SHORT_WAIT,
            think: Duration::ZERO,
            feature: None,
        }
    }

    pub(super) fn table(&self, tables: &Tables) -> Result<Arc<Table>, Error> {
        let seats = u32::try_from(self.players.len()).unwrap_or(u32::MAX);
        let options = self.options.iter().map(|(name, value)| (*name, value.as_str()));
        tables.table(self.game, seats, options)
    }

    pub(super) fn settings(&self) -> Settings {
        let player = |kind: &PlayerKind| match kind {
            PlayerKind::Agent | PlayerKind::Examiner => Player::Agent,
            PlayerKind::Random => Player::Bot(Bot::Random),
        };
        let clock = |kind: &PlayerKind| {
            (*kind == PlayerKind::Agent).then_some(Clock {
                limit: CLOCK,
                bank: CLOCK,
                increment: Duration::ZERO,
                strikes: 0,
                on_timeout: OnTimeout::Forfeit,
            })
        };
        let with_clocks = self.feature == Some(Feature::Clocks);
        let fair_deals = self.feature == Some(Feature::FairDeals);
        Settings {
            seed: (!fair_deals).then_some(SEED),
            fair_deals,
            skip_forced: self.skip_forced,
            clocks: if with_clocks { self.players.iter().map(clock).collect() } else { vec![] },
            ..Settings::of(self.players.iter().map(player).collect())
        }
    }

    /// Returns whether the host resets the match.
    pub(super) fn host_resets(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault.effect, Effect::HostResets))
    }

    /// Returns whether a connection becomes silent, so that the agent's keepalive has to find it.
    pub(super) fn is_silent(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault.effect, Effect::Silence))
    }

    /// Returns the environment variables of the agent.
    pub(super) fn environment(&self) -> Vec<(&'static str, OsString)> {
        if self.think.is_zero() {
            return vec![];
        }
        vec![("BOARDWIRE_CHECK_THINK", self.think.as_secs_f64().to_string().into())]
    }
}

/// Returns all scenarios: those of each game, then those that need only one.
pub(super) fn scenarios(registry: &Registry) -> Vec<Scenario> {
    use PlayerKind::{Agent, Random};
    let mut all = vec![];
    if let Some(game) = registry.game_types().next() {
        // These take the longest time, so they begin first.
        all.extend(slow_scenarios(game.id));
    }
    for game_type in registry.game_types() {
        let game = game_type.id;
        let two = |name: &str| Scenario::new(name, game, &[Agent, Random]);
        let maximum = usize::from(*game_type.seats.end());
        all.push(two("an episode"));
        all.push(Scenario::new(
            "at the last seat",
            game,
            &[&vec![Random; maximum - 1][..], &[Agent]].concat(),
        ));
        all.push(Scenario::new("the agent at every seat", game, &vec![Agent; maximum.min(3)]));
        all.push(Scenario { episodes: 3, ..two("three episodes") });
        all.push(Scenario { skip_forced: true, ..two("forced choices are skipped") });
        for option in game_type.options {
            let value = match option.kind {
                OptionKind::Choice(values) => {
                    values.iter().rfind(|value| **value != option.default).map(|value| (*value).to_owned())
                }
                OptionKind::Flag => Some(if option.default == "true" { "false" } else { "true" }.to_owned()),
                OptionKind::Int(_, maximum) => Some(maximum.to_string()),
            };
            if let Some(value) = value {
                let name = format!("option {}={value}", option.name);
                all.push(Scenario { options: [(option.name, value)].into(), ..two(&name) });
            }
        }
        all.extend(connection_scenarios(game));
    }
    if let Some(game) = registry.game_types().next() {
        all.extend(refusal_scenarios(game.id));
        all.extend(state_scenarios(game.id));
    }
    let name = "the invitation is invalid".to_owned();
    all.push(Scenario { name, is_refused: true, ..all[0].clone() });
    all
}

/// Returns the scenarios with lost messages and slow players.
fn connection_scenarios(game: &'static str) -> Vec<Scenario> {
    use Direction::{ToAgent, ToServer};
    use PlayerKind::{Agent, Examiner, Random};
    let two = |name: &str| Scenario::new(name, game, &[Agent, Random]);
    let cuts = |direction| [3, 4, 5, 12].map(|ply| Fault::at(direction, ply, Effect::Cut)).to_vec();
    let lost = |kind| vec![Fault::new(ToAgent, kind, Effect::Cut)];
    vec![
        Scenario { faults: lost(Kind::JoinMatch), ..two("the response to the join is lost") },
        Scenario { faults: lost(Kind::Reset), episodes: 2, ..two("the response to a reset is lost") },
        Scenario { faults: cuts(ToAgent), ..two("responses and connections are lost") },
        Scenario { faults: cuts(ToServer), ..two("requests and connections are lost") },
        Scenario { response_delay: Some(RESPONSE_DELAY), ..two("every response is late") },
        Scenario {
            faults: vec![Fault::at(ToAgent, 6, Effect::HostResets)],
            ..two("the host resets, and a decision is stale")
        },
        Scenario { episodes: 2, ..Scenario::new("another seat is slow", game, &[Examiner, Agent]) },
    ]
}

/// Returns the scenarios in which the server refuses requests.
fn refusal_scenarios(game: &'static str) -> Vec<Scenario> {
    use Direction::{ToAgent, ToServer};
    use PlayerKind::{Agent, Random};
    let two = |name: String| Scenario::new(&name, game, &[Agent, Random]);
    let journal = || Refusal::Error(Error::JournalFailed { problem: "agent-check injects this".to_owned() });
    let rate = || Refusal::Error(Error::RateExceeded { limit: 1, wait: Duration::from_millis(100) });
    let (episode, decision, expected_episode, expected_decision) = (0, 0, 0, 0);
    let mut all = vec![];
    // After JOURNAL_FAILED, the request may have been executed: so its response is replaced.
    for (direction, refusal) in [
        (ToAgent, journal()),
        (ToServer, Refusal::Error(Error::ShuttingDown)),
        (ToServer, rate()),
        (ToServer, Refusal::Error(Error::TimedOut)),
        (ToServer, Refusal::WithoutReason),
    ] {
        let refuse = |kind| Fault::new(direction, kind, Effect::Refuse(refusal.clone()));
        let name = refusal.name();
        let faults = [Kind::Act, Kind::Act, Kind::Reset].map(refuse).to_vec();
        all.push(Scenario { faults, episodes: 2, ..two(format!("requests are refused with {name}")) });
        let faults = [Kind::JoinMatch, Kind::GetGame].map(refuse).to_vec();
        all.push(Scenario { faults, ..two(format!("join and game are refused with {name}")) });
    }
    for error in [
        Error::DecisionStale { expected_episode, expected_decision, episode, decision },
        Error::DecisionLate { episode, decision },
        Error::EpisodeOver { episode },
        Error::NotYourTurn { seat: 0, pending: "1".to_owned() },
    ] {
        let refusal = Refusal::Error(error);
        let name = format!("an action is refused with {}", refusal.name());
        let faults = vec![Fault { from: (0, 3), ..Fault::new(ToServer, Kind::Act, Effect::Refuse(refusal)) }];
        all.push(Scenario { faults, ..two(name) });
    }
    let end = Effect::End(Refusal::Error(Error::ShuttingDown));
    let faults = vec![Fault::at(ToAgent, 3, end)];
    all.push(Scenario { faults, ..two("the stream ends with SHUTTING_DOWN".to_owned()) });
    all
}

/// Returns the scenarios in which the agent waits for long.
fn slow_scenarios(game: &'static str) -> Vec<Scenario> {
    use PlayerKind::{Agent, Examiner, Random};
    vec![
        Scenario {
            faults: vec![Fault::at(Direction::ToAgent, 3, Effect::Silence)],
            ..Scenario::new("the connection is silent", game, &[Agent, Random])
        },
        Scenario {
            opponent_delay: LONG_WAIT,
            ..Scenario::new("another seat is slower than a hasty deadline", game, &[Examiner, Agent])
        },
    ]
}

/// Returns the scenarios with conditions that are the same in every game.
fn state_scenarios(game: &'static str) -> Vec<Scenario> {
    use Direction::ToAgent;
    use PlayerKind::{Agent, Random};
    let two = |name: &str| Scenario::new(name, game, &[Agent, Random]);
    let later = |ply| Fault::at(ToAgent, ply, Effect::CutLater(THINK / 2));
    vec![
        Scenario {
            faults: vec![Fault::at(ToAgent, 0, Effect::Truncate)],
            episodes: 2,
            ..two("an episode is truncated")
        },
        Scenario {
            faults: [0, 5].map(later).to_vec(),
            think: THINK,
            ..two("the connection breaks while the agent thinks")
        },
        Scenario { feature: Some(Feature::Clocks), think: THINK, ..two("clocks, and the agent thinks") },
        Scenario { feature: Some(Feature::FairDeals), ..Scenario::new("fair deals", game, &[Agent, Agent]) },
    ]
}

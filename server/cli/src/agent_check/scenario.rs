//! What agents are put through.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use boardwire_api::Error;
use boardwire_batch::Player;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_kernel::OptionKind;

use super::proxy::{Toward, Verdict};
use boardwire_bots::Bot;
use boardwire_server::arbiter::{Position, Settings};

/// How long every answer is held back where answers come late.
const RESPONSE_DELAY: Duration = Duration::from_millis(15);
/// The seed of every match: what the agent plays is compared with what follows from it.
const SEED: u64 = 7;

/// Who plays at a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlayerKind {
    /// The command.
    Agent,
    /// The same policy, played here.
    Kit,
    /// The random bot.
    Random,
}

/// What happens to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// The answer to its join is lost with its connection.
    LostJoin,
    /// Its connection is cut, with what was on its way to the agent or to the server, when it has joined and these plies
    /// are reached.
    Cuts(Toward, Vec<u32>),
    /// Every answer comes late.
    Late,
    /// The host begins the next episode when this ply is reached, before the agent is told what it has seen.
    Reset(u32),
    /// Nobody has invited it.
    BadInvitation,
}

impl Fault {
    /// What becomes of bytes that go this way now, and whether the host resets.
    pub(super) fn apply(&mut self, toward: Toward, joined: bool, position: &Position) -> (Verdict, bool) {
        let reached = |ply: u32| (position.episode, position.ply) >= (0, ply);
        let verdict = match (&mut *self, toward) {
            (Self::LostJoin, Toward::Agent) if joined => Verdict::Cut,
            (Self::Cuts(way, plies), toward)
                if joined && *way == toward && plies.first().is_some_and(|ply| reached(*ply)) =>
            {
                plies.remove(0);
                return (Verdict::Cut, false);
            }
            (Self::Late, Toward::Agent) => Verdict::Hold(RESPONSE_DELAY),
            (Self::Reset(ply), Toward::Agent) if position.episode == 0 && reached(*ply) => {
                *self = Self::None;
                return (Verdict::Pass, true);
            }
            _ => Verdict::Pass,
        };
        if verdict == Verdict::Cut {
            *self = Self::None;
        }
        (verdict, false)
    }
}

/// A match for the agent, and what happens in it.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    /// What is examined, for people.
    pub(super) name: String,
    pub(super) game: &'static str,
    pub(super) players: Vec<PlayerKind>,
    pub(super) options: BTreeMap<&'static str, String>,
    pub(super) skip_forced: bool,
    pub(super) episodes: u32,
    pub(super) fault: Fault,
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
            fault: Fault::None,
        }
    }

    /// How many episodes it has, in words.
    pub(super) fn episodes(&self) -> String {
        if self.episodes == 1 { "its episode".to_owned() } else { format!("{} episodes", self.episodes) }
    }

    pub(super) fn table(&self, tables: &Tables) -> Result<Arc<Table>, Error> {
        let seats = u32::try_from(self.players.len()).unwrap_or(u32::MAX);
        let options = self.options.iter().map(|(name, value)| (*name, value.as_str()));
        tables.table(self.game, seats, options)
    }

    pub(super) fn settings(&self) -> Settings {
        let player = |who: &PlayerKind| match who {
            PlayerKind::Agent | PlayerKind::Kit => Player::Agent,
            PlayerKind::Random => Player::Bot(Bot::Random),
        };
        Settings {
            seed: Some(SEED),
            skip_forced: self.skip_forced,
            ..Settings::of(self.players.iter().map(player).collect())
        }
    }
}

/// All that agents are put through, game by game.
#[must_use]
pub(super) fn scenarios(registry: &Registry) -> Vec<Scenario> {
    use PlayerKind::{Agent, Kit, Random};
    let mut all = vec![];
    for game_type in registry.game_types() {
        let game = game_type.id;
        let two = |name: &str| Scenario::new(name, game, &[Agent, Random]);
        let most = usize::from(*game_type.seats.end());
        all.push(two("an episode"));
        let last: Vec<PlayerKind> = std::iter::repeat_n(Random, most - 1).chain([Agent]).collect();
        all.push(Scenario::new("at the last seat", game, &last));
        all.push(Scenario::new("the agent at every seat", game, &vec![Agent; most.min(3)]));
        all.push(Scenario { episodes: 3, ..two("three episodes") });
        all.push(Scenario { skip_forced: true, ..two("forced choices are skipped") });
        for option in game_type.options {
            let value = match option.kind {
                OptionKind::Choice(words) => {
                    words.iter().rfind(|word| **word != option.default).map(|word| (*word).to_owned())
                }
                OptionKind::Flag => Some(if option.default == "true" { "false" } else { "true" }.to_owned()),
                OptionKind::Int(_, most) => Some(most.to_string()),
            };
            if let Some(value) = value {
                let name = format!("option {}={value}", option.name);
                all.push(Scenario { options: [(option.name, value)].into(), ..two(&name) });
            }
        }
        all.push(Scenario { fault: Fault::LostJoin, ..two("the answer to the join is lost") });
        // The third meets the connection that is made after the second.
        let cuts = |toward| Fault::Cuts(toward, vec![3, 4, 5, 12]);
        all.push(Scenario { fault: cuts(Toward::Agent), ..two("answers are lost, and connections") });
        all.push(Scenario { fault: cuts(Toward::Server), ..two("requests are lost, and connections") });
        all.push(Scenario { fault: Fault::Late, ..two("every answer is late") });
        all.push(Scenario { fault: Fault::Reset(6), ..two("the host resets, and a decision is stale") });
        all.push(Scenario {
            episodes: 2,
            ..Scenario::new("another seat takes its time", game, &[Kit, Agent])
        });
    }
    let name = "nobody has invited it".to_owned();
    all.push(Scenario { name, fault: Fault::BadInvitation, ..all[0].clone() });
    all
}

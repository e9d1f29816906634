//! The scenarios of `agent-check`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use boardwire_api::Error;
use boardwire_batch::Player;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_kernel::OptionKind;

use super::proxy::{Direction, Verdict};
use boardwire_bots::Bot;
use boardwire_server::arbiter::{Position, Settings};

/// The delay of every response for [`Fault::LateResponses`].
const RESPONSE_DELAY: Duration = Duration::from_millis(15);
/// The seed of every match. It makes the expected end of each episode computable.
const SEED: u64 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlayerKind {
    Agent,
    /// The examiner, which plays the same policy that the agent must play.
    Examiner,
    /// The random bot.
    Random,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The response to the join is lost, and its connection breaks.
    LostJoin,
    /// After all agents have joined, bytes in this direction are lost and the connection breaks, at each of these plies.
    Cuts(Direction, Vec<u32>),
    LateResponses,
    /// The host starts the next episode at this ply, before the agent receives the observation.
    Reset(u32),
    BadInvitation,
}

impl Fault {
    /// Returns what happens to bytes in this direction now, and whether the host resets the match.
    pub(super) fn apply(
        &mut self,
        direction: Direction,
        joined: bool,
        position: &Position,
    ) -> (Verdict, bool) {
        let reached = |ply: u32| (position.episode, position.ply) >= (0, ply);
        match (&mut *self, direction) {
            (Self::LostJoin, Direction::ToAgent) if joined => {
                *self = Self::None;
                (Verdict::Cut, false)
            }
            (Self::Cuts(cut, plies), direction)
                if joined && *cut == direction && plies.first().is_some_and(|ply| reached(*ply)) =>
            {
                plies.remove(0);
                (Verdict::Cut, false)
            }
            (Self::LateResponses, Direction::ToAgent) => (Verdict::Delay(RESPONSE_DELAY), false),
            (Self::Reset(ply), Direction::ToAgent) if position.episode == 0 && reached(*ply) => {
                *self = Self::None;
                (Verdict::Pass, true)
            }
            _ => (Verdict::Pass, false),
        }
    }
}

/// A match with one fault.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
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
        Settings {
            seed: Some(SEED),
            skip_forced: self.skip_forced,
            ..Settings::of(self.players.iter().map(player).collect())
        }
    }
}

/// Returns all scenarios, game by game.
pub(super) fn scenarios(registry: &Registry) -> Vec<Scenario> {
    use PlayerKind::{Agent, Examiner, Random};
    let mut all = vec![];
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
        all.push(Scenario { fault: Fault::LostJoin, ..two("the response to the join is lost") });
        // The third cut breaks the connection that the agent opens after the second cut.
        let cuts = |direction| Fault::Cuts(direction, vec![3, 4, 5, 12]);
        all.push(Scenario { fault: cuts(Direction::ToAgent), ..two("responses and connections are lost") });
        all.push(Scenario { fault: cuts(Direction::ToServer), ..two("requests and connections are lost") });
        all.push(Scenario { fault: Fault::LateResponses, ..two("every response is late") });
        all.push(Scenario { fault: Fault::Reset(6), ..two("the host resets, and a decision is stale") });
        all.push(Scenario { episodes: 2, ..Scenario::new("another seat is slow", game, &[Examiner, Agent]) });
    }
    let name = "the invitation is invalid".to_owned();
    all.push(Scenario { name, fault: Fault::BadInvitation, ..all[0].clone() });
    all
}

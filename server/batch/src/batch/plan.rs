//! How the environments of a batch are played.

use boardwire_api::v1::{AutoresetMode, IllegalActionPolicy, RewardKind};
use boardwire_bots::Bot;
use boardwire_kernel::{Seat, SeatSet};
use bytes::Bytes;

use crate::players::Player;

/// The bits of a row's flags.
pub mod flag {
    /// The episode has ended by the rules or by a forfeit.
    pub const TERMINATED: u8 = 1;
    /// It was cut at its greatest length.
    pub const TRUNCATED: u8 = 2;
    /// Another action was played for the illegal one given.
    pub const SUBSTITUTED: u8 = 4;
    /// It was forfeited by an illegal action.
    pub const FORFEITED: u8 = 8;
}

/// Columns that are written on request only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each column is asked for by itself")]
pub struct Columns {
    /// Scores and ranks of episodes that ended.
    pub scores: bool,
    /// What the agents' seats saw at their ends.
    pub final_views: bool,
    /// The number of every environment's episode.
    pub episodes: bool,
    /// What every seat sees.
    pub oracle: bool,
}

/// Who is asked what it would choose where the agent decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adviser {
    /// The bot.
    pub bot: Bot,
    /// Whether it tells what speaks for each action.
    pub shares: bool,
}

/// Who plays at the seats of an environment.
#[derive(Debug, Clone)]
pub struct LineUp {
    /// By seat.
    pub players: Vec<Player>,
    /// The seats that bots play, ascending.
    pub bots: Vec<(Seat, Bot)>,
    /// The other seats.
    pub agents: SeatSet,
    /// The lowest of them.
    pub first_agent: Seat,
}

impl LineUp {
    /// The line-up of these players; none without an agent.
    #[must_use]
    pub fn of(players: Vec<Player>) -> Option<Self> {
        let seats = || Seat::all(8).zip(&players);
        let bots = seats().filter_map(|(seat, player)| match player {
            Player::Agent => None,
            Player::Bot(bot) => Some((seat, bot.clone())),
        });
        let bots: Vec<_> = bots.collect();
        let agents: SeatSet =
            seats().filter(|(_, player)| **player == Player::Agent).map(|(seat, _)| seat).collect();
        Some(Self { first_agent: agents.lowest()?, agents, bots, players })
    }

    /// The players by their names, which is all that a snapshot says of them: a policy's may come to stand for another
    /// network.
    pub(super) fn names(&self) -> Vec<String> {
        self.players.iter().map(ToString::to_string).collect()
    }
}

/// How all environments of a batch are played.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who plays where: environment number i has line-up `i % line_ups`. There is at least one.
    pub line_ups: Vec<LineUp>,
    /// Whether the line-ups in turn play the same episodes.
    pub duplicate_deals: bool,
    /// What seats are rewarded for.
    pub reward: RewardKind,
    /// What becomes of an environment whose episode has ended.
    pub autoreset: AutoresetMode,
    /// What happens to illegal actions.
    pub illegal_actions: IllegalActionPolicy,
    /// Whether decisions with a single legal action are played by the engine.
    pub skip_forced: bool,
    /// The columns written on request.
    pub columns: Columns,
    /// Who advises the agent, if anybody does.
    pub adviser: Option<Adviser>,
}

impl Plan {
    /// The plan in which every environment has one of these line-ups in turn, with defaults for the rest.
    #[must_use]
    pub fn of(line_ups: Vec<LineUp>) -> Self {
        Self {
            line_ups,
            duplicate_deals: false,
            reward: RewardKind::Rank,
            autoreset: AutoresetMode::NextStep,
            illegal_actions: IllegalActionPolicy::Reject,
            skip_forced: false,
            columns: Columns::default(),
            adviser: None,
        }
    }

    /// The line-up of the environment with this number.
    pub(super) fn line_up_of(&self, number: u64) -> usize {
        usize::try_from(number % self.line_ups.len() as u64).expect("there are few line-ups")
    }

    /// The stream that the seeds of the environment with this number come from.
    pub(super) fn seeds_of(&self, number: u64) -> u64 {
        if self.duplicate_deals { number / self.line_ups.len() as u64 } else { number }
    }

    /// The most agents' seats that a line-up has.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.line_ups.iter().map(|line_up| line_up.agents.len() as usize).max().unwrap_or(0)
    }

    /// Whether no bot that plays takes its time.
    #[must_use]
    pub fn has_quick_players(&self) -> bool {
        self.players().all(Bot::is_quick)
    }

    /// Whether no bot takes its time, neither who plays nor who advises.
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.bots().all(Bot::is_quick)
    }

    /// Whether some bot asks a policy.
    #[must_use]
    pub fn asks_policies(&self) -> bool {
        self.bots().any(|bot| matches!(bot, Bot::Policy(_)))
    }

    fn bots(&self) -> impl Iterator<Item = &Bot> {
        self.players().chain(self.adviser.iter().map(|adviser| &adviser.bot))
    }

    fn players(&self) -> impl Iterator<Item = &Bot> {
        self.line_ups.iter().flat_map(|line_up| &line_up.bots).map(|(_, bot)| bot)
    }
}

/// Which episode an environment begins: by default the next, or episode 0 if it has been neither reset nor stepped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// The batch seed of which it begins episode 0; later ones follow from it.
    pub batch_seed: Option<u64>,
    /// The seed of this one episode.
    pub episode_seed: Option<u64>,
}

/// An action for each environment of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actions {
    /// The action's index, for every environment of the run.
    pub indices: Bytes,
    /// Which of them make a decision: the one at place i by bit `i % 8` of byte `i / 8`; all when it is empty.
    pub mask: Bytes,
}

impl Actions {
    /// A decision in every environment of the run.
    #[must_use]
    pub fn of_all(indices: Bytes) -> Self {
        Self { indices, mask: Bytes::new() }
    }

    /// What the environment at this place does; nothing if it stays as it is.
    pub(super) fn at(&self, place: usize) -> Option<u8> {
        let due = self.mask.is_empty() || bit(&self.mask, place);
        due.then(|| self.indices[place])
    }
}

/// Whether the environment at this place is in a mask.
pub(super) fn bit(mask: &[u8], place: usize) -> bool {
    mask[place / 8] >> (place % 8) & 1 == 1
}

/// Which environments are to begin an episode, and with which seeds; all begin their next by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reset {
    /// Environment i is bit `i % 8` of byte `i / 8`; empty for all.
    pub mask: Bytes,
    /// A new batch seed, of which they begin episode 0.
    pub seed: Option<u64>,
    /// The seed of this one episode for each of them, ascending; or none.
    pub seeds: Vec<u64>,
}

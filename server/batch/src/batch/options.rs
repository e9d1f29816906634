//! The settings of a batch, and the contents of its requests.

use boardwire_api::v1::{AutoresetMode, IllegalActionPolicy, RewardKind};
use boardwire_bots::Bot;
use boardwire_kernel::{Seat, SeatSet};
use bytes::Bytes;

use super::MAX_MESSAGE_OVERHEAD_BYTES;
use super::columns::row_bytes;
use crate::players::Player;
use crate::tables::Table;
use boardwire_api::Error;

/// The settings of a new batch, in addition to its table.
#[derive(Debug, Clone)]
pub struct BatchOptions {
    /// How the batch plays its environments.
    pub config: EnvironmentConfig,
    /// The number of environments.
    pub environments: usize,
    /// The number of the first environment.
    pub first: u64,
    /// The batch seed. It determines the seeds of all episodes.
    pub seed: u64,
    /// The maximum message size in bytes that the batch's owner accepts.
    pub message_bytes: usize,
}

impl BatchOptions {
    /// Refuses a batch without environments, or with more rows than fit one message.
    ///
    /// # Errors
    /// `max_message_bytes` or `environments` is not valid.
    pub fn check(&self, table: &Table) -> Result<(), Error> {
        let Self { environments, message_bytes, .. } = *self;
        let row = row_bytes(table.game.info(), &self.config);
        let max = message_bytes.saturating_sub(MAX_MESSAGE_OVERHEAD_BYTES) / row;
        if max == 0 {
            let expected = format!("at least {}, for one environment", MAX_MESSAGE_OVERHEAD_BYTES + row);
            return Err(Error::field("max_message_bytes", message_bytes, expected));
        }
        if !(1..=max).contains(&environments) {
            let expected = format!("from 1 to {max}, whose rows fit a message of {message_bytes} bytes");
            return Err(Error::field("environments", environments, expected));
        }
        Ok(())
    }
}

/// The bits of a row's flags.
pub mod flag {
    /// The episode has ended by the rules or by a forfeit.
    pub const TERMINATED: u8 = 1;
    /// The episode was truncated at the limit on plies.
    pub const TRUNCATED: u8 = 2;
    /// The engine replaced an illegal action with a legal one.
    pub const SUBSTITUTED: u8 = 4;
    /// An illegal action forfeited the episode.
    pub const FORFEITED: u8 = 8;
}

/// The optional columns of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each column is requested separately")]
pub struct Columns {
    /// Scores and ranks at the end of an episode.
    pub scores: bool,
    /// The views of the agents' seats at the end of an episode.
    pub final_views: bool,
    /// The number of the episode.
    pub episodes: bool,
    /// The views and masks of all seats.
    pub oracle: bool,
    /// The game's estimate of every legal action.
    pub estimates: bool,
}

/// The bot that gives advice for the agents' decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adviser {
    /// The bot.
    pub bot: Bot,
    /// Whether the advice also has a share for each action.
    pub shares: bool,
}

/// The players of an environment.
#[derive(Debug, Clone)]
pub struct LineUp {
    /// The players, by seat.
    pub players: Vec<Player>,
    /// The seats that bots play, ascending.
    pub bots: Vec<(Seat, Bot)>,
    /// The seats that agents play.
    pub agents: SeatSet,
    /// The lowest seat of an agent.
    pub first_agent: Seat,
}

impl LineUp {
    /// Returns the line-up of these players, by seat. `None` if no player is an agent.
    #[must_use]
    pub fn of(players: Vec<Player>) -> Option<Self> {
        let seats = || Seat::all(8).zip(&players);
        let bot = |(seat, player): (Seat, &Player)| match player {
            Player::Agent => None,
            Player::Bot(bot) => Some((seat, bot.clone())),
        };
        let bots = seats().filter_map(bot).collect();
        let agents: SeatSet =
            seats().filter(|(_, player)| **player == Player::Agent).map(|(seat, _)| seat).collect();
        Some(Self { first_agent: agents.lowest()?, agents, bots, players })
    }

    /// Returns the players' names. A snapshot stores only names, so a policy's name may mean another network after a load.
    pub(super) fn names(&self) -> Vec<String> {
        self.players.iter().map(ToString::to_string).collect()
    }
}

/// How a batch plays all its environments.
#[derive(Debug, Clone)]
pub struct EnvironmentConfig {
    /// Environment number i has line-up `i % line_ups.len()`. There is at least one line-up.
    pub line_ups: Vec<LineUp>,
    /// Whether consecutive environments, one for each line-up, play the same episodes.
    pub duplicate_deals: bool,
    /// The kind of reward.
    pub reward: RewardKind,
    /// How an environment continues after its episode has ended.
    pub autoreset: AutoresetMode,
    /// How the batch handles illegal actions.
    pub illegal_actions: IllegalActionPolicy,
    /// Whether the engine plays decisions that have a single legal action.
    pub skip_forced: bool,
    /// The optional columns.
    pub columns: Columns,
    /// The bot that advises the agents, if there is one.
    pub adviser: Option<Adviser>,
}

impl EnvironmentConfig {
    /// Returns a configuration with these line-ups, and defaults for the rest.
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

    /// Returns the index of the line-up of environment `number`.
    pub(super) fn line_up_index(&self, number: u64) -> usize {
        usize::try_from(number % self.line_ups.len() as u64).expect("there are few line-ups")
    }

    /// Returns the stream of random numbers that gives environment `number` its episode seeds.
    pub(super) fn seed_stream(&self, number: u64) -> u64 {
        if self.duplicate_deals { number / self.line_ups.len() as u64 } else { number }
    }

    /// Returns the largest number of agents in a line-up.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.line_ups.iter().map(|line_up| line_up.agents.len() as usize).max().unwrap_or(0)
    }

    /// Returns whether a player is a bot that thinks.
    #[must_use]
    pub fn players_think(&self) -> bool {
        !self.players().all(Bot::is_cheap)
    }

    /// Returns whether a player or the adviser is a bot that thinks, or steps have estimates.
    #[must_use]
    pub fn bots_think(&self) -> bool {
        self.columns.estimates || !self.bots().all(Bot::is_cheap)
    }

    /// Returns whether bots think so long that a thread should take few environments. A policy without a search should
    /// have many, to fill its batches.
    #[must_use]
    pub fn bots_think_long(&self) -> bool {
        self.bots_think() && (!self.uses_policies() || self.bots().any(Bot::searches))
    }

    /// Returns whether a player or the adviser uses a policy network.
    #[must_use]
    pub fn uses_policies(&self) -> bool {
        self.bots().any(|bot| matches!(bot, Bot::Policy(_)))
    }

    fn bots(&self) -> impl Iterator<Item = &Bot> {
        self.players().chain(self.adviser.iter().map(|adviser| &adviser.bot))
    }

    fn players(&self) -> impl Iterator<Item = &Bot> {
        self.line_ups.iter().flat_map(|line_up| &line_up.bots).map(|(_, bot)| bot)
    }
}

/// The episode that an environment starts. By default the next one, or episode 0 if it was neither reset nor stepped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EpisodeStart {
    /// A new batch seed. The environment starts at episode 0, and later episodes follow from this seed too.
    pub batch_seed: Option<u64>,
    /// The seed of this episode only.
    pub episode_seed: Option<u64>,
}

/// An action for each environment of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actions {
    /// The action index of every environment of the range.
    pub indices: Bytes,
    /// The environments that make a decision: environment i is bit `i % 8` of byte `i / 8`. An empty mask means all.
    pub mask: Bytes,
}

impl Actions {
    /// Returns actions that make a decision in every environment of the range.
    #[must_use]
    pub fn of_all(indices: Bytes) -> Self {
        Self { indices, mask: Bytes::new() }
    }

    /// Returns the action of an environment, by its index in the range. `None` if the mask leaves it out.
    pub(super) fn get(&self, environment: usize) -> Option<u8> {
        let decides = self.mask.is_empty() || mask_contains(&self.mask, environment);
        decides.then(|| self.indices[environment])
    }
}

/// Returns whether a mask contains the environment with this index.
pub(super) fn mask_contains(mask: &[u8], index: usize) -> bool {
    mask[index / 8] >> (index % 8) & 1 == 1
}

/// The environments that start an episode, and their seeds. By default all start their next episode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reset {
    /// Environment i is bit `i % 8` of byte `i / 8`. An empty mask means all.
    pub mask: Bytes,
    /// A new batch seed. The environments start at its episode 0.
    pub seed: Option<u64>,
    /// The seed of this episode only, for each environment of the mask in ascending order; or empty.
    pub seeds: Vec<u64>,
}

//! The settings of a batch, and the parts of its requests.

use boardwire_api::v1::{AutoresetMode, IllegalActionPolicy, RewardKind};
use boardwire_bots::Bot;
use boardwire_kernel::{Seat, SeatSet};
use bytes::Bytes;

use super::MESSAGE_HEAD;
use super::columns::row_bytes;
use crate::players::Player;
use crate::tables::Table;
use boardwire_api::Error;

/// The settings that a batch is opened with, beside its table.
#[derive(Debug, Clone)]
pub struct Opening {
    /// How its environments are played.
    pub plan: Plan,
    /// How many environments there are.
    pub environments: usize,
    /// The number of the first environment.
    pub first: u64,
    /// The seed from which all episodes' seeds follow.
    pub seed: u64,
    /// The most bytes of a message that the batch's owner accepts.
    pub message_bytes: usize,
}

impl Opening {
    /// Refuses a batch without environments, or with so many that their rows do not fit a message.
    ///
    /// # Errors
    /// `max_message_bytes` or `environments` is not allowed.
    pub fn check(&self, table: &Table) -> Result<(), Error> {
        let Self { environments, message_bytes, .. } = *self;
        let row = row_bytes(table.rules.info(), &self.plan);
        let most = message_bytes.saturating_sub(MESSAGE_HEAD) / row;
        if most == 0 {
            let expected = format!("at least {}, for one environment", MESSAGE_HEAD + row);
            return Err(Error::field("max_message_bytes", message_bytes, expected));
        }
        if !(1..=most).contains(&environments) {
            let expected = format!("from 1 to {most}, whose rows fit a message of {message_bytes} bytes");
            return Err(Error::field("environments", environments, expected));
        }
        Ok(())
    }
}

/// The bits of a row's flags.
pub mod flag {
    /// The episode has ended by the rules or by a forfeit.
    pub const TERMINATED: u8 = 1;
    /// The episode was truncated at its greatest length.
    pub const TRUNCATED: u8 = 2;
    /// Another action was played instead of an illegal one.
    pub const SUBSTITUTED: u8 = 4;
    /// An illegal action forfeited the episode.
    pub const FORFEITED: u8 = 8;
}

/// Optional columns.
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
}

/// The bot that gives advice for the agents' decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adviser {
    /// The bot.
    pub bot: Bot,
    /// Whether it also gives a share for each action.
    pub shares: bool,
}

/// The players of an environment.
#[derive(Debug, Clone)]
pub struct LineUp {
    /// By seat.
    pub players: Vec<Player>,
    /// The seats that bots play, ascending.
    pub bots: Vec<(Seat, Bot)>,
    /// The seats that agents play.
    pub agents: SeatSet,
    /// The lowest seat of an agent.
    pub first_agent: Seat,
}

impl LineUp {
    /// The line-up of these players, by seat; none without an agent.
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

    /// The players' names. A snapshot holds only these, so a policy's name may mean another network when it is loaded.
    pub(super) fn names(&self) -> Vec<String> {
        self.players.iter().map(ToString::to_string).collect()
    }
}

/// How all environments of a batch are played.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Environment number i has line-up `i % line_ups`. There is at least one.
    pub line_ups: Vec<LineUp>,
    /// Whether all line-ups play the same episodes, in turn.
    pub duplicate_deals: bool,
    /// What seats are rewarded for.
    pub reward: RewardKind,
    /// What happens to an environment after its episode has ended.
    pub autoreset: AutoresetMode,
    /// What happens to illegal actions.
    pub illegal_actions: IllegalActionPolicy,
    /// Whether the engine plays decisions that have a single legal action.
    pub skip_forced: bool,
    /// The optional columns.
    pub columns: Columns,
    /// The bot that advises the agents, if there is one.
    pub adviser: Option<Adviser>,
}

impl Plan {
    /// A plan with these line-ups and defaults for the rest.
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

    /// The random stream of the seeds of the environment with this number.
    pub(super) fn seeds_of(&self, number: u64) -> u64 {
        if self.duplicate_deals { number / self.line_ups.len() as u64 } else { number }
    }

    /// The largest number of agents in a line-up.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.line_ups.iter().map(|line_up| line_up.agents.len() as usize).max().unwrap_or(0)
    }

    /// Whether no playing bot thinks.
    #[must_use]
    pub fn has_quick_players(&self) -> bool {
        self.players().all(Bot::is_quick)
    }

    /// Whether no bot thinks, neither a playing bot nor the adviser.
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.bots().all(Bot::is_quick)
    }

    /// Whether a bot uses a policy network.
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

/// The episode that an environment begins: by default the next, or episode 0 if it has been neither reset nor stepped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// A new batch seed: the environment begins its episode 0, and later episodes follow from it.
    pub batch_seed: Option<u64>,
    /// The seed of this episode alone.
    pub episode_seed: Option<u64>,
}

/// An action for each environment of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actions {
    /// The index of the action, for every environment of the run.
    pub indices: Bytes,
    /// The environments that make a decision: the i-th by bit `i % 8` of byte `i / 8`. An empty mask means all.
    pub mask: Bytes,
}

impl Actions {
    /// A decision in every environment of the run.
    #[must_use]
    pub fn of_all(indices: Bytes) -> Self {
        Self { indices, mask: Bytes::new() }
    }

    /// The action of the environment at this place; none if the mask leaves it out.
    pub(super) fn at(&self, place: usize) -> Option<u8> {
        let due = self.mask.is_empty() || bit(&self.mask, place);
        due.then(|| self.indices[place])
    }
}

/// Whether the environment at this place is in a mask.
pub(super) fn bit(mask: &[u8], place: usize) -> bool {
    mask[place / 8] >> (place % 8) & 1 == 1
}

/// Which environments begin an episode, and with which seeds. By default all begin their next episode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reset {
    /// Environment i is bit `i % 8` of byte `i / 8`; empty for all.
    pub mask: Bytes,
    /// A new batch seed: the environments begin its episode 0.
    pub seed: Option<u64>,
    /// For each environment of the mask, ascending, the seed of this episode alone; or empty.
    pub seeds: Vec<u64>,
}

//! How the environments of a batch are played.

use boardwire_bots::Bot;
use boardwire_kernel::{Seat, SeatSet};

use crate::arbiter::{IllegalActions, Player};
use crate::reward::RewardKind;

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

/// What becomes of an environment whose episode has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Autoreset {
    /// The next step begins the next episode.
    #[default]
    NextStep,
    /// The next episode begins in the same step.
    SameStep,
    /// It waits for a reset.
    Disabled,
}

/// Columns that are written on request only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Columns {
    /// Scores and ranks of episodes that ended.
    pub scores: bool,
    /// What the learner seats saw at their ends.
    pub final_views: bool,
    /// The number of every environment's episode.
    pub episodes: bool,
}

/// How all environments of a batch are played.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who plays at each seat; remote seats are the learner's.
    pub players: Vec<Player>,
    /// The seats that bots play, ascending.
    pub bots: Vec<(Seat, Bot)>,
    /// The other seats.
    pub learners: SeatSet,
    /// The lowest of them.
    pub first_learner: Seat,
    /// What seats are rewarded for.
    pub reward: RewardKind,
    /// What becomes of an environment whose episode has ended.
    pub autoreset: Autoreset,
    /// What happens to illegal actions.
    pub illegal_actions: IllegalActions,
    /// Whether decisions with a single legal action are played by the engine.
    pub skip_forced: bool,
    /// The columns written on request.
    pub columns: Columns,
}

impl Plan {
    /// The plan for these players, with defaults for the rest; none without a learner.
    #[must_use]
    pub fn of(players: Vec<Player>) -> Option<Self> {
        let seats = || Seat::all(8).zip(&players);
        let bots = seats().filter_map(|(seat, player)| match player {
            Player::Remote => None,
            Player::Bot(bot) => Some((seat, *bot)),
        });
        let bots: Vec<_> = bots.collect();
        let learners: SeatSet =
            seats().filter(|(_, player)| **player == Player::Remote).map(|(seat, _)| seat).collect();
        Some(Self {
            first_learner: learners.lowest()?,
            learners,
            bots,
            players,
            reward: RewardKind::default(),
            autoreset: Autoreset::default(),
            illegal_actions: IllegalActions::default(),
            skip_forced: false,
            columns: Columns::default(),
        })
    }

    /// Whether no bot takes its time.
    #[must_use]
    pub fn has_quick_bots(&self) -> bool {
        self.bots.iter().all(|(_, bot)| bot.is_quick())
    }
}

/// Which episode an environment begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// The next; episode 0 if it has been neither reset nor stepped.
    Next,
    /// Episode 0 of this batch seed.
    Keyed(u64),
    /// The next, with this seed of its own.
    Seeded(u64),
}

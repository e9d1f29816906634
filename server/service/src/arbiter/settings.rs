//! What a match is created with.

use boardwire_bots::Bot;
use boardwire_kernel::{Seat, SeatSet};

use crate::reward::RewardKind;

/// Who plays at a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Player {
    /// An agent that joins by invitation.
    Remote,
    /// A bot in the server.
    Bot(Bot),
}

impl std::fmt::Display for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Remote => f.write_str("remote"),
            Self::Bot(bot) => bot.fmt(f),
        }
    }
}

/// What happens to an action that exists but is illegal now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IllegalActions {
    /// It is refused.
    #[default]
    Reject,
    /// The legal action with the lowest index is played for it.
    FirstLegal,
    /// A legal action drawn from the episode's seed is played for it.
    SeededLegal,
    /// The episode ends; the seat is last.
    Forfeit,
}

/// What a match is created with, beside its table.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who plays at each seat.
    pub players: Vec<Player>,
    /// The seed of the first episode, if somebody gives it.
    pub seed: Option<u64>,
    /// What seats are rewarded for.
    pub reward: RewardKind,
    /// Whether decisions with a single legal action are played by the engine.
    pub skip_forced: bool,
    /// What happens to illegal actions.
    pub illegal_actions: IllegalActions,
}

impl Settings {
    /// All seats, ascending.
    pub(super) fn seats(&self) -> impl DoubleEndedIterator<Item = Seat> + Clone + use<> {
        Seat::all(u8::try_from(self.players.len()).expect("the table has been set up with so many seats"))
    }

    /// The seats at which agents play.
    pub(super) fn remote(&self) -> SeatSet {
        let seats = self.seats().zip(&self.players);
        seats.filter(|(_, player)| **player == Player::Remote).map(|(seat, _)| seat).collect()
    }
}

//! Who plays, and what becomes of what may not be played.

use boardwire_bots::Bot;
use serde::{Deserialize, Serialize};

/// Who plays at a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Player {
    /// A client: in a match whoever joins by invitation, in a batch its owner.
    Agent,
    /// A bot in the server.
    Bot(Bot),
}

impl std::fmt::Display for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent => f.write_str("agent"),
            Self::Bot(bot) => bot.fmt(f),
        }
    }
}

/// What happens to an action that exists but is illegal now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

//! Players: what sits at a seat.

use boardwire_bots::Bot;

/// The player at a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Player {
    /// A client: in a match the agent that joins by invitation, in a batch the batch's owner.
    Agent,
    /// A bot that the server runs.
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

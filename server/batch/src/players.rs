//! The player at a seat: an agent or a bot.

use boardwire_bots::Bot;

/// An agent or a bot that plays at a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Player {
    /// A client. In a match, the agent that joins by invitation. In a batch, the batch's owner.
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

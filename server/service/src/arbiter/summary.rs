//! What may be known of a match without playing in it.

use boardwire_kernel::{Seat, SeatSet};

use super::{Arbiter, Opened, SeedSource, Ticket};

/// What may be known of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The seats that are bots or have been joined.
    pub joined: SeatSet,
    /// Whether the present episode is over.
    pub over: bool,
    /// Whether the match has been closed.
    pub closed: bool,
    /// The present episode.
    pub episode: u32,
    /// How many actions have been applied in it.
    pub ply: u32,
    /// The commitment to its key.
    pub commitment: [u8; 32],
    /// Where its seed comes from.
    pub source: SeedSource,
    /// What the commitment hides, once it may be known.
    pub revealed: Option<Opened>,
}

impl Arbiter {
    /// What may be known of the match.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let inner = self.lock();
        let closed = inner.ended.is_some();
        let joined = |(seat, ticket): (Seat, &Ticket)| {
            (ticket.invitation.is_empty() || ticket.token.is_some()).then_some(seat)
        };
        let standing = &inner.standing;
        let (opened, episode) = (standing.opened(), standing.episode());
        Summary {
            joined: self.settings.seats().zip(&inner.tickets).filter_map(joined).collect(),
            over: standing.is_over(),
            closed,
            episode,
            ply: standing.ply(),
            commitment: opened.commitment(&self.id, episode, &self.table.digest),
            source: opened.source,
            revealed: standing.revealed(closed),
        }
    }
}

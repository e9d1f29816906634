//! What may be known of a match without playing in it.

use std::time::SystemTime;

use boardwire_kernel::{Digest, SeatSet};

use super::fair::{FairDeal, Part};
use super::{Arbiter, CloseReason, Inner, Opened, SeedSource};

/// How a match stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Some seats have yet to join, or to open what they contribute to the deal.
    Gathering,
    /// Some seat owes a decision.
    Playing,
    /// The present episode has ended.
    Over,
    /// It has ended for good.
    Closed(CloseReason),
}

/// Where the present episode stands: for whoever runs the server, since the digest depends on everything hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The episode.
    pub episode: u32,
    /// How many actions have been applied in it.
    pub ply: u32,
    /// The digest of its state.
    pub digest: Digest,
}

/// What may be known of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// How it stands.
    pub phase: Phase,
    /// The seats that are bots or have been joined.
    pub joined: SeatSet,
    /// The seats that owe a decision, or that have not asked for the next episode.
    pub waiting_for: SeatSet,
    /// The present episode.
    pub episode: u32,
    /// How many actions have been applied in it.
    pub ply: u32,
    /// When the match was created.
    pub created: SystemTime,
    /// When the last action was applied, or the present episode dealt if none has been.
    pub last_action: SystemTime,
    /// The commitment to the episode's key, once it has been dealt.
    pub commitment: Option<[u8; 32]>,
    /// Where its seed comes from.
    pub source: SeedSource,
    /// What the commitment hides, once it may be known.
    pub revealed: Option<Opened>,
    /// How its deals come about, if they are fair.
    pub fair: Option<FairDeal>,
    /// What the server has contributed to the present one, once it may be known.
    pub server_part: Option<Part>,
}

impl Arbiter {
    /// How the match stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.lock().phase()
    }

    /// Where the present episode stands.
    #[must_use]
    pub fn position(&self) -> Position {
        let Inner { standing, .. } = &*self.lock();
        Position {
            episode: standing.present.episode,
            ply: standing.play.ply(),
            digest: standing.play.digest(),
        }
    }

    /// What may be known of the match.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let inner = self.lock();
        let phase = inner.phase();
        let standing = &inner.standing;
        let bots = self.settings.seats().filter(|seat| !self.settings.remote().contains(*seat));
        let agents = self.settings.seats().filter(|seat| standing.holders[seat.index()].is_some());
        Summary {
            joined: bots.chain(agents).collect(),
            waiting_for: match &phase {
                Phase::Gathering => standing.missing(),
                Phase::Playing => standing.pending(),
                Phase::Over => {
                    self.settings.remote().iter().filter(|seat| !standing.votes.contains(*seat)).collect()
                }
                Phase::Closed(_) => SeatSet::EMPTY,
            },
            episode: standing.present.episode,
            ply: standing.play.ply(),
            created: self.name.created,
            last_action: standing.present.acted,
            commitment: (!standing.is_gathering()).then_some(standing.present.commitment),
            source: standing.present.opened.source,
            revealed: standing.revealed(&standing.present),
            fair: standing.fair_deal(),
            server_part: standing
                .present
                .server_part
                .filter(|_| standing.revealed(&standing.present).is_some()),
            phase,
        }
    }
}

impl Inner {
    fn phase(&self) -> Phase {
        match &self.standing.closed {
            Some(reason) => Phase::Closed(reason.clone()),
            None if self.standing.is_gathering() => Phase::Gathering,
            None if self.standing.is_over() => Phase::Over,
            None => Phase::Playing,
        }
    }
}

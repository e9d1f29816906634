//! What may be known of a match without playing in it.

use std::time::{Duration, SystemTime};

use boardwire_kernel::{Digest, SeatSet};

use super::fair::{FairDeal, Part};
use super::record::Record;
use super::standing::Standing;
use super::{Arbiter, CloseReason, Inner, Looker, Opened, SeedSource};

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

    /// What `looker` may know of the match. The public is told how it stood when the positions came about that it may see now.
    #[must_use]
    pub fn summary(&self, looker: Looker) -> Summary {
        let summary = self.present(looker);
        let delay = self.settings.watch_delay;
        let shown = if looker.belongs() { None } else { self.lock().standing.shown(delay) };
        let Some(record) = shown else { return summary };
        Summary {
            phase: Phase::Playing,
            waiting_for: SeatSet::EMPTY,
            episode: record.episode,
            ply: u32::try_from(record.moves.len()).unwrap_or(u32::MAX),
            last_action: record
                .moves
                .last()
                .map(|played| played.at)
                .or(record.dealt)
                .unwrap_or(summary.created),
            commitment: record.dealt.map(|_| record.commitment),
            source: record.opened.source,
            revealed: None,
            server_part: None,
            ..summary
        }
    }

    fn present(&self, looker: Looker) -> Summary {
        let inner = self.lock();
        let phase = inner.phase();
        let standing = &inner.standing;
        let revealed = standing.revealed(&standing.present, looker);
        let bots = self.settings.seats().filter(|seat| !self.settings.agents().contains(*seat));
        let agents = self.settings.seats().filter(|seat| standing.holders[seat.index()].is_some());
        Summary {
            joined: bots.chain(agents).collect(),
            waiting_for: match &phase {
                Phase::Gathering => standing.missing(),
                Phase::Playing => standing.pending(),
                Phase::Over => {
                    self.settings.agents().iter().filter(|seat| !standing.votes.contains(*seat)).collect()
                }
                Phase::Closed(_) => SeatSet::EMPTY,
            },
            episode: standing.present.episode,
            ply: standing.play.ply(),
            created: self.name.created,
            last_action: standing.present.acted,
            commitment: (!standing.is_gathering()).then_some(standing.present.commitment),
            source: standing.present.opened.source,
            revealed,
            fair: standing.fair_deal(),
            server_part: standing.present.server_part.filter(|_| revealed.is_some()),
            phase,
        }
    }
}

impl Arbiter {
    /// How the match stands, as far as spectators may know.
    pub(crate) fn shown_phase(&self) -> Phase {
        if self.settings.watch_delay.is_zero() { self.phase() } else { self.summary(Looker::Public).phase }
    }
}

impl Standing {
    /// The last episode that spectators may see with this delay, as far as they may see it; nothing where they may see all
    /// that has happened, and before the first deal, when there is nothing to hold back.
    pub(super) fn shown(&self, delay: Duration) -> Option<Record> {
        let time = SystemTime::now().checked_sub(delay).filter(|_| !delay.is_zero())?;
        self.present.dealt?;
        let is_dealt = |record: &&Record| record.dealt.is_none_or(|dealt| dealt <= time);
        let last = self.records().rev().find(is_dealt).or_else(|| self.records().next());
        let mut record = last.expect("there is always the present one").clone();
        let is_cut = record.cut(time);
        let is_all = !is_cut && record.episode == self.present.episode && self.present.acted <= time;
        (!is_all).then_some(record)
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

//! What may be known of a match without playing in it.

use std::time::{Duration, SystemTime};

use boardwire_api::v1;
use boardwire_batch::messages::count;
use boardwire_kernel::{Digest, Seat, SeatSet};

use super::state::State;
use super::{Arbiter, Audience, CloseReason, Inner};
use crate::convert::{numbers, to_the_second};
use crate::record::Record;

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

impl Phase {
    fn to_message(&self) -> v1::MatchState {
        match self {
            Self::Gathering => v1::MatchState::Gathering,
            Self::Playing => v1::MatchState::Playing,
            Self::Over => v1::MatchState::Over,
            Self::Closed(_) => v1::MatchState::Closed,
        }
    }
}

/// Where the present episode stands: for the operator alone, since the digest depends on everything hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The episode.
    pub episode: u32,
    /// How many actions have been applied in it.
    pub ply: u32,
    /// The digest of its state.
    pub digest: Digest,
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
        let Inner { state, .. } = &*self.lock();
        Position { episode: state.present.episode, ply: state.play.ply(), digest: state.play.digest() }
    }

    /// What `audience` may know of the match. The public is told how it stood when the positions came about that it may see now.
    #[must_use]
    pub fn describe(&self, audience: Audience) -> v1::Match {
        let inner = self.lock();
        let (phase, state) = (inner.phase(), &inner.state);
        let shown = state.shown(self.settings.watch_delay).filter(|_| !audience.belongs());
        let record = shown.as_ref().unwrap_or(&state.present);
        let revealed = state.revealed(record, audience).filter(|_| shown.is_none());
        let unless_delayed = |seats: SeatSet| if shown.is_some() { SeatSet::EMPTY } else { seats };
        let agents = self.settings.agents();
        let has_joined = |seat: &Seat| !agents.contains(*seat) || state.holders[seat.index()].is_some();
        let waiting_for = match &phase {
            Phase::Gathering => state.missing(),
            Phase::Playing => state.pending(),
            Phase::Over => agents.iter().filter(|seat| !state.votes.contains(*seat)).collect(),
            Phase::Closed(_) => SeatSet::EMPTY,
        };
        let acted = record.moves.last().map(|played| played.at).or(record.dealt).unwrap_or(self.name.created);
        v1::Match {
            id: self.name.id.clone(),
            config: Some(self.settings.config(&self.table)),
            spec_digest: self.table.digest.to_string(),
            state: if shown.is_some() { v1::MatchState::Playing } else { phase.to_message() }.into(),
            close_reason: match &phase {
                Phase::Closed(reason) if shown.is_none() => reason.to_message(),
                _ => v1::CloseReason::Unspecified,
            }
            .into(),
            joined: numbers(self.settings.seats().filter(has_joined).collect()),
            waiting_for: numbers(unless_delayed(waiting_for)),
            episode: record.episode,
            ply: if shown.is_some() { count(record.moves.len()) } else { state.play.ply() },
            create_time: Some(to_the_second(self.name.created)),
            last_action_time: Some(to_the_second(if shown.is_some() { acted } else { record.acted })),
            seed_commitment: record.dealt.map(|_| record.commitment.to_vec().into()).unwrap_or_default(),
            fair: state.fair_deal(),
            seed_source: record.opened.source.to_message().into(),
            seed_opening: revealed.map(|opened| opened.to_message(record.server_part)),
        }
    }
}

impl Arbiter {
    /// How the match stands, as far as spectators may know.
    pub(crate) fn shown_state(&self) -> v1::MatchState {
        let inner = self.lock();
        let shown = inner.state.shown(self.settings.watch_delay);
        if shown.is_some() { v1::MatchState::Playing } else { inner.phase().to_message() }
    }
}

impl State {
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
        match &self.state.closed {
            Some(reason) => Phase::Closed(reason.clone()),
            None if self.state.is_gathering() => Phase::Gathering,
            None if self.state.is_over() => Phase::Over,
            None => Phase::Playing,
        }
    }
}

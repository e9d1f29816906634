//! What callers may know about a match: the summary for every caller, and the observation of a seat.

use std::time::{Duration, SystemTime};

use boardwire_api::v1;
use boardwire_batch::messages::{legal_actions, to_u32};
use boardwire_batch::names::NamePermutation;
use boardwire_batch::reward;
use boardwire_batch::tables::Table;
use boardwire_kernel::{ActionSet, Digest, Seat, SeatSet};
use prost::Message as _;

use super::state::State;
use super::{Arbiter, Audience, CloseReason, Inner, Settings};
use crate::convert::{seat_numbers, whole_seconds};
use crate::record::{Forfeited, Record, history, outcome};

/// The phase of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The match waits for agents to join, or to open their secrets for the deal.
    Gathering,
    /// A seat owes a decision.
    Playing,
    /// The present episode is over.
    Over,
    /// The match is closed.
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

/// The position in the present episode. Only the operator may see it: the digest depends on all hidden state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The episode.
    pub episode: u32,
    /// The number of actions applied.
    pub ply: u32,
    /// The digest of the game's state.
    pub digest: Digest,
}

impl Arbiter {
    /// Returns the phase of the match.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.lock().phase()
    }

    /// Returns the position in the present episode.
    #[must_use]
    pub fn position(&self) -> Position {
        let Inner { state, .. } = &*self.lock();
        Position { episode: state.present.episode, ply: state.play.ply(), digest: state.play.digest() }
    }

    /// Returns the match as `audience` may see it. With a watch delay, the public sees it as it was that long ago.
    #[must_use]
    pub fn describe(&self, audience: Audience) -> v1::Match {
        let inner = self.lock();
        let (phase, state) = (inner.phase(), &inner.state);
        let visible = state.visible_record(self.settings.watch_delay).filter(|_| !audience.is_participant());
        let is_delayed = visible.is_some();
        let record = visible.as_ref().unwrap_or(&state.present);
        let key = state.revealed(record, audience).filter(|_| !is_delayed);
        let agents = self.settings.agents();
        let has_joined = |seat: &Seat| !agents.contains(*seat) || state.holders[seat.index()].is_some();
        let waiting_for = match &phase {
            _ if is_delayed => SeatSet::EMPTY,
            Phase::Gathering => state.seats_to_join_or_open(),
            Phase::Playing => state.pending(),
            Phase::Over => agents.iter().filter(|seat| !state.asked_seats.contains(*seat)).collect(),
            Phase::Closed(_) => SeatSet::EMPTY,
        };
        let close_reason = match &phase {
            Phase::Closed(reason) if !is_delayed => reason.to_message(),
            _ => v1::CloseReason::Unspecified,
        };
        let last_move = record.moves.last().map(|played| played.at);
        let last_visible_action = last_move.or(record.dealt_at).unwrap_or(self.identity.created);
        let shown = v1::Match {
            id: self.identity.id.clone(),
            config: Some(self.settings.config(&self.table)),
            spec_digest: self.table.digest.to_string(),
            state: if is_delayed { v1::MatchState::Playing } else { phase.to_message() }.into(),
            close_reason: close_reason.into(),
            joined: seat_numbers(self.settings.seats().filter(has_joined).collect()),
            waiting_for: seat_numbers(waiting_for),
            episode: record.episode,
            ply: if is_delayed { to_u32(record.moves.len()) } else { state.play.ply() },
            create_time: Some(whole_seconds(self.identity.created)),
            last_action_time: Some(whole_seconds(if is_delayed {
                last_visible_action
            } else {
                record.last_action_at
            })),
            seed_commitment: record.dealt_at.map(|_| record.commitment.to_vec().into()).unwrap_or_default(),
            fair: state.fair_deal(),
            seed_source: record.key.source.to_message().into(),
            seed_opening: key.map(|key| key.to_message(record.server_secret)),
            etag: String::new(),
        };
        let etag = blake3::hash(&shown.encode_to_vec()).to_hex()[..16].to_owned();
        v1::Match { etag, ..shown }
    }

    /// Returns the phase that spectators may see.
    pub(crate) fn visible_state(&self) -> v1::MatchState {
        let inner = self.lock();
        let visible = inner.state.visible_record(self.settings.watch_delay);
        if visible.is_some() { v1::MatchState::Playing } else { inner.phase().to_message() }
    }
}

impl State {
    /// Returns the observation of `seat` without clock readings: all that a response tells the seat about an episode.
    pub(super) fn observe(
        &self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        extras: v1::Extras,
    ) -> v1::Observation {
        let info = table.game.info();
        let mut view = vec![0; info.layout.bytes()];
        self.play.view(seat.into(), &mut view);
        let mut mask = vec![0; info.actions.mask_bytes()];
        let forfeited = self.present.forfeited;
        let legal = if forfeited.is_some() { ActionSet::EMPTY } else { self.play.legal(seat) };
        legal.write_bits(&mut mask);
        let reward = match (forfeited, self.play.outcome()) {
            (Some(Forfeited { seat: loser, .. }), _) => {
                reward::of_forfeit(settings.reward, seat, loser, info)
            }
            (None, Some(end)) => reward::of(settings.reward, seat, end.scores(), end.ranks()),
            (None, None) => 0.0,
        };
        let outcome = outcome(&*self.play, forfeited, info.seats, extras.explanation);
        let truncated = forfeited.is_none() && self.play.is_truncated();
        let seat_state = &self.by_seat[seat.index()];
        let mut observation = v1::Observation {
            episode: self.present.episode,
            ply: self.play.ply(),
            decision: seat_state.decision,
            view: view.into(),
            mask: mask.into(),
            pending: seat_numbers(self.pending()),
            reward,
            terminated: outcome.is_some() && !truncated,
            truncated,
            substituted: seat_state.substituted,
            timed_out: seat_state.last_timed_out,
            clocks: Vec::new(),
            outcome,
            text: if extras.text { self.play.text(seat.into()) } else { String::new() },
            actions: if extras.actions { legal_actions(info, &*self.play, seat, legal) } else { Vec::new() },
            head: if extras.head { self.present.head().to_vec().into() } else { bytes::Bytes::new() },
            history: if extras.history { history(table, &self.present, seat) } else { String::new() },
        };
        if let Some(seed) = extras.label_seed {
            NamePermutation::new(&*table.game, seed).apply_to_observation(&mut observation);
        }
        observation
    }

    /// Returns the last episode that spectators may see with this delay, cut after its last visible position. `None` if they
    /// may see everything, and before the first deal.
    pub(super) fn visible_record(&self, delay: Duration) -> Option<Record> {
        let time = SystemTime::now().checked_sub(delay).filter(|_| !delay.is_zero())?;
        self.present.dealt_at?;
        let is_dealt = |record: &&Record| record.dealt_at.is_none_or(|dealt| dealt <= time);
        let last = self.records().rev().find(is_dealt).or_else(|| self.records().next());
        let mut record = last.expect("there is always the present one").clone();
        let hides_frames = record.truncate_after(time);
        let is_all =
            !hides_frames && record.episode == self.present.episode && self.present.last_action_at <= time;
        (!is_all).then_some(record)
    }

    /// Returns the time of the first position that spectators may not see yet with this delay.
    pub(super) fn first_hidden_time(&self, delay: Duration) -> Option<SystemTime> {
        let visible_until = SystemTime::now().checked_sub(delay).filter(|_| !delay.is_zero())?;
        let times = self.records().flat_map(|record| {
            let moves = record.moves.iter().map(|played| played.at);
            moves.chain(record.dealt_at).chain([record.last_action_at])
        });
        times.filter(|time| *time > visible_until).min()
    }
}

impl Inner {
    fn phase(&self) -> Phase {
        match &self.state.closed {
            Some(reason) => Phase::Closed(reason.clone()),
            None if self.state.is_before_first_deal() => Phase::Gathering,
            None if self.state.is_over() => Phase::Over,
            None => Phase::Playing,
        }
    }
}

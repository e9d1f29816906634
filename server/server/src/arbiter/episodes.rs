//! Starts episodes, ends them early, and closes the match.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use boardwire_api::{Error, v1};
use boardwire_kernel::{Seat, SeatSet};
use serde::{Deserialize, Serialize};

use super::decide::check_at_most;
use super::event::EventKind;
use super::{Arbiter, Auth, Extras, Forfeit, Inner, Observation, Role, Settings};
use crate::record::Forfeited;

/// A seat's request for the next episode.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reset {
    /// The seed of the next episode, if the seat may give one.
    pub seed: Option<u64>,
    /// The episode that the seat leaves, by default the present one. If it is given, a retry starts no further episode.
    pub from_episode: Option<u32>,
    /// Whether the call waits until the seat owes a decision, or the episode is over.
    pub wait: bool,
    /// The optional parts of the observation to return.
    pub extras: Extras,
}

/// The reason why a match is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// The host closed it.
    Host,
    /// No caller used the match for too long.
    Idle {
        /// The maximum time without a call.
        limit: Duration,
    },
    /// A bot failed.
    BotFailed {
        /// The bot's seat.
        seat: Seat,
        /// The problem.
        #[serde(rename = "what")]
        problem: String,
    },
    /// Agents did not open (reveal) their secrets for the deal in time, so they forfeit the match.
    Withheld {
        /// Their seats.
        seats: SeatSet,
    },
    /// All episodes have been played; seats can still read the last observation.
    Finished,
    /// The server stops.
    ShuttingDown,
}

impl CloseReason {
    /// Returns whether the match has ended. A shutdown does not end it: the next server continues a match from the journal.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::ShuttingDown)
    }

    pub(super) fn to_message(&self) -> v1::CloseReason {
        match self {
            Self::Host => v1::CloseReason::Host,
            Self::Idle { .. } => v1::CloseReason::Idle,
            Self::BotFailed { .. } => v1::CloseReason::BotFailed,
            Self::Withheld { .. } => v1::CloseReason::Withheld,
            Self::Finished => v1::CloseReason::Finished,
            Self::ShuttingDown => v1::CloseReason::ShuttingDown,
        }
    }
}

impl Arbiter {
    /// Starts the next episode for the host: at any time, but with fair deals only after the end of the present one. With
    /// `host_begins`, the call waits after the end of an episode until every agent has asked for the next one.
    ///
    /// # Errors
    /// The caller is not the host. A seed is given with fair deals. The episode is not over or has not begun. The match is
    /// closed.
    pub async fn reset_match(
        self: &Arc<Self>,
        auth: impl Into<Auth>,
        seed: Option<u64>,
        from_episode: Option<u32>,
    ) -> Result<(), Error> {
        let try_respond = |inner: &mut Inner, role| {
            if role != Role::Host {
                return Err(self.host_only());
            }
            let state = &inner.state;
            let has_left = from_episode.is_some_and(|episode| episode < state.present.episode);
            let have_asked = state.asked_seats == self.settings.agents() || state.closed.is_some();
            if self.settings.host_begins && !has_left && state.is_over() && !have_asked {
                return Ok(None);
            }
            if !self.has_left(inner, seed, from_episode)? {
                inner.state.require_leave_allowed()?;
                self.start_next(inner, seed)?;
            }
            Ok(Some(()))
        };
        self.respond_when(auth, false, try_respond).await
    }

    /// Asks for the next episode for a seat, waits until it starts, and returns its first observation as
    /// [`observe`](Self::observe) does. If an agent plays only against bots and may leave, the episode starts
    /// immediately. Otherwise it starts when every agent has asked for it, or when the host starts it.
    ///
    /// # Errors
    /// The token belongs to no seat. The seat may not give a seed. The episode is not over or has not begun. The match is
    /// closed. The seat has too many waiting calls.
    pub async fn reset(
        self: &Arc<Self>,
        auth: impl Into<Auth>,
        Reset { seed, from_episode, wait, extras }: Reset,
    ) -> Result<Observation, Error> {
        let mut left_episode = None;
        let try_respond = |inner: &mut Inner, role| {
            let seat = self.seat_of(role)?;
            if left_episode.is_none() {
                left_episode = from_episode.or(Some(inner.state.present.episode));
                // A seat counts once, and the last seat starts the next episode.
                if !self.has_left(inner, seed, from_episode)? && self.ask_for_next(inner, seat, seed)? {
                    self.start_next(inner, seed)?;
                }
            }
            if Some(inner.state.present.episode) <= left_episode {
                return Ok(None);
            }
            self.observe_if_ready(inner, seat, wait, extras)
        };
        self.respond_when(auth, true, try_respond).await
    }

    /// Returns whether the match has already left the episode `from_episode`. If not, checks that a next episode may start.
    fn has_left(&self, inner: &Inner, seed: Option<u64>, from_episode: Option<u32>) -> Result<bool, Error> {
        let present = inner.state.present.episode;
        if let Some(episode) = from_episode {
            check_at_most(present, episode)?;
            if episode < present {
                return Ok(true);
            }
        }
        self.require_open(inner)?;
        inner.state.require_dealt()?;
        inner.state.require_next_allowed(seed)?;
        Ok(false)
    }

    fn start_next(&self, inner: &mut Inner, seed: Option<u64>) -> Result<(), Error> {
        let dealt = inner.state.deal_event(seed);
        self.commit(inner, [dealt])?;
        inner.clocks.restart_all();
        self.play_automatic_steps(inner);
        Ok(())
    }

    /// Records that `seat` asks for the next episode. Returns whether that episode may start now.
    fn ask_for_next(&self, inner: &mut Inner, seat: Seat, seed: Option<u64>) -> Result<bool, Error> {
        let Settings { seat_may_seed, host_begins, .. } = self.settings;
        let agents = self.settings.agents();
        let alone = agents.len() == 1;
        // A seat that knows the seed can compute every card.
        if seed.is_some() && !(alone && seat_may_seed) {
            return Err(self.host_only());
        }
        // Where episodes are counted, an agent must not abandon an episode that goes badly.
        if alone && self.settings.may_reset_early() {
            return Ok(true);
        }
        inner.state.require_over()?;
        let is_new = !inner.state.asked_seats.contains(seat);
        self.commit(inner, is_new.then_some(EventKind::AskedForNext { seat }))?;
        Ok(!host_begins && inner.state.asked_seats == agents)
    }

    /// Ends the present episode as soon as no bot thinks: the calling seat resigns, or the host names a seat that loses.
    /// Returns the calling seat's observation.
    ///
    /// # Errors
    /// The seat is not the caller's, or not an agent's. The episode is over or has not begun. The match is closed. The seat
    /// has too many waiting calls.
    pub async fn resign(
        self: &Arc<Self>,
        auth: impl Into<Auth>,
        named: Option<u32>,
        episode: Option<u32>,
        extras: Extras,
    ) -> Result<Option<Observation>, Error> {
        let try_respond = |inner: &mut Inner, role| {
            let forfeited = match role {
                Role::Host => Forfeited { seat: self.settings.agent_seat(named)?, reason: Forfeit::Host },
                Role::Seat(seat) if named.is_none_or(|named| named == u32::from(seat.number())) => {
                    Forfeited { seat, reason: Forfeit::Resigned }
                }
                Role::Seat(_) => return Err(self.host_only()),
            };
            if self.bots_think() {
                return Ok(None);
            }
            let episode = episode.unwrap_or(inner.state.present.episode);
            let event = inner.state.forfeit_event(episode, forfeited)?;
            self.commit(inner, event)?;
            self.play_automatic_steps(inner);
            Ok(Some(match role {
                Role::Seat(seat) => self.observe_if_ready(inner, seat, false, extras)?,
                Role::Host => None,
            }))
        };
        self.respond_when(auth, false, try_respond).await
    }

    fn host_only(&self) -> Error {
        Error::HostOnly { match_id: self.identity.id.clone() }
    }

    /// Closes the match, unless it is closed already. Waiting calls fail.
    pub fn close(self: &Arc<Self>, reason: CloseReason) {
        self.update(|inner| self.close_with(inner, reason));
        self.current_bot_round.store(0, Ordering::Relaxed);
        self.work_queue.cancel();
    }

    /// Returns whether the match is closed and no server will continue it. From then on nothing about it is secret.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.lock().state.has_ended()
    }

    pub(super) fn close_with(&self, inner: &mut Inner, reason: CloseReason) {
        if inner.state.closed.is_none() {
            self.commit_event(inner, EventKind::Closed(reason)).expect("any open match can be closed");
        }
    }

    /// Returns an error if the match is closed.
    pub(super) fn require_open(&self, inner: &Inner) -> Result<(), Error> {
        let Some(reason) = &inner.state.closed else { return Ok(()) };
        let id = self.identity.id.clone();
        Err(match reason {
            CloseReason::Host | CloseReason::Finished => Error::MatchClosed { match_id: id },
            CloseReason::Idle { limit } => Error::MatchExpired { match_id: id, seconds: limit.as_secs() },
            CloseReason::BotFailed { seat, problem } => {
                Error::BotFailed { id, seat: seat.number(), problem: problem.clone() }
            }
            CloseReason::Withheld { seats } => Error::DealWithheld { match_id: id, seats: seats.to_string() },
            CloseReason::ShuttingDown => Error::ShuttingDown,
        })
    }
}

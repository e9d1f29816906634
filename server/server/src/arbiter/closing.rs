//! Closing a match.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use boardwire_api::{Error, v1};
use boardwire_kernel::{Seat, SeatSet};
use serde::{Deserialize, Serialize};

use super::event::EventKind;
use super::{Arbiter, Inner};

/// Why a match has been closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// The host closed it.
    Host,
    /// No caller used it for too long.
    Idle {
        /// The longest time without a call.
        limit: Duration,
    },
    /// A bot failed.
    BotFailed {
        /// The bot's seat.
        seat: Seat,
        /// The problem.
        what: String,
    },
    /// Agents did not open their secrets for the deal in time: they forfeit the match.
    Withheld {
        /// Their seats.
        seats: SeatSet,
    },
    /// All its episodes have been played; the last observation can still be read.
    Finished,
    /// The server stops.
    ShuttingDown,
}

impl CloseReason {
    /// Whether the match is over. When the server stops it is not: the next server continues a match that is in the journal.
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
    /// Closes the match, unless it is closed already. Waiting calls fail.
    pub fn close(self: &Arc<Self>, reason: CloseReason) {
        self.end(&mut self.change(), reason);
        self.round.store(0, Ordering::Relaxed);
        self.owner.cancel();
    }

    /// Whether the match is closed and no server will continue it. Nothing about it is secret then.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.lock().state.has_ended()
    }

    pub(super) fn end(&self, inner: &mut Inner, reason: CloseReason) {
        if inner.state.closed.is_none() {
            self.commit_event(inner, EventKind::Closed(reason)).expect("any open match can be closed");
        }
    }

    /// Fails when the match is closed, except after its last episode: its seats may still see how that ended.
    pub(super) fn check_open_or_finished(&self, inner: &Inner) -> Result<(), Error> {
        if inner.state.closed == Some(CloseReason::Finished) { Ok(()) } else { self.check_open(inner) }
    }

    /// Fails when the match is closed.
    pub(super) fn check_open(&self, inner: &Inner) -> Result<(), Error> {
        let Some(reason) = &inner.state.closed else { return Ok(()) };
        let id = self.identity.id.clone();
        Err(match reason {
            CloseReason::Host | CloseReason::Finished => Error::MatchClosed { match_id: id },
            CloseReason::Idle { limit } => Error::MatchExpired { match_id: id, seconds: limit.as_secs() },
            CloseReason::BotFailed { seat, what } => {
                Error::BotFailed { id, seat: seat.number(), problem: what.clone() }
            }
            CloseReason::Withheld { seats } => Error::DealWithheld { match_id: id, seats: seats.to_string() },
            CloseReason::ShuttingDown => Error::ShuttingDown,
        })
    }
}

//! How a match ends for good.

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
    /// Its host closed it.
    Host,
    /// Nobody used it for too long.
    Idle {
        /// How long.
        limit: Duration,
    },
    /// A bot of it failed.
    BotFailed {
        /// At which seat.
        seat: Seat,
        /// How.
        what: String,
    },
    /// Agents have not opened what they were bound to contribute: they have forfeited it.
    Withheld {
        /// At which seats.
        seats: SeatSet,
    },
    /// All its episodes have been played: the last one can still be seen as it ended.
    Finished,
    /// The server stops.
    ShuttingDown,
}

impl CloseReason {
    /// Whether the match is over: a server that stops leaves it to the next one, if it is kept.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::ShuttingDown)
    }

    /// The reason as a message.
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
    /// Ends the match for good, unless it has ended already; waiting calls fail.
    pub fn close(self: &Arc<Self>, reason: CloseReason) {
        self.end(&mut self.change(), reason);
        self.round.store(0, Ordering::Relaxed);
        self.owner.cancel();
    }

    /// Whether nothing will happen in the match any more, not even on a server to come: nothing of it is secret then.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.lock().state.has_ended()
    }

    pub(super) fn end(&self, inner: &mut Inner, reason: CloseReason) {
        if inner.state.closed.is_none() {
            self.commit_one(inner, EventKind::Closed(reason)).expect("any open match can be closed");
        }
    }

    /// Refuses when the match has ended for good, unless all its episodes have been played: whoever has played the last one is
    /// still shown how that ended.
    pub(super) fn check_open_or_finished(&self, inner: &Inner) -> Result<(), Error> {
        if inner.state.closed == Some(CloseReason::Finished) { Ok(()) } else { self.check_open(inner) }
    }

    /// Fails when the match has ended for good.
    pub(super) fn check_open(&self, inner: &Inner) -> Result<(), Error> {
        let id = || self.name.id.clone();
        Err(match &inner.state.closed {
            None => return Ok(()),
            Some(CloseReason::Host | CloseReason::Finished) => Error::MatchClosed { match_id: id() },
            Some(CloseReason::Idle { limit }) => {
                Error::MatchExpired { match_id: id(), seconds: limit.as_secs() }
            }
            Some(CloseReason::BotFailed { seat, what }) => {
                Error::BotFailed { id: id(), seat: seat.number(), problem: what.clone() }
            }
            Some(CloseReason::Withheld { seats }) => {
                Error::DealWithheld { match_id: id(), seats: seats.to_string() }
            }
            Some(CloseReason::ShuttingDown) => Error::ShuttingDown,
        })
    }
}

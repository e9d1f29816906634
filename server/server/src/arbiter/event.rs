//! The events of a match, as the journal stores them.

use std::time::SystemTime;

use boardwire_kernel::Seat;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{CloseReason, EpisodeKey};
use crate::forms;
use crate::record::fair::Contribution;
use crate::record::{Cause, DecisionTime, Forfeited};
use crate::secret::Seeds;

/// An event and its time.
///
/// Only the id, the settings and the events in order determine the state of a match. So every random draw, every choice of a
/// bot and every time is part of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Event {
    #[serde(with = "forms::time")]
    pub(super) at: SystemTime,
    pub(super) what: EventKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EventKind {
    /// An agent joined a seat, or got a new token for it.
    Joined {
        seat: Seat,
        /// The digest of the seat's token.
        #[serde(with = "forms::hex")]
        token: [u8; 32],
        /// The id of the join request.
        request: Option<Uuid>,
        /// The agent's commitment, if deals are fair.
        #[serde(default, with = "forms::hex_option", skip_serializing_if = "Option::is_none")]
        bound: Option<Contribution>,
    },
    /// The host gave a seat to another agent; the former agent lost it.
    Invited {
        seat: Seat,
        /// The digest of the new invitation.
        #[serde(with = "forms::hex")]
        invitation: [u8; 32],
    },
    /// A seat opened (revealed) its secret for the deals.
    Opened {
        seat: Seat,
        #[serde(with = "forms::hex")]
        part: Contribution,
    },
    /// An episode was dealt from the key `opened`; the key of the next one comes from `seeds`.
    Dealt { opened: EpisodeKey, seeds: Seeds },
    /// An action was played.
    Played {
        seat: Seat,
        action: u8,
        cause: Cause,
        /// How long the seat thought, if it has a clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took: Option<DecisionTime>,
    },
    /// A seat's time ran out.
    RanOut { seat: Seat },
    /// An episode was forfeited; `given` is the illegal action, if one was the reason.
    Forfeited { forfeited: Forfeited, given: Option<u32> },
    /// A seat asked for the next episode.
    Voted { seat: Seat },
    /// The match was closed.
    Closed(CloseReason),
}

impl EventKind {
    pub(super) fn seat(&self) -> Option<Seat> {
        match self {
            Self::Joined { seat, .. }
            | Self::Invited { seat, .. }
            | Self::Opened { seat, .. }
            | Self::Played { seat, .. }
            | Self::RanOut { seat }
            | Self::Voted { seat } => Some(*seat),
            Self::Forfeited { forfeited, .. } => Some(forfeited.seat),
            Self::Dealt { .. } | Self::Closed(_) => None,
        }
    }
}

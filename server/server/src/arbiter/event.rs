//! The events of a match, as the journal stores them.

use std::time::SystemTime;

use boardwire_kernel::Seat;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{CloseReason, EpisodeKey};
use crate::record::fair::{DealCommitment, DealSecret};
use crate::record::{Cause, DecisionTime, Forfeited};
use crate::secret::Seeds;
use crate::serde_formats;

/// An event and its time.
///
/// Only the id, the settings and the events in order determine the state of a match. So every random draw, every choice of a
/// bot and every time is part of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Event {
    #[serde(with = "serde_formats::time")]
    pub(super) at: SystemTime,
    #[serde(rename = "what")]
    pub(super) kind: EventKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EventKind {
    /// An agent joined a seat, or got a new token for it.
    Joined {
        seat: Seat,
        /// The digest of the seat's token.
        #[serde(with = "serde_formats::hex")]
        token: [u8; 32],
        /// The id of the join request.
        request: Option<Uuid>,
        /// The agent's commitment, if deals are fair.
        #[serde(
            default,
            with = "serde_formats::hex_option",
            skip_serializing_if = "Option::is_none",
            rename = "bound"
        )]
        commitment: Option<DealCommitment>,
    },
    /// The host gave a seat to another agent; the former agent lost it.
    Invited {
        seat: Seat,
        /// The digest of the new invitation.
        #[serde(with = "serde_formats::hex")]
        invitation: [u8; 32],
    },
    /// A seat opened (revealed) its secret for the deals.
    Opened {
        seat: Seat,
        #[serde(with = "serde_formats::hex", rename = "part")]
        secret: DealSecret,
    },
    /// An episode was dealt from `key`; the key of the next one comes from `seeds`.
    Dealt {
        #[serde(rename = "opened")]
        key: EpisodeKey,
        seeds: Seeds,
    },
    /// An action was played.
    Played {
        seat: Seat,
        action: u8,
        cause: Cause,
        /// How long the seat thought, if it has a clock.
        #[serde(default, skip_serializing_if = "Option::is_none", rename = "took")]
        decision_time: Option<DecisionTime>,
    },
    /// A seat's time ran out.
    #[serde(rename = "ran_out")]
    TimedOut { seat: Seat },
    /// An episode was forfeited; `given` is the illegal action, if one was the reason.
    Forfeited { forfeited: Forfeited, given: Option<u32> },
    /// A seat asked for the next episode.
    #[serde(rename = "voted")]
    AskedForNext { seat: Seat },
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
            | Self::TimedOut { seat }
            | Self::AskedForNext { seat } => Some(*seat),
            Self::Forfeited { forfeited, .. } => Some(forfeited.seat),
            Self::Dealt { .. } | Self::Closed(_) => None,
        }
    }
}

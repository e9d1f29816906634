//! What happens in a match.

use std::time::SystemTime;

use boardwire_kernel::Seat;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{CloseReason, EpisodeKey};
use crate::forms;
use crate::record::fair::Contribution;
use crate::record::{Cause, DecisionTime, Forfeited};
use crate::secret::Seeds;

/// What has happened in a match, and when.
///
/// How a match stands follows from its id, its settings and its events in their order, and from nothing else:
/// whatever was drawn, whatever a bot chose and whatever the time was stands in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Event {
    /// When.
    #[serde(with = "forms::time")]
    pub(super) at: SystemTime,
    /// What.
    pub(super) what: EventKind,
}

/// What has happened in a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EventKind {
    /// An agent joined a seat, or got a new token for it.
    Joined {
        /// The seat.
        seat: Seat,
        /// What its token is found by.
        #[serde(with = "forms::hex")]
        token: [u8; 32],
        /// What the request was named by that took it.
        request: Option<Uuid>,
        /// What binds it to what it contributes to deals, if they are fair.
        #[serde(default, with = "forms::hex_option", skip_serializing_if = "Option::is_none")]
        bound: Option<Contribution>,
    },
    /// The host gave a seat to another agent: the former one has lost it.
    Invited {
        /// The seat.
        seat: Seat,
        /// What the new invitation is found by.
        #[serde(with = "forms::hex")]
        invitation: [u8; 32],
    },
    /// A seat has opened what it contributes to deals.
    Opened {
        /// The seat.
        seat: Seat,
        /// That.
        #[serde(with = "forms::hex")]
        part: Contribution,
    },
    /// An episode was dealt.
    Dealt {
        /// What it follows from.
        opened: EpisodeKey,
        /// What the next one follows from.
        seeds: Seeds,
    },
    /// An action was played.
    Played {
        /// Whose.
        seat: Seat,
        /// Its index.
        action: u8,
        /// How it came about.
        cause: Cause,
        /// How long the seat took for it, if it has a clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took: Option<DecisionTime>,
    },
    /// A seat's time has run out.
    RanOut {
        /// The seat.
        seat: Seat,
    },
    /// An episode was forfeited.
    Forfeited {
        /// Who lost it, and why.
        forfeited: Forfeited,
        /// The illegal action that was chosen, if that is why.
        given: Option<u32>,
    },
    /// A seat has asked for the next episode.
    Voted {
        /// The seat.
        seat: Seat,
    },
    /// The match has ended for good.
    Closed(CloseReason),
}

impl EventKind {
    /// The seat that it is about.
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

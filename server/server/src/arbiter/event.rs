//! What happens in a match.

use std::time::SystemTime;

use boardwire_api::v1::{ActionCause, Forfeit};
use boardwire_kernel::Seat;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::clock::Took;
use super::fair::Part;
use super::{CloseReason, Opened};
use crate::forms;
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
    pub(super) what: What,
}

/// What has happened in a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
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
        bound: Option<Part>,
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
        part: Part,
    },
    /// An episode was dealt.
    Dealt {
        /// What it follows from.
        opened: Opened,
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
        took: Option<Took>,
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

impl What {
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

/// Who chose an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The seat's agent chose it.
    Agent,
    /// It was played for an illegal action.
    Substituted {
        /// The action that the seat's agent chose.
        given: u32,
        /// The words of the stream of substitutes that have been used now.
        words: u64,
    },
    /// The seat's bot chose it.
    Bot {
        /// The words of its stream that it has used now.
        words: u64,
    },
    /// There was no other choice.
    Forced,
    /// It was played for a seat whose time had run out.
    Late {
        /// The words that have been used now, of the stream of its bot or of that of substitutes.
        words: u64,
        /// Whether a bot chose it.
        bot: bool,
    },
}

/// How an episode was forfeited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forfeited {
    /// Who lost it.
    pub seat: Seat,
    /// Why.
    #[serde(with = "forms::number")]
    pub why: Forfeit,
}

impl Cause {
    /// The cause as a message: without what was drawn.
    pub(super) fn to_message(self) -> ActionCause {
        match self {
            Self::Agent => ActionCause::Agent,
            Self::Substituted { .. } => ActionCause::Substituted,
            Self::Bot { .. } => ActionCause::Bot,
            Self::Forced => ActionCause::Forced,
            Self::Late { .. } => ActionCause::TimedOut,
        }
    }
}

//! The record of one episode: the arbiter writes it, replays show it, and [`verify`] checks it.

pub(crate) mod fair;
mod history;
mod replayer;
mod verify;

use std::time::{Duration, SystemTime};

use boardwire_api::v1::{self, ActionCause, Forfeit};
use boardwire_kernel::{Digest, Seat};
use serde::{Deserialize, Serialize};

use crate::secret::EpisodeKey;
use crate::serde_formats;
use fair::DealSecret;
pub(crate) use history::history;
pub(crate) use replayer::{Replayer, VisibleDecisions, outcome};
pub use verify::{Mismatch, Verified, verify};

/// An episode as it was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) episode: u32,
    /// The sequence number of its first frame. The frames of a match are numbered from 1, across episodes.
    pub(crate) first_sequence: u64,
    /// Secret: the arbiter uses it, but no seat may see it.
    pub(crate) key: EpisodeKey,
    pub(crate) commitment: [u8; 32],
    /// The server's secret for this deal, if deals are fair.
    pub(crate) server_secret: Option<DealSecret>,
    /// When the episode was dealt. `None` before the deal.
    pub(crate) dealt_at: Option<SystemTime>,
    pub(crate) moves: Vec<Move>,
    pub(crate) forfeited: Option<Forfeited>,
    /// When the last action was applied. Before the first action: when the episode was dealt.
    pub(crate) last_action_at: SystemTime,
}

/// An action as it was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) seat: Seat,
    pub(crate) action: u8,
    pub(crate) cause: Cause,
    /// How long the decision took, if the seat has a clock.
    pub(crate) decision_time: Option<DecisionTime>,
    pub(crate) at: SystemTime,
}

impl Move {
    fn to_message(self) -> v1::PlayedAction {
        let given = if let Cause::Substituted { given, .. } = self.cause { Some(given) } else { None };
        v1::PlayedAction { action: self.action.into(), cause: self.cause.to_message().into(), given }
    }
}

/// Returns the hash chain's head after a decision: BLAKE3, keyed with the episode's key, of the previous head, the seat, the
/// action and its cause. The commitment is the first head of the chain. Without the key, a head reveals nothing about a
/// hidden choice.
fn after_decision(key: &[u8; 32], head: &[u8; 32], played: &Move) -> [u8; 32] {
    let Move { seat, action, cause, .. } = *played;
    chained(key, head, &[seat.number(), action, enum_byte(cause.to_message())])
}

/// Returns the head after a forfeit: the same keyed hash, of the previous head, the seat and the reason.
fn after_forfeit(key: &[u8; 32], head: &[u8; 32], forfeited: Forfeited) -> [u8; 32] {
    chained(key, head, &[forfeited.seat.number(), enum_byte(forfeited.reason)])
}

fn chained(key: &[u8; 32], head: &[u8; 32], event: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_keyed(key).update(head).update(event).finalize().as_bytes()
}

fn enum_byte(value: impl Into<i32>) -> u8 {
    u8::try_from(value.into()).expect("the protocol's enumerations have fewer than 256 values")
}

impl Record {
    /// Creates the record of an episode dealt at `at`, in the match with this id at the table with this digest.
    pub(crate) fn new(
        (match_id, spec): (&str, &Digest),
        episode: u32,
        first_sequence: u64,
        key: EpisodeKey,
        at: SystemTime,
    ) -> Self {
        let commitment = key.commitment(match_id, episode, spec);
        Self { episode, first_sequence, key, commitment, dealt_at: Some(at), ..Self::undealt(at) }
    }

    /// Creates the record of the first episode of a match, before its deal.
    pub(crate) fn undealt(at: SystemTime) -> Self {
        Self {
            episode: 0,
            first_sequence: 1,
            key: EpisodeKey::placeholder(),
            commitment: [0; 32],
            server_secret: None,
            dealt_at: None,
            moves: Vec::new(),
            forfeited: None,
            last_action_at: at,
        }
    }

    /// Returns when the match reached the position of the frame with this sequence number.
    pub(crate) fn frame_time(&self, sequence: u64) -> SystemTime {
        let index = usize::try_from(sequence - self.first_sequence).unwrap_or(usize::MAX);
        let played = index.checked_sub(1).map(|at| self.moves.get(at).map(|played| played.at));
        played.unwrap_or(self.dealt_at).unwrap_or(self.last_action_at)
    }

    /// Returns the number of frames: one for the deal, one for each decision, one for a forfeit.
    pub(crate) fn frame_count(&self) -> u64 {
        u64::from(self.dealt_at.is_some()) + self.moves.len() as u64 + u64::from(self.forfeited.is_some())
    }

    /// Returns the sequence number after the last frame.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.first_sequence + self.frame_count()
    }

    /// Removes everything after `time` except the deal. Returns whether it removed anything.
    pub(crate) fn truncate_after(&mut self, time: SystemTime) -> bool {
        let frames = self.frame_count();
        // Removes the first decision after `time` and all later ones, even if the system's clock was set back between them.
        if let Some(late) = self.moves.iter().position(|played| played.at > time) {
            self.moves.truncate(late);
            self.forfeited = None;
        }
        self.forfeited = self.forfeited.filter(|_| self.last_action_at <= time);
        frames != self.frame_count()
    }

    /// Returns the head of the hash chain after the last decision or forfeit.
    pub(crate) fn head(&self) -> [u8; 32] {
        let key = self.key.key.as_bytes();
        let played =
            self.moves.iter().fold(self.commitment, |head, played| after_decision(key, &head, played));
        self.forfeited.map_or(played, |forfeited| after_forfeit(key, &played, forfeited))
    }
}

/// The reason why an event cannot follow the events before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidEvent(pub(crate) String);

/// The cause of an action: the player that chose it, or why the engine chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The seat's agent chose it.
    Agent,
    /// The engine replaced an illegal action.
    Substituted {
        /// The action that the seat's agent chose.
        given: u32,
        /// The position in the seat's substitute stream of random numbers after the draw, in words.
        words: u64,
    },
    /// The seat's bot chose it.
    Bot {
        /// The position in the bot's stream of random numbers after the choice, in words.
        words: u64,
    },
    /// The engine played the only legal action.
    Forced,
    /// The engine decided for a seat whose time ran out.
    #[serde(rename = "late")]
    TimedOut {
        /// The position in the stream that was used (the bot's or the substitute stream), in words.
        words: u64,
        /// Whether a bot chose.
        bot: bool,
    },
}

/// How an episode was forfeited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forfeited {
    /// The seat that lost.
    pub seat: Seat,
    /// The reason for which the seat lost.
    #[serde(with = "serde_formats::number", rename = "why")]
    pub reason: Forfeit,
}

impl Cause {
    /// Converts the cause to a message, without the stream positions.
    pub(crate) fn to_message(self) -> ActionCause {
        match self {
            Self::Agent => ActionCause::Agent,
            Self::Substituted { .. } => ActionCause::Substituted,
            Self::Bot { .. } => ActionCause::Bot,
            Self::Forced => ActionCause::Forced,
            Self::TimedOut { .. } => ActionCause::TimedOut,
        }
    }
}

/// How long a decision took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionTime {
    /// The time from when the server could first show the decision until its action arrived.
    #[serde(rename = "all")]
    pub elapsed: Duration,
    /// The part of `elapsed` spent on the network. The clock does not count it.
    #[serde(rename = "refund")]
    pub network: Duration,
}

impl DecisionTime {
    /// Returns the time that the seat's clock counts.
    #[must_use]
    pub fn counted(self) -> Duration {
        self.elapsed.saturating_sub(self.network)
    }
}

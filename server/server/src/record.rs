//! An episode as it was played: for the arbiter, for replays, and for those who verify them.

pub(crate) mod fair;
mod retrace;
mod verify;

use std::time::{Duration, SystemTime};

use boardwire_api::v1::{self, ActionCause, Forfeit};
use boardwire_kernel::{Digest, Seat};
use serde::{Deserialize, Serialize};

use crate::forms;
use crate::secret::EpisodeKey;
use fair::Contribution;
pub(crate) use retrace::{Replayer, ShownDecisions, outcome};
pub use verify::{Mismatch, Verified, verify};

/// An episode as it was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Which it is.
    pub(crate) episode: u32,
    /// The number of its first frame among those of the match.
    pub(crate) first: u64,
    /// What it follows from: for the arbiter, never for a seat.
    pub(crate) opened: EpisodeKey,
    /// What commits to that.
    pub(crate) commitment: [u8; 32],
    /// What the server has contributed to it, if its deal was fair.
    pub(crate) server_part: Option<Contribution>,
    /// When it was dealt, if it has been.
    pub(crate) dealt: Option<SystemTime>,
    /// All that was played, in the order in which it came.
    pub(crate) moves: Vec<Move>,
    /// Who has lost it without playing it to its end, and why.
    pub(crate) forfeited: Option<Forfeited>,
    /// When the last action was applied, or when it was dealt.
    pub(crate) acted: SystemTime,
}

/// An action as it was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move {
    /// Whose.
    pub(crate) seat: Seat,
    /// Its index.
    pub(crate) action: u8,
    /// How it came about.
    pub(crate) cause: Cause,
    /// How long the seat took for it, if it has a clock.
    pub(crate) took: Option<DecisionTime>,
    /// When.
    pub(crate) at: SystemTime,
}

impl Move {
    /// The decision as a message.
    fn to_message(self) -> v1::PlayedAction {
        let given = if let Cause::Substituted { given, .. } = self.cause { Some(given) } else { None };
        v1::PlayedAction { action: self.action.into(), cause: self.cause.to_message().into(), given }
    }
}

/// The head after a decision: BLAKE3, keyed with the episode's key, of the head before it, the seat, the action and how it
/// came about. Before the first decision the head is the commitment. It tells nothing of a hidden choice without the key.
fn after_decision(key: &[u8; 32], head: &[u8; 32], played: &Move) -> [u8; 32] {
    let Move { seat, action, cause, .. } = *played;
    chained(key, head, &[seat.number(), action, number(cause.to_message())])
}

/// The head after a forfeit: the same of the head before it, the seat and the reason.
fn after_forfeit(key: &[u8; 32], head: &[u8; 32], forfeited: Forfeited) -> [u8; 32] {
    chained(key, head, &[forfeited.seat.number(), number(forfeited.why)])
}

fn chained(key: &[u8; 32], head: &[u8; 32], happened: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_keyed(key).update(head).update(happened).finalize().as_bytes()
}

/// The number of an enumeration's value, of which the protocol has few.
fn number(value: impl Into<i32>) -> u8 {
    u8::try_from(value.into()).expect("few")
}

impl Record {
    /// An episode of a match, by its id and the digest of its table, that has just been dealt.
    pub(crate) fn new(
        (id, spec): (&str, &Digest),
        episode: u32,
        first: u64,
        opened: EpisodeKey,
        at: SystemTime,
    ) -> Self {
        let commitment = opened.commitment(id, episode, spec);
        let (server_part, moves, forfeited) = (None, Vec::new(), None);
        Self { episode, first, opened, commitment, server_part, dealt: Some(at), moves, forfeited, acted: at }
    }

    /// The first episode of a match, before it has been dealt.
    pub(crate) fn undealt(at: SystemTime) -> Self {
        let (opened, commitment) = (EpisodeKey::nothing(), [0; 32]);
        let (server_part, moves, forfeited) = (None, Vec::new(), None);
        Self {
            episode: 0,
            first: 1,
            opened,
            commitment,
            server_part,
            dealt: None,
            moves,
            forfeited,
            acted: at,
        }
    }

    /// When the position of the frame with this number came about.
    pub(crate) fn at(&self, sequence: u64) -> SystemTime {
        let index = usize::try_from(sequence - self.first).unwrap_or(usize::MAX);
        let played = index.checked_sub(1).map(|at| self.moves.get(at).map(|played| played.at));
        played.unwrap_or(self.dealt).unwrap_or(self.acted)
    }

    /// How many frames there are: the deal, every decision, and a forfeit.
    pub(crate) fn frames(&self) -> u64 {
        u64::from(self.dealt.is_some()) + self.moves.len() as u64 + u64::from(self.forfeited.is_some())
    }

    /// The number of the first frame after it.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.frames()
    }

    /// Leaves out what has happened after `time`; whether there was anything. The deal stays.
    pub(crate) fn cut(&mut self, time: SystemTime) -> bool {
        let frames = self.frames();
        // All that follows the first of it, though a clock may have been set back since.
        if let Some(kept) = self.moves.iter().position(|played| played.at > time) {
            self.moves.truncate(kept);
            self.forfeited = None;
        }
        self.forfeited = self.forfeited.filter(|_| self.acted <= time);
        frames != self.frames()
    }

    /// What all that has happened chains up to.
    pub(crate) fn head(&self) -> [u8; 32] {
        let key = self.opened.key.as_bytes();
        let played =
            self.moves.iter().fold(self.commitment, |head, played| after_decision(key, &head, played));
        self.forfeited.map_or(played, |forfeited| after_forfeit(key, &played, forfeited))
    }
}

/// An event that does not follow upon those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidEvent(pub(crate) String);

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
    pub(crate) fn to_message(self) -> ActionCause {
        match self {
            Self::Agent => ActionCause::Agent,
            Self::Substituted { .. } => ActionCause::Substituted,
            Self::Bot { .. } => ActionCause::Bot,
            Self::Forced => ActionCause::Forced,
            Self::Late { .. } => ActionCause::TimedOut,
        }
    }
}
/// How long a decision took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionTime {
    /// From when the seat could have been shown it, until its answer came.
    pub all: Duration,
    /// How much of that was on the wire, and is given back.
    pub refund: Duration,
}

impl DecisionTime {
    /// What the seat's clock is charged.
    #[must_use]
    pub fn charged(self) -> Duration {
        self.all.saturating_sub(self.refund)
    }
}

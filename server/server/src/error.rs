//! Everything the service refuses, in one enum.

use std::time::Duration;

use boardwire_batch::Refused;
use boardwire_kernel::{Rejection, Seat, SeatSet};
use thiserror::Error;
use uuid::Uuid;

/// Why a request was refused; nothing has changed then.
///
/// `status.rs` gives each its gRPC status; `tests/errors.tsv` lists them all. The fields are the metadata.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are the values the messages mention")]
pub enum ServiceError {
    /// What tables, batches and searches refuse; the rest of the service may refuse the same.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No match has this id.
    #[error("there is no match `{id}`; it may have been closed long ago")]
    UnknownMatch { id: String },
    /// Nobody was invited with this.
    #[error("this invitation is for no seat of any open match")]
    UnknownInvitation,
    /// The seat has been joined with this invitation already.
    #[error("seat {} of match {id} has been joined already", .seat.number())]
    InvitationUsed { id: String, seat: Seat },
    /// An episode that has not been dealt.
    #[error("nothing has been dealt: seats {} have yet to {what}", list(*.missing))]
    NotDealt { missing: SeatSet, what: &'static str },
    /// A match that ended before its deal, since agents did not open what they were bound to contribute.
    #[error("match {id} has ended: seats {} did not open what they had contributed to the deal, and have forfeited it", list(*.seats))]
    DealWithheld { id: String, seats: SeatSet },
    /// A decision that came when the seat's time had run out, and had been made for it.
    #[error(
        "decision {decision} of episode {episode} came too late: time had run out, and it was made for the seat; observe again"
    )]
    DecisionLate { episode: u32, decision: u32 },
    /// Frames of a match that are not kept any more.
    #[error("the frames after {after} are not kept any more: the oldest is frame {oldest}")]
    FramesGone { after: u64, oldest: u64 },
    /// The call carries no token.
    #[error("the call needs `authorization: Bearer TOKEN` in its metadata")]
    MissingToken,
    /// The token is longer than any that was given.
    #[error("`authorization` has more than {limit} bytes: no token is that long")]
    TokenTooLong { limit: usize },
    /// The call does not say whose account it is for.
    #[error("the call needs a token of an account: `boardwire-token: TOKEN` in its metadata")]
    MissingCallerToken,
    /// The token is that of no account.
    #[error("the token in `boardwire-token` is that of no account")]
    WrongCallerToken,
    /// The token is none of the match's.
    #[error("the token belongs to no seat of match {id}")]
    WrongToken { id: String },
    /// Nobody has been given this token, or what it was for is gone.
    #[error("the token belongs to nobody: what it was for may have been closed")]
    UnknownToken,
    /// A seat asked for what only the host may do.
    #[error("only the host of match {id} may do this")]
    HostOnly { id: String },
    /// The host asked for what only a seat can do.
    #[error(
        "only a seat of match {id} can do this; the host's token is for ResetMatch, Invite, Resign and CloseMatch"
    )]
    SeatOnly { id: String },
    /// The seat owes no decision.
    #[error("seat {} owes no decision now: pending are {}", .seat.number(), list(*.pending))]
    NotYourTurn { seat: Seat, pending: SeatSet },
    /// The action exists, but not now.
    #[error("seat {} may not choose action {action} (`{label}`) now: its mask shows what it may", .seat.number())]
    IllegalAction { seat: Seat, action: u32, label: String },
    /// The action does not exist.
    #[error("there is no action {action}: indices are below {actions}")]
    ActionOutOfRange { action: u32, actions: u32 },
    /// The decision answered is not the one due.
    #[error(
        "decision {decision} of episode {episode} is not due: due is decision {expected_decision} of episode \
         {expected_episode}"
    )]
    StaleDecision { expected_episode: u32, expected_decision: u32, episode: u32, decision: u32 },
    /// The episode has ended.
    #[error("episode {episode} is over: Reset asks for the next, if there is one")]
    EpisodeOver { episode: u32 },
    /// The episode still goes on, and other seats play in it.
    #[error(
        "episode {episode} is not over: an agent leaves it only where it plays against bots alone and the match counts no episodes; \
         the host may begin the next, unless deals are fair"
    )]
    EpisodeNotOver { episode: u32 },
    /// The match has been closed.
    #[error("match {id} has been closed")]
    MatchClosed { id: String },
    /// Nobody has used the match for so long that it was closed.
    #[error("match {id} has been closed, since nobody used it for {seconds} s")]
    MatchExpired { id: String, seconds: u64 },
    /// The seat has as many calls waiting as it may.
    #[error("seat {} has {limit} calls waiting, as many as it may: one is enough", .seat.number())]
    SeatBusy { seat: Seat, limit: usize },
    /// The request id has been used before, for something else.
    #[error("request id {request} has been used for another request: a new request needs a fresh one")]
    RequestReused { request: Uuid },
    /// No further match fits.
    #[error("the server holds {limit} matches, as many as it may: close one first")]
    TableFull { limit: usize },
    /// The caller holds as much as one caller may.
    #[error("you hold {limit} {what}, as many as one caller may: close some first")]
    CallerFull { what: &'static str, limit: usize },
    /// The token is not that of the batch's owner.
    #[error("the token is not that of the owner of batch {id}")]
    BatchOwnerOnly { id: String },
    /// No further batch fits.
    #[error("the server holds {limit} batches, as many as it may: close one first")]
    BatchesFull { limit: usize },
    /// No such number of environments fits.
    #[error("{asked} environments do not fit: the server holds {open} of at most {limit}")]
    EnvironmentsFull { limit: usize, open: usize, asked: usize },
    /// The token is not that with which the worlds were drawn.
    #[error("the token is not that with which search {id} was begun")]
    SearchOwnerOnly { id: String },
    /// No service has this name.
    #[error("there is no service `{service}`")]
    UnknownService { service: String },
    /// The service has no such method.
    #[error("service {service} has no method `{method}`")]
    UnknownMethod { service: String, method: String },
    /// Nothing is known about the health of this service.
    #[error("no service has the name whose health was asked for")]
    UnknownHealth,
    /// Reflection finds no such symbol or file.
    #[error("reflection does not find it: {problem}")]
    UnknownDescriptor { problem: String },
    /// The bytes of the request are not a message of its type.
    #[error("the message cannot be decoded: {problem}")]
    Undecodable { problem: String },
    /// The call has ended before its message.
    #[error("the call carries no message")]
    MissingMessage,
    /// The message is longer than the method takes.
    #[error("a message of {bytes} bytes is too large: the method takes at most {limit}")]
    MessageTooLarge { bytes: usize, limit: usize },
    /// The message is compressed in a way that is not understood.
    #[error("messages must not be compressed: {problem}")]
    UnsupportedCompression { problem: String },
    /// The time that the caller gave the call is over, or its message has not come in time.
    #[error("the time is over that the call was given, or that its message may take to come")]
    TimedOut,
    /// The connection, its origin or the server holds as many bytes as it may.
    #[error(
        "the server holds {limit} bytes of calls under way and answers that nobody has read, as many as it may: read answers \
         and end calls first, then try again"
    )]
    BytesFull { limit: usize },
    /// The caller calls too often.
    #[error("a caller may make {limit} calls a second")]
    RateExceeded {
        /// How many.
        limit: u32,
        /// After how long the next is accepted.
        wait: Duration,
    },
    /// The journal cannot be written.
    #[error("the journal cannot be written: {problem}; nothing that was answered is lost, try again later")]
    JournalFailed { problem: String },
}

/// Seats as people write them: `0, 2`; `none` for the empty set.
#[must_use]
pub fn list(seats: SeatSet) -> String {
    if seats.is_empty() {
        return "none".to_owned();
    }
    seats.iter().map(|seat| seat.number().to_string()).collect::<Vec<_>>().join(", ")
}

impl ServiceError {
    /// What the kernel's refusal of an action means to whoever sent it.
    pub(crate) fn rejected(rejection: Rejection, episode: u32, pending: SeatSet, label: &str) -> Self {
        match rejection {
            Rejection::Over => Self::EpisodeOver { episode },
            Rejection::NotPending { seat } | Rejection::NoSeat { seat, .. } => {
                Self::NotYourTurn { seat, pending }
            }
            Rejection::OutOfRange { action, actions } => Self::ActionOutOfRange { action, actions },
            Rejection::Illegal { seat, action } => {
                Self::IllegalAction { seat, action: action.into(), label: label.to_owned() }
            }
        }
    }
}

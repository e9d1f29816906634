//! A table of all errors of the protocol: code, reason, fields and message of each.
//!
//! `tests/errors.tsv` has the same table for clients in other languages. A test checks that both are equal.

use std::time::Duration;

use thiserror::Error as ThisError;

/// The gRPC status codes that the errors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "gRPC's names and numbers")]
pub enum Code {
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

impl Code {
    /// Returns gRPC's name of the code, such as `NOT_FOUND`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

/// An error as a caller receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The status code.
    pub code: Code,
    /// The reason, `UPPER_SNAKE`.
    pub reason: &'static str,
    /// The message for people: the problem, and the allowed values.
    pub message: String,
    /// The values in the message, by name.
    pub metadata: Vec<(&'static str, String)>,
    /// The request field that was wrong, if one was.
    pub field: Option<String>,
}

/// Defines the errors. A row has: name, metadata fields (after `;` private fields, which are not sent), code, reason, wrong
/// request field, message.
macro_rules! errors {
    ($(
        $(#[$doc:meta])*
        $name:ident $({ $($metadata:ident: $metadata_type:ty),+ $(; $($private:ident: $private_type:ty),+)? })?
        $code:ident $reason:literal $(at $field:literal)? $text:literal
    )+) => {
        /// The reason why a request failed. A failed request changes nothing.
        #[derive(Debug, Clone, PartialEq, Eq, ThisError)]
        #[expect(missing_docs, reason = "the fields are the values in the message")]
        pub enum Error {$(
            $(#[$doc])*
            #[error($text)]
            $name $({ $($metadata: $metadata_type,)+ $($($private: $private_type,)+)? })?,
        )+}

        impl Error {
            /// Returns code, reason, metadata and field, before long values are truncated.
            #[allow(unused_variables, reason = "a field's name needs some of the values or none")]
            fn row(&self) -> (Code, &'static str, Vec<(&'static str, String)>, Option<String>) {
                match self {$(
                    Self::$name $({ $($metadata,)+ $($($private: _,)+)? })? => {
                        let metadata = vec![$($((stringify!($metadata), $metadata.to_string()),)+)?];
                        let field: Option<String> = None $(.or(Some(format!($field))))?;
                        (Code::$code, $reason, metadata, field)
                    }
                )+}
            }
        }

        /// The reason, code and metadata of every error.
        #[cfg(test)]
        const ROWS: &[(&str, Code, &[&str])] = &[$(($reason, Code::$code, &[$($(stringify!($metadata)),+)?])),+];
    };
}

errors! {
    /// No game has this id.
    GameUnknown { game: String, known: String } NotFound "GAME_UNKNOWN"
        "there is no game `{game}`; known are {known}"
    /// The game does not allow this number of seats.
    SeatsOutOfRange { game: &'static str, given: u32, min: u8, max: u8 }
        InvalidArgument "SEATS_OUT_OF_RANGE" at "config.players"
        "{game} has {min} to {max} seats; got {given}"
    /// The game has no such option.
    OptionUnknown { game: &'static str, option: String, known: String }
        InvalidArgument "OPTION_UNKNOWN" at "config.options.{option}"
        "{game} has no option `{option}`; known are {known}"
    /// The option has no such value.
    OptionValueInvalid { option: &'static str, value: String, expected: String }
        InvalidArgument "OPTION_VALUE_INVALID" at "config.options.{option}"
        "option `{option}` must be {expected}; got `{value}`"
    /// There is no such bot or policy.
    BotUnknown { seat: usize, given: String, expected: String } InvalidArgument "BOT_UNKNOWN" at "config.players[{seat}]"
        "seat {seat} has the unknown player `{given}`; known are {expected}"
    /// A request field has an invalid value.
    FieldInvalid { field: &'static str, value: String, expected: String } InvalidArgument "FIELD_INVALID" at "{field}"
        "`{field}` must be {expected}; got `{value}`"
    /// No match has this id.
    MatchUnknown { match_id: String } NotFound "MATCH_UNKNOWN"
        "there is no match `{match_id}`; it may have been closed long ago"
    /// No invitation has this code.
    InvitationUnknown NotFound "INVITATION_UNKNOWN"
        "no open match has an invitation with this code"
    /// The decision came after the seat's clock ran out. The server has decided for the seat.
    DecisionLate { episode: u32, decision: u32 } Aborted "DECISION_LATE"
        "decision {decision} of episode {episode} came too late: the clock ran out and the server decided for the seat; call Observe"
    /// The episode has not been dealt.
    NotDealt { missing: String, to: &'static str } FailedPrecondition "NOT_DEALT"
        "the episode is not dealt yet: seats {missing} must {to} first"
    /// The match ended before its first deal, because agents did not call `OpenDeal` in time.
    DealWithheld { match_id: String, seats: String } FailedPrecondition "DEAL_WITHHELD"
        "match {match_id} has ended: seats {seats} did not call OpenDeal in time, so they forfeited"
    /// The server no longer has these frames.
    FramesGone { after: u64, oldest: u64 } NotFound "FRAMES_GONE"
        "the server no longer has frames after {after}; its oldest frame is {oldest}"
    /// Another request has used the invitation.
    InvitationUsed { match_id: String, seat: u8 } FailedPrecondition "INVITATION_USED"
        "seat {seat} of match {match_id} has been joined already"
    /// The call carries no token.
    TokenMissing Unauthenticated "TOKEN_MISSING"
        "the call needs `authorization: Bearer TOKEN` in its metadata"
    /// The token is longer than any token of a server.
    TokenTooLong { limit: usize } Unauthenticated "TOKEN_TOO_LONG"
        "`authorization` has more than {limit} bytes; no token is that long"
    /// The call carries no account's token.
    CallerTokenMissing Unauthenticated "CALLER_TOKEN_MISSING"
        "the call needs an account's token: `boardwire-token: TOKEN` in its metadata"
    /// No account has this token.
    CallerTokenWrong Unauthenticated "CALLER_TOKEN_WRONG"
        "no account has the token in `boardwire-token`"
    /// The token does not belong to this match.
    TokenWrong { match_id: String } PermissionDenied "TOKEN_WRONG"
        "the token does not belong to match {match_id}"
    /// A seat called a method of the host.
    HostOnly { match_id: String } PermissionDenied "HOST_ONLY"
        "only the host of match {match_id} may do this"
    /// The host called a method of a seat.
    SeatOnly { match_id: String } PermissionDenied "SEAT_ONLY"
        "only a seat of match {match_id} can do this; the host's token is for ResetMatch, Invite, Resign and CloseMatch"
    /// The seat owes no decision.
    NotYourTurn { seat: u8, pending: String } FailedPrecondition "NOT_YOUR_TURN"
        "seat {seat} owes no decision now; seats {pending} owe one"
    /// The action exists, but is not legal now.
    ActionIllegal { seat: u8, action: u32, label: String } FailedPrecondition "ACTION_ILLEGAL"
        "seat {seat} may not choose action {action} (`{label}`) now; its mask has the legal actions"
    /// The action does not exist.
    ActionOutOfRange { action: u32, actions: u32 } InvalidArgument "ACTION_OUT_OF_RANGE" at "action"
        "there is no action {action}; action indices are below {actions}"
    /// The request answers a decision that is not due.
    DecisionStale { expected_episode: u32, expected_decision: u32, episode: u32, decision: u32 } Aborted "DECISION_STALE"
        "decision {decision} of episode {episode} is not due; due is decision {expected_decision} of episode {expected_episode}"
    /// The episode has ended.
    EpisodeOver { episode: u32 } FailedPrecondition "EPISODE_OVER"
        "episode {episode} is over; Reset asks for the next, if there is one"
    /// The episode has not ended, and other seats play in it.
    EpisodeNotOver { episode: u32 } FailedPrecondition "EPISODE_NOT_OVER"
        "episode {episode} is not over: an agent may leave it only if all other seats are bots and the match counts no \
         episodes; the host may begin the next, unless deals are fair"
    /// The match is closed.
    MatchClosed { match_id: String } FailedPrecondition "MATCH_CLOSED"
        "match {match_id} has been closed"
    /// The server closed the match because it was idle for too long.
    MatchExpired { match_id: String, seconds: u64 } FailedPrecondition "MATCH_EXPIRED"
        "match {match_id} has been closed after {seconds} s without a call"
    /// A bot did not choose, or chose an illegal action.
    BotFailed { id: String, seat: u8, problem: String } Internal "BOT_FAILED"
        "the bot at seat {seat} of {id} has failed: {problem}"
    /// The seat has reached its limit of waiting calls.
    SeatBusy { seat: u8, limit: usize } ResourceExhausted "SEAT_BUSY"
        "seat {seat} has {limit} waiting calls, the limit for one seat; one is enough"
    /// Another request has this id.
    RequestIdReused { request_id: String } AlreadyExists "REQUEST_ID_REUSED"
        "request id {request_id} was used for another request; a new request needs a new one"
    /// The caller has reached its limit.
    CallerFull { what: &'static str, limit: usize } ResourceExhausted "CALLER_FULL"
        "you have {limit} {what}, the limit for one caller; close one first"
    /// The server has reached its limit of matches.
    MatchesFull { limit: usize } ResourceExhausted "MATCHES_FULL"
        "the server has {limit} matches, which is its limit; close one first"
    /// No batch has this id.
    BatchUnknown { batch_id: String } NotFound "BATCH_UNKNOWN"
        "there is no batch `{batch_id}`; it was closed, its connection ended, or it was idle for too long"
    /// The token does not belong to the batch's owner.
    BatchOwnerOnly { batch_id: String } PermissionDenied "BATCH_OWNER_ONLY"
        "the token does not belong to batch {batch_id}"
    /// The server has reached its limit of batches.
    BatchesFull { limit: usize } ResourceExhausted "BATCHES_FULL"
        "the server has {limit} batches, which is its limit; close one first"
    /// The new environments exceed the server's limit.
    EnvironmentsFull { limit: usize, open: usize, asked: usize } ResourceExhausted "ENVIRONMENTS_FULL"
        "{asked} environments do not fit: the server holds {open} of at most {limit}"
    /// The action exists, but is not legal now.
    BatchActionIllegal { environment: usize, seat: u8, action: u8, label: String }
        FailedPrecondition "BATCH_ACTION_ILLEGAL"
        "environment {environment}: seat {seat} may not choose action {action} (`{label}`) now; its mask has the legal actions"
    /// The action does not exist.
    BatchActionOutOfRange { environment: usize, action: u8, actions: usize }
        InvalidArgument "BATCH_ACTION_OUT_OF_RANGE" at "actions[{environment}]"
        "environment {environment}: there is no action {action}; action indices are below {actions}"
    /// The response would not have the sequence number that the request states.
    SequenceStale { expected: u64, sequence: u64 } Aborted "SEQUENCE_STALE"
        "sequence {sequence} is not due for these environments; send {expected}, or repeat the last request"
    /// The episode has ended, and the batch does not reset environments automatically.
    EnvironmentOver { environment: usize } FailedPrecondition "ENVIRONMENT_OVER"
        "the episode of environment {environment} is over; reset it"
    /// This batch cannot load the snapshot.
    SnapshotInvalid { problem: String } InvalidArgument "SNAPSHOT_INVALID" at "snapshot"
        "this snapshot cannot be loaded: {problem}"
    /// No search has this id.
    SearchUnknown { search_id: String } NotFound "SEARCH_UNKNOWN"
        "there is no search `{search_id}`; it was closed, its connection ended, or it was idle for too long"
    /// The token does not belong to the search's owner.
    SearchOwnerOnly { search_id: String } PermissionDenied "SEARCH_OWNER_ONLY"
        "the token is not the one that search {search_id} was created with"
    /// The action exists, but is not legal now.
    WorldActionIllegal { row: usize, world: u32, seat: u8, action: u8, label: String }
        FailedPrecondition "WORLD_ACTION_ILLEGAL"
        "row {row}, world {world}: seat {seat} may not choose action {action} (`{label}`) now; its mask has the legal actions"
    /// The action does not exist.
    WorldActionOutOfRange { row: usize, world: u32, action: u8, actions: usize }
        InvalidArgument "WORLD_ACTION_OUT_OF_RANGE" at "actions[{row}]"
        "row {row}, world {world}: there is no action {action}; action indices are below {actions}"
    /// The game has ended in this world (a determinization).
    WorldOver { row: usize, world: u32 } FailedPrecondition "WORLD_OVER"
        "row {row}: world {world} is over"
    /// No service has this name.
    ServiceUnknown { service: String } Unimplemented "SERVICE_UNKNOWN"
        "there is no service `{service}`"
    /// The service has no such method.
    MethodUnknown { service: String, method: String } Unimplemented "METHOD_UNKNOWN"
        "service {service} has no method `{method}`"
    /// The health service does not know a service of this name.
    HealthUnknown NotFound "HEALTH_UNKNOWN"
        "health check of an unknown service"
    /// Reflection has no such symbol or file.
    DescriptorUnknown { problem: String } NotFound "DESCRIPTOR_UNKNOWN"
        "reflection does not find it: {problem}"
    /// The bytes of the request are not a message of its type.
    MessageUndecodable { problem: String } Internal "MESSAGE_UNDECODABLE"
        "the message cannot be decoded: {problem}"
    /// The call ended before its message arrived.
    MessageMissing Internal "MESSAGE_MISSING"
        "the call carries no message"
    /// The message is longer than the method's limit.
    MessageTooLarge { bytes: usize, limit: usize } ResourceExhausted "MESSAGE_TOO_LARGE"
        "a message of {bytes} bytes is too large; the method takes at most {limit}"
    /// The message is compressed.
    CompressionUnsupported { problem: String } Unimplemented "COMPRESSION_UNSUPPORTED"
        "messages must not be compressed: {problem}"
    /// The call's deadline has passed, or its message took too long to arrive.
    TimedOut DeadlineExceeded "TIMED_OUT"
        "the call's time is over, or its message took too long to arrive"
    /// The connection, its origin or the server has reached its byte limit.
    BytesFull { limit: usize } ResourceExhausted "BYTES_FULL"
        "the server has {limit} bytes of calls and unread responses, which is its limit; read responses and end calls, then \
         try again"
    /// The caller exceeds its rate limit.
    RateExceeded { limit: u32; wait: Duration } ResourceExhausted "RATE_EXCEEDED"
        "rate limit exceeded: a caller may make {limit} calls per second"
    /// The journal cannot be written.
    JournalFailed { problem: String } Unavailable "JOURNAL_FAILED"
        "cannot write the journal: {problem}; no acknowledged request is lost; retry later"
    /// The server is shutting down.
    ShuttingDown Unavailable "SHUTTING_DOWN"
        "the server is shutting down"
    /// An invariant is broken. Only the server log has the details.
    Internal { place: String; problem: String } Internal "INTERNAL"
        "internal error in {place}; see the server's log"
}

/// The maximum size in bytes of a request's value that an error quotes. Longer values are truncated.
const MAX_VALUE_BYTES: usize = 64;
/// The maximum size in bytes of a text that the server adds to an error. Longer texts are truncated.
const MAX_SERVER_VALUE_BYTES: usize = 512;
/// The names of the long texts that the server adds to errors, such as the list of known games.
const SERVER_VALUES: &[&str] = &["known", "expected", "problem"];

impl Error {
    /// Returns the error for a field with an invalid value: `field must be expected; got value`.
    #[expect(clippy::needless_pass_by_value, reason = "callers need no borrow for a number or a text")]
    pub fn field(field: &'static str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::FieldInvalid { field, value: value.to_string(), expected: expected.into() }
    }

    /// Returns the error as a caller receives it. Truncates long values, so that a status fits the header limit of clients.
    #[must_use]
    pub fn report(&self) -> Report {
        let (code, reason, mut metadata, field) = self.row();
        let (mut message, mut field) = (self.to_string(), field);
        for (name, value) in &mut metadata {
            let max_bytes =
                if SERVER_VALUES.contains(name) { MAX_SERVER_VALUE_BYTES } else { MAX_VALUE_BYTES };
            if let Some(truncated) = truncate(value, max_bytes) {
                message = message.replace(value.as_str(), &truncated);
                field = field.map(|field| field.replace(value.as_str(), &truncated));
                *value = truncated;
            }
        }
        Report { code, reason, message, metadata, field }
    }
}

/// Returns the start of a value with more than `max_bytes` bytes, and its size. `None` if the value is short enough.
fn truncate(value: &str, max_bytes: usize) -> Option<String> {
    if value.len() <= max_bytes {
        return None;
    }
    Some(format!("{}… ({} bytes)", &value[..value.floor_char_boundary(max_bytes)], value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_tsv_equals_this_table() {
        let table: Vec<_> = include_str!("../../../tests/errors.tsv").lines().skip(1).collect();
        let rows: Vec<_> = ROWS
            .iter()
            .map(|(reason, code, metadata)| format!("{reason}\t{}\t{}", code.name(), metadata.join(",")))
            .collect();
        assert_eq!(table, rows);
    }

    #[test]
    fn private_values_are_in_no_message() {
        let internal = Error::Internal { place: "m".to_owned(), problem: "secret".to_owned() };
        assert!(!format!("{:?}", internal.report()).contains("secret"));
        let wait = Duration::from_secs(7);
        assert!(!format!("{:?}", Error::RateExceeded { limit: 9, wait }.report()).contains('7'));
    }

    #[test]
    fn long_values_are_truncated() {
        let report = Error::MatchUnknown { match_id: "é".repeat(33) }.report();
        assert_eq!(report.metadata, [("match_id", format!("{}… (66 bytes)", "é".repeat(32)))]);
        assert!(report.message.contains("… (66 bytes)`"), "{}", report.message);
        let whole = Error::MatchUnknown { match_id: "é".repeat(32) }.report();
        assert_eq!(whole.metadata, [("match_id", "é".repeat(32))]);
        let option =
            Error::OptionUnknown { game: "faraway", option: "x".repeat(100), known: "y".repeat(600) };
        let report = option.report();
        assert!(report.field.is_some_and(|field| field.len() < 100));
        assert!(report.metadata.iter().all(|(_, value)| report.message.contains(value.as_str())));
    }
}

//! From a refusal to its gRPC status: one exhaustive match, kept equal to `tests/errors.tsv`.

use std::collections::HashMap;
use std::time::Duration;

use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::error::{ServiceError, list};
use crate::telemetry;

/// The domain of every reason.
pub(crate) const DOMAIN: &str = "boardwire.v1";

/// How a refusal looks on the wire.
pub(crate) struct Refusal {
    /// The gRPC code.
    pub(crate) code: Code,
    /// The reason, `UPPER_SNAKE`.
    pub(crate) reason: &'static str,
    /// What was wrong, for people.
    pub(crate) message: String,
    /// Each value the message mentions.
    pub(crate) metadata: Vec<(&'static str, String)>,
}

type Row = (Code, &'static str, Vec<(&'static str, String)>);

/// The most bytes of a value that came with a request.
const MAX_VALUE_BYTES: usize = 64;
/// The most bytes of a value that the server made.
const MAX_OUR_BYTES: usize = 512;
/// The values that the server made, and that may be long.
const OURS: &[&str] = &["known", "expected", "problem"];

/// The beginning of a value that has more than `most` bytes, with their number.
fn cut(value: &str, most: usize) -> Option<String> {
    if value.len() <= most {
        return None;
    }
    let end = (0..=most).rev().find(|&end| value.is_char_boundary(end)).unwrap_or_default();
    Some(format!("{}… ({} bytes)", &value[..end], value.len()))
}

impl ServiceError {
    /// How this refusal looks on the wire: long values are cut, so that the status always fits the headers
    /// that clients accept.
    pub(crate) fn refusal(&self) -> Refusal {
        let (code, reason, mut metadata) = self.row();
        let mut message = self.to_string();
        for (name, value) in &mut metadata {
            let most = if OURS.contains(name) { MAX_OUR_BYTES } else { MAX_VALUE_BYTES };
            if let Some(cut) = cut(value, most) {
                message = message.replace(value.as_str(), &cut);
                *value = cut;
            }
        }
        Refusal { code, reason, message, metadata }
    }

    /// Code, reason and metadata.
    #[expect(clippy::too_many_lines, reason = "one row an error, exhaustive on purpose")]
    fn row(&self) -> Row {
        let text = |value: &dyn ToString| value.to_string();
        match self {
            Self::UnknownGame { game, known } => {
                (Code::NotFound, "GAME_UNKNOWN", vec![("game", game.clone()), ("known", known.clone())])
            }
            Self::Seats { game, given, min, max } => (
                Code::InvalidArgument,
                "SEATS_OUT_OF_RANGE",
                vec![("game", text(game)), ("given", text(given)), ("min", text(min)), ("max", text(max))],
            ),
            Self::UnknownOption { game, option, known } => (
                Code::InvalidArgument,
                "OPTION_UNKNOWN",
                vec![("game", text(game)), ("option", option.clone()), ("known", known.clone())],
            ),
            Self::OptionValue { option, value, expected } => (
                Code::InvalidArgument,
                "OPTION_VALUE_INVALID",
                vec![("option", text(option)), ("value", value.clone()), ("expected", expected.clone())],
            ),
            Self::UnknownBot { seat, given, expected } => (
                Code::InvalidArgument,
                "BOT_UNKNOWN",
                vec![("seat", text(seat)), ("given", given.clone()), ("expected", expected.clone())],
            ),
            Self::BadField { field, value, expected } => (
                Code::InvalidArgument,
                "FIELD_INVALID",
                vec![("field", text(field)), ("value", value.clone()), ("expected", expected.clone())],
            ),
            Self::UnknownMatch { id } => (Code::NotFound, "MATCH_UNKNOWN", vec![("match", id.clone())]),
            Self::UnknownInvitation => (Code::NotFound, "INVITATION_UNKNOWN", vec![]),
            Self::InvitationUsed { id, seat } => (
                Code::FailedPrecondition,
                "INVITATION_USED",
                vec![("match", id.clone()), ("seat", text(&seat.number()))],
            ),
            Self::FramesGone { after, oldest } => {
                (Code::NotFound, "FRAMES_GONE", vec![("after", text(after)), ("oldest", text(oldest))])
            }
            Self::MissingToken => (Code::Unauthenticated, "TOKEN_MISSING", vec![]),
            Self::TokenTooLong { limit } => {
                (Code::Unauthenticated, "TOKEN_TOO_LONG", vec![("limit", text(limit))])
            }
            Self::MissingCallerToken => (Code::Unauthenticated, "CALLER_TOKEN_MISSING", vec![]),
            Self::WrongCallerToken => (Code::Unauthenticated, "CALLER_TOKEN_WRONG", vec![]),
            Self::WrongToken { id } => (Code::PermissionDenied, "TOKEN_WRONG", vec![("match", id.clone())]),
            Self::UnknownToken => (Code::PermissionDenied, "TOKEN_UNKNOWN", vec![]),
            Self::HostOnly { id } => (Code::PermissionDenied, "HOST_ONLY", vec![("match", id.clone())]),
            Self::SeatOnly { id } => (Code::PermissionDenied, "SEAT_ONLY", vec![("match", id.clone())]),
            Self::NotYourTurn { seat, pending } => (
                Code::FailedPrecondition,
                "NOT_YOUR_TURN",
                vec![("seat", text(&seat.number())), ("pending", list(*pending))],
            ),
            Self::IllegalAction { seat, action, label } => (
                Code::FailedPrecondition,
                "ACTION_ILLEGAL",
                vec![("seat", text(&seat.number())), ("action", text(action)), ("label", label.clone())],
            ),
            Self::ActionOutOfRange { action, actions } => (
                Code::InvalidArgument,
                "ACTION_OUT_OF_RANGE",
                vec![("action", text(action)), ("actions", text(actions))],
            ),
            Self::StaleDecision { expected_episode, expected_decision, episode, decision } => (
                Code::Aborted,
                "DECISION_STALE",
                vec![
                    ("expected_episode", text(expected_episode)),
                    ("expected_decision", text(expected_decision)),
                    ("episode", text(episode)),
                    ("decision", text(decision)),
                ],
            ),
            Self::NotDealt { missing, what } => {
                (Code::FailedPrecondition, "NOT_DEALT", vec![("missing", list(*missing)), ("to", text(what))])
            }
            Self::DealWithheld { id, seats } => (
                Code::FailedPrecondition,
                "DEAL_WITHHELD",
                vec![("match", id.clone()), ("seats", list(*seats))],
            ),
            Self::DecisionLate { episode, decision } => (
                Code::Aborted,
                "DECISION_LATE",
                vec![("episode", text(episode)), ("decision", text(decision))],
            ),
            Self::EpisodeOver { episode } => {
                (Code::FailedPrecondition, "EPISODE_OVER", vec![("episode", text(episode))])
            }
            Self::EpisodeNotOver { episode } => {
                (Code::FailedPrecondition, "EPISODE_NOT_OVER", vec![("episode", text(episode))])
            }
            Self::MatchClosed { id } => {
                (Code::FailedPrecondition, "MATCH_CLOSED", vec![("match", id.clone())])
            }
            Self::MatchExpired { id, seconds } => (
                Code::FailedPrecondition,
                "MATCH_EXPIRED",
                vec![("match", id.clone()), ("seconds", text(seconds))],
            ),
            Self::BotFailed { id, seat, problem } => (
                Code::Internal,
                "BOT_FAILED",
                vec![("match", id.clone()), ("seat", text(&seat.number())), ("problem", problem.clone())],
            ),
            Self::SeatBusy { seat, limit } => (
                Code::ResourceExhausted,
                "SEAT_BUSY",
                vec![("seat", text(&seat.number())), ("limit", text(limit))],
            ),
            Self::RequestReused { request } => {
                (Code::AlreadyExists, "REQUEST_ID_REUSED", vec![("request_id", text(request))])
            }
            Self::TableFull { limit } => {
                (Code::ResourceExhausted, "MATCHES_FULL", vec![("limit", text(limit))])
            }
            Self::CallerFull { what, limit } => {
                (Code::ResourceExhausted, "CALLER_FULL", vec![("what", text(what)), ("limit", text(limit))])
            }
            Self::UnknownBatch { id } => (Code::NotFound, "BATCH_UNKNOWN", vec![("batch", id.clone())]),
            Self::BatchOwnerOnly { id } => {
                (Code::PermissionDenied, "BATCH_OWNER_ONLY", vec![("batch", id.clone())])
            }
            Self::BatchesFull { limit } => {
                (Code::ResourceExhausted, "BATCHES_FULL", vec![("limit", text(limit))])
            }
            Self::EnvironmentsFull { limit, open, asked } => (
                Code::ResourceExhausted,
                "ENVIRONMENTS_FULL",
                vec![("limit", text(limit)), ("open", text(open)), ("asked", text(asked))],
            ),
            Self::BatchActionIllegal { environment, seat, action, label } => (
                Code::FailedPrecondition,
                "BATCH_ACTION_ILLEGAL",
                vec![
                    ("environment", text(environment)),
                    ("seat", text(&seat.number())),
                    ("action", text(action)),
                    ("label", label.clone()),
                ],
            ),
            Self::BatchActionOutOfRange { environment, action, actions } => (
                Code::InvalidArgument,
                "BATCH_ACTION_OUT_OF_RANGE",
                vec![
                    ("environment", text(environment)),
                    ("action", text(action)),
                    ("actions", text(actions)),
                ],
            ),
            Self::SequenceStale { expected, sequence } => (
                Code::Aborted,
                "SEQUENCE_STALE",
                vec![("expected", text(expected)), ("sequence", text(sequence))],
            ),
            Self::EnvironmentOver { environment } => {
                (Code::FailedPrecondition, "ENVIRONMENT_OVER", vec![("environment", text(environment))])
            }
            Self::UnknownSearch { id } => (Code::NotFound, "SEARCH_UNKNOWN", vec![("search", id.clone())]),
            Self::SearchOwnerOnly { id } => {
                (Code::PermissionDenied, "SEARCH_OWNER_ONLY", vec![("search", id.clone())])
            }
            Self::WorldActionIllegal { row, world, seat, action, label } => (
                Code::FailedPrecondition,
                "WORLD_ACTION_ILLEGAL",
                vec![
                    ("row", text(row)),
                    ("world", text(world)),
                    ("seat", text(&seat.number())),
                    ("action", text(action)),
                    ("label", label.clone()),
                ],
            ),
            Self::WorldActionOutOfRange { row, world, action, actions } => (
                Code::InvalidArgument,
                "WORLD_ACTION_OUT_OF_RANGE",
                vec![
                    ("row", text(row)),
                    ("world", text(world)),
                    ("action", text(action)),
                    ("actions", text(actions)),
                ],
            ),
            Self::WorldOver { row, world } => {
                (Code::FailedPrecondition, "WORLD_OVER", vec![("row", text(row)), ("world", text(world))])
            }
            Self::UnknownWorld { world } => (Code::NotFound, "WORLD_UNKNOWN", vec![("world", world.clone())]),
            Self::WorldJoined { problem, request } => (
                Code::FailedPrecondition,
                "WORLD_JOINED",
                vec![("problem", text(problem)), ("request", text(request))],
            ),
            Self::WorldNotJoined { request } => {
                (Code::FailedPrecondition, "WORLD_NOT_JOINED", vec![("request", text(request))])
            }
            Self::SnapshotInvalid { problem } => {
                (Code::InvalidArgument, "SNAPSHOT_INVALID", vec![("problem", problem.clone())])
            }
            Self::UnknownService { service } => {
                (Code::Unimplemented, "SERVICE_UNKNOWN", vec![("service", service.clone())])
            }
            Self::UnknownMethod { service, method } => (
                Code::Unimplemented,
                "METHOD_UNKNOWN",
                vec![("service", service.clone()), ("method", method.clone())],
            ),
            Self::UnknownHealth => (Code::NotFound, "HEALTH_UNKNOWN", vec![]),
            Self::UnknownDescriptor { problem } => {
                (Code::NotFound, "DESCRIPTOR_UNKNOWN", vec![("problem", problem.clone())])
            }
            Self::Undecodable { problem } => {
                (Code::Internal, "MESSAGE_UNDECODABLE", vec![("problem", problem.clone())])
            }
            Self::MissingMessage => (Code::Internal, "MESSAGE_MISSING", vec![]),
            Self::MessageTooLarge { bytes, limit } => (
                Code::ResourceExhausted,
                "MESSAGE_TOO_LARGE",
                vec![("bytes", text(bytes)), ("limit", text(limit))],
            ),
            Self::UnsupportedCompression { problem } => {
                (Code::Unimplemented, "COMPRESSION_UNSUPPORTED", vec![("problem", problem.clone())])
            }
            Self::TimedOut => (Code::DeadlineExceeded, "TIMED_OUT", vec![]),
            Self::BytesFull { limit } => {
                (Code::ResourceExhausted, "BYTES_FULL", vec![("limit", text(limit))])
            }
            Self::CallsFull { limit } => {
                (Code::ResourceExhausted, "CALLS_FULL", vec![("limit", text(limit))])
            }
            Self::StreamsFull { limit } => {
                (Code::ResourceExhausted, "STREAMS_FULL", vec![("limit", text(limit))])
            }
            Self::RateExceeded { limit, .. } => {
                (Code::ResourceExhausted, "RATE_EXCEEDED", vec![("limit", text(limit))])
            }
            Self::JournalFailed { problem } => {
                (Code::Unavailable, "JOURNAL_FAILED", vec![("problem", problem.clone())])
            }
            Self::ShuttingDown => (Code::Unavailable, "SHUTTING_DOWN", vec![]),
            Self::Internal { place, .. } => (Code::Internal, "INTERNAL", vec![("match", place.clone())]),
        }
    }

    /// The further details this kind of refusal carries.
    fn describe(&self, details: &mut ErrorDetails, refusal: &Refusal) {
        let Refusal { reason, message, metadata, .. } = refusal;
        let value = |name: &str| {
            metadata
                .iter()
                .find(|(known, _)| *known == name)
                .map_or(String::new(), |(_, value)| value.clone())
        };
        let subject = || metadata.first().map_or(String::new(), |(_, value)| value.clone());
        match refusal.code {
            Code::InvalidArgument => {
                let field = match self {
                    Self::UnknownOption { .. } | Self::OptionValue { .. } => {
                        format!("options.{}", value("option"))
                    }
                    Self::UnknownBot { seat, .. } => format!("players[{seat}]"),
                    Self::BadField { field, .. } => (*field).to_owned(),
                    Self::ActionOutOfRange { .. } => "action".to_owned(),
                    Self::BatchActionOutOfRange { environment, .. } => format!("actions[{environment}]"),
                    Self::WorldActionOutOfRange { row, .. } => format!("actions[{row}]"),
                    Self::SnapshotInvalid { .. } => "snapshot".to_owned(),
                    _ => "seats".to_owned(),
                };
                details.add_bad_request_violation(field, message);
            }
            Code::NotFound | Code::AlreadyExists => {
                details.set_resource_info(*reason, subject(), "", message);
            }
            Code::FailedPrecondition => {
                details.add_precondition_failure_violation(*reason, subject(), message);
            }
            Code::ResourceExhausted => {
                let what = match self {
                    Self::BatchesFull { .. } => "batches",
                    Self::EnvironmentsFull { .. } => "environments",
                    Self::CallerFull { what, .. } => what,
                    Self::SeatBusy { .. } => "waiting calls",
                    Self::MessageTooLarge { .. } => "bytes of a message",
                    Self::BytesFull { .. } => "bytes",
                    Self::CallsFull { .. } => "calls",
                    Self::StreamsFull { .. } => "streams",
                    Self::RateExceeded { .. } => "calls a second",
                    _ => "matches",
                };
                details.add_quota_failure_violation(what, message);
                if let Self::RateExceeded { wait, .. } = self {
                    details.set_retry_info(Some(*wait));
                }
            }
            Code::Unavailable => {
                details.set_retry_info(Some(Duration::from_secs(1)));
            }
            _ => {}
        }
    }
}

impl From<ServiceError> for tonic_types::Status {
    /// The refusal as streams carry it: what a single call has in its trailers.
    fn from(error: ServiceError) -> Self {
        Self::decode(Status::from(error).details()).expect("it was encoded just now")
    }
}

impl From<ServiceError> for Status {
    fn from(error: ServiceError) -> Self {
        if let ServiceError::Internal { place, what } = &error {
            tracing::error!(place, what, "a broken invariant");
        }
        let refusal = error.refusal();
        telemetry::refused(refusal.reason);
        let metadata: HashMap<_, _> =
            refusal.metadata.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let mut details = ErrorDetails::with_error_info(refusal.reason, DOMAIN, metadata);
        error.describe(&mut details, &refusal);
        Self::with_error_details(refusal.code, refusal.message, details)
    }
}

#[cfg(test)]
mod tests;

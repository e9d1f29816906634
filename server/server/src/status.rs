//! From a refusal to its gRPC status: one exhaustive match, kept equal to `tests/errors.tsv`.

use std::collections::HashMap;
use std::time::Duration;

use boardwire_batch::{Metadata, Refused};
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::error::{ServiceError, list};
use crate::telemetry;

/// The domain of every reason.
pub(crate) const DOMAIN: &str = "boardwire.v1";

/// How a refusal looks on the wire.
pub(crate) type Refusal = boardwire_batch::Refusal<Code>;

/// A code as tonic names it.
fn code(code: boardwire_batch::Code) -> Code {
    use boardwire_batch::Code as Own;
    match code {
        Own::InvalidArgument => Code::InvalidArgument,
        Own::NotFound => Code::NotFound,
        Own::FailedPrecondition => Code::FailedPrecondition,
        Own::Aborted => Code::Aborted,
        Own::Internal => Code::Internal,
        Own::Unavailable => Code::Unavailable,
    }
}

impl ServiceError {
    /// How this refusal looks on the wire.
    pub(crate) fn refusal(&self) -> Refusal {
        let (code, reason, metadata) = self.row();
        Refusal::new(code, reason, self.to_string(), metadata)
    }

    /// Code, reason and metadata.
    #[expect(clippy::too_many_lines, reason = "one row an error, exhaustive on purpose")]
    fn row(&self) -> (Code, &'static str, Metadata) {
        let text = |value: &dyn ToString| value.to_string();
        match self {
            Self::Refused(refused) => {
                let (own, reason, metadata) = refused.row();
                (code(own), reason, metadata)
            }
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
            Self::SearchOwnerOnly { id } => {
                (Code::PermissionDenied, "SEARCH_OWNER_ONLY", vec![("search", id.clone())])
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
            Self::RateExceeded { limit, .. } => {
                (Code::ResourceExhausted, "RATE_EXCEEDED", vec![("limit", text(limit))])
            }
            Self::JournalFailed { problem } => {
                (Code::Unavailable, "JOURNAL_FAILED", vec![("problem", problem.clone())])
            }
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
                    Self::ActionOutOfRange { .. } => "action".to_owned(),
                    Self::Refused(refused) => match refused {
                        Refused::UnknownOption { .. } | Refused::OptionValue { .. } => {
                            format!("options.{}", value("option"))
                        }
                        Refused::UnknownBot { seat, .. } => format!("players[{seat}]"),
                        Refused::BadField { field, .. } => (*field).to_owned(),
                        Refused::BatchActionOutOfRange { environment, .. } => {
                            format!("actions[{environment}]")
                        }
                        Refused::WorldActionOutOfRange { row, .. } => format!("actions[{row}]"),
                        Refused::SnapshotInvalid { .. } => "snapshot".to_owned(),
                        _ => "seats".to_owned(),
                    },
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
        if let ServiceError::Refused(Refused::Internal { place, what }) = &error {
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

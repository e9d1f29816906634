//! Converts errors to gRPC statuses.

use std::collections::HashMap;
use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::error::{Code, Report};
use prost::Message as _;
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::telemetry;

/// The domain of all error reasons.
pub(crate) const DOMAIN: &str = "boardwire.v1";

/// Converts an error to a status, for the trailers of a call. Counts the refusal, and logs an internal error.
#[must_use]
pub fn status(error: &Error) -> Status {
    if let Error::Internal { place, problem } = error {
        tracing::error!(place, problem, "internal error");
    }
    let Report { code, reason, message, metadata, field } = error.report();
    telemetry::refused(reason);
    let metadata: HashMap<_, _> = metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut details = ErrorDetails::with_error_info(reason, DOMAIN, metadata);
    if let Some(field) = field {
        details.add_bad_request_violation(field, &message);
    }
    match error {
        Error::RateExceeded { wait, .. } => details.set_retry_info(Some(*wait)),
        _ if code == Code::Unavailable => details.set_retry_info(Some(Duration::from_secs(1))),
        _ => &mut details,
    };
    Status::with_error_details(tonic::Code::from_i32(code as i32), message, details)
}

/// Converts an error to the same status as a message, for a response on a stream.
pub(crate) fn message(error: &Error) -> tonic_types::Status {
    tonic_types::Status::decode(status(error).details()).expect("the details were encoded just now")
}

#[cfg(test)]
mod tests;

//! Details for every status: those of tonic, of health and of reflection come without.
//!
//! Our own statuses carry `ErrorInfo` from the start. A status without details that leaves the server is
//! replaced by the error of ours that says the same.

use boardwire_batch::Refused;
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use http_body_util::combinators::MapFrame;
use tonic::codegen::http::{HeaderMap, Response};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::error::ServiceError;
use crate::status::DOMAIN;

/// Where the details of a status stand.
const DETAILS: &str = "grpc-status-details-bin";

/// A body whose trailers have been seen to.
pub(crate) type Detailed<B> = MapFrame<B, fn(Frame<Bytes>) -> Frame<Bytes>>;

/// Adds to the status of a response, in its headers or its trailers, what it lacks.
pub(crate) fn add<B: Body<Data = Bytes>>(response: Response<B>) -> Response<Detailed<B>> {
    let (mut parts, body) = response.into_parts();
    complete(&mut parts.headers);
    let trailers: fn(Frame<Bytes>) -> Frame<Bytes> = |mut frame| {
        if let Some(trailers) = frame.trailers_mut() {
            complete(trailers);
        }
        frame
    };
    Response::from_parts(parts, body.map_frame(trailers))
}

/// Completes the status in these headers, if there is one that lacks details.
fn complete(headers: &mut HeaderMap) {
    let lacking = |code: &_| code != "0" && !headers.contains_key(DETAILS);
    if !headers.get("grpc-status").is_some_and(lacking) {
        return;
    }
    let Some(status) = Status::from_header_map(headers) else { return };
    let completed = name(&status);
    // Cannot fail: words of a header become words of a header.
    let _ = completed.add_header(headers);
}

/// The status of ours that says what `status` says.
fn name(status: &Status) -> Status {
    let problem = || status.message().to_owned();
    let error = match status.code() {
        Code::OutOfRange if status.message().contains("message length too large") => {
            let numbers: Vec<usize> = status
                .message()
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|digits| digits.parse().ok())
                .collect();
            let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
            ServiceError::MessageTooLarge { bytes: number(0), limit: number(1) }
        }
        Code::Internal if status.message() == "Missing request message." => ServiceError::MissingMessage,
        Code::Internal => ServiceError::Undecodable { problem: problem() },
        Code::Unimplemented if status.message().contains("compressed") => {
            ServiceError::UnsupportedCompression { problem: problem() }
        }
        Code::NotFound if status.message() == "service not registered" => ServiceError::UnknownHealth,
        Code::NotFound => ServiceError::UnknownDescriptor { problem: problem() },
        Code::InvalidArgument => Refused::BadField {
            field: "message_request",
            value: "nothing".to_owned(),
            expected: "one of the requests of reflection".to_owned(),
        }
        .into(),
        code => return unnamed(code, status.message()),
    };
    error.into()
}

/// A status that no error of ours stands for: its reason is its code.
fn unnamed(code: Code, message: &str) -> Status {
    let mut reason = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !reason.is_empty() {
            reason.push('_');
        }
        reason.push(letter.to_ascii_uppercase());
    }
    let details = ErrorDetails::with_error_info(reason, DOMAIN, []);
    Status::with_error_details(code, message, details)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code and reason that a status of somebody else leaves the server with.
    fn named(code: Code, message: &str) -> (Code, String) {
        let mut headers = Status::new(code, message).into_http::<()>().headers().clone();
        complete(&mut headers);
        let status = Status::from_header_map(&headers).expect("a status");
        let info = status.get_details_error_info().expect("every status carries ErrorInfo");
        assert_eq!(info.domain, DOMAIN);
        (status.code(), info.reason)
    }

    #[test]
    fn every_status_of_tonic_is_named() {
        for (code, message, named_code, reason) in [
            (
                Code::OutOfRange,
                "Error, decoded message length too large: found 9 bytes, the limit is: 7 bytes",
                Code::ResourceExhausted,
                "MESSAGE_TOO_LARGE",
            ),
            (Code::Internal, "Missing request message.", Code::Internal, "MESSAGE_MISSING"),
            (Code::Internal, "failed to decode Protobuf message", Code::Internal, "MESSAGE_UNDECODABLE"),
            (
                Code::Unimplemented,
                "Content is compressed with `gzip` which isn't supported",
                Code::Unimplemented,
                "COMPRESSION_UNSUPPORTED",
            ),
            (Code::NotFound, "service not registered", Code::NotFound, "HEALTH_UNKNOWN"),
            (Code::NotFound, "symbol 'x' not found", Code::NotFound, "DESCRIPTOR_UNKNOWN"),
            (Code::InvalidArgument, "invalid MessageRequest", Code::InvalidArgument, "FIELD_INVALID"),
            (Code::Cancelled, "client cancelled", Code::Cancelled, "CANCELLED"),
            (Code::DataLoss, "", Code::DataLoss, "DATA_LOSS"),
        ] {
            assert_eq!(named(code, message), (named_code, reason.to_owned()), "{message}");
        }
    }

    #[test]
    fn our_own_statuses_and_successes_stay_as_they_are() {
        for status in [Status::ok(""), ServiceError::from(Refused::ShuttingDown).into()] {
            let mut headers = status.into_http::<()>().headers().clone();
            let before = headers.clone();
            complete(&mut headers);
            assert_eq!(headers, before);
        }
    }
}

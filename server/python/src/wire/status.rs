//! Failed calls, as the exceptions of the package.

use std::error::Error;

use boardwire_api::{client, rpc};
use pyo3::{PyErr, Python};
use tonic::body::Body;
use tonic::codegen::http::{Response, StatusCode};
use tonic::transport::Channel;
use tonic::{Code, ConnectError, Status, TimeoutExpired};
use tonic_types::StatusExt as _;
use tower::util::MapResponse;

use super::connect::MISMATCHES;
use crate::refuse;

/// The reason of a connection that does not come about, and that trying again does not bring about.
const NOT_CONNECTED: &str = "NOT_CONNECTED";

/// A channel whose answers are all gRPC's.
pub(crate) type Http2 = MapResponse<Channel, fn(Response<Body>) -> Response<Body>>;

/// Turns answers of a proxy or another server into statuses, as gRPC maps those of HTTP.
pub(crate) fn checked(channel: Channel) -> Http2 {
    MapResponse::new(channel, |answer| {
        let http = answer.status();
        if http == StatusCode::OK || answer.headers().contains_key(Status::GRPC_STATUS) {
            return answer;
        }
        let code = match http.as_u16() {
            400 => Code::Internal,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502..=504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        Status::new(code, format!("what answers there is no gRPC server: {http}")).into_http()
    })
}

/// What is known of a connection when a call over it fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// Whether the server has said anything before.
    pub(crate) is_met: bool,
    /// Whether the client has shown a certificate.
    pub(crate) has_identity: bool,
}

/// Whether a server has sent it. Otherwise it has a source, which tells what is wrong with the connection.
pub(crate) fn is_sent(status: &Status) -> bool {
    status.source().is_none()
}

/// The exception for a status. A lost connection is `UNAVAILABLE` without a reason.
pub(crate) fn raised(py: Python<'_>, status: &Status, known: Known) -> PyErr {
    let (code, reason, message) = match status.source() {
        Some(source) => told(status.code(), source, known),
        None => (status.code(), "", status.message().to_owned()),
    };
    let info = status.get_details_error_info();
    let (sent, metadata) = info.map(|info| (info.reason, info.metadata)).unwrap_or_default();
    let reason = match code {
        Code::DeadlineExceeded => refuse::TIMED_OUT,
        _ if sent.is_empty() => reason,
        _ => &sent,
    };
    refuse::raised(py, &name(code), reason, &message, metadata)
}

/// The exception for a refusal that came as an answer on a stream.
pub(crate) fn refusal(py: Python<'_>, error: &rpc::Status) -> PyErr {
    raised(py, &client::refusal(error), Known { is_met: true, has_identity: false })
}

/// The name of a code as gRPC writes it, such as `NOT_FOUND`.
fn name(code: Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// Code, reason and message for what is wrong with a connection.
fn told(code: Code, source: &(dyn Error + 'static), known: Known) -> (Code, &'static str, String) {
    let causes = causes(source);
    if causes.iter().any(|error| error.is::<TimeoutExpired>()) {
        return (Code::DeadlineExceeded, "", "the answer has not come in time".to_owned());
    }
    let reasons = causes.iter().map(ToString::to_string).collect::<Vec<_>>().join(": ");
    if let Some(mismatch) = mismatch(&reasons, known) {
        return (Code::Unavailable, NOT_CONNECTED, mismatch);
    }
    let is_new = !known.is_met || causes.iter().any(|error| error.is::<ConnectError>());
    match code {
        // A call that a connection takes along in its end is cancelled.
        Code::Unknown | Code::Internal | Code::Unavailable | Code::Cancelled => {
            let told = if is_new { format!("failed to connect: {reasons}") } else { reasons };
            (Code::Unavailable, "", told)
        }
        code => (code, "", reasons),
    }
}

/// An error and what it came of.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source()).collect()
}

/// What is wrong with TLS or the protocol, and what to do, if that is what an error is about.
///
/// It goes by the words: on its way through HTTP/2 an error keeps nothing else.
fn mismatch(reasons: &str, known: Known) -> Option<String> {
    if let Some(said) = MISMATCHES.iter().find(|said| reasons.contains(**said)) {
        return Some((*said).to_owned());
    }
    if let Some((_, error)) = reasons.split_once("invalid peer certificate: ") {
        return Some(format!("the server's certificate is not trusted: {error}"));
    }
    let (_, alert) = reasons.split_once("received fatal alert: ")?;
    Some(if known.has_identity {
        format!("the server does not take this client's certificate ({alert})")
    } else if alert.contains("CertificateRequired") {
        "the server asks for a certificate: connect with boardwire.TLS(cert=..., key=...)".to_owned()
    } else {
        format!("the server does not speak this TLS ({alert})")
    })
}

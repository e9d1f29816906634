//! Converts failed calls to the exceptions of the Python package.

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

/// The reason of a failed connection that a retry does not fix.
const NOT_CONNECTED: &str = "NOT_CONNECTED";

/// A channel whose responses are all gRPC responses.
pub(crate) type Http2 = MapResponse<Channel, fn(Response<Body>) -> Response<Body>>;

/// Converts HTTP errors from a proxy or another kind of server to gRPC statuses, with gRPC's own mapping.
pub(crate) fn checked(channel: Channel) -> Http2 {
    MapResponse::new(channel, |response| {
        let http = response.status();
        if http == StatusCode::OK || response.headers().contains_key(Status::GRPC_STATUS) {
            return response;
        }
        let code = match http.as_u16() {
            400 => Code::Internal,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502..=504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        Status::new(code, format!("the server at this address is not a gRPC server: HTTP status {http}"))
            .into_http()
    })
}

/// What the client knows about a connection when a call fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionState {
    /// Whether the server has responded before.
    pub(crate) has_responded: bool,
    /// Whether the client authenticates with a certificate.
    pub(crate) has_identity: bool,
}

/// Returns whether a server sent the status. Otherwise the status has a source: the error of the connection.
pub(crate) fn is_sent(status: &Status) -> bool {
    status.source().is_none()
}

/// Returns the exception for a status. A lost connection is `UNAVAILABLE` without a reason.
pub(crate) fn raised(py: Python<'_>, status: &Status, state: ConnectionState) -> PyErr {
    let (code, reason, message) = match status.source() {
        Some(source) => describe(status.code(), source, state),
        None => (status.code(), "", status.message().to_owned()),
    };
    let info = status.get_details_error_info();
    let (server_reason, metadata) = info.map(|info| (info.reason, info.metadata)).unwrap_or_default();
    let reason = match code {
        Code::DeadlineExceeded => refuse::TIMED_OUT,
        _ if server_reason.is_empty() => reason,
        _ => &server_reason,
    };
    refuse::raised(py, &name(code), reason, &message, metadata)
}

/// Returns the exception for a refusal that arrived inside a response.
pub(crate) fn refusal(py: Python<'_>, error: &rpc::Status) -> PyErr {
    raised(
        py,
        &client::stream_error_status(error),
        ConnectionState { has_responded: true, has_identity: false },
    )
}

/// Returns the name of a code as gRPC writes it, such as `NOT_FOUND`.
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

/// Returns the code, reason and message for an error of a connection.
fn describe(
    code: Code,
    source: &(dyn Error + 'static),
    state: ConnectionState,
) -> (Code, &'static str, String) {
    let causes = causes(source);
    if causes.iter().any(|error| error.is::<TimeoutExpired>()) {
        return (Code::DeadlineExceeded, "", "no response in time".to_owned());
    }
    let mut reasons = String::new();
    for text in causes.iter().map(ToString::to_string) {
        // The text of some errors contains the texts of their sources.
        if !reasons.contains(&text) {
            let separator = if reasons.is_empty() { "" } else { ": " };
            reasons = format!("{reasons}{separator}{text}");
        }
    }
    if let Some(mismatch) = mismatch(&reasons, state) {
        return (Code::Unavailable, NOT_CONNECTED, mismatch);
    }
    let is_new = !state.has_responded || causes.iter().any(|error| error.is::<ConnectError>());
    match code {
        // When a connection ends, its calls are cancelled.
        Code::Unknown | Code::Internal | Code::Unavailable | Code::Cancelled => {
            let message = if is_new { format!("failed to connect: {reasons}") } else { reasons };
            (Code::Unavailable, "", message)
        }
        code => (code, "", reasons),
    }
}

/// Returns an error and its chain of sources.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source()).collect()
}

/// Returns what is wrong with TLS or the protocol and what to do about it. Returns `None` for other errors.
///
/// It searches the error's text: an error that passes through HTTP/2 keeps nothing else.
fn mismatch(reasons: &str, state: ConnectionState) -> Option<String> {
    if let Some(message) = MISMATCHES.iter().find(|message| reasons.contains(**message)) {
        return Some((*message).to_owned());
    }
    if let Some((_, error)) = reasons.split_once("invalid peer certificate: ") {
        return Some(format!("the server's certificate is not trusted: {error}"));
    }
    let (_, alert) = reasons.split_once("received fatal alert: ")?;
    Some(if state.has_identity {
        format!("the server refuses this client's certificate ({alert})")
    } else if alert.contains("CertificateRequired") {
        "the server requires a certificate: connect with boardwire.TLS(cert=..., key=...)".to_owned()
    } else {
        format!("the server refuses the TLS handshake ({alert})")
    })
}

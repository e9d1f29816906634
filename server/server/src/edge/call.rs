//! Handles a call from its headers to its response: finds the caller, charges the call, and runs the method's handler.

use std::any::Any;
use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use boardwire_api::Error;
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body::Body;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use prost::Message;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::codegen::http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use tonic::codegen::http::request::Parts;
use tonic::codegen::http::{HeaderMap, Method as Verb, Request, Response, StatusCode};
use tonic::codegen::{BoxFuture, Service, StdError};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::Edge;
use super::caller::{self, Caller};
use super::ledger::{CALL_BYTES, ConnectionBudget, MemoryCharge};
use super::methods::{Method, MethodShape, ServiceKind};
use super::wire::{Reply, RequestStream, ResponseBody};
use crate::secret;

const REQUEST_ID: &str = "x-request-id";
/// The maximum size in bytes of a request id that the client chooses.
const MAX_REQUEST_ID_BYTES: usize = 64;
/// W3C Trace Context: the headers that name the span of the client.
const TRACE_PARENT: &str = "traceparent";
const TRACE_STATE: &str = "tracestate";

pub(crate) struct Call {
    caller: Caller,
    bearer: Option<HeaderValue>,
    charge: MemoryCharge,
    arrived: Instant,
}

impl Call {
    /// Returns when the call's message arrived. From then on, the call waits only for the server.
    pub(crate) fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Records when the call's message arrived.
    pub(super) fn set_arrival(&mut self) {
        self.arrived = self.caller.last_read();
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the token of `authorization: Bearer TOKEN`, if the call carries one.
    pub(crate) fn token(&self) -> Option<&str> {
        self.bearer.as_ref().and_then(caller::token)
    }

    /// Returns the budget for responses that are larger than an ordinary one.
    pub(crate) fn budget(&self) -> &Arc<ConnectionBudget> {
        self.caller.budget()
    }

    /// Replies with an ordinary message, which the call's own charge covers.
    ///
    /// # Errors
    /// The encoded message is longer than clients accept.
    pub(crate) fn reply(self, message: &impl Message) -> Result<Reply, Error> {
        Reply::message(self.charge, message)
    }
}

/// Responds to the calls of all connections.
#[derive(Clone)]
pub(crate) struct GrpcService(pub(crate) Arc<Edge>);

impl<B: Body<Data = Bytes, Error: Into<StdError>> + Send + 'static> Service<Request<B>> for GrpcService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let id = request_id(&parts.headers);
        let caller = parts.extensions.get::<Caller>().expect("every connection names its caller").clone();
        let span = span(&parts, &id, &caller);
        let (edge, response_span) = (Arc::clone(&self.0), span.clone());
        let guard = ClientResetDetector { edge: Arc::clone(&edge), caller, has_response: false };
        let response = async move {
            // Moves the whole guard into the future, so that both are dropped together.
            let mut guard = guard;
            let body = tonic::body::Body::new(body);
            let mut response = edge.respond(parts, body, &mut guard.caller, response_span).await;
            guard.has_response = true;
            response.headers_mut().insert(REQUEST_ID, id);
            Ok(response)
        };
        Box::pin(response.instrument(span))
    }
}

/// Detects a reset call: the client has reset it if this is dropped before there is a response.
struct ClientResetDetector {
    edge: Arc<Edge>,
    caller: Caller,
    has_response: bool,
}

impl Drop for ClientResetDetector {
    fn drop(&mut self) {
        if !self.has_response && self.edge.rates.count_reset(self.caller.origin()) {
            self.caller.connection.slot.close();
        }
    }
}

impl Edge {
    async fn respond(
        &self,
        mut parts: Parts,
        body: tonic::body::Body,
        caller: &mut Caller,
        span: Span,
    ) -> Response<ResponseBody> {
        if let Some(code) = http_refusal(&parts) {
            let mut response = Response::new(ResponseBody::new(Reply::Done, caller.budget(), None, &span));
            *response.status_mut() = code;
            if code == StatusCode::METHOD_NOT_ALLOWED {
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            }
            return response;
        }
        let timeout = timeout(&parts.headers);
        let (call, method, in_use) = match self.admit(&mut parts, caller) {
            Ok(admitted) => admitted,
            Err(error) => return ResponseBody::respond(Err(error), caller.budget(), None, &span),
        };
        // Frees the headers: they may be large, and the call may last long.
        drop(parts);
        let budget = caller.budget();
        let (bytes, message_time) = (method.message_bytes, self.access.bounds.handshake_timeout);
        let requests = RequestStream::new(body, bytes, message_time, Arc::clone(budget));
        let reply = AssertUnwindSafe((method.handler)(call, requests)).catch_unwind();
        let reply = async {
            match &caller.account {
                None => reply.await,
                Some((_, revoked)) => tokio::select! {
                    reply = reply => reply.map(|reply| Ok(reply?.until_revoked(revoked.clone()))),
                    () = revoked.cancelled() => Ok(Err(Error::CallerTokenWrong)),
                },
            }
        };
        let reply = match timeout {
            None => reply.await,
            Some(timeout) => tokio::time::timeout(timeout, reply).await.unwrap_or(Ok(Err(Error::TimedOut))),
        };
        ResponseBody::respond(reply.unwrap_or_else(|panic| Err(panicked(&*panic))), budget, in_use, &span)
    }

    /// Finds the caller and the method of a call. Refuses the call if the account is unknown, or if the caller makes too
    /// many calls or holds too many bytes. The rate limit also counts calls with a wrong token.
    fn admit(
        &self,
        parts: &mut Parts,
        caller: &mut Caller,
    ) -> Result<(Call, &Method, Option<TaskTrackerToken>), Error> {
        let method = self.methods.find(parts.uri.path());
        let is_health = method.as_ref().is_ok_and(|method| method.kind == ServiceKind::Health);
        let identified = match &self.access.accounts {
            Some(accounts) if !is_health => accounts.identify(&mut parts.headers).map(|identified| {
                Span::current().record("account", identified.0.name());
                *caller = caller.with_account(identified, &self.ledger);
            }),
            _ => Ok(()),
        };
        if !is_health {
            self.rates.check(caller.origin())?;
        }
        identified?;
        let method = method?;
        let compressed = parts.headers.get("grpc-encoding").filter(|encoding| *encoding != "identity");
        if let Some(encoding) = compressed {
            return Err(Error::CompressionUnsupported {
                problem: format!("the request has grpc-encoding {encoding:?}"),
            });
        }
        let bearer = caller::bearer(&parts.headers)?;
        let mut charge = caller.budget().charge(CALL_BYTES);
        if charge.is_err() && is_health && method.shape == MethodShape::Unary {
            charge = self.health.budget(caller.origin()).charge(CALL_BYTES);
        }
        let charge = charge?;
        if method.shape == MethodShape::BidiStreaming {
            caller.charge_unread()?;
        }
        let in_use = (method.kind == ServiceKind::Boardwire).then(|| caller.connection.calls.token());
        let arrived = caller.last_read();
        Ok((Call { caller: caller.clone(), bearer, charge, arrived }, method, in_use))
    }
}

/// Returns the error for a panic. The server logs the panic's message and does not send it.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let problem = format!("a handler panicked: {}", text.unwrap_or("of an unknown type"));
    Error::Internal { place: "a call".to_owned(), problem }
}

/// Returns the HTTP status that refuses a request. `None` for gRPC with protobuf. Ignores parameters of the content type.
fn http_refusal(parts: &Parts) -> Option<StatusCode> {
    if parts.method != Verb::POST {
        return Some(StatusCode::METHOD_NOT_ALLOWED);
    }
    let content = parts.headers.get(CONTENT_TYPE).and_then(|content| content.to_str().ok());
    let content = content.and_then(|content| content.split(';').next()).unwrap_or_default().trim();
    let is = |kind: &str| content.eq_ignore_ascii_case(kind);
    let is_grpc = is("application/grpc") || is("application/grpc+proto");
    (!is_grpc).then_some(StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

/// Returns the request id for logs and the response: the caller's own if it is short and printable, else a random one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_valid = |id: &&HeaderValue| {
        (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    let random = || HeaderValue::try_from(secret::random_hex()).expect("digits are valid in a header");
    headers.get(REQUEST_ID).filter(is_valid).cloned().unwrap_or_else(random)
}

/// Returns the time in `grpc-timeout`: at most eight digits and a unit. Ignores a malformed one, as other gRPC servers do.
fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number: u32 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_hours(1) * number,
        "M" => Duration::from_mins(1) * number,
        "S" => Duration::from_secs(number.into()),
        "m" => Duration::from_millis(number.into()),
        "u" => Duration::from_micros(number.into()),
        "n" => Duration::from_nanos(number.into()),
        _ => return None,
    })
}

/// Creates the span of a call, below the client's span if the headers name one. It has no secret that a seat must not know.
fn span(parts: &Parts, id: &HeaderValue, caller: &Caller) -> Span {
    let method = parts.uri.path();
    let span = tracing::debug_span!(
        "call",
        otel.name = method.trim_start_matches('/'),
        otel.kind = "server",
        method,
        id = id.to_str().unwrap_or_default(),
        connection = caller.connection_id().0,
        account = Empty
    );
    if parts.headers.contains_key(TRACE_PARENT) && !span.is_disabled() {
        let read = |name: &str| Some((name.to_owned(), parts.headers.get(name)?.to_str().ok()?.to_owned()));
        let context: HashMap<_, _> = [TRACE_PARENT, TRACE_STATE].into_iter().filter_map(read).collect();
        // Fails if the server exports no traces.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&context));
    }
    span
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: &str, content: Option<&str>) -> Parts {
        let mut request = Request::builder().method(method).uri("/a.B/C");
        if let Some(content) = content {
            request = request.header(CONTENT_TYPE, content);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn only_posts_with_the_content_type_of_grpc_are_calls() {
        let code = |method: &str, content: Option<&str>| {
            http_refusal(&parts(method, content)).map_or(200, |code| code.as_u16())
        };
        for good in ["application/grpc", "application/grpc+proto", "Application/GRPC; charset=utf-8"] {
            assert_eq!(code("POST", Some(good)), 200, "{good}");
        }
        for bad in ["application/grpc-web", "application/grpc+json", "application/json", "text/html", ""] {
            assert_eq!(code("POST", Some(bad)), 415, "{bad}");
        }
        assert_eq!(code("POST", None), 415);
        assert_eq!(code("GET", Some("application/grpc")), 405);
    }

    fn headers(name: &'static str, value: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_bytes(value).expect("a header"));
        headers
    }

    #[test]
    fn clients_may_choose_short_printable_request_ids() {
        let is_used = |id: &[u8]| request_id(&headers(REQUEST_ID, id)).as_bytes() == id;
        assert!(is_used(b"a-1") && is_used(&[b'a'; 64]));
        assert!(!is_used(&[b'a'; 65]) && !is_used(b"") && !is_used(b"a b") && !is_used("ä".as_bytes()));
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }

    #[test]
    fn grpc_timeouts_are_parsed() {
        let parse = |value: &str| timeout(&headers("grpc-timeout", value.as_bytes()));
        assert_eq!(parse("99999999H"), Some(Duration::from_hours(99_999_999)));
        assert_eq!(parse("2M"), Some(Duration::from_mins(2)));
        assert_eq!(parse("3S"), Some(Duration::from_secs(3)));
        assert_eq!(parse("250m"), Some(Duration::from_millis(250)));
        assert_eq!(parse("5u"), Some(Duration::from_micros(5)));
        assert_eq!(parse("7n"), Some(Duration::from_nanos(7)));
        for wrong in ["", "5", "S", "5s", "123456789S", "-1S", "+1S", "1.5S"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}

//! A call, from its headers to its answer: who calls, whether there is room for it, and who answers it.

use std::any::Any;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use boardwire_api::Error;
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body::Body;
use prost::Message;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::codegen::http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use tonic::codegen::http::request::Parts;
use tonic::codegen::http::{HeaderMap, Method as Verb, Request, Response, StatusCode};
use tonic::codegen::{BoxFuture, Service, StdError};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use super::Edge;
use super::caller::{self, Caller};
use super::ledger::{Budget, CALL_BYTES, Charge};
use super::methods::{Kind, Method, Shape};
use super::traces;
use super::wire::{Reply, RequestStream, ResponseBody};
use crate::secret;

/// The header in which a request is named.
const REQUEST_ID: &str = "x-request-id";
/// The most bytes of a name that a caller may give its request.
const MAX_REQUEST_ID_BYTES: usize = 64;

/// A call that is to be answered.
pub(crate) struct Call {
    caller: Caller,
    bearer: Option<HeaderValue>,
    charge: Charge,
    arrived: Instant,
}

impl Call {
    /// When its message came: what it waited for since then is the server's matter.
    pub(crate) fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Its message has come.
    pub(super) fn note_arrival(&mut self) {
        self.arrived = self.caller.last_read();
    }

    /// Whose call it is.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The token of `authorization: Bearer TOKEN`, if the call carries one.
    pub(crate) fn token(&self) -> Option<&str> {
        self.bearer.as_ref().and_then(caller::token)
    }

    /// Where more than an ordinary answer is charged.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        self.caller.budget()
    }

    /// Answers with an ordinary message, for which the call has room.
    ///
    /// # Errors
    /// The encoded message is longer than any client takes.
    pub(crate) fn answer(self, message: &impl Message) -> Result<Reply, Error> {
        Reply::message(self.charge, message)
    }
}

/// Answers the calls of all connections.
#[derive(Clone)]
pub(crate) struct GrpcService(pub(crate) Arc<Edge>);

impl<B> Service<Request<B>> for GrpcService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<StdError>,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let id = request_id(&parts.headers);
        let span = span(&parts, &id);
        let (edge, inside) = (Arc::clone(&self.0), span.clone());
        let caller = parts.extensions.get::<Caller>().expect("every connection names its caller").clone();
        let unanswered = ResetGuard { edge: Arc::clone(&edge), caller, is_answered: false };
        let answered = async move {
            // Moved as a whole, so that it is dropped with the call.
            let mut unanswered = unanswered;
            let body = tonic::body::Body::new(body);
            let mut response = edge.answer(parts, body, &mut unanswered.caller, inside).await;
            unanswered.is_answered = true;
            response.headers_mut().insert(REQUEST_ID, id);
            Ok(response)
        };
        Box::pin(answered.instrument(span))
    }
}

/// A call under way: it was reset if this is dropped before the call is answered.
struct ResetGuard {
    edge: Arc<Edge>,
    caller: Caller,
    is_answered: bool,
}

impl Drop for ResetGuard {
    fn drop(&mut self) {
        if !self.is_answered && self.edge.rates.is_reset_too_often(self.caller.origin()) {
            self.caller.place().close();
        }
    }
}

impl Edge {
    async fn answer(
        &self,
        mut parts: Parts,
        body: tonic::body::Body,
        caller: &mut Caller,
        span: Span,
    ) -> Response<ResponseBody> {
        if let Some(refused) = refuse_other(&parts) {
            return refused.map(|()| ResponseBody::empty(caller.budget(), span));
        }
        let time = time(&parts.headers);
        let (call, method, in_use) = match self.admit(&mut parts, caller) {
            Ok(admitted) => admitted,
            Err(error) => return ResponseBody::respond(Err(error), caller.budget(), None, &span),
        };
        // They may be large, and are not needed any more.
        drop(parts);
        let budget = caller.budget();
        let (bytes, message_time) = (method.message_bytes, self.access.bounds.handshake_timeout);
        let requests = RequestStream::new(body, bytes, message_time, Arc::clone(budget));
        let answered = AssertUnwindSafe((method.handler)(call, requests)).catch_unwind();
        let answered = async {
            match caller.revoked() {
                None => answered.await,
                Some(revoked) => tokio::select! {
                    reply = answered => reply.map(|reply| reply.map(|reply| reply.until(revoked))),
                    () = revoked.cancelled() => Ok(Err(Error::CallerTokenWrong)),
                },
            }
        };
        let reply = match time {
            None => answered.await,
            Some(time) => {
                let timed_out = |_| Ok(Err(Error::TimedOut));
                tokio::time::timeout(time, answered).await.unwrap_or_else(timed_out)
            }
        };
        ResponseBody::respond(reply.unwrap_or_else(|panic| Err(panicked(&*panic))), budget, in_use, &span)
    }

    /// Finds the caller and the method of a call. Refuses it if the account is unknown, or if the caller makes too many calls or
    /// holds too many bytes. Calls with a wrong token count in the rate, too.
    fn admit(
        &self,
        parts: &mut Parts,
        caller: &mut Caller,
    ) -> Result<(Call, &Method, Option<TaskTrackerToken>), Error> {
        let found = self.methods.find(parts.uri.path());
        let is_health = found.as_ref().is_ok_and(|method| method.kind == Kind::Health);
        let identified = match &self.access.accounts {
            Some(accounts) if !is_health => accounts.identify(&mut parts.headers).map(|identified| {
                Span::current().record("account", identified.0.name());
                *caller = caller.of(identified, &self.ledger);
            }),
            _ => Ok(()),
        };
        if !is_health {
            self.rates.check(caller.origin())?;
        }
        identified?;
        let method = found?;
        let compressed = parts.headers.get("grpc-encoding").filter(|encoding| *encoding != "identity");
        if let Some(encoding) = compressed {
            return Err(Error::CompressionUnsupported { problem: format!("the call says {encoding:?}") });
        }
        let bearer = caller::bearer(&parts.headers)?;
        let mut charge = caller.budget().charge(CALL_BYTES);
        if charge.is_err() && is_health && method.shape == Shape::Call {
            charge = self.health.budget(caller.origin()).charge(CALL_BYTES);
        }
        let charge = charge?;
        if method.shape == Shape::Stream {
            caller.charge_unread()?;
        }
        let in_use = (method.kind == Kind::Own).then(|| caller.calls().token());
        let arrived = caller.last_read();
        Ok((Call { caller: caller.clone(), bearer, charge, arrived }, method, in_use))
    }
}

/// What a panic says is logged, and not sent.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let what = format!("a panic: {}", text.unwrap_or("of no known type"));
    Error::Internal { place: "a call".to_owned(), what }
}

/// Refuses what is no gRPC, in HTTP's own words.
fn refuse_other(parts: &Parts) -> Option<Response<()>> {
    let refused = |code| {
        let mut response = Response::new(());
        *response.status_mut() = code;
        response
    };
    if parts.method != Verb::POST {
        let mut response = refused(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return Some(response);
    }
    (!is_grpc(&parts.headers)).then(|| refused(StatusCode::UNSUPPORTED_MEDIA_TYPE))
}

/// Whether the content is protobuf over gRPC; parameters after a semicolon do not matter.
fn is_grpc(headers: &HeaderMap) -> bool {
    let Some(Ok(content)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else { return false };
    let content = content.split(';').next().unwrap_or_default().trim();
    content.eq_ignore_ascii_case("application/grpc") || content.eq_ignore_ascii_case("application/grpc+proto")
}

/// The request id for logs and the response: the caller's own if it is short and printable, otherwise a random one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let proper = |id: &&HeaderValue| {
        (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    let fresh = || HeaderValue::try_from(secret::word()).expect("digits can be written in a header");
    headers.get(REQUEST_ID).filter(proper).cloned().unwrap_or_else(fresh)
}

/// The time in `grpc-timeout`: at most eight digits and a unit. As anywhere in gRPC, one that cannot be read
/// is no limit.
fn time(headers: &HeaderMap) -> Option<Duration> {
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

/// What a call is traced as. It tells nothing that anybody at a table may not know.
fn span(parts: &Parts, id: &HeaderValue) -> Span {
    let peer = parts.extensions.get::<Caller>().map(|caller| caller.peer().0);
    let method = parts.uri.path();
    let name = method.trim_start_matches('/');
    let id = id.to_str().unwrap_or_default();
    let span = tracing::debug_span!(
        "call",
        otel.name = name,
        otel.kind = "server",
        method,
        id,
        peer,
        account = Empty
    );
    traces::follow(&span, &parts.headers);
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
    fn only_posts_of_protobuf_over_grpc_are_calls() {
        let code = |method: &str, content: Option<&str>| {
            refuse_other(&parts(method, content)).map_or(200, |refused| refused.status().as_u16())
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
    fn names_of_requests_are_short_and_printable() {
        let kept = |id: &[u8]| request_id(&headers(REQUEST_ID, id)).as_bytes() == id;
        assert!(kept(b"a-1") && kept(&[b'a'; 64]));
        assert!(!kept(&[b'a'; 65]) && !kept(b"") && !kept(b"a b") && !kept("ä".as_bytes()));
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }

    #[test]
    fn times_are_read_as_grpc_writes_them() {
        let read = |value: &str| time(&headers("grpc-timeout", value.as_bytes()));
        assert_eq!(read("99999999H"), Some(Duration::from_hours(99_999_999)));
        assert_eq!(read("2M"), Some(Duration::from_mins(2)));
        assert_eq!(read("3S"), Some(Duration::from_secs(3)));
        assert_eq!(read("250m"), Some(Duration::from_millis(250)));
        assert_eq!(read("5u"), Some(Duration::from_micros(5)));
        assert_eq!(read("7n"), Some(Duration::from_nanos(7)));
        for wrong in ["", "5", "S", "5s", "123456789S", "-1S", "+1S", "1.5S"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

//! The time that a caller gives its call.
//!
//! tonic answers a call whose time is over with `CANCELLED`; gRPC has `DEADLINE_EXCEEDED` for it.

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::Either;
use tonic::codegen::http::{HeaderMap, Request, Response};
use tonic::codegen::{BoxFuture, Service};

use super::refuse;
use crate::error::ServiceError;

/// Ends calls whose time is over before they have been answered. The messages of a stream may come later.
#[derive(Debug, Clone)]
pub(crate) struct Deadline<S>(pub(crate) S);

impl<S, R, B> Service<Request<R>> for Deadline<S>
where
    S: Service<Request<R>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: Default,
{
    type Response = Response<B>;
    type Error = Infallible;
    type Future = Either<S::Future, BoxFuture<Self::Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let given = given(request.headers());
        let answered = self.0.call(request);
        let Some(given) = given else { return Either::Left(answered) };
        let answered = tokio::time::timeout(given, answered);
        Either::Right(Box::pin(async move {
            answered.await.unwrap_or_else(|_| Ok(refuse(ServiceError::TimedOut)))
        }))
    }
}

/// The time in `grpc-timeout`: at most eight digits and a unit. As anywhere in gRPC, one that cannot be read
/// is no limit.
fn given(headers: &HeaderMap) -> Option<Duration> {
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::pending;

    use super::*;

    fn read(value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-timeout", value.parse().expect("a header"));
        given(&headers)
    }

    #[test]
    fn times_are_read_as_grpc_writes_them() {
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

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_time_is_over_says_so() {
        let inner = tower::service_fn(|_| pending::<Result<Response<()>, Infallible>>());
        let request = |given: &str| Request::builder().header("grpc-timeout", given).body(());
        let mut service = Deadline(inner);
        let refused = service.call(request("20m").expect("a request")).await.expect("it cannot fail");
        assert_eq!(refused.headers()["grpc-status"], "4");
        assert!(service.call(request("1S").expect("a request")).now_or_never().is_none());
    }
}

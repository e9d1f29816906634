//! Panics of handlers: a call that panics is answered with INTERNAL, and all others go on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use boardwire_batch::Refused;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tonic::Status;
use tonic::codegen::http::{HeaderMap, Response};

use crate::error::ServiceError;

/// The status of a call that panicked. What it said is logged.
fn status(panic: &(dyn Any + Send)) -> Status {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let what = format!("a panic: {}", text.unwrap_or("of no known type"));
    ServiceError::from(Refused::Internal { place: "a call".to_owned(), what }).into()
}

/// The response to a call that panicked before it was answered.
#[expect(clippy::needless_pass_by_value, reason = "tower-http hands it over")]
pub(crate) fn respond(panic: Box<dyn Any + Send>) -> Response<tonic::body::Body> {
    status(&*panic).into_http()
}

/// The body of a response, which ends with INTERNAL if it panics.
#[derive(Default)]
pub(crate) struct Caught<B> {
    body: B,
    over: bool,
}

impl<B> Caught<B> {
    pub(crate) fn new(body: B) -> Self {
        Self { body, over: false }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Caught<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        // A body that panicked is not polled again.
        let body = AssertUnwindSafe(|| Pin::new(&mut this.body).poll_frame(context));
        catch_unwind(body).unwrap_or_else(|panic| {
            this.over = true;
            let mut trailers = HeaderMap::new();
            status(&*panic).add_header(&mut trailers).expect("a status is a header");
            Poll::Ready(Some(Ok(Frame::trailers(trailers))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::StreamExt as _;
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    #[tokio::test]
    async fn a_stream_that_panics_ends_with_its_status() {
        let frames = futures_util::stream::iter(0..3).map(|at| {
            assert!(at < 1, "the second one");
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"first")))
        });
        let sent = Caught::new(StreamBody::new(frames)).collect().await.expect("it cannot fail");
        assert_eq!(
            sent.trailers().map(|trailers| trailers["grpc-status"].clone()),
            Some("13".parse().expect("a header"))
        );
        assert_eq!(sent.to_bytes(), "first");
    }

    #[test]
    fn what_a_panic_says_is_not_sent() {
        let response = respond(Box::new("secret".to_owned()));
        assert_eq!(response.headers()["grpc-status"], "13");
        assert!(!format!("{:?}", response.headers()).contains("secret"));
    }
}

//! Answers that are sent out of the buffers they were written to.
//!
//! tonic encodes a message into a buffer of its own: a further copy of every view. So the handlers of steps
//! leave their [`Answers`] among the extensions of an empty response, and [`Unbuffered`] puts a body in its
//! place that sends the views, which come last, as they lie. What goes over the wire is the same message.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use boardwire_api::v1::{BatchStep, RunBatchResponse};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, stream};
use http_body::{Body, Frame};
use prost::{Message as _, encode_length_delimiter, length_delimiter_len};
use tonic::codegen::{BoxFuture, Service, http};
use tonic::metadata::MetadataMap;
use tonic::server::NamedService;
use tonic::{Response, Status};

use crate::edge::Room;

/// The key of field `step` in the responses of single calls.
const STEP: u8 = 1 << 3 | 2;
/// The keys of fields `tag` and `step` in `RunBatchResponse`.
const TAG: u8 = 1 << 3;
const TAGGED_STEP: u8 = 2 << 3 | 2;
/// The key of field `view` in `BatchStep`, the last one.
const VIEW: u8 = 15 << 3 | 2;
/// Views of at most so many bytes are copied: a second frame costs more.
const COPIED: usize = 64 << 10;
/// What stands before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// One answer.
pub(crate) enum Answer {
    /// The rows of a step, and the room they take until they have been sent; on a stream with the request's tag.
    Step(BatchStep, Option<Room>, Option<u32>),
    /// Anything else.
    Message(RunBatchResponse),
}

impl Answer {
    /// The bytes that come first, and the views that follow them.
    fn encode(self) -> (Bytes, Bytes) {
        match self {
            Self::Message(message) => {
                let mut out = prefixed(message.encoded_len(), 0);
                message.encode_raw(&mut out);
                (out.freeze(), Bytes::new())
            }
            Self::Step(mut columns, room, tag) => {
                let hold = |bytes| match room {
                    Some(room) => room.hold(bytes),
                    None => bytes,
                };
                let views = std::mem::take(&mut columns.view);
                let bytes = views.len();
                let step = columns.encoded_len() + 1 + length_delimiter_len(bytes) + bytes;
                let (key, tag) = tag.map_or((STEP, 0), |tag| (TAGGED_STEP, tag as usize));
                // As everywhere, a number that is zero is left out.
                let tag_bytes = if tag == 0 { 0 } else { 1 + length_delimiter_len(tag) };
                let apart = if bytes > COPIED { bytes } else { 0 };
                let mut out = prefixed(tag_bytes + 1 + length_delimiter_len(step) + step, apart);
                if tag > 0 {
                    put_key(&mut out, TAG, tag);
                }
                put_key(&mut out, key, step);
                columns.encode_raw(&mut out);
                put_key(&mut out, VIEW, bytes);
                if apart > 0 {
                    return (out.freeze(), hold(views));
                }
                out.put(views);
                (hold(out.freeze()), Bytes::new())
            }
        }
    }
}

/// Begins a message of so many bytes, the last of which are sent apart.
fn prefixed(message: usize, apart: usize) -> BytesMut {
    let mut out = BytesMut::with_capacity(PREFIX + message - apart);
    out.put_u8(0);
    out.put_u32(u32::try_from(message).expect("a batch is only opened if its steps fit a message"));
    out
}

/// Writes a key and a number: a length, or a tag.
fn put_key(out: &mut BytesMut, key: u8, number: usize) {
    out.put_u8(key);
    encode_length_delimiter(number, out).expect("a buffer grows");
}

type Given = Pin<Box<dyn Stream<Item = Result<Answer, Status>> + Send>>;

/// What a response is to be answered with, on its way from the handler: taken out once.
#[derive(Clone)]
struct Answers(Arc<Mutex<Option<Given>>>);

/// A response of one answer.
pub(crate) fn one<T: Default>((step, room): (BatchStep, Option<Room>)) -> Response<T> {
    many(stream::iter([Ok(Answer::Step(step, room, None))]), T::default())
}

/// A response of a stream of answers; `empty` is not sent.
pub(crate) fn many<T>(
    answers: impl Stream<Item = Result<Answer, Status>> + Send + 'static,
    empty: T,
) -> Response<T> {
    let mut extensions = http::Extensions::new();
    extensions.insert(Answers(Arc::new(Mutex::new(Some(Box::pin(answers))))));
    Response::from_parts(MetadataMap::new(), empty, extensions)
}

/// A service whose handlers may answer by [`one`] and [`many`].
#[derive(Debug, Clone)]
pub(crate) struct Unbuffered<S>(pub(crate) S);

impl<S: NamedService> NamedService for Unbuffered<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, R> Service<R> for Unbuffered<S>
where
    S: Service<R, Response = http::Response<tonic::body::Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let answered = self.0.call(request);
        Box::pin(async move {
            let mut response = answered.await?;
            let given = response.extensions_mut().remove::<Answers>();
            let given = given.and_then(|given| given.0.lock().unwrap_or_else(PoisonError::into_inner).take());
            if let Some(given) = given {
                *response.body_mut() =
                    tonic::body::Body::new(Sent { given, views: Bytes::new(), over: false });
            }
            Ok(response)
        })
    }
}

/// The body of a response.
struct Sent {
    given: Given,
    /// The views of the answer whose beginning has been sent.
    views: Bytes,
    /// Whether the status has been sent, which comes last.
    over: bool,
}

impl Sent {
    fn trailers(&mut self, status: &Status) -> Frame<Bytes> {
        self.over = true;
        let mut trailers = http::HeaderMap::new();
        status.add_header(&mut trailers).expect("a status is a header");
        Frame::trailers(trailers)
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        if !this.views.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.views)))));
        }
        let frame = match std::task::ready!(this.given.as_mut().poll_next(context)) {
            Some(Ok(answer)) => {
                let bytes;
                (bytes, this.views) = answer.encode();
                Frame::data(bytes)
            }
            Some(Err(status)) => this.trailers(&status),
            None => this.trailers(&Status::ok("")),
        };
        Poll::Ready(Some(Ok(frame)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use boardwire_api::v1::{StepBatchResponse, run_batch_response};
    use boardwire_batch::Refused;

    use super::*;
    use crate::edge::Budget;
    use crate::error::ServiceError;

    fn step(rows: usize) -> BatchStep {
        let column = |width: usize| (0..rows * width).map(|at| u8::try_from(at % 251).unwrap_or(0)).collect();
        BatchStep {
            first: 3,
            sequence: 300,
            seat: column(1),
            flags: column(1),
            ply: column(4),
            reward: column(8),
            mask: column(15),
            episode: Bytes::new(),
            ended: column(1),
            scores: Bytes::new(),
            ranks: column(2),
            final_view: column(3),
            advice: column(1),
            advice_shares: Bytes::new(),
            oracle: column(248),
            oracle_mask: Bytes::new(),
            view: column(124),
        }
    }

    /// The messages of a body as bytes, and the trailers.
    async fn sent(given: Vec<Result<Answer, Status>>) -> (Vec<Vec<u8>>, http::HeaderMap) {
        let mut body = Sent { given: Box::pin(stream::iter(given)), views: Bytes::new(), over: false };
        let (mut bytes, mut messages) = (vec![], vec![]);
        loop {
            let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
            match frame.expect("trailers come last").expect("no error").into_data() {
                Ok(data) => bytes.extend_from_slice(&data),
                Err(frame) => {
                    while !bytes.is_empty() {
                        let (prefix, rest) = bytes.split_at(PREFIX);
                        let length = u32::from_be_bytes(prefix[1..].try_into().expect("four bytes"));
                        let (message, rest) = rest.split_at(length as usize);
                        messages.push(message.to_vec());
                        bytes = rest.to_vec();
                    }
                    assert!(poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.is_none());
                    return (messages, frame.into_trailers().expect("the only other kind"));
                }
            }
        }
    }

    #[tokio::test]
    async fn what_is_sent_is_the_message() {
        // Copied, and sent as it lies.
        for rows in [1, 100, 528, 529, 5_000] {
            let (messages, trailers) = sent(vec![Ok(Answer::Step(step(rows), None, None))]).await;
            let expected = StepBatchResponse { step: Some(step(rows)) };
            assert_eq!(messages, [expected.encode_to_vec()], "{rows} rows");
            assert_eq!(trailers["grpc-status"], "0");
        }
    }

    /// The order of fields on the wire means nothing, and the views come last.
    #[tokio::test]
    async fn columns_with_higher_numbers_than_the_views_are_sent_before_them() {
        for rows in [1, 5_000] {
            let (advice_shares, oracle_mask) =
                (Bytes::from(vec![7; 400 * rows]), Bytes::from(vec![8; 30 * rows]));
            let step = || BatchStep {
                advice_shares: advice_shares.clone(),
                oracle_mask: oracle_mask.clone(),
                ..step(rows)
            };
            let (messages, _) = sent(vec![Ok(Answer::Step(step(), None, None))]).await;
            let message = StepBatchResponse::decode(messages[0].as_slice()).expect("it is one");
            assert_eq!(message.step, Some(step()));
        }
    }

    #[tokio::test]
    async fn an_answer_takes_its_room_until_its_last_byte_has_been_sent() {
        // Copied, and sent as it lies.
        for rows in [1, 5_000] {
            let budget = Budget::new(1_000, 1_000);
            let room = budget.wait(900).await.expect("it is free");
            let (head, views) = Answer::Step(step(rows), Some(room), None).encode();
            assert_eq!(budget.free(), 100, "{rows} rows wait");
            drop(head);
            drop(views);
            assert_eq!(budget.free(), 1_000, "{rows} rows have been sent");
        }
    }

    #[tokio::test]
    async fn answers_follow_one_another_and_a_failure_ends_them() {
        let error = ServiceError::from(Refused::EnvironmentOver { environment: 3 }).into();
        let refused = RunBatchResponse { tag: 7, answer: Some(run_batch_response::Answer::Error(error)) };
        let shown = |tag| {
            let answer = run_batch_response::Answer::Step(step(900));
            RunBatchResponse { tag, answer: Some(answer) }.encode_to_vec()
        };
        let (messages, trailers) = sent(vec![
            Ok(Answer::Step(step(900), None, Some(0))),
            Ok(Answer::Message(refused.clone())),
            Ok(Answer::Step(step(900), None, Some(u32::MAX))),
            Err(Status::aborted("cut")),
            Ok(Answer::Step(step(1), None, Some(1))),
        ])
        .await;
        assert_eq!(messages, [shown(0), refused.encode_to_vec(), shown(u32::MAX)]);
        assert_eq!(
            (&trailers["grpc-status"], &trailers["grpc-message"]),
            (&"10".parse().expect("a header"), &"cut".parse().expect("a header"))
        );
    }
}

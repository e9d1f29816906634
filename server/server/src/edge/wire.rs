//! Messages of gRPC on the wire: requests as they are read, answers as they are sent.
//!
//! A message has a prefix of five bytes: whether it is compressed, and its length. tonic's codec would allocate what a
//! request announces, encode into a buffer that cannot be charged to anybody, and copy every view once more.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::v1::Step;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _, stream};
use http_body::Frame;
use http_body_util::BodyExt as _;
use prost::{Message, encode_length_delimiter, length_delimiter_len};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::header::{CONTENT_TYPE, HeaderValue};
use tonic::codegen::http::{HeaderMap, Response};
use tonic::metadata::GRPC_CONTENT_TYPE;
use tracing::Span;

use super::call::panicked;
use super::ledger::{Budget, Charge, REQUEST_BYTES};
use crate::status::status;
use boardwire_api::MAX_MESSAGE_BYTES;

/// What stands before a message.
const PREFIX: usize = 5;
/// What a message takes beside its bytes until it has been sent.
const FRAME_BYTES: usize = 256;
/// How many bytes of a message a second are never too slow.
const MIN_BYTES_A_SECOND: usize = 64 << 10;
/// The header with the details of a status.
const DETAILS: &str = "grpc-status-details-bin";
/// The key of field `step` in the responses of single calls.
const STEP: u8 = 1 << 3 | 2;
/// The keys of fields `tag` and `step` in `RunBatchResponse`.
const TAG: u8 = 1 << 3;
const TAGGED_STEP: u8 = 2 << 3 | 2;
/// The key of field `view` in `Step`, the last one.
const VIEW: u8 = 15 << 3 | 2;
/// Views of at most so many bytes are copied: a second frame costs more.
const COPIED: usize = 64 << 10;

/// The messages of a request, each read when it is asked for.
pub(crate) struct RequestStream {
    body: Body,
    /// The most bytes of a message.
    limit: usize,
    budget: Arc<Budget>,
    /// How long a message may take from its first byte on, or a single one from the beginning of its call.
    time: Duration,
    /// Since when the message is awaited.
    since: Option<Instant>,
    /// What has been read and not given out.
    read: BytesMut,
    /// What the message being read is charged with, or the one given out last.
    charge: Option<Charge>,
    charged: usize,
}

impl RequestStream {
    pub(super) fn new(body: Body, limit: usize, time: Duration, budget: Arc<Budget>) -> Self {
        let (since, read, charge, charged) = (None, BytesMut::new(), None, REQUEST_BYTES);
        Self { body, limit, budget, time, since, read, charge, charged }
    }

    /// The next message; none at the end. What the one before was charged with is given back.
    ///
    /// # Errors
    /// A message that is compressed, too long or none of this type, for whose bytes there is no room, or that takes too long.
    pub(crate) async fn next<M: Message + Default>(&mut self) -> Result<Option<M>, Error> {
        if self.charge.take().is_some() {
            // What came after a large message would keep its buffer, which is not charged any more.
            self.read = BytesMut::from(&self.read[..]);
        }
        self.charged = REQUEST_BYTES;
        loop {
            if !self.read.is_empty() {
                self.since.get_or_insert_with(Instant::now);
            }
            let length = self.announced()?;
            if let Some(message) = length.and_then(|length| self.split(length)) {
                self.since = None;
                let decoded = M::decode(message);
                return decoded.map(Some).map_err(|error| undecodable(error.to_string()));
            }
            let Some(frame) = self.frame().await? else {
                return if self.read.is_empty() {
                    Ok(None)
                } else {
                    Err(undecodable("the call ended before the message did"))
                };
            };
            if let Ok(data) = frame.into_data() {
                self.keep(&data, length)?;
            }
        }
    }

    /// The only message of a call.
    ///
    /// # Errors
    /// As [`Self::next`]; there is none.
    pub(crate) async fn one<M: Message + Default>(&mut self) -> Result<M, Error> {
        self.since = Some(Instant::now());
        self.next().await?.ok_or(Error::MessageMissing)
    }

    /// All messages, one after the other.
    pub(crate) fn stream<M: Message + Default>(self) -> impl Stream<Item = Result<M, Error>> {
        stream::try_unfold(self, |mut requests| async move {
            Ok(requests.next().await?.map(|message| (message, requests)))
        })
    }

    /// What comes next, in time: a message may take longer the more of it has come.
    async fn frame(&mut self) -> Result<Option<Frame<Bytes>>, Error> {
        let frame = self.body.frame();
        let frame = match self.since {
            None => frame.await,
            Some(since) => {
                let more = Duration::from_micros((1_000_000 * self.read.len() / MIN_BYTES_A_SECOND) as u64);
                let late = |_| Error::TimedOut;
                tokio::time::timeout_at(since + self.time + more, frame).await.map_err(late)?
            }
        };
        frame.transpose().map_err(|error| undecodable(error.to_string()))
    }

    /// How long the message is whose prefix has been read.
    fn announced(&self) -> Result<Option<usize>, Error> {
        let Some((&[compressed, ref length @ ..], _)) = self.read.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if compressed != 0 {
            return Err(undecodable(format!(
                "it begins with {compressed}, and 0 means that it is not compressed"
            )));
        }
        if length > self.limit {
            return Err(Error::MessageTooLarge { bytes: length, limit: self.limit });
        }
        Ok(Some(length))
    }

    /// A message of this length, if it has come whole.
    fn split(&mut self, length: usize) -> Option<Bytes> {
        if self.read.len() < PREFIX + length {
            return None;
        }
        let mut message = self.read.split_to(PREFIX + length).freeze();
        Some(message.split_off(PREFIX))
    }

    /// Charges bytes and keeps them. Room is made for twice as many as there are, and not for all that are announced.
    fn keep(&mut self, data: &Bytes, length: Option<usize>) -> Result<(), Error> {
        let needed = self.read.len() + data.len();
        if needed > self.charged {
            let whole = length.map_or(needed, |length| PREFIX + length);
            let target = needed.max(whole.min(2 * needed));
            let more = self.budget.try_reserve(target - self.charged)?;
            match &mut self.charge {
                Some(charge) => charge.add(more),
                charge => *charge = Some(more),
            }
            self.charged = target;
            self.read.reserve(target - self.read.len());
        }
        self.read.extend_from_slice(data);
        Ok(())
    }
}

fn undecodable(problem: impl Into<String>) -> Error {
    Error::MessageUndecodable { problem: problem.into() }
}

/// One message of an answer, which is charged until its last byte has been sent.
#[derive(Debug)]
pub(crate) struct EncodedMessage {
    head: Bytes,
    /// The views of a step, which are sent as they lie.
    views: Bytes,
}

impl EncodedMessage {
    /// Encodes a message, out of what has been charged for it.
    ///
    /// # Errors
    /// The encoded message is longer than any client takes.
    pub(crate) fn new(mut charge: Charge, message: &impl Message) -> Result<Self, Error> {
        let bytes = message.encoded_len();
        charge.fit(PREFIX + bytes + FRAME_BYTES);
        let mut out = begin(bytes, 0)?;
        message.encode_raw(&mut out);
        Ok(Self { head: charge.hold(out.freeze()), views: Bytes::new() })
    }

    /// Encodes the rows of a step; on a stream with the request's tag.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn step(mut charge: Charge, mut columns: Step, tag: Option<u32>) -> Result<Self, Error> {
        let views = std::mem::take(&mut columns.view);
        let bytes = views.len();
        let step = columns.encoded_len() + 1 + length_delimiter_len(bytes) + bytes;
        let (key, tag) = tag.map_or((STEP, 0), |tag| (TAGGED_STEP, tag as usize));
        // As everywhere, a number that is zero is left out.
        let tag_bytes = if tag == 0 { 0 } else { 1 + length_delimiter_len(tag) };
        let message = tag_bytes + 1 + length_delimiter_len(step) + step;
        charge.fit(PREFIX + message + FRAME_BYTES);
        let apart = if bytes > COPIED { bytes } else { 0 };
        let mut out = begin(message, apart)?;
        if tag > 0 {
            put_key(&mut out, TAG, tag);
        }
        put_key(&mut out, key, step);
        columns.encode_raw(&mut out);
        put_key(&mut out, VIEW, bytes);
        if apart > 0 {
            return Ok(Self { head: out.freeze(), views: charge.hold(views) });
        }
        out.put(views);
        Ok(Self { head: charge.hold(out.freeze()), views: Bytes::new() })
    }
}

/// Begins a message of so many bytes, the last of which are sent apart.
fn begin(message: usize, apart: usize) -> Result<BytesMut, Error> {
    if message > MAX_MESSAGE_BYTES {
        return Err(Error::MessageTooLarge { bytes: message, limit: MAX_MESSAGE_BYTES });
    }
    let mut out = BytesMut::with_capacity(PREFIX + message - apart);
    out.put_u8(0);
    out.put_u32(u32::try_from(message).expect("it is less than 64 MiB"));
    Ok(out)
}

/// Writes a key and a number: a length, or a tag.
fn put_key(out: &mut BytesMut, key: u8, number: usize) {
    out.put_u8(key);
    encode_length_delimiter(number, out).expect("a buffer grows");
}

/// What a call is answered with.
pub(crate) enum Reply {
    /// One message, until it has been sent.
    One(Option<EncodedMessage>),
    /// As many as there will be.
    Many(Pin<Box<dyn Stream<Item = Result<EncodedMessage, Error>> + Send>>),
    /// Nothing further: the status has been sent.
    Over,
}

impl Reply {
    /// One message, out of what has been charged for it.
    ///
    /// # Errors
    /// As [`EncodedMessage::new`].
    pub(crate) fn message(charge: Charge, message: &impl Message) -> Result<Self, Error> {
        Ok(Self::One(Some(EncodedMessage::new(charge, message)?)))
    }

    /// A stream of answers.
    pub(crate) fn stream(
        answers: impl Stream<Item = Result<EncodedMessage, Error>> + Send + 'static,
    ) -> Self {
        Self::Many(Box::pin(answers))
    }

    /// The same; a stream ends with an error when the caller's token is revoked.
    pub(super) fn until(self, revoked: CancellationToken) -> Self {
        let Self::Many(answers) = self else { return self };
        let ended = {
            let revoked = revoked.clone();
            stream::once(async move { revoked.is_cancelled().then_some(Err(Error::CallerTokenWrong)) })
        };
        Self::stream(
            answers.take_until(revoked.cancelled_owned()).chain(ended.filter_map(std::future::ready)),
        )
    }
}

/// The body of a response: the answers, and last the status. One that panics ends with INTERNAL.
pub(crate) struct ResponseBody {
    reply: Reply,
    /// The views of the answer whose beginning has been sent.
    views: Bytes,
    budget: Arc<Budget>,
    /// Tells a server that stops to wait for the call, if it is to.
    _in_use: Option<TaskTrackerToken>,
    span: Span,
}

impl ResponseBody {
    /// The response to a call.
    pub(super) fn respond(
        reply: Result<Reply, Error>,
        budget: &Arc<Budget>,
        in_use: Option<TaskTrackerToken>,
        span: &Span,
    ) -> Response<Self> {
        let sent = |reply| Self {
            reply,
            views: Bytes::new(),
            budget: Arc::clone(budget),
            _in_use: in_use,
            span: span.clone(),
        };
        match reply {
            Ok(reply) => {
                let mut response = Response::new(sent(reply));
                response.headers_mut().insert(CONTENT_TYPE, GRPC_CONTENT_TYPE);
                response
            }
            Err(error) => {
                let is_compressed = matches!(error, Error::CompressionUnsupported { .. });
                let mut response = Response::new(sent(Reply::Over));
                let headers = response.headers_mut();
                *headers = status_headers(&status(&error), budget);
                headers.insert(CONTENT_TYPE, GRPC_CONTENT_TYPE);
                if is_compressed {
                    headers.insert("grpc-accept-encoding", HeaderValue::from_static("identity"));
                }
                response
            }
        }
    }

    /// Nothing but headers.
    pub(super) fn empty(budget: &Arc<Budget>, span: Span) -> Self {
        Self { reply: Reply::Over, views: Bytes::new(), budget: Arc::clone(budget), _in_use: None, span }
    }

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if !self.views.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.views))));
        }
        let answer = match &mut self.reply {
            Reply::One(answer) => answer.take().map(Ok),
            Reply::Many(answers) => ready!(answers.as_mut().poll_next(context)),
            Reply::Over => None,
        };
        Poll::Ready(answer.map(|answer| {
            answer.map(|EncodedMessage { head, views }| {
                self.views = views;
                head
            })
        }))
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if matches!(this.reply, Reply::Over) {
            return Poll::Ready(None);
        }
        let span = this.span.clone();
        let _entered = span.enter();
        // What panicked is not polled again.
        let data = catch_unwind(AssertUnwindSafe(|| this.poll_data(context)));
        let status = match ready!(data.unwrap_or_else(|panic| Poll::Ready(Some(Err(panicked(&*panic)))))) {
            Some(Ok(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
            Some(Err(error)) => status(&error),
            None => Status::ok(""),
        };
        this.reply = Reply::Over;
        Poll::Ready(Some(Ok(Frame::trailers(status_headers(&status, &this.budget)))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.reply, Reply::Over)
    }
}

/// The headers of a status. Those of a refusal are charged until they have been sent.
fn status_headers(status: &Status, budget: &Arc<Budget>) -> HeaderMap {
    tracing::debug!(code = ?status.code(), "answered");
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).expect("a status is a header");
    if let Some(details) = headers.get_mut(DETAILS) {
        let bytes = FRAME_BYTES + 2 * details.len();
        let held = budget.overdraw(bytes).hold(Bytes::copy_from_slice(details.as_bytes()));
        *details = HeaderValue::from_maybe_shared(held).expect("it was a header");
        // The table of HTTP/2's headers would keep it.
        details.set_sensitive(true);
    }
    headers
}

#[cfg(test)]
mod tests;

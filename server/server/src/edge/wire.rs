//! gRPC messages on the wire: reads requests and sends responses.
//!
//! A message has a prefix of five bytes: a compression flag and the length. This module replaces tonic's codec, which
//! allocates the length that a request announces, encodes into a buffer without a charge, and copies every view again.

use std::convert::Infallible;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use boardwire_api::v1::Step;
use boardwire_api::{Error, MAX_MESSAGE_BYTES};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _, stream};
use http_body::Frame;
use http_body_util::BodyDataStream;
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
use super::ledger::{ConnectionBudget, MemoryCharge, REQUEST_BYTES};
use crate::status::status;

/// The size in bytes of a message's prefix.
const PREFIX_BYTES: usize = 5;
/// The charge for a response in addition to its bytes, until it has been sent.
const FRAME_BYTES: usize = 256;
/// The minimum rate: a message that arrives at this rate does not time out.
const MIN_BYTES_PER_SECOND: usize = 64 << 10;
/// The header with the details of a status.
const STATUS_DETAILS_HEADER: &str = "grpc-status-details-bin";
/// Protobuf keys: `step` in responses to single calls, `tag` and `step` in `RunBatchResponse`, and `view` in `Step`.
const STEP_KEY: u8 = 1 << 3 | 2;
const TAG_KEY: u8 = 1 << 3;
const TAGGED_STEP_KEY: u8 = 2 << 3 | 2;
const VIEW_KEY: u8 = 15 << 3 | 2;
/// The maximum size in bytes of views that are copied into the message. Below it, a copy costs less than a second frame.
const MAX_COPIED_BYTES: usize = 64 << 10;

/// The request messages of a call, read on demand.
pub(crate) struct RequestStream {
    body: BodyDataStream<Body>,
    /// The maximum size in bytes of a message.
    limit: usize,
    budget: Arc<ConnectionBudget>,
    /// The timeout of a message from its first byte. For a single message, from the start of its call.
    timeout: Duration,
    /// When the timeout started, if it has.
    timeout_started: Option<Instant>,
    /// Bytes that have arrived and belong to no returned message.
    buffer: BytesMut,
    /// The charge for the message being read, or for the one returned last.
    charge: Option<MemoryCharge>,
    /// The bytes that this charge and the call's own charge cover.
    charged_bytes: usize,
}

impl RequestStream {
    pub(super) fn new(body: Body, limit: usize, timeout: Duration, budget: Arc<ConnectionBudget>) -> Self {
        let (body, buffer) = (BodyDataStream::new(body), BytesMut::new());
        let (timeout_started, charge, charged_bytes) = (None, None, REQUEST_BYTES);
        Self { body, limit, budget, timeout, timeout_started, buffer, charge, charged_bytes }
    }

    /// Returns the next message, or `None` at the end. Drops the charge for the previous message.
    ///
    /// # Errors
    /// The message is compressed, too long, too slow or malformed, or there is no memory for it.
    pub(crate) async fn next<M: Message + Default>(&mut self) -> Result<Option<M>, Error> {
        if self.charge.take().is_some() {
            // Frees the buffer of the large message, which no longer has a charge.
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        self.charged_bytes = REQUEST_BYTES;
        loop {
            if !self.buffer.is_empty() {
                self.timeout_started.get_or_insert_with(Instant::now);
            }
            let length = self.announced_length()?;
            if let Some(length) = length.filter(|length| self.buffer.len() >= PREFIX_BYTES + length) {
                self.timeout_started = None;
                self.buffer.advance(PREFIX_BYTES);
                return M::decode(self.buffer.split_to(length).freeze()).map(Some).map_err(undecodable);
            }
            match self.receive().await? {
                Some(data) => self.append(&data, length)?,
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(undecodable("the request ended in the middle of a message")),
            }
        }
    }

    /// Returns the only message of a call.
    ///
    /// # Errors
    /// As [`Self::next`]; or the call has no message.
    pub(crate) async fn one<M: Message + Default>(&mut self) -> Result<M, Error> {
        self.timeout_started = Some(Instant::now());
        self.next().await?.ok_or(Error::MessageMissing)
    }

    pub(crate) fn stream<M: Message + Default>(self) -> impl Stream<Item = Result<M, Error>> {
        stream::try_unfold(self, |mut requests| async move {
            Ok(requests.next().await?.map(|message| (message, requests)))
        })
    }

    /// Returns the next bytes of the body. The timeout grows with the bytes that have arrived.
    async fn receive(&mut self) -> Result<Option<Bytes>, Error> {
        let data = self.body.next();
        let data = match self.timeout_started {
            None => data.await,
            Some(started) => {
                let more =
                    Duration::from_micros((1_000_000 * self.buffer.len() / MIN_BYTES_PER_SECOND) as u64);
                let late = |_| Error::TimedOut;
                tokio::time::timeout_at(started + self.timeout + more, data).await.map_err(late)?
            }
        };
        data.transpose().map_err(undecodable)
    }

    /// Returns the length of the next message, once its prefix has arrived.
    fn announced_length(&self) -> Result<Option<usize>, Error> {
        let Some((&[compressed, ref length @ ..], _)) = self.buffer.split_first_chunk::<PREFIX_BYTES>()
        else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        match compressed {
            0 if length > self.limit => Err(Error::MessageTooLarge { bytes: length, limit: self.limit }),
            0 => Ok(Some(length)),
            _ => {
                Err(undecodable(format!("its compression flag is {compressed}; it must be 0 (uncompressed)")))
            }
        }
    }

    /// Charges and stores bytes. Allocates at most twice the bytes that have arrived, not the announced length.
    fn append(&mut self, data: &Bytes, length: Option<usize>) -> Result<(), Error> {
        let needed = self.buffer.len() + data.len();
        if needed > self.charged_bytes {
            let whole = length.map_or(needed, |length| PREFIX_BYTES + length);
            let target = needed.max(whole.min(2 * needed));
            let more = self.budget.try_reserve(target - self.charged_bytes)?;
            match &mut self.charge {
                Some(charge) => charge.add(more),
                charge => *charge = Some(more),
            }
            self.charged_bytes = target;
            self.buffer.reserve(target - self.buffer.len());
        }
        self.buffer.extend_from_slice(data);
        Ok(())
    }
}

fn undecodable(problem: impl Display) -> Error {
    Error::MessageUndecodable { problem: problem.to_string() }
}

/// An encoded response message, charged until its last byte has been sent.
#[derive(Debug)]
pub(crate) struct EncodedMessage {
    first_frame: Bytes,
    /// The views of a step, sent without a copy.
    views: Bytes,
}

impl EncodedMessage {
    /// Encodes a message. Resizes `charge` to the size of the encoded message.
    ///
    /// # Errors
    /// The encoded message is longer than clients accept.
    pub(crate) fn new(mut charge: MemoryCharge, message: &impl Message) -> Result<Self, Error> {
        let bytes = message.encoded_len();
        charge.resize(PREFIX_BYTES + bytes + FRAME_BYTES);
        let mut out = start_message(bytes, 0)?;
        message.encode_raw(&mut out);
        Ok(Self { first_frame: charge.attach_to(out.freeze()), views: Bytes::new() })
    }

    /// Encodes the rows of a step. On a stream, `tag` is the request's tag.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn step(mut charge: MemoryCharge, mut columns: Step, tag: Option<u32>) -> Result<Self, Error> {
        let views = std::mem::take(&mut columns.view);
        let step = columns.encoded_len() + 1 + length_delimiter_len(views.len()) + views.len();
        let (key, tag) = tag.map_or((STEP_KEY, 0), |tag| (TAGGED_STEP_KEY, tag as usize));
        // Protobuf omits a number that is zero.
        let tag_bytes = if tag == 0 { 0 } else { 1 + length_delimiter_len(tag) };
        let message = tag_bytes + 1 + length_delimiter_len(step) + step;
        charge.resize(PREFIX_BYTES + message + FRAME_BYTES);
        let is_copied = views.len() <= MAX_COPIED_BYTES;
        let mut out = start_message(message, if is_copied { 0 } else { views.len() })?;
        if tag > 0 {
            put_key(&mut out, TAG_KEY, tag);
        }
        put_key(&mut out, key, step);
        columns.encode_raw(&mut out);
        put_key(&mut out, VIEW_KEY, views.len());
        if !is_copied {
            return Ok(Self { first_frame: out.freeze(), views: charge.attach_to(views) });
        }
        out.put(views);
        Ok(Self { first_frame: charge.attach_to(out.freeze()), views: Bytes::new() })
    }
}

/// Returns a buffer that begins with the prefix of a message of `bytes` bytes. The last `views` bytes are sent separately.
fn start_message(bytes: usize, views: usize) -> Result<BytesMut, Error> {
    if bytes > MAX_MESSAGE_BYTES {
        return Err(Error::MessageTooLarge { bytes, limit: MAX_MESSAGE_BYTES });
    }
    let mut out = BytesMut::with_capacity(PREFIX_BYTES + bytes - views);
    out.put_u8(0);
    out.put_u32(u32::try_from(bytes).expect("the limit is 64 MiB"));
    Ok(out)
}

/// Writes a protobuf key, then a varint: the length of the field, or its value.
fn put_key(out: &mut BytesMut, key: u8, number: usize) {
    out.put_u8(key);
    encode_length_delimiter(number, out).expect("a buffer grows");
}

/// The response messages of a call.
pub(crate) enum Reply {
    /// One message, until it has been sent.
    Message(Option<EncodedMessage>),
    /// A stream of messages.
    Stream(Pin<Box<dyn Stream<Item = Result<EncodedMessage, Error>> + Send>>),
    /// The status has been sent.
    Done,
}

impl Reply {
    /// Creates a reply of one message. Resizes `charge` to the size of the encoded message.
    ///
    /// # Errors
    /// As [`EncodedMessage::new`].
    pub(crate) fn message(charge: MemoryCharge, message: &impl Message) -> Result<Self, Error> {
        Ok(Self::Message(Some(EncodedMessage::new(charge, message)?)))
    }

    pub(crate) fn stream(stream: impl Stream<Item = Result<EncodedMessage, Error>> + Send + 'static) -> Self {
        Self::Stream(Box::pin(stream))
    }

    /// Returns the same reply, except that a stream ends with an error when the caller's token is revoked.
    pub(super) fn until_revoked(self, revoked: CancellationToken) -> Self {
        let Self::Stream(messages) = self else { return self };
        let messages = messages.take_until(revoked.clone().cancelled_owned());
        let error = async move { revoked.is_cancelled().then_some(Err(Error::CallerTokenWrong)) };
        Self::stream(messages.chain(stream::once(error).filter_map(std::future::ready)))
    }
}

/// The body of a response: the messages, then the status. A stream that panics ends with INTERNAL.
pub(crate) struct ResponseBody {
    reply: Reply,
    /// The views of the message whose first frame has been sent.
    views: Bytes,
    budget: Arc<ConnectionBudget>,
    /// A stopping server waits for the call until this is dropped.
    _in_use: Option<TaskTrackerToken>,
    span: Span,
}

impl ResponseBody {
    pub(super) fn new(
        reply: Reply,
        budget: &Arc<ConnectionBudget>,
        in_use: Option<TaskTrackerToken>,
        span: &Span,
    ) -> Self {
        let (budget, span) = (Arc::clone(budget), span.clone());
        Self { reply, views: Bytes::new(), budget, _in_use: in_use, span }
    }

    pub(super) fn respond(
        reply: Result<Reply, Error>,
        budget: &Arc<ConnectionBudget>,
        in_use: Option<TaskTrackerToken>,
        span: &Span,
    ) -> Response<Self> {
        let (reply, mut headers) = match reply {
            Ok(reply) => (reply, HeaderMap::new()),
            Err(error) => {
                let mut headers = status_headers(&status(&error), budget);
                if matches!(error, Error::CompressionUnsupported { .. }) {
                    headers.insert("grpc-accept-encoding", HeaderValue::from_static("identity"));
                }
                (Reply::Done, headers)
            }
        };
        headers.insert(CONTENT_TYPE, GRPC_CONTENT_TYPE);
        let mut response = Response::new(Self::new(reply, budget, in_use, span));
        *response.headers_mut() = headers;
        response
    }

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if !self.views.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.views))));
        }
        let message = match &mut self.reply {
            Reply::Message(message) => message.take().map(Ok),
            Reply::Stream(messages) => ready!(messages.as_mut().poll_next(context)),
            Reply::Done => None,
        };
        let Some(EncodedMessage { first_frame, views }) = message.transpose()? else {
            return Poll::Ready(None);
        };
        self.views = views;
        Poll::Ready(Some(Ok(first_frame)))
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
        if matches!(this.reply, Reply::Done) {
            return Poll::Ready(None);
        }
        let span = this.span.clone();
        let _entered = span.enter();
        // Unwind-safe, since a reply that has panicked is not polled again.
        let data = catch_unwind(AssertUnwindSafe(|| this.poll_data(context)));
        let status = match ready!(data.unwrap_or_else(|panic| Poll::Ready(Some(Err(panicked(&*panic)))))) {
            Some(Ok(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
            Some(Err(error)) => status(&error),
            None => Status::ok(""),
        };
        this.reply = Reply::Done;
        Poll::Ready(Some(Ok(Frame::trailers(status_headers(&status, &this.budget)))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.reply, Reply::Done)
    }
}

/// Returns the headers of a status. The details of an error are charged until they have been sent.
fn status_headers(status: &Status, budget: &Arc<ConnectionBudget>) -> HeaderMap {
    tracing::debug!(code = ?status.code(), "status sent");
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).expect("a status is a header");
    if let Some(details) = headers.get_mut(STATUS_DETAILS_HEADER) {
        let bytes = FRAME_BYTES + 2 * details.len();
        let charged = budget.charge_unchecked(bytes).attach_to(Bytes::copy_from_slice(details.as_bytes()));
        *details = HeaderValue::from_maybe_shared(charged).expect("the same bytes were a header");
        // Keeps the details out of HTTP/2's table of headers, which would hold them longer.
        details.set_sensitive(true);
    }
    headers
}

#[cfg(test)]
mod tests;

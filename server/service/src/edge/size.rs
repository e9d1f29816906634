//! The size of messages, checked and counted before anything is decoded or a buffer made for it.
//!
//! tonic has one limit for all methods of a service. What a message needs in memory depends on the method:
//! four bytes of a name that is repeated become twenty-four, the bytes of a snapshot stay what they are.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tonic::Status;
use tonic::codegen::StdError;
use tonic::codegen::http::Request;

use super::caller::Caller;
use super::methods::{MAX_SMALL_MESSAGE_BYTES, Method};
use super::room::{Budget, Room, SMALL};
use crate::error::ServiceError;

/// What stands before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Limits the messages of a call to what its method takes.
pub(crate) fn limit<B>(request: Request<B>) -> Request<tonic::body::Body>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<StdError>,
{
    let limit =
        request.extensions().get::<Method>().map_or(MAX_SMALL_MESSAGE_BYTES, |method| method.message_bytes);
    let budget = request.extensions().get::<Caller>().map(|caller| caller.budget().clone());
    let sized = |body| Sized { body, limit, budget, room: None, prefix: [0; PREFIX], read: 0, left: 0 };
    request.map(|body| tonic::body::Body::new(sized(body)))
}

/// A request's body whose messages have at most so many bytes.
struct Sized<B> {
    body: B,
    limit: usize,
    budget: Option<Budget>,
    /// The room of a large message under way.
    room: Option<Room>,
    /// The prefix of the message to come, as far as it has been read.
    prefix: [u8; PREFIX],
    read: usize,
    /// What is left of the message under way.
    left: usize,
}

impl<B> Sized<B> {
    fn check(&mut self, mut bytes: &[u8]) -> Result<(), ServiceError> {
        while !bytes.is_empty() {
            let (of_message, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= of_message.len();
            if self.left == 0 {
                self.room = None;
            }
            let (of_prefix, rest) = rest.split_at(rest.len().min(PREFIX - self.read));
            self.prefix[self.read..self.read + of_prefix.len()].copy_from_slice(of_prefix);
            self.read += of_prefix.len();
            if self.read == PREFIX {
                let [_, length @ ..] = self.prefix;
                (self.left, self.read) = (u32::from_be_bytes(length) as usize, 0);
                if self.left > self.limit {
                    return Err(ServiceError::MessageTooLarge { bytes: self.left, limit: self.limit });
                }
                if let Some(budget) = self.budget.as_ref().filter(|_| self.left > SMALL) {
                    self.room = Some(budget.take(self.left)?);
                }
            }
            bytes = rest;
        }
        Ok(())
    }
}

impl<B> Body for Sized<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<StdError>,
{
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            let frame = frame.map_err(Into::into)?;
            if let Some(bytes) = frame.data_ref() {
                this.check(bytes).map_err(Status::from)?;
            }
            Ok(frame)
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: u32) -> Vec<u8> {
        let mut message = vec![0];
        message.extend(bytes.to_be_bytes());
        message.resize(PREFIX + bytes as usize, 7);
        message
    }

    /// Whether messages pass, in pieces of so many bytes.
    fn passes(messages: &[u8], piece: usize) -> bool {
        let mut sized =
            Sized { body: (), limit: 100, budget: None, room: None, prefix: [0; PREFIX], read: 0, left: 0 };
        messages.chunks(piece).all(|piece| sized.check(piece).is_ok())
    }

    #[test]
    fn every_message_is_measured_however_it_is_cut() {
        let good = [message(100), message(0), message(0), message(1), message(99)].concat();
        let bad = [message(100), message(0), message(101)].concat();
        for piece in 1..=good.len() {
            assert!(passes(&good, piece), "pieces of {piece}");
            assert!(!passes(&bad, piece), "pieces of {piece}");
        }
    }

    #[test]
    fn a_length_alone_is_refused() {
        assert!(!passes(&message(101)[..PREFIX], PREFIX));
        assert!(passes(&message(100)[..PREFIX], PREFIX));
    }
}

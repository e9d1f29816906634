//! Room for the bytes that the server holds for others: answers that nobody has read, messages that have not come
//! to their end.
//!
//! An answer of many bytes is only made once its connection has room for it: a client that does not read makes its
//! own calls wait. What all connections hold together is bounded, too; beyond that, large answers and messages
//! are refused. The room is given back with the last of the bytes.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Response;
use tonic::codegen::http::Extensions;

use crate::error::ServiceError;

/// Up to so many bytes are not counted among those that all connections hold.
pub(crate) const SMALL: usize = 64 << 10;

/// What a connection may hold, and all of them together.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    own: Share,
    all: Share,
}

#[derive(Debug, Clone)]
struct Share {
    bytes: usize,
    free: Arc<Semaphore>,
}

impl Share {
    fn new(bytes: usize) -> Self {
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        Self { bytes, free: Arc::new(Semaphore::new(bytes)) }
    }

    /// The permits for so many bytes. One message always fits an empty share, however large.
    fn permits(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.min(self.bytes)).unwrap_or(u32::MAX)
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ServiceError> {
        let taken = Arc::clone(&self.free).try_acquire_many_owned(self.permits(bytes));
        taken.map_err(|_| ServiceError::BytesFull { limit: self.bytes })
    }
}

/// Room that has been taken; given back when it is dropped.
#[derive(Debug)]
pub struct Room {
    _own: OwnedSemaphorePermit,
    _all: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// Connections that may hold `own` bytes each, and `all` together.
    pub(crate) fn new(own: usize, all: usize) -> Self {
        Self { own: Share::new(own), all: Share::new(all) }
    }

    /// The budget of another connection.
    pub(crate) fn another(&self) -> Self {
        Self { own: Share::new(self.own.bytes), all: self.all.clone() }
    }

    /// Waits until the connection has room for an answer of so many bytes.
    ///
    /// # Errors
    /// All connections together have none.
    pub(crate) async fn wait(&self, bytes: usize) -> Result<Room, ServiceError> {
        let own = Arc::clone(&self.own.free).acquire_many_owned(self.own.permits(bytes)).await;
        let own = own.expect("the budget of a connection is never closed");
        self.with_all(own, bytes)
    }

    /// Takes room for a message of so many bytes that is to come.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn take(&self, bytes: usize) -> Result<Room, ServiceError> {
        self.with_all(self.own.take(bytes)?, bytes)
    }

    fn with_all(&self, own: OwnedSemaphorePermit, bytes: usize) -> Result<Room, ServiceError> {
        let all = if bytes > SMALL { Some(self.all.take(bytes)?) } else { None };
        Ok(Room { _own: own, _all: all })
    }

    /// The bytes for which the connection has room.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.own.free.available_permits()
    }
}

/// Bytes that take room as long as anybody has a part of them.
struct Taking {
    bytes: Bytes,
    _room: Room,
}

impl AsRef<[u8]> for Taking {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    /// The same bytes, which give the room back with the last part of them.
    pub(crate) fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Taking { bytes, _room: self })
    }

    /// Lets the message of a response hold the room.
    pub(crate) fn keep<T>(self, response: &mut Response<T>) {
        response.extensions_mut().insert(Kept(Arc::new(Mutex::new(Some(self)))));
    }
}

/// The room of a response, on its way to the bytes of its message: taken out once.
#[derive(Clone)]
struct Kept(Arc<Mutex<Option<Room>>>);

/// The room that the message of a response is to hold.
pub(crate) fn kept(extensions: &mut Extensions) -> Option<Room> {
    extensions.remove::<Kept>()?.0.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_waits_until_its_connection_has_room() {
        let budget = Budget::new(100, 1_000);
        let first = budget.wait(60).await.expect("it is free").hold(Bytes::from_static(b"answer"));
        let part = first.slice(..2);
        let mut second = Box::pin(budget.wait(60));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        assert!(futures_util::poll!(&mut second).is_pending(), "a part of it has not been sent");
        drop(part);
        drop(second.await.expect("now there is room"));
        drop(budget.wait(1_000_000).await.expect("one answer always fits"));
        assert_eq!(budget.free(), 100);
    }

    #[test]
    fn what_all_connections_hold_is_bounded() {
        let one = Budget::new(10 * SMALL, 3 * SMALL);
        let two = one.another();
        let held = one.take(2 * SMALL).expect("it is free");
        let refused = two.take(2 * SMALL).expect_err("three are the limit");
        assert_eq!(refused, ServiceError::BytesFull { limit: 3 * SMALL });
        two.take(SMALL).expect("small messages do not count");
        drop(held);
        two.take(2 * SMALL).expect("there is room again");
    }
}

//! Requests that are made once, however often they are repeated.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_api::Error;
use tokio::sync::OnceCell;
use uuid::{Uuid, Variant};

use crate::origin::Origin;

/// What a caller names a request by, to be safe to repeat it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    /// The name.
    pub id: Uuid,
    /// The digest of everything that was asked.
    pub asked: [u8; 32],
    /// Who asked, as far as the operating system tells.
    pub origin: Origin,
}

impl RequestId {
    /// Reads the id of a request; none of an empty one.
    ///
    /// # Errors
    /// Anything else that is no random UUID: two callers may give the same fixed one.
    pub fn parse(text: &str) -> Result<Option<Uuid>, Error> {
        if text.is_empty() {
            return Ok(None);
        }
        let is_random =
            |id: &Uuid| matches!(id.get_version_num(), 4 | 7) && id.get_variant() == Variant::RFC4122;
        let id = Uuid::try_parse(text).ok().filter(is_random);
        let id = id.ok_or_else(|| {
            Error::field("request_id", text, "empty or a fresh random UUID of version 4 or 7")
        })?;
        Ok(Some(id))
    }
}

/// What requests have made that may be repeated.
pub(crate) struct RequestCache<T>(Mutex<HashMap<Uuid, Made<T>>>);

struct Made<T> {
    request: RequestId,
    cell: Arc<OnceCell<T>>,
}

impl<T> Default for RequestCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A request that is being made; one that comes to nothing is forgotten.
struct Making<'a, T> {
    requests: &'a RequestCache<T>,
    id: Uuid,
    cell: Arc<OnceCell<T>>,
}

impl<T> Drop for Making<'_, T> {
    fn drop(&mut self) {
        let mut all = self.requests.lock();
        // The map's and this one: nobody else is making it.
        if !self.cell.initialized() && Arc::strong_count(&self.cell) <= 2 {
            all.remove(&self.id);
        }
    }
}

impl<T: Clone> RequestCache<T> {
    /// Gives what the request made first; makes it if this is the first. Of several at once one makes it, and the
    /// others wait.
    ///
    /// # Errors
    /// A request with the same id that asked for something else, or was somebody else's; those of `make`.
    pub(crate) async fn once(
        &self,
        request: RequestId,
        make: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let id = request.id;
        let cell = {
            let mut all = self.lock();
            let known =
                all.entry(id).or_insert_with(|| Made { request: request.clone(), cell: Arc::default() });
            if known.request != request {
                return Err(Error::RequestIdReused { request_id: id.to_string() });
            }
            Arc::clone(&known.cell)
        };
        let making = Making { requests: self, id, cell };
        making.cell.get_or_try_init(|| make).await.cloned()
    }

    /// Forgets what a request has made.
    pub(crate) fn forget(&self, id: Uuid) {
        self.lock().remove(&id);
    }
}

impl<T> RequestCache<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Made<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn request(asked: u8, origin: Origin) -> RequestId {
        RequestId { id: Uuid::from_u128(7), asked: [asked; 32], origin }
    }

    #[test]
    fn ids_are_random_uuids_or_empty() {
        let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        let parsed = RequestId::parse(id).expect("it is a UUID").expect("it is not empty");
        assert_eq!(RequestId::parse(&id.replace('-', "")), Ok(Some(parsed)));
        assert_eq!(RequestId::parse(""), Ok(None));
        for wrong in ["a", "67e55044", &Uuid::nil().to_string(), &"a".repeat(1 << 20)] {
            assert!(matches!(RequestId::parse(wrong), Err(Error::FieldInvalid { .. })));
        }
    }

    #[tokio::test]
    async fn of_many_at_once_one_makes_it_and_all_are_given_it() {
        let (requests, count) = (RequestCache::default(), AtomicU32::new(0));
        let make = || async {
            tokio::task::yield_now().await;
            Ok(count.fetch_add(1, Ordering::Relaxed))
        };
        let once = || requests.once(request(1, Origin::Unknown), make());
        let given = tokio::join!(once(), once(), once(), once());
        assert_eq!(given, (Ok(0), Ok(0), Ok(0), Ok(0)));
        assert_eq!(count.into_inner(), 1);
    }

    #[tokio::test]
    async fn an_id_is_for_one_request_of_one_caller() {
        let requests = RequestCache::default();
        let first = requests.once(request(1, Origin::User(1)), async { Ok("first") }).await;
        assert_eq!(first, Ok("first"));
        for other in [request(2, Origin::User(1)), request(1, Origin::User(2))] {
            let refused = requests.once(other, async { Ok("second") }).await;
            assert_eq!(refused, Err(Error::RequestIdReused { request_id: Uuid::from_u128(7).to_string() }));
        }
        requests.forget(Uuid::from_u128(7));
        assert_eq!(requests.once(request(2, Origin::User(2)), async { Ok("second") }).await, Ok("second"));
    }

    #[tokio::test]
    async fn what_came_to_nothing_is_forgotten() {
        let requests = RequestCache::<u8>::default();
        let failed = requests.once(request(1, Origin::Unknown), async { Err(Error::ShuttingDown) }).await;
        assert_eq!(failed, Err(Error::ShuttingDown));
        assert!(requests.lock().is_empty());
        {
            let given_up = std::pin::pin!(requests.once(request(1, Origin::Unknown), std::future::pending()));
            assert!(futures_util::poll!(given_up).is_pending());
            assert_eq!(requests.lock().len(), 1);
        }
        assert!(requests.lock().is_empty(), "a caller that has gone leaves nothing");
    }
}

//! Idempotent requests: a caller may retry one, and the server executes it once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_api::Error;
use tokio::sync::OnceCell;
use uuid::{Uuid, Variant};

use crate::origin::Origin;

/// Identifies a request that the caller may retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    /// The id that the caller chose.
    pub id: Uuid,
    /// The digest of the whole request.
    pub digest: [u8; 32],
    /// The caller's origin if it identifies the caller, else [`Origin::Unknown`].
    pub origin: Origin,
}

impl RequestId {
    /// Reads the id of a request. Returns `None` for an empty text.
    ///
    /// # Errors
    /// The text is not a random UUID. Two callers could choose the same fixed UUID.
    pub fn parse(text: &str) -> Result<Option<Uuid>, Error> {
        if text.is_empty() {
            return Ok(None);
        }
        let is_random =
            |id: &Uuid| matches!(id.get_version_num(), 4 | 7) && id.get_variant() == Variant::RFC4122;
        let id = Uuid::try_parse(text).ok().filter(is_random);
        let expected = "empty or a fresh random UUID of version 4 or 7";
        id.map(Some).ok_or_else(|| Error::field("request_id", text, expected))
    }
}

/// The cached results of requests that callers may retry.
pub(crate) struct RequestCache<T>(Mutex<HashMap<Uuid, CachedRequest<T>>>);

struct CachedRequest<T> {
    request: RequestId,
    result: Arc<OnceCell<T>>,
}

impl<T> Default for RequestCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A call that executes a request or waits for it. The last one removes a request without a result from the cache.
struct Execution<'a, T: Clone> {
    cache: &'a RequestCache<T>,
    id: Uuid,
    result: Arc<OnceCell<T>>,
}

impl<T: Clone> Drop for Execution<'_, T> {
    fn drop(&mut self) {
        let mut entries = self.cache.lock();
        // The cache and this call hold two references. If there is no third, no other call executes this request or
        // waits for it.
        if !self.result.initialized() && Arc::strong_count(&self.result) <= 2 {
            entries.remove(&self.id);
        }
    }
}

impl<T: Clone> RequestCache<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, CachedRequest<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the result of a request from the cache.
    pub(crate) fn remove(&self, id: Uuid) {
        self.lock().remove(&id);
    }

    /// Returns the result of a request. The first call executes it with `execute`; concurrent calls wait for the result.
    ///
    /// # Errors
    /// The id belongs to another request or to another caller; the errors of `execute`.
    pub(crate) async fn get_or_execute(
        &self,
        request: RequestId,
        execute: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let id = request.id;
        let result = {
            let mut entries = self.lock();
            let entry = entries
                .entry(id)
                .or_insert_with(|| CachedRequest { request: request.clone(), result: Arc::default() });
            if entry.request != request {
                return Err(Error::RequestIdReused { request_id: id.to_string() });
            }
            Arc::clone(&entry.result)
        };
        let execution = Execution { cache: self, id, result };
        execution.result.get_or_try_init(|| execute).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn request(contents: u8, origin: Origin) -> RequestId {
        RequestId { id: Uuid::from_u128(7), digest: [contents; 32], origin }
    }

    #[test]
    fn ids_are_random_uuids_or_empty() {
        let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        let parsed = RequestId::parse(id).expect("the id is a UUID").expect("the id is not empty");
        assert_eq!(RequestId::parse(&id.replace('-', "")), Ok(Some(parsed)));
        assert_eq!(RequestId::parse(""), Ok(None));
        for wrong in ["a", "67e55044", &Uuid::nil().to_string(), &"a".repeat(1 << 20)] {
            assert!(matches!(RequestId::parse(wrong), Err(Error::FieldInvalid { .. })));
        }
    }

    #[tokio::test]
    async fn simultaneous_calls_share_one_execution() {
        let (requests, count) = (RequestCache::default(), AtomicU32::new(0));
        let execute = || async {
            tokio::task::yield_now().await;
            Ok(count.fetch_add(1, Ordering::Relaxed))
        };
        let get_or_execute = || requests.get_or_execute(request(1, Origin::Unknown), execute());
        let results = tokio::join!(get_or_execute(), get_or_execute(), get_or_execute(), get_or_execute());
        assert_eq!(results, (Ok(0), Ok(0), Ok(0), Ok(0)));
        assert_eq!(count.into_inner(), 1);
    }

    #[tokio::test]
    async fn an_id_is_for_one_request_of_one_caller() {
        let requests = RequestCache::default();
        let first = requests.get_or_execute(request(1, Origin::User(1)), async { Ok("first") }).await;
        assert_eq!(first, Ok("first"));
        for other in [request(2, Origin::User(1)), request(1, Origin::User(2))] {
            let refused = requests.get_or_execute(other, async { Ok("second") }).await;
            assert_eq!(refused, Err(Error::RequestIdReused { request_id: Uuid::from_u128(7).to_string() }));
        }
        requests.remove(Uuid::from_u128(7));
        assert_eq!(
            requests.get_or_execute(request(2, Origin::User(2)), async { Ok("second") }).await,
            Ok("second")
        );
    }

    #[tokio::test]
    async fn a_request_without_a_result_is_removed() {
        let requests = RequestCache::<u8>::default();
        let failed =
            requests.get_or_execute(request(1, Origin::Unknown), async { Err(Error::ShuttingDown) }).await;
        assert_eq!(failed, Err(Error::ShuttingDown));
        assert!(requests.lock().is_empty());
        {
            let canceled =
                std::pin::pin!(requests.get_or_execute(request(1, Origin::Unknown), std::future::pending()));
            assert!(futures_util::poll!(canceled).is_pending());
            assert_eq!(requests.lock().len(), 1);
        }
        assert!(requests.lock().is_empty(), "a canceled call leaves nothing");
    }
}

//! What is leased: batches and searches.

use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch::Batch;
use boardwire_batch::search::Search;

use super::Peer;
use crate::quota::Share;
use uuid::Uuid;

/// A batch or a search.
pub trait Leased: Any + Send + Sync {
    /// Its id.
    fn id(&self) -> &str;
    /// Ends what is being done with it, for this reason.
    fn end(&self, why: Error);
    /// The error for an id that no batch or search has.
    fn unknown(id: &str) -> Error
    where
        Self: Sized;
    /// The error for a caller with another token.
    fn owner_only(id: &str) -> Error
    where
        Self: Sized;
    /// The error for calls after its end.
    fn gone(&self) -> Error;
}

impl Leased for Batch {
    fn id(&self) -> &str {
        self.id()
    }

    fn end(&self, why: Error) {
        tracing::info!(batch_id = self.id(), "batch closed");
        self.end(why);
    }

    fn unknown(id: &str) -> Error {
        Error::BatchUnknown { batch_id: id.to_owned() }
    }

    fn owner_only(id: &str) -> Error {
        Error::BatchOwnerOnly { batch_id: id.to_owned() }
    }

    fn gone(&self) -> Error {
        <Self as Leased>::unknown(self.id())
    }
}

impl Leased for Search {
    fn id(&self) -> &str {
        self.id()
    }

    fn end(&self, why: Error) {
        tracing::debug!(search_id = self.id(), "search closed");
        self.end(why);
    }

    fn unknown(id: &str) -> Error {
        Error::SearchUnknown { search_id: id.to_owned() }
    }

    fn owner_only(id: &str) -> Error {
        Error::SearchOwnerOnly { search_id: id.to_owned() }
    }

    fn gone(&self) -> Error {
        <Self as Leased>::unknown(self.id())
    }
}

/// A batch or search of one owner.
pub(super) struct Lease {
    pub(super) leased: Arc<dyn Leased>,
    pub(super) token: String,
    /// The connection it ends with.
    pub(super) peer: Option<Peer>,
    /// The id of the request that it was opened by.
    pub(super) request: Option<Uuid>,
    pub(super) used: Used,
    pub(super) _shares: [Share; 2],
}

/// When the last call ended that used something leased. Each call under way shares it with the lease.
pub(super) type Used = Arc<Mutex<Instant>>;

impl Lease {
    /// For how long no call has been under way at `now`; none while one is.
    pub(super) fn idle(&self, now: Instant) -> Option<Duration> {
        // A call that ends notes the time before it drops its share.
        let idle = Arc::strong_count(&self.used) == 1;
        idle.then(|| now.saturating_duration_since(*self.used.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Something leased, for as long as a call uses it: it is not idle until this is dropped.
pub struct InUse<K> {
    pub(super) leased: Arc<K>,
    pub(super) used: Used,
}

impl<K> Deref for InUse<K> {
    type Target = Arc<K>;

    fn deref(&self) -> &Arc<K> {
        &self.leased
    }
}

impl<K> Drop for InUse<K> {
    fn drop(&mut self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

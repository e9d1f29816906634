//! Leases of batches and searches.

use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch::Batch;
use boardwire_batch::search::Search;
use uuid::Uuid;

use super::ConnectionId;
use crate::quota::QuotaGuard;

/// A batch or a search that a caller leases.
pub trait LeasedResource: Any + Send + Sync {
    /// Returns its id.
    fn id(&self) -> &str;
    /// Ends the running calls with an error: of a stopping server, or of an unknown id.
    fn end_calls(&self, is_stopping: bool);
    /// Returns the error for an unknown id.
    fn unknown(id: &str) -> Error
    where
        Self: Sized;
    /// Returns the error for a token that is not the owner's.
    fn owner_only(id: &str) -> Error
    where
        Self: Sized;
}

impl LeasedResource for Batch {
    fn id(&self) -> &str {
        self.id()
    }

    fn end_calls(&self, is_stopping: bool) {
        tracing::info!(batch_id = self.id(), "batch closed");
        self.end(if is_stopping { Error::ShuttingDown } else { Self::unknown(self.id()) });
    }

    fn unknown(id: &str) -> Error {
        Error::BatchUnknown { batch_id: id.to_owned() }
    }

    fn owner_only(id: &str) -> Error {
        Error::BatchOwnerOnly { batch_id: id.to_owned() }
    }
}

impl LeasedResource for Search {
    fn id(&self) -> &str {
        self.id()
    }

    fn end_calls(&self, is_stopping: bool) {
        tracing::debug!(search_id = self.id(), "search closed");
        self.end(if is_stopping { Error::ShuttingDown } else { Self::unknown(self.id()) });
    }

    fn unknown(id: &str) -> Error {
        Error::SearchUnknown { search_id: id.to_owned() }
    }

    fn owner_only(id: &str) -> Error {
        Error::SearchOwnerOnly { search_id: id.to_owned() }
    }
}

/// The lease of one owner on a batch or search.
pub(super) struct Lease {
    pub(super) leased: Arc<dyn LeasedResource>,
    pub(super) token: String,
    /// The connection whose end also ends the lease.
    pub(super) connection: Option<ConnectionId>,
    /// The id of the request that opened it.
    pub(super) request: Option<Uuid>,
    pub(super) last_used: LastUsed,
    pub(super) _quota_guards: [QuotaGuard; 2],
}

/// When the last call on the lease ended. Each running call shares it with the lease.
pub(super) type LastUsed = Arc<Mutex<Instant>>;

impl Lease {
    /// Returns how long no call has run before `now`; `None` while a call runs.
    pub(super) fn idle(&self, now: Instant) -> Option<Duration> {
        // A call that ends writes the time before it drops its reference.
        let is_idle = Arc::strong_count(&self.last_used) == 1;
        is_idle.then(|| {
            now.saturating_duration_since(*self.last_used.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

/// A batch or search that a call uses. The lease is not idle until this is dropped.
pub struct LeaseGuard<K> {
    pub(super) leased: Arc<K>,
    pub(super) last_used: LastUsed,
}

impl<K> Deref for LeaseGuard<K> {
    type Target = Arc<K>;

    fn deref(&self) -> &Arc<K> {
        &self.leased
    }
}

impl<K> Drop for LeaseGuard<K> {
    fn drop(&mut self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

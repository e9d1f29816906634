//! Quotas: limits on open matches, batches or environments, for the whole server and per origin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_api::Error;

use crate::origin::Origin;

/// A limit on the number of matches, batches or environments.
pub(crate) struct Quota {
    resource: &'static str,
    limit: usize,
    usage: Mutex<QuotaUsage>,
}

#[derive(Default)]
struct QuotaUsage {
    total: usize,
    by_origin: HashMap<Origin, usize>,
}

/// The part of a quota that a match or batch uses. Dropping it releases the part.
pub(crate) struct QuotaGuard {
    quota: Arc<Quota>,
    origin: Origin,
    count: usize,
}

impl Quota {
    /// Creates a quota of at most `limit` of a resource. Errors contain the name of the resource.
    pub(crate) fn new(resource: &'static str, limit: usize) -> Arc<Self> {
        Arc::new(Self { resource, limit, usage: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, QuotaUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number in use.
    pub(crate) fn used(&self) -> usize {
        self.lock().total
    }

    /// Acquires `count` for a caller from `origin`. All callers from this origin together may use `origin_limit`.
    ///
    /// # Errors
    /// The origin would exceed `origin_limit`. Or all origins would exceed the quota's limit; then `full(limit, used)` makes the
    /// error.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        origin: Origin,
        count: usize,
        origin_limit: usize,
        full: impl FnOnce(usize, usize) -> Error,
    ) -> Result<QuotaGuard, Error> {
        let mut usage = self.lock();
        if count > self.limit.saturating_sub(usage.total) {
            return Err(full(self.limit, usage.total));
        }
        let of_origin = usage.by_origin.get(&origin).copied().unwrap_or_default();
        if count > origin_limit.saturating_sub(of_origin) {
            return Err(Error::CallerFull { what: self.resource, limit: origin_limit });
        }
        Ok(self.add(&mut usage, origin, count))
    }

    /// Acquires one without checking a limit, for a match that exists already.
    pub(crate) fn acquire_unchecked(self: &Arc<Self>, origin: Origin) -> QuotaGuard {
        self.add(&mut self.lock(), origin, 1)
    }

    fn add(self: &Arc<Self>, usage: &mut QuotaUsage, origin: Origin, count: usize) -> QuotaGuard {
        usage.total += count;
        *usage.by_origin.entry(origin).or_default() += count;
        QuotaGuard { quota: Arc::clone(self), origin, count }
    }
}

impl Drop for QuotaGuard {
    fn drop(&mut self) {
        let mut usage = self.quota.lock();
        usage.total -= self.count;
        if let Some(of_origin) = usage.by_origin.get_mut(&self.origin) {
            *of_origin -= self.count;
            if *of_origin == 0 {
                usage.by_origin.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_limited_in_all_and_by_origin_and_released() {
        let quota = Quota::new("matches", 5);
        let acquire = |user, count| {
            quota.acquire(Origin::User(user), count, 3, |limit, _| Error::MatchesFull { limit })
        };
        let first = acquire(1, 3).expect("the quota has room");
        assert_eq!(acquire(1, 1).err(), Some(Error::CallerFull { what: "matches", limit: 3 }));
        let other = acquire(2, 2).expect("the quota has room");
        assert_eq!(acquire(3, 1).err(), Some(Error::MatchesFull { limit: 5 }));
        let over = quota.acquire_unchecked(Origin::Unknown);
        drop((first, over));
        assert_eq!(quota.used(), 2);
        drop((acquire(1, 3).expect("the quota has room again"), other));
        assert!(quota.used() == 0 && quota.lock().by_origin.is_empty());
    }
}

//! Quotas: limits on open matches, batches or environments, for the whole server and per origin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_api::Error;

use crate::origin::Origin;

/// A limit on the number of matches, batches or environments.
pub(crate) struct Quota {
    what: &'static str,
    limit: usize,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    all: usize,
    by_origin: HashMap<Origin, usize>,
}

/// The part of a quota that a match or batch uses. Dropping it returns the part.
pub(crate) struct Share {
    quota: Arc<Quota>,
    origin: Origin,
    count: usize,
}

impl Quota {
    /// Creates a quota of at most `limit` of `what`. Errors contain `what`.
    pub(crate) fn new(what: &'static str, limit: usize) -> Arc<Self> {
        Arc::new(Self { what, limit, usage: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number in use.
    pub(crate) fn taken(&self) -> usize {
        self.lock().all
    }

    /// Takes `count` for a caller from `origin`. All callers from this origin together may use `own_limit`.
    ///
    /// # Errors
    /// The origin would exceed `own_limit`. Or all origins would exceed the quota's limit: `full(limit, used)` is the error.
    pub(crate) fn take(
        self: &Arc<Self>,
        origin: Origin,
        count: usize,
        own_limit: usize,
        full: impl FnOnce(usize, usize) -> Error,
    ) -> Result<Share, Error> {
        let mut usage = self.lock();
        if count > self.limit.saturating_sub(usage.all) {
            return Err(full(self.limit, usage.all));
        }
        let of_origin = usage.by_origin.get(&origin).copied().unwrap_or_default();
        if count > own_limit.saturating_sub(of_origin) {
            return Err(Error::CallerFull { what: self.what, limit: own_limit });
        }
        Ok(self.add(&mut usage, origin, count))
    }

    /// Takes one without checking a limit, for a match that exists already.
    pub(crate) fn overdraw(self: &Arc<Self>, origin: Origin) -> Share {
        self.add(&mut self.lock(), origin, 1)
    }

    fn add(self: &Arc<Self>, usage: &mut Usage, origin: Origin, count: usize) -> Share {
        usage.all += count;
        *usage.by_origin.entry(origin).or_default() += count;
        Share { quota: Arc::clone(self), origin, count }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut usage = self.quota.lock();
        usage.all -= self.count;
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
    fn shares_are_limited_in_all_and_by_origin_and_given_back() {
        let quota = Quota::new("matches", 5);
        let take =
            |user, count| quota.take(Origin::User(user), count, 3, |limit, _| Error::MatchesFull { limit });
        let first = take(1, 3).expect("it fits");
        assert_eq!(take(1, 1).err(), Some(Error::CallerFull { what: "matches", limit: 3 }));
        let other = take(2, 2).expect("it fits");
        assert_eq!(take(3, 1).err(), Some(Error::MatchesFull { limit: 5 }));
        let over = quota.overdraw(Origin::Unknown);
        drop((first, over));
        assert_eq!(quota.taken(), 2);
        drop((take(1, 3).expect("it fits again"), other));
        assert!(quota.taken() == 0 && quota.lock().by_origin.is_empty());
    }
}

//! How much callers have of something that is limited: in all, and by where they come from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_api::Error;

use crate::origin::Origin;

/// A number of matches, batches or environments that may be open at once.
pub(crate) struct Quota {
    what: &'static str,
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_origin: HashMap<Origin, usize>,
}

/// What a match or batch takes of a quota, given back when it is dropped.
pub(crate) struct Share {
    quota: Arc<Quota>,
    origin: Origin,
    count: usize,
}

impl Quota {
    /// At most `limit` of `what`, as callers are told.
    pub(crate) fn new(what: &'static str, limit: usize) -> Arc<Self> {
        Arc::new(Self { what, limit, taken: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.lock().all
    }

    /// Takes `count` for a caller of `origin`, of whose callers all may have `own_limit`.
    ///
    /// # Errors
    /// Callers of this origin would have too many; or all callers, for which `full` makes the error from the limit and the number taken.
    pub(crate) fn take(
        self: &Arc<Self>,
        origin: Origin,
        count: usize,
        own_limit: usize,
        full: impl FnOnce(usize, usize) -> Error,
    ) -> Result<Share, Error> {
        let mut taken = self.lock();
        if count > self.limit.saturating_sub(taken.all) {
            return Err(full(self.limit, taken.all));
        }
        let own = taken.by_origin.get(&origin).copied().unwrap_or_default();
        if count > own_limit.saturating_sub(own) {
            return Err(Error::CallerFull { what: self.what, limit: own_limit });
        }
        Ok(self.add(&mut taken, origin, count))
    }

    /// Takes one whatever the limits: it is there already.
    pub(crate) fn overdraw(self: &Arc<Self>, origin: Origin) -> Share {
        self.add(&mut self.lock(), origin, 1)
    }

    fn add(self: &Arc<Self>, taken: &mut Taken, origin: Origin, count: usize) -> Share {
        taken.all += count;
        *taken.by_origin.entry(origin).or_default() += count;
        Share { quota: Arc::clone(self), origin, count }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.quota.lock();
        taken.all -= self.count;
        if let Some(own) = taken.by_origin.get_mut(&self.origin) {
            *own -= self.count;
            if *own == 0 {
                taken.by_origin.remove(&self.origin);
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

//! How many connections there may be, in all and from one origin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::accept::Throttle;
use super::caller::Origin;

/// The connections there are.
#[derive(Debug)]
pub(crate) struct Connections {
    limit: usize,
    limit_per_caller: usize,
    open: Mutex<Open>,
    refused: Throttle,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_origin: HashMap<Origin, usize>,
}

/// A connection's place among those that may be open, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    origin: Origin,
}

impl Connections {
    pub(crate) fn new(limit: usize, limit_per_caller: usize) -> Self {
        Self { limit, limit_per_caller, open: Mutex::default(), refused: Throttle::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().all
    }

    /// A place for a connection from `origin`, if there is one left.
    pub(crate) fn admit(self: &Arc<Self>, origin: Origin) -> Option<Place> {
        let mut open = self.lock();
        let of_origin = open.by_origin.get(&origin).copied().unwrap_or_default();
        if open.all < self.limit && of_origin < self.limit_per_caller {
            open.all += 1;
            open.by_origin.insert(origin, of_origin + 1);
            return Some(Place { connections: Arc::clone(self), origin });
        }
        let all = open.all;
        drop(open);
        if let Some(refused) = self.refused.pass(Instant::now()) {
            tracing::warn!(refused, all, of_origin, %origin, "too many connections");
        }
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.all -= 1;
        if let Some(of_origin) = open.by_origin.get_mut(&self.origin) {
            *of_origin -= 1;
            if *of_origin == 0 {
                open.by_origin.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_in_all_and_by_origin_and_given_back() {
        let connections = Arc::new(Connections::new(3, 2));
        let places: Vec<_> = (0..2).map(|_| connections.admit(Origin::User(1)).expect("free")).collect();
        assert!(connections.admit(Origin::User(1)).is_none(), "two from one origin");
        let other = connections.admit(Origin::User(2)).expect("free");
        assert!(connections.admit(Origin::User(3)).is_none(), "three in all");
        drop(other);
        let other = connections.admit(Origin::User(3)).expect("free again");
        drop(places);
        drop(other);
        let open = connections.lock();
        assert_eq!((open.all, open.by_origin.len()), (0, 0));
    }
}

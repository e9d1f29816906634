//! The open connections, and their limits.
//!
//! A quarter of the slots is reserved for known origins: local users on a Unix socket, and accounts, once a connection has
//! carried a call of one. Unknown hosts share the remaining slots. If all are taken, a new connection replaces the oldest
//! one of the host that has the most, unless its own host has about as many.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::accept::WarningThrottle;
use crate::origin::Origin;

#[derive(Debug)]
pub(crate) struct Connections {
    limit: usize,
    limit_per_caller: usize,
    open: Mutex<OpenConnections>,
    refused: WarningThrottle,
}

#[derive(Debug, Default)]
struct OpenConnections {
    last_number: u64,
    /// The number of connections of unknown origin.
    from_unknown_origins: usize,
    /// The connections of each origin by number (oldest first), each with the signal to close it.
    by_origin: HashMap<Origin, BTreeMap<u64, Arc<Notify>>>,
    total: usize,
}

/// The slot of one connection. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    /// The origin that the slot counts for.
    origin: Mutex<Origin>,
    is_known: AtomicBool,
    closing: Arc<Notify>,
}

impl OpenConnections {
    fn count_of(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, BTreeMap::len)
    }

    fn insert(&mut self, origin: Origin, number: u64, closing: Arc<Notify>) {
        self.by_origin.entry(origin).or_default().insert(number, closing);
        self.total += 1;
        self.from_unknown_origins += usize::from(!origin.is_local_or_account());
    }

    fn remove(&mut self, origin: Origin, number: u64) -> Option<Arc<Notify>> {
        let of_origin = self.by_origin.get_mut(&origin)?;
        let closing = of_origin.remove(&number)?;
        if of_origin.is_empty() {
            self.by_origin.remove(&origin);
        }
        self.total -= 1;
        self.from_unknown_origins -= usize::from(!origin.is_local_or_account());
        Some(closing)
    }

    /// Closes the oldest connection of the unknown origin that has the most connections. Does nothing unless that origin has
    /// at least two more than the caller, which has `caller_connections`.
    fn evict_oldest_of_busiest_host(&mut self, caller_connections: usize) {
        let unknown = self.by_origin.iter().filter(|(origin, _)| !origin.is_local_or_account());
        let Some((&origin, of_largest)) = unknown.max_by_key(|(_, of_origin)| of_origin.len()) else {
            return;
        };
        if of_largest.len() > caller_connections + 1
            && let Some((&oldest, _)) = of_largest.first_key_value()
            && let Some(closing) = self.remove(origin, oldest)
        {
            closing.notify_one();
        }
    }
}

impl Connections {
    pub(crate) fn new(limit: usize, limit_per_caller: usize) -> Self {
        Self { limit, limit_per_caller, open: Mutex::default(), refused: WarningThrottle::default() }
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().total
    }

    /// Returns a slot for a connection from `origin`, if one is free.
    pub(crate) fn admit(self: &Arc<Self>, origin: Origin) -> Option<ConnectionSlot> {
        let mut open = self.lock();
        let (origin_connections, is_known) = (open.count_of(origin), origin.is_local_or_account());
        let is_full = |open: &OpenConnections| {
            open.total >= self.limit
                || (!is_known && open.from_unknown_origins >= Origin::max_share(self.limit))
        };
        if origin_connections < self.limit_per_caller && is_full(&open) {
            open.evict_oldest_of_busiest_host(origin_connections);
        }
        if origin_connections >= self.limit_per_caller || is_full(&open) {
            let total = open.total;
            drop(open);
            if let Some(refused) = self.refused.count(Instant::now()) {
                tracing::warn!(refused, total, of_origin = origin_connections, %origin, "too many connections");
            }
            return None;
        }
        open.last_number += 1;
        let (number, closing) = (open.last_number, Arc::new(Notify::new()));
        open.insert(origin, number, Arc::clone(&closing));
        let (connections, origin) = (Arc::clone(self), Mutex::new(origin));
        Some(ConnectionSlot { connections, number, origin, is_known: AtomicBool::new(is_known), closing })
    }
}

impl ConnectionSlot {
    /// Counts the slot for an account that has called on it, unless the account has reached its limit. Only the first
    /// account counts.
    pub(crate) fn count_for_account(&self, account: Origin) {
        if self.is_known.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut open = self.connections.lock();
        let mut origin = self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        if open.count_of(account) < self.connections.limit_per_caller
            && let Some(closing) = open.remove(*origin, self.number)
        {
            open.insert(account, self.number, closing);
            *origin = account;
        }
    }

    pub(crate) fn close(&self) {
        self.closing.notify_one();
    }

    /// Resolves when the connection must be closed.
    pub(crate) async fn closed(&self) {
        self.closing.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let origin = *self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        self.connections.lock().remove(origin, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures_util::FutureExt as _;

    use super::*;

    fn host(number: u32) -> Origin {
        Origin::host(Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn slots_are_limited_in_all_and_by_origin_and_freed() {
        let connections = Arc::new(Connections::new(4, 2));
        let slots: Vec<_> =
            (0..2).map(|_| connections.admit(Origin::User(1)).expect("a slot is free")).collect();
        assert!(connections.admit(Origin::User(1)).is_none(), "two from one origin");
        let of_second: Vec<_> =
            (0..2).map(|_| connections.admit(Origin::User(2)).expect("a slot is free")).collect();
        assert!(connections.admit(Origin::User(3)).is_none(), "four in all");
        drop(of_second);
        let third = connections.admit(Origin::User(3)).expect("a slot is free again");
        drop((slots, third));
        let open = connections.lock();
        assert_eq!((open.total, open.from_unknown_origins, open.by_origin.len()), (0, 0, 0));
    }

    #[test]
    fn unknown_hosts_share_three_quarters_of_the_slots() {
        let connections = Arc::new(Connections::new(8, 8));
        let slots_of_host_1: Vec<_> =
            (0..6).map(|_| connections.admit(host(1)).expect("a slot is free")).collect();
        assert!(connections.admit(host(1)).is_none(), "six are for unknown hosts");
        let user = connections.admit(Origin::User(1)).expect("a quarter is reserved");
        let other = connections.admit(host(2)).expect("host 2 has fewer connections");
        assert!(
            slots_of_host_1[0].closed().now_or_never().is_some()
                && slots_of_host_1[1].closed().now_or_never().is_none()
        );
        let again: Vec<_> = (0..4).filter_map(|_| connections.admit(host(2))).collect();
        assert_eq!((again.len(), connections.lock().count_of(host(1))), (2, 3), "half of the slots each");
        drop((slots_of_host_1, user, other, again));
        assert_eq!(connections.len(), 0);
    }

    #[test]
    fn the_slot_of_an_authenticated_call_counts_for_its_account() {
        let connections = Arc::new(Connections::new(4, 2));
        let mut slots = vec![];
        for number in 0..3 {
            let slot = connections.admit(host(number)).expect("a slot is free");
            // A user stands for the account here: the test needs only a known origin.
            slot.count_for_account(Origin::User(1));
            slot.count_for_account(Origin::User(1));
            slots.push(slot);
        }
        let open = connections.lock();
        assert_eq!(
            (open.total, open.from_unknown_origins, open.count_of(Origin::User(1))),
            (3, 1, 2),
            "two are the limit"
        );
        drop(open);
        drop(slots);
        assert_eq!(connections.len(), 0);
    }
}

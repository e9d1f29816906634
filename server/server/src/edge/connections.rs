//! Who may be connected.
//!
//! A quarter of the places is for callers that are known: users of this machine on a Unix socket, and accounts, once a
//! connection has carried a call of one. Strangers share the others between the hosts that they come from: where all are taken,
//! a connection from a host that has fewer takes the place of the oldest of the host that has the most.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::accept::Throttle;
use crate::origin::Origin;

/// The connections there are.
#[derive(Debug)]
pub(crate) struct Connections {
    limit: usize,
    limit_per_caller: usize,
    open: Mutex<OpenConnections>,
    refused: Throttle,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// How many there have been.
    number: u64,
    /// How many strangers there are.
    strangers: usize,
    /// All, by their number: in the order in which they came.
    by_origin: HashMap<Origin, BTreeMap<u64, Arc<Notify>>>,
    all: usize,
}

/// A connection's place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    /// Whose place it is.
    origin: Mutex<Origin>,
    is_known: AtomicBool,
    closing: Arc<Notify>,
}

impl OpenConnections {
    fn of(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, BTreeMap::len)
    }

    fn enter(&mut self, origin: Origin, number: u64, closing: Arc<Notify>) {
        self.by_origin.entry(origin).or_default().insert(number, closing);
        self.all += 1;
        self.strangers += usize::from(!origin.is_known());
    }

    fn leave(&mut self, origin: Origin, number: u64) -> Option<Arc<Notify>> {
        let of_origin = self.by_origin.get_mut(&origin)?;
        let closing = of_origin.remove(&number)?;
        if of_origin.is_empty() {
            self.by_origin.remove(&origin);
        }
        self.all -= 1;
        self.strangers -= usize::from(!origin.is_known());
        Some(closing)
    }

    /// Closes the oldest connection of the strangers that have the most, if that is more than one more than `own`.
    fn make_room(&mut self, own: usize) {
        let strangers = self.by_origin.iter().filter(|(origin, _)| !origin.is_known());
        let most = strangers.max_by_key(|(_, of_origin)| of_origin.len());
        let Some((&origin, of_origin)) = most.filter(|(_, of_origin)| of_origin.len() > own + 1) else {
            return;
        };
        let Some((&oldest, _)) = of_origin.first_key_value() else { return };
        if let Some(closing) = self.leave(origin, oldest) {
            closing.notify_one();
        }
    }
}

impl Connections {
    pub(crate) fn new(limit: usize, limit_per_caller: usize) -> Self {
        Self { limit, limit_per_caller, open: Mutex::default(), refused: Throttle::default() }
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().all
    }

    /// A place for a connection from `origin`, if there is one.
    pub(crate) fn admit(self: &Arc<Self>, origin: Origin) -> Option<ConnectionSlot> {
        let mut open = self.lock();
        let (own, is_known) = (open.of(origin), origin.is_known());
        let is_full = |open: &OpenConnections| {
            open.all >= self.limit || (!is_known && open.strangers >= Origin::share(self.limit))
        };
        if own < self.limit_per_caller && is_full(&open) {
            open.make_room(own);
        }
        if own >= self.limit_per_caller || is_full(&open) {
            let all = open.all;
            drop(open);
            if let Some(refused) = self.refused.pass(Instant::now()) {
                tracing::warn!(refused, all, of_origin = own, %origin, "too many connections");
            }
            return None;
        }
        open.number += 1;
        let (number, closing) = (open.number, Arc::new(Notify::new()));
        open.enter(origin, number, Arc::clone(&closing));
        let (connections, origin) = (Arc::clone(self), Mutex::new(origin));
        Some(ConnectionSlot { connections, number, origin, is_known: AtomicBool::new(is_known), closing })
    }
}

impl ConnectionSlot {
    /// An account has called on this connection: it is a stranger's no more, unless the account has as many as it may.
    pub(crate) fn prove(&self, account: Origin) {
        if self.is_known.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut open = self.connections.lock();
        let mut origin = self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        if open.of(account) < self.connections.limit_per_caller
            && let Some(closing) = open.leave(*origin, self.number)
        {
            open.enter(account, self.number, closing);
            *origin = account;
        }
    }

    /// Closes the connection at once.
    pub(crate) fn close(&self) {
        self.closing.notify_one();
    }

    /// Resolves when the connection is to be closed.
    pub(crate) async fn closed(&self) {
        self.closing.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let origin = *self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        self.connections.lock().leave(origin, self.number);
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
    fn places_are_limited_in_all_and_by_origin_and_given_back() {
        let connections = Arc::new(Connections::new(4, 2));
        let places: Vec<_> = (0..2).map(|_| connections.admit(Origin::User(1)).expect("free")).collect();
        assert!(connections.admit(Origin::User(1)).is_none(), "two from one origin");
        let others: Vec<_> = (0..2).map(|_| connections.admit(Origin::User(2)).expect("free")).collect();
        assert!(connections.admit(Origin::User(3)).is_none(), "four in all");
        drop(others);
        let other = connections.admit(Origin::User(3)).expect("free again");
        drop((places, other));
        let open = connections.lock();
        assert_eq!((open.all, open.strangers, open.by_origin.len()), (0, 0, 0));
    }

    #[test]
    fn strangers_leave_a_quarter_and_share_the_others_between_hosts() {
        let connections = Arc::new(Connections::new(8, 8));
        let crowd: Vec<_> = (0..6).map(|_| connections.admit(host(1)).expect("free")).collect();
        assert!(connections.admit(host(1)).is_none(), "six are for strangers");
        let user = connections.admit(Origin::User(1)).expect("a quarter is reserved");
        let other = connections.admit(host(2)).expect("it has fewer");
        assert!(crowd[0].closed().now_or_never().is_some() && crowd[1].closed().now_or_never().is_none());
        let again: Vec<_> = (0..4).filter_map(|_| connections.admit(host(2))).collect();
        assert_eq!((again.len(), connections.lock().of(host(1))), (2, 3), "half of the places each");
        drop((crowd, user, other, again));
        assert_eq!(connections.len(), 0);
    }

    #[test]
    fn a_connection_with_a_call_of_an_account_is_no_stranger() {
        let connections = Arc::new(Connections::new(4, 2));
        let mut places = vec![];
        for number in 0..3 {
            let place = connections.admit(host(number)).expect("free");
            // Here any origin that is known stands for an account.
            place.prove(Origin::User(1));
            place.prove(Origin::User(1));
            places.push(place);
        }
        let open = connections.lock();
        assert_eq!((open.all, open.strangers, open.of(Origin::User(1))), (3, 1, 2), "two are the limit");
        drop(open);
        drop(places);
        assert_eq!(connections.len(), 0);
    }
}

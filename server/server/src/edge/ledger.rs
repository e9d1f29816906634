//! The memory ledger: charges a caller for the bytes that the server holds for it, before the server allocates them.
//!
//! A charge counts against the limits of the caller's origin and of the server. Except for the fixed bytes of each call, it
//! also counts against the limit of the connection. At that limit, responses wait until the client has read earlier ones. At
//! the other two limits, the server refuses further calls. Dropping a charge returns its bytes.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::origin::Origin;
use boardwire_api::Error;

/// The charge for an open connection: its task, its buffers, and the state of HTTP/2 and TLS.
pub(crate) const CONNECTION_BYTES: usize = 64 << 10;
/// The charge for a call: its headers, its task, a request of up to [`REQUEST_BYTES`] and an ordinary response.
pub(crate) const CALL_BYTES: usize = 16 << 10;
/// The maximum bytes of a request that the charge for its call covers.
pub(crate) const REQUEST_BYTES: usize = 4 << 10;
/// The minimum number of entries before the ledger removes origins that hold nothing.
const PRUNE_THRESHOLD: usize = 1_024;
/// The maximum number of requests of one origin that the runtime's threads handle concurrently. The rest wait, so that a
/// request of another origin queues behind a few of them and not behind all.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// The memory use of one origin or of the whole server.
#[derive(Debug)]
struct MemoryUsage {
    limit: usize,
    charged: AtomicUsize,
    request_permits: Semaphore,
}

impl MemoryUsage {
    fn new(limit: usize) -> Self {
        Self { limit, charged: AtomicUsize::new(0), request_permits: Semaphore::new(MAX_CONCURRENT_REQUESTS) }
    }

    fn charge(&self, bytes: usize) -> Result<(), Error> {
        let fits = |charged: usize| charged.checked_add(bytes).filter(|sum| *sum <= self.limit);
        let charged = self.charged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        charged.map(drop).map_err(|_| Error::BytesFull { limit: self.limit })
    }

    /// Charges bytes, even above the limit.
    fn charge_unchecked(&self, bytes: usize) {
        self.charged.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.charged.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The memory use of the server and of each origin.
#[derive(Debug)]
pub(crate) struct MemoryLedger {
    server: Arc<MemoryUsage>,
    by_origin: Mutex<HashMap<Origin, Weak<MemoryUsage>>>,
    connection_bytes: usize,
}

impl MemoryLedger {
    /// Creates a ledger for `server_bytes`, of which each connection may hold `connection_bytes`.
    pub(crate) fn new(connection_bytes: usize, server_bytes: usize) -> Self {
        let connection_bytes = connection_bytes.min(Semaphore::MAX_PERMITS);
        Self {
            server: Arc::new(MemoryUsage::new(server_bytes)),
            by_origin: Mutex::default(),
            connection_bytes,
        }
    }

    /// Returns the budget of a new connection from an origin.
    pub(crate) fn budget(&self, origin: Origin) -> Arc<ConnectionBudget> {
        Arc::new(ConnectionBudget {
            connection: Arc::new(Semaphore::new(self.connection_bytes)),
            connection_bytes: self.connection_bytes,
            origin: self.usage(origin),
            server: Arc::clone(&self.server),
        })
    }

    /// Returns the budget of the same connection for calls of an account.
    pub(crate) fn budget_for_account(
        &self,
        budget: &ConnectionBudget,
        account: Origin,
    ) -> Arc<ConnectionBudget> {
        Arc::new(ConnectionBudget { origin: self.usage(account), ..budget.clone() })
    }

    fn usage(&self, origin: Origin) -> Arc<MemoryUsage> {
        let mut by_origin = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(usage) = by_origin.get(&origin).and_then(Weak::upgrade) {
            return usage;
        }
        // The map doubles its capacity, so this is rare.
        if by_origin.len() >= PRUNE_THRESHOLD && by_origin.len() == by_origin.capacity() {
            by_origin.retain(|_, usage| usage.strong_count() > 0);
        }
        let usage = Arc::new(MemoryUsage::new(Origin::max_share(self.server.limit)));
        by_origin.insert(origin, Arc::downgrade(&usage));
        usage
    }

    #[cfg(test)]
    pub(crate) fn charged(&self) -> usize {
        self.server.charged.load(Ordering::Relaxed)
    }
}

/// Memory accounting for the calls of one connection: against the connection, its origin and the whole server.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionBudget {
    connection: Arc<Semaphore>,
    connection_bytes: usize,
    origin: Arc<MemoryUsage>,
    server: Arc<MemoryUsage>,
}

impl ConnectionBudget {
    /// Charges the fixed bytes of a connection or a call. They do not count against the connection, since other limits bound
    /// the connections and the calls on each.
    ///
    /// # Errors
    /// The origin or the server has reached its limit.
    pub(crate) fn charge(self: &Arc<Self>, bytes: usize) -> Result<MemoryCharge, Error> {
        self.charge_with_permit(None, bytes)
    }

    /// Waits until the connection has room for a response, then charges it. One response always fits an empty connection.
    ///
    /// # Errors
    /// The origin or the server has reached its limit.
    pub(crate) async fn reserve(self: &Arc<Self>, bytes: usize) -> Result<MemoryCharge, Error> {
        let permit = Arc::clone(&self.connection).acquire_many_owned(self.permits(bytes)).await;
        self.charge_with_permit(Some(permit.expect("the semaphore is never closed")), bytes)
    }

    /// Charges a part of a request before the server reads it.
    ///
    /// # Errors
    /// The connection, the origin or the server has reached its limit.
    pub(crate) fn try_reserve(self: &Arc<Self>, bytes: usize) -> Result<MemoryCharge, Error> {
        let permit = Arc::clone(&self.connection).try_acquire_many_owned(self.permits(bytes));
        let permit = permit.map_err(|_| Error::BytesFull { limit: self.connection_bytes })?;
        self.charge_with_permit(Some(permit), bytes)
    }

    /// Runs the work of a request once its origin has a free permit. Returns the permit when the work ends or first waits.
    pub(crate) async fn with_request_permit<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut permit =
            Some(self.origin.request_permits.acquire().await.expect("the semaphore is never closed"));
        poll_fn(|context| {
            let done = work.as_mut().poll(context);
            permit = None;
            done
        })
        .await
    }

    /// Charges bytes even above all limits: bytes that are allocated already or that must be sent, such as a call's status.
    pub(crate) fn charge_unchecked(self: &Arc<Self>, bytes: usize) -> MemoryCharge {
        self.origin.charge_unchecked(bytes);
        self.server.charge_unchecked(bytes);
        MemoryCharge { bytes, permit: None, budget: Arc::clone(self) }
    }

    fn charge_with_permit(
        self: &Arc<Self>,
        permit: Option<OwnedSemaphorePermit>,
        bytes: usize,
    ) -> Result<MemoryCharge, Error> {
        self.origin.charge(bytes)?;
        self.server.charge(bytes).inspect_err(|_| self.origin.release(bytes))?;
        Ok(MemoryCharge { bytes, permit, budget: Arc::clone(self) })
    }

    fn permits(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.min(self.connection_bytes)).unwrap_or(u32::MAX)
    }

    /// Returns the bytes for which the connection has room.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.connection.available_permits()
    }
}

/// A number of charged bytes. Dropping this returns them.
#[derive(Debug)]
pub(crate) struct MemoryCharge {
    bytes: usize,
    /// The part that counts against the connection.
    permit: Option<OwnedSemaphorePermit>,
    budget: Arc<ConnectionBudget>,
}

impl MemoryCharge {
    /// Changes the charge to exactly `bytes`. It may grow above all limits, since it was an estimate before.
    pub(crate) fn resize(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.budget.origin.charge_unchecked(bytes - self.bytes);
            self.budget.server.charge_unchecked(bytes - self.bytes);
        } else {
            self.budget.origin.release(self.bytes - bytes);
            self.budget.server.release(self.bytes - bytes);
            if let Some(permit) = &mut self.permit {
                drop(permit.split(permit.num_permits().saturating_sub(bytes)));
            }
        }
        self.bytes = bytes;
    }

    /// Adds another charge of the same call to this one.
    pub(crate) fn add(&mut self, mut other: Self) {
        match (&mut self.permit, other.permit.take()) {
            (Some(permit), Some(more)) => permit.merge(more),
            (permit, more) => *permit = permit.take().or(more),
        }
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Attaches the charge to bytes. Dropping the last slice of them returns the charge.
    pub(crate) fn attach_to(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(ChargedBytes { bytes, _charge: self })
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.budget.origin.release(self.bytes);
        self.budget.server.release(self.bytes);
    }
}

struct ChargedBytes {
    bytes: Bytes,
    _charge: MemoryCharge,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(user: u32) -> Origin {
        Origin::User(user)
    }

    #[tokio::test]
    async fn a_response_waits_until_its_connection_has_room() {
        let ledger = MemoryLedger::new(100, 10_000_000);
        let budget = ledger.budget(user(1));
        let first =
            budget.reserve(60).await.expect("there is room").attach_to(Bytes::from_static(b"response"));
        let part = first.slice(..2);
        let mut second = Box::pin(budget.reserve(60));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        assert!(futures_util::poll!(&mut second).is_pending(), "a part of the first still exists");
        drop(part);
        drop(second.await.expect("there is room"));
        drop(budget.reserve(1_000_000).await.expect("one response always fits"));
        assert_eq!((budget.free(), ledger.charged()), (100, 0));
    }

    #[test]
    fn server_and_origin_limits_bound_all_connections() {
        let ledger = MemoryLedger::new(1_000, 1_000);
        let (one, again, other) = (ledger.budget(user(1)), ledger.budget(user(1)), ledger.budget(user(2)));
        let first = one.try_reserve(700).expect("there is room");
        let refused = again.try_reserve(100).expect_err("an origin may have three quarters");
        assert_eq!(refused, Error::BytesFull { limit: 750 });
        let rest = other.charge(300).expect("other origins have the rest");
        assert_eq!(one.try_reserve(50).expect_err("the server is full"), Error::BytesFull { limit: 1_000 });
        drop((first, rest));
        again.try_reserve(750).expect("there is room again");
        assert_eq!(ledger.charged(), 0);
    }

    #[tokio::test]
    async fn an_origin_has_a_limited_number_of_concurrent_requests_and_other_origins_do_not_wait() {
        let ledger = MemoryLedger::new(1, 1);
        let [limited, other] = [1, 2].map(|number| ledger.budget(user(number)));
        let permits: Vec<_> = (0..MAX_CONCURRENT_REQUESTS)
            .map(|_| limited.origin.request_permits.try_acquire().expect("a permit is free"))
            .collect();
        let mut blocked = Box::pin(limited.with_request_permit(async { 1 }));
        assert!(futures_util::poll!(&mut blocked).is_pending());
        assert_eq!(other.with_request_permit(async { 2 }).await, 2);
        drop(permits);
        assert_eq!(blocked.await, 1);
        // A request that waits for another event holds no permit.
        let mut waiting: Vec<_> = (0..=MAX_CONCURRENT_REQUESTS)
            .map(|_| Box::pin(limited.with_request_permit(std::future::pending::<()>())))
            .collect();
        for each in &mut waiting {
            assert!(futures_util::poll!(each).is_pending());
        }
        assert_eq!(limited.with_request_permit(async { 3 }).await, 3);
    }

    #[test]
    fn a_charge_can_grow_and_shrink() {
        let ledger = MemoryLedger::new(1_000, 10_000);
        let budget = ledger.budget(user(1));
        let mut charge = budget.try_reserve(100).expect("there is room");
        charge.add(budget.try_reserve(200).expect("there is room"));
        assert_eq!((budget.free(), ledger.charged()), (700, 300));
        charge.resize(50);
        assert_eq!((budget.free(), ledger.charged()), (950, 50));
        charge.resize(9_000_000);
        assert_eq!((budget.free(), ledger.charged()), (950, 9_000_000));
        drop(charge);
        assert_eq!((budget.free(), ledger.charged()), (1_000, 0));
    }

    #[test]
    fn origins_that_hold_nothing_are_removed() {
        let ledger = MemoryLedger::new(1, 1);
        let budget = ledger.budget(user(0));
        for number in 1..100_000 {
            drop(ledger.budget(user(number)));
        }
        assert!(ledger.by_origin.lock().expect("no panic").len() < 4 * PRUNE_THRESHOLD);
        assert!(Arc::ptr_eq(&budget.origin, &ledger.budget(user(0)).origin));
    }
}

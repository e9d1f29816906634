//! The ledger: every byte that the server holds for a caller is charged before it is allocated.
//!
//! A charge counts for the caller's origin and for the whole server, and, beyond what each call has for itself, for the
//! connection. A connection that is full waits until its client has read answers; an origin or a server that is full refuses
//! further calls. A charge is given back when it is dropped, with the last of the bytes that it stands for.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::origin::Origin;
use boardwire_api::Error;

/// What an open connection takes for itself: its task, its buffers, and the state of HTTP/2 and TLS.
pub(crate) const CONNECTION_BYTES: usize = 64 << 10;
/// What a call takes for itself: its headers, its task, a request of up to [`REQUEST_BYTES`] and an ordinary answer.
pub(crate) const CALL_BYTES: usize = 16 << 10;
/// A request of up to so many bytes is paid for by its call.
pub(crate) const REQUEST_BYTES: usize = 4 << 10;
/// So many origins are remembered before those are forgotten that hold nothing.
const ORIGINS: usize = 1_024;

/// How many requests of one origin the threads that serve connections may handle concurrently. The rest wait, so that
/// a request of another origin queues behind a few of them and not behind all.
const TURNS: usize = 16;

/// A memory budget, of one origin or of the whole server: its limit, and the bytes in use.
#[derive(Debug)]
struct Total {
    limit: usize,
    charged: AtomicUsize,
    turns: Semaphore,
}

impl Total {
    fn new(limit: usize) -> Self {
        Self { limit, charged: AtomicUsize::new(0), turns: Semaphore::new(TURNS) }
    }

    /// Charges so many bytes unless they are too many.
    fn charge(&self, bytes: usize) -> Result<(), Error> {
        let fits = |charged: usize| charged.checked_add(bytes).filter(|sum| *sum <= self.limit);
        let charged = self.charged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        charged.map(drop).map_err(|_| Error::BytesFull { limit: self.limit })
    }

    /// Charges what has been allocated already.
    fn overdraw(&self, bytes: usize) {
        self.charged.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        self.charged.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What all callers hold together, and each origin.
#[derive(Debug)]
pub(crate) struct Ledger {
    all: Arc<Total>,
    by_origin: Mutex<HashMap<Origin, Weak<Total>>>,
    connection_bytes: usize,
}

impl Ledger {
    /// A ledger for `all` bytes, of which each connection may hold `connection_bytes`.
    pub(crate) fn new(connection_bytes: usize, all: usize) -> Self {
        let connection_bytes = connection_bytes.min(Semaphore::MAX_PERMITS);
        Self { all: Arc::new(Total::new(all)), by_origin: Mutex::default(), connection_bytes }
    }

    /// The budget of a new connection from an origin.
    pub(crate) fn budget(&self, origin: Origin) -> Arc<Budget> {
        Arc::new(Budget {
            own: Arc::new(Semaphore::new(self.connection_bytes)),
            own_bytes: self.connection_bytes,
            origin: self.total(origin),
            all: Arc::clone(&self.all),
        })
    }

    /// The budget of the same connection for calls of another origin: an account.
    pub(crate) fn budget_of(&self, budget: &Budget, origin: Origin) -> Arc<Budget> {
        Arc::new(Budget { origin: self.total(origin), ..budget.clone() })
    }

    fn total(&self, origin: Origin) -> Arc<Total> {
        let mut by_origin = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = by_origin.get(&origin).and_then(Weak::upgrade) {
            return known;
        }
        // Doubling keeps this rare.
        if by_origin.len() >= ORIGINS && by_origin.len() == by_origin.capacity() {
            by_origin.retain(|_, total| total.strong_count() > 0);
        }
        let total = Arc::new(Total::new(Origin::share(self.all.limit)));
        by_origin.insert(origin, Arc::downgrade(&total));
        total
    }

    /// The bytes that are charged.
    #[cfg(test)]
    pub(crate) fn charged(&self) -> usize {
        self.all.charged.load(Ordering::Relaxed)
    }
}

/// Memory accounting for the calls of one connection: against the connection, its origin and the whole server.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    own: Arc<Semaphore>,
    own_bytes: usize,
    origin: Arc<Total>,
    all: Arc<Total>,
}

impl Budget {
    /// Charges what a connection or a call takes for itself. Connections and the calls on each are few enough without a
    /// limit by connection.
    ///
    /// # Errors
    /// The origin or the server holds as much as it may.
    pub(crate) fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge, Error> {
        self.charge_with(None, bytes)
    }

    /// Charges an answer as soon as the connection has room for it. One answer always fits an empty connection.
    ///
    /// # Errors
    /// The origin or the server holds as much as it may.
    pub(crate) async fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Charge, Error> {
        let own = Arc::clone(&self.own).acquire_many_owned(self.permits(bytes)).await;
        let own = own.expect("the semaphore of a connection is never closed");
        self.charge_with(Some(own), bytes)
    }

    /// Charges a part of a request that is to be read.
    ///
    /// # Errors
    /// The connection, the origin or the server holds as much as it may.
    pub(crate) fn try_reserve(self: &Arc<Self>, bytes: usize) -> Result<Charge, Error> {
        let own = Arc::clone(&self.own).try_acquire_many_owned(self.permits(bytes));
        let own = own.map_err(|_| Error::BytesFull { limit: self.own_bytes })?;
        self.charge_with(Some(own), bytes)
    }

    /// Does what a request asks for when its origin has its turn, which ends when the work does or waits for something.
    pub(crate) async fn in_turn<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut turn = Some(self.origin.turns.acquire().await.expect("the turns of an origin never end"));
        poll_fn(|context| {
            let done = work.as_mut().poll(context);
            turn = None;
            done
        })
        .await
    }

    /// Charges what there is already, and what must be sent: the status of a call.
    pub(crate) fn overdraw(self: &Arc<Self>, bytes: usize) -> Charge {
        self.origin.overdraw(bytes);
        self.all.overdraw(bytes);
        Charge { bytes, own: None, budget: Arc::clone(self) }
    }

    fn charge_with(
        self: &Arc<Self>,
        own: Option<OwnedSemaphorePermit>,
        bytes: usize,
    ) -> Result<Charge, Error> {
        self.origin.charge(bytes)?;
        if let Err(full) = self.all.charge(bytes) {
            self.origin.give_back(bytes);
            return Err(full);
        }
        Ok(Charge { bytes, own, budget: Arc::clone(self) })
    }

    fn permits(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.min(self.own_bytes)).unwrap_or(u32::MAX)
    }

    /// The bytes for which the connection has room.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.own.available_permits()
    }
}

/// Bytes that are charged; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    bytes: usize,
    own: Option<OwnedSemaphorePermit>,
    budget: Arc<Budget>,
}

impl Charge {
    /// Charges exactly so many bytes from now on. More than before are charged without a limit: what they are charged for
    /// is there already, or was estimated too low.
    pub(crate) fn fit(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.budget.origin.overdraw(bytes - self.bytes);
            self.budget.all.overdraw(bytes - self.bytes);
        } else {
            self.budget.origin.give_back(self.bytes - bytes);
            self.budget.all.give_back(self.bytes - bytes);
            if let Some(own) = &mut self.own {
                drop(own.split(own.num_permits().saturating_sub(bytes)));
            }
        }
        self.bytes = bytes;
    }

    /// Adds another charge of the same call to this one.
    pub(crate) fn add(&mut self, mut other: Self) {
        match (&mut self.own, other.own.take()) {
            (Some(own), Some(more)) => own.merge(more),
            (own, more) => *own = own.take().or(more),
        }
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// The same bytes, which give the charge back with the last part of them.
    pub(crate) fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Charged { bytes, _charge: self })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.origin.give_back(self.bytes);
        self.budget.all.give_back(self.bytes);
    }
}

/// Bytes that are charged as long as anybody has a part of them.
struct Charged {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for Charged {
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
    async fn an_answer_waits_until_its_connection_has_room() {
        let ledger = Ledger::new(100, 10_000_000);
        let budget = ledger.budget(user(1));
        let first = budget.reserve(60).await.expect("it is free").hold(Bytes::from_static(b"answer"));
        let part = first.slice(..2);
        let mut second = Box::pin(budget.reserve(60));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        assert!(futures_util::poll!(&mut second).is_pending(), "a part of it has not been sent");
        drop(part);
        drop(second.await.expect("now there is room"));
        drop(budget.reserve(1_000_000).await.expect("one answer always fits"));
        assert_eq!((budget.free(), ledger.charged()), (100, 0));
    }

    #[test]
    fn what_all_connections_hold_is_bounded_and_no_origin_may_hold_all() {
        let ledger = Ledger::new(1_000, 1_000);
        let (one, again, other) = (ledger.budget(user(1)), ledger.budget(user(1)), ledger.budget(user(2)));
        let held = one.try_reserve(700).expect("it is free");
        let refused = again.try_reserve(100).expect_err("an origin may have three quarters");
        assert_eq!(refused, Error::BytesFull { limit: 750 });
        let rest = other.charge(300).expect("others have the rest");
        assert_eq!(one.try_reserve(50).expect_err("it is full"), Error::BytesFull { limit: 1_000 });
        drop((held, rest));
        again.try_reserve(750).expect("there is room again");
        assert_eq!(ledger.charged(), 0);
    }

    #[tokio::test]
    async fn requests_of_an_origin_take_turns_and_others_do_not_wait_for_them() {
        let ledger = Ledger::new(1, 1);
        let [busy, other] = [1, 2].map(|number| ledger.budget(user(number)));
        let turns: Vec<_> =
            (0..TURNS).map(|_| busy.origin.turns.try_acquire().expect("there are so many")).collect();
        let mut waits = Box::pin(busy.in_turn(async { 1 }));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(other.in_turn(async { 2 }).await, 2);
        drop(turns);
        assert_eq!(waits.await, 1);
        // Who waits for something else has no turn meanwhile.
        let mut waiting: Vec<_> =
            (0..=TURNS).map(|_| Box::pin(busy.in_turn(std::future::pending::<()>()))).collect();
        for each in &mut waiting {
            assert!(futures_util::poll!(each).is_pending());
        }
        assert_eq!(busy.in_turn(async { 3 }).await, 3);
    }

    #[test]
    fn a_charge_becomes_what_is_held() {
        let ledger = Ledger::new(1_000, 10_000);
        let budget = ledger.budget(user(1));
        let mut charge = budget.try_reserve(100).expect("it is free");
        charge.add(budget.try_reserve(200).expect("it is free"));
        assert_eq!((budget.free(), ledger.charged()), (700, 300));
        charge.fit(50);
        assert_eq!((budget.free(), ledger.charged()), (950, 50));
        charge.fit(9_000_000);
        assert_eq!((budget.free(), ledger.charged()), (950, 9_000_000));
        drop(charge);
        assert_eq!((budget.free(), ledger.charged()), (1_000, 0));
    }

    #[test]
    fn origins_that_hold_nothing_are_forgotten() {
        let ledger = Ledger::new(1, 1);
        let kept = ledger.budget(user(0));
        for number in 1..100_000 {
            drop(ledger.budget(user(number)));
        }
        assert!(ledger.by_origin.lock().expect("no panic").len() < 4 * ORIGINS);
        assert!(Arc::ptr_eq(&kept.origin, &ledger.budget(user(0)).origin));
    }
}

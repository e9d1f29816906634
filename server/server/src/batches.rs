//! All batches and searches of a server, each leased to one owner.
//!
//! A lease ends when its owner closes it, or after the idle timeout without an open call. It also ends with its connection,
//! unless the owner asked to keep it. Each slot of a search counts as one environment.

mod lease;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch::SnapshotKey;
use boardwire_batch::pool::{CallerGroup, OneShot, Pool, WorkQueue};

use crate::origin::Origin;
use crate::quota::Quota;
use crate::requests::{RequestCache, RequestId};
use crate::secret;
use lease::Lease;
pub use lease::{LeaseGuard, LeasedResource};

/// The limits on batches and environments, and their idle timeout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchLimits {
    /// The maximum number of open batches and searches. Callers of one origin may have three quarters of them.
    pub batches: usize,
    /// The maximum number of environments in all batches and searches together.
    pub environments: usize,
    /// The maximum number of environments of the callers of one origin.
    pub per_caller: usize,
    /// The idle timeout of a batch or search.
    pub idle: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { batches: 1_000, environments: 1 << 18, per_caller: 3 << 16, idle: Duration::from_mins(30) }
    }
}

/// A client's connection, identified by its number since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) u64);

/// The open batches and searches of a server.
pub struct Batches {
    limits: BatchLimits,
    key: SnapshotKey,
    /// Whether the operator gave the key, so that it stays the same after a restart.
    has_persistent_key: bool,
    pool: Arc<Pool>,
    /// The pool frees the memory of ended leases in this work queue.
    memory_work_queue: WorkQueue,
    requests: RequestCache<(Arc<dyn LeasedResource>, String)>,
    lease_quota: Arc<Quota>,
    environments: Arc<Quota>,
    inner: Mutex<OpenLeases>,
}

#[derive(Default)]
struct OpenLeases {
    leases: BTreeMap<String, Lease>,
    /// The id of the newest connection: the number of connections since the server started.
    last_connection_id: u64,
    open_connections: BTreeSet<ConnectionId>,
    stopped: bool,
}

/// The terms of a new lease: its connection, its caller's origin, and the id of its request.
#[derive(Debug, Clone)]
pub struct LeaseTerms {
    /// The connection whose end also ends the lease. `None` if the lease outlives its connection.
    pub connection: Option<ConnectionId>,
    /// The caller's origin.
    pub origin: Origin,
    /// The id of the request, if the caller may retry it.
    pub request: Option<RequestId>,
}

impl Batches {
    /// Creates an empty set of batches within `limits`, which `pool` steps. `key` authenticates their snapshots. If it is
    /// `None`, the process generates a key that no other process has.
    #[must_use]
    pub fn new(limits: BatchLimits, key: Option<SnapshotKey>, pool: Arc<Pool>) -> Self {
        Self {
            has_persistent_key: key.is_some(),
            key: key.unwrap_or_else(|| SnapshotKey::derive(secret::random_hex().as_bytes())),
            memory_work_queue: pool.new_group().work_queue(),
            requests: RequestCache::default(),
            lease_quota: Quota::new("batches", limits.batches),
            environments: Quota::new("environments", limits.environments),
            inner: Mutex::default(),
            limits,
            pool,
        }
    }

    /// Returns the key that authenticates this server's snapshots.
    #[must_use]
    pub fn key(&self) -> &SnapshotKey {
        &self.key
    }

    /// Returns the limits on batches and environments.
    #[must_use]
    pub fn limits(&self) -> &BatchLimits {
        &self.limits
    }

    /// Returns whether the operator gave the snapshot key. Servers with the same key accept each other's snapshots.
    #[must_use]
    pub fn has_portable_snapshots(&self) -> bool {
        self.has_persistent_key
    }

    fn lock(&self) -> MutexGuard<'_, OpenLeases> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a batch or search with `make` in the pool, and leases it to the holder of `token`. Returns it with its token.
    /// A retry of the request gets the same lease. From then on, the lease ends with the connection of the retry. If the
    /// caller disconnects before `make` is done, nothing remains.
    ///
    /// # Errors
    /// The server is full or stops; another request has the request id; `make` fails. `make` runs only if there is room.
    pub async fn create_lease<K: LeasedResource, F>(
        &self,
        terms: LeaseTerms,
        environments: usize,
        token: String,
        make: impl FnOnce(CallerGroup) -> F,
    ) -> Result<(Arc<K>, String), Error>
    where
        F: Future<Output = Result<Arc<K>, Error>>,
    {
        let LeaseTerms { connection, origin, request } = terms;
        let id = request.as_ref().map(|request| request.id);
        let open = async {
            if self.lock().stopped {
                return Err(Error::ShuttingDown);
            }
            let origin_limit = Origin::max_share(self.limits.batches);
            let lease_guard =
                self.lease_quota.acquire(origin, 1, origin_limit, |limit, _| Error::BatchesFull { limit })?;
            let origin_limit = origin.quotas().environments.unwrap_or(self.limits.per_caller);
            let full = |limit, open| Error::EnvironmentsFull { limit, open, asked: environments };
            let quota_guards =
                [lease_guard, self.environments.acquire(origin, environments, origin_limit, full)?];
            let leased: Arc<dyn LeasedResource> = make(self.pool.group(origin.number())).await?;
            let lease = Lease {
                leased: Arc::clone(&leased),
                token: token.clone(),
                connection,
                request: id,
                last_used: Arc::new(Mutex::new(Instant::now())),
                _quota_guards: quota_guards,
            };
            let mut inner = self.lock();
            if inner.stopped {
                return Err(Error::ShuttingDown);
            }
            inner.leases.insert(leased.id().to_owned(), lease);
            Ok((leased, token))
        };
        let (leased, token) = match request {
            Some(request) => self.requests.get_or_execute(request, open).await?,
            None => open.await?,
        };
        let leased = downcast::<K>(&leased).ok_or_else(|| K::unknown(leased.id()))?;
        self.bind_to_connection(&*leased, connection)?;
        Ok((leased, token))
    }

    /// Makes a lease end with this connection: immediately, if the connection has ended already.
    fn bind_to_connection<K: LeasedResource>(
        &self,
        leased: &K,
        connection: Option<ConnectionId>,
    ) -> Result<(), Error> {
        let mut inner = self.lock();
        let is_connected = connection.is_none_or(|connection| inner.open_connections.contains(&connection));
        let gone = if inner.stopped { Error::ShuttingDown } else { K::unknown(leased.id()) };
        let lease = inner.leases.get_mut(leased.id()).ok_or(gone)?;
        lease.connection = connection.or(lease.connection);
        drop(inner);
        if !is_connected {
            self.drop_leases(|id, _| id == leased.id());
        }
        Ok(())
    }

    /// Returns the batch or search with this id. `token` must be its owner's.
    ///
    /// # Errors
    /// The id is unknown, the token is missing or wrong, or the server stops.
    pub fn find<K: LeasedResource>(&self, id: &str, token: Option<&str>) -> Result<LeaseGuard<K>, Error> {
        let token = token.ok_or(Error::TokenMissing)?;
        let inner = self.lock();
        if inner.stopped {
            return Err(Error::ShuttingDown);
        }
        let lease = inner.leases.get(id).ok_or_else(|| K::unknown(id))?;
        let leased = downcast::<K>(&lease.leased).ok_or_else(|| K::unknown(id))?;
        if !secret::constant_time_eq(token, &lease.token) {
            return Err(K::owner_only(id));
        }
        Ok(LeaseGuard { leased, last_used: Arc::clone(&lease.last_used) })
    }

    /// Closes a batch or search for its owner.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn close<K: LeasedResource>(&self, id: &str, token: Option<&str>) -> Result<(), Error> {
        self.find::<K>(id, token)?;
        self.drop_leases(|of, _| of == id);
        Ok(())
    }

    /// Returns the number of open batches and searches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().leases.len()
    }

    /// Returns the number of tasks of batches, searches and bots that wait for a pool thread.
    pub(crate) fn queued(&self) -> usize {
        self.pool.queued()
    }

    /// Returns whether no batch or search is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of environments that are open or being opened.
    #[must_use]
    pub fn environments(&self) -> usize {
        self.environments.used()
    }

    /// Registers a new connection and numbers it.
    pub(crate) fn connect(self: &Arc<Self>) -> ConnectionGuard {
        let mut inner = self.lock();
        inner.last_connection_id += 1;
        let connection = ConnectionId(inner.last_connection_id);
        inner.open_connections.insert(connection);
        ConnectionGuard { batches: Arc::clone(self), connection }
    }

    /// Ends the leases whose idle timeout has passed at `now`.
    pub fn expire(&self, now: Instant) {
        let limit = self.limits.idle;
        self.drop_leases(|_, lease| lease.idle(now).is_some_and(|idle| idle >= limit));
    }

    fn drop_leases(&self, ends: impl Fn(&str, &Lease) -> bool) {
        let mut inner = self.lock();
        let is_stopping = inner.stopped;
        let ended: Vec<_> = inner.leases.extract_if(.., |id, lease| ends(id, lease)).collect();
        for request in ended.iter().filter_map(|(_, lease)| lease.request) {
            // Under the lock: a retry of the request then opens a new lease instead of looking for this one.
            self.requests.remove(request);
        }
        drop(inner);
        for (_, Lease { leased, .. }) in ended {
            leased.end_calls(is_stopping);
            // Freeing the memory of many environments takes time.
            self.memory_work_queue.spawn(OneShot::new(move || drop(leased)));
        }
    }

    /// Ends all leases, and refuses new ones.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.drop_leases(|_, _| true);
    }
}

/// A registered connection. Dropping it ends its leases.
pub(crate) struct ConnectionGuard {
    batches: Arc<Batches>,
    pub(crate) connection: ConnectionId,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.batches.lock().open_connections.remove(&self.connection);
        self.batches.drop_leases(|_, lease| lease.connection == Some(self.connection));
    }
}

/// Returns the batch or search if it has the type `K`.
fn downcast<K: LeasedResource>(leased: &Arc<dyn LeasedResource>) -> Option<Arc<K>> {
    let any: Arc<dyn Any + Send + Sync> = Arc::clone(leased) as _;
    any.downcast().ok()
}

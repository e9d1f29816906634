//! All batches and searches of a server, each leased to one owner.
//!
//! A lease ends when its owner closes it, when its connection ends (unless the owner asked to keep it), or when no call was under
//! way for the idle time. The places of a search count as environments.

mod lease;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch::SnapshotKey;
use boardwire_batch::pool::{Group, Once, Owner, Pool};

use crate::origin::Origin;
use crate::quota::Quota;
use crate::requests::{RequestCache, RequestId};
use crate::secret;
use lease::Lease;
pub use lease::{InUse, Leased};

/// How many batches and environments a server holds, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchLimits {
    /// The most open batches and searches; callers of one origin may have three quarters of them.
    pub batches: usize,
    /// The most environments of all of them.
    pub environments: usize,
    /// The most environments of callers of one origin.
    pub per_caller: usize,
    /// How long an unused batch or search stays open.
    pub idle: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { batches: 1_000, environments: 1 << 18, per_caller: 3 << 16, idle: Duration::from_mins(30) }
    }
}

/// A connection to a client, by its number since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub(crate) u64);

/// The batches and searches of a server.
pub struct Batches {
    limits: BatchLimits,
    key: SnapshotKey,
    /// Whether the operator gave the key, so that it outlives the process.
    has_lasting_key: bool,
    pool: Arc<Pool>,
    /// Owns the work of the pool that frees memory.
    memory_owner: Owner,
    requests: RequestCache<(Arc<dyn Leased>, String)>,
    open: Arc<Quota>,
    environments: Arc<Quota>,
    inner: Mutex<OpenLeases>,
}

#[derive(Default)]
struct OpenLeases {
    leases: BTreeMap<String, Lease>,
    /// How many connections there were.
    peers: u64,
    connected: BTreeSet<Peer>,
    stopped: bool,
}

/// Who opens a lease, and how.
#[derive(Debug, Clone)]
pub struct LeaseTerms {
    /// The connection that the lease ends with.
    pub peer: Option<Peer>,
    /// The caller's origin.
    pub origin: Origin,
    /// The request, if it may be repeated.
    pub request: Option<RequestId>,
}

impl Batches {
    /// Holds batches within `limits`, which `pool` steps. Snapshots are authenticated with `key`; without one, with a key that only
    /// this process has.
    #[must_use]
    pub fn new(limits: BatchLimits, key: Option<SnapshotKey>, pool: Arc<Pool>) -> Self {
        Self {
            has_lasting_key: key.is_some(),
            key: key.unwrap_or_else(|| SnapshotKey::derive(secret::word().as_bytes())),
            memory_owner: pool.alone().owner(),
            requests: RequestCache::default(),
            open: Quota::new("batches", limits.batches),
            environments: Quota::new("environments", limits.environments),
            inner: Mutex::default(),
            limits,
            pool,
        }
    }

    /// The key of this server's snapshots.
    #[must_use]
    pub fn key(&self) -> &SnapshotKey {
        &self.key
    }

    /// How many batches and environments the server holds, and for how long.
    #[must_use]
    pub fn limits(&self) -> &BatchLimits {
        &self.limits
    }

    /// Whether servers with the same key accept each other's snapshots.
    #[must_use]
    pub fn has_lasting_snapshots(&self) -> bool {
        self.has_lasting_key
    }

    fn lock(&self) -> MutexGuard<'_, OpenLeases> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leases the batch or search that `make` creates in the pool to the holder of `token`, and returns both. A repeated request
    /// gets the same lease, which then ends with the connection of the repetition. If the caller disconnects before `make` is done,
    /// nothing remains.
    ///
    /// # Errors
    /// A full or stopping server, a request id of another request; the errors of `make`, which runs only if there is room.
    pub async fn open<K: Leased, F>(
        &self,
        terms: LeaseTerms,
        environments: usize,
        token: String,
        make: impl FnOnce(Group) -> F,
    ) -> Result<(Arc<K>, String), Error>
    where
        F: Future<Output = Result<Arc<K>, Error>>,
    {
        let LeaseTerms { peer, origin, request } = terms;
        let id = request.as_ref().map(|request| request.id);
        let open = async {
            if self.lock().stopped {
                return Err(Error::ShuttingDown);
            }
            let origin_limit = Origin::share(self.limits.batches);
            let share = self.open.take(origin, 1, origin_limit, |limit, _| Error::BatchesFull { limit })?;
            let origin_limit = origin.quotas().environments.unwrap_or(self.limits.per_caller);
            let full = |limit, open| Error::EnvironmentsFull { limit, open, asked: environments };
            let shares = [share, self.environments.take(origin, environments, origin_limit, full)?];
            let leased: Arc<dyn Leased> = make(self.pool.group(origin.number())).await?;
            let lease = Lease {
                leased: Arc::clone(&leased),
                token: token.clone(),
                peer,
                request: id,
                last_used: Arc::new(Mutex::new(Instant::now())),
                _shares: shares,
            };
            let mut inner = self.lock();
            if inner.stopped {
                return Err(Error::ShuttingDown);
            }
            inner.leases.insert(leased.id().to_owned(), lease);
            Ok((leased, token))
        };
        let (leased, token) = match request {
            Some(request) => self.requests.once(request, open).await?,
            None => open.await?,
        };
        let leased = of_kind::<K>(&leased).ok_or_else(|| K::unknown(leased.id()))?;
        self.bind_to_connection(&*leased, peer)?;
        Ok((leased, token))
    }

    /// Makes a lease end with this connection, which may have ended already.
    fn bind_to_connection<K: Leased>(&self, leased: &K, peer: Option<Peer>) -> Result<(), Error> {
        let mut inner = self.lock();
        let is_connected = peer.is_none_or(|peer| inner.connected.contains(&peer));
        let gone = if inner.stopped { Error::ShuttingDown } else { K::unknown(leased.id()) };
        let lease = inner.leases.get_mut(leased.id()).ok_or(gone)?;
        lease.peer = peer.or(lease.peer);
        drop(inner);
        if !is_connected {
            self.drop_leases(|id, _| id == leased.id());
        }
        Ok(())
    }

    /// The batch or search with this id, for a call of the holder of its token.
    ///
    /// # Errors
    /// No such batch or search, a missing or wrong token, or a stopping server.
    pub fn find<K: Leased>(&self, id: &str, token: Option<&str>) -> Result<InUse<K>, Error> {
        let token = token.ok_or(Error::TokenMissing)?;
        let inner = self.lock();
        if inner.stopped {
            return Err(Error::ShuttingDown);
        }
        let lease = inner.leases.get(id).ok_or_else(|| K::unknown(id))?;
        let leased = of_kind::<K>(&lease.leased).ok_or_else(|| K::unknown(id))?;
        if !secret::same(token, &lease.token) {
            return Err(K::owner_only(id));
        }
        Ok(InUse { leased, last_used: Arc::clone(&lease.last_used) })
    }

    /// Closes a batch or search for its owner.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn close<K: Leased>(&self, id: &str, token: Option<&str>) -> Result<(), Error> {
        self.find::<K>(id, token)?;
        self.drop_leases(|of, _| of == id);
        Ok(())
    }

    /// How many batches and searches are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().leases.len()
    }

    /// How much work of batches, searches and bots waits for a thread.
    pub(crate) fn queued(&self) -> usize {
        self.pool.queued()
    }

    /// Whether no batch or search is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many environments are open or being opened.
    #[must_use]
    pub fn environments(&self) -> usize {
        self.environments.taken()
    }

    /// Numbers a new connection.
    pub(crate) fn connect(self: &Arc<Self>) -> Connected {
        let mut inner = self.lock();
        inner.peers += 1;
        let peer = Peer(inner.peers);
        inner.connected.insert(peer);
        Connected { batches: Arc::clone(self), peer }
    }

    /// Ends the leases that were idle for too long at `now`.
    pub fn expire(&self, now: Instant) {
        let limit = self.limits.idle;
        self.drop_leases(|_, lease| lease.idle(now).is_some_and(|idle| idle >= limit));
    }

    fn drop_leases(&self, ends: impl Fn(&str, &Lease) -> bool) {
        let mut inner = self.lock();
        let is_stopping = inner.stopped;
        let ended: Vec<_> = inner.leases.extract_if(.., |id, lease| ends(id, lease)).collect();
        for request in ended.iter().filter_map(|(_, lease)| lease.request) {
            // Under the lock: a repeated request opens a new lease instead of looking for this one.
            self.requests.forget(request);
        }
        drop(inner);
        for (_, Lease { leased, .. }) in ended {
            leased.end(is_stopping);
            // Freeing the memory of many environments takes time.
            self.memory_owner.spawn(Once::new(move || drop(leased)));
        }
    }

    /// Ends all leases, and refuses new ones.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.drop_leases(|_, _| true);
    }
}

/// A connection; dropping it ends its leases.
pub(crate) struct Connected {
    batches: Arc<Batches>,
    pub(crate) peer: Peer,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.batches.lock().connected.remove(&self.peer);
        self.batches.drop_leases(|_, lease| lease.peer == Some(self.peer));
    }
}

/// The batch or search, if it is of this kind.
fn of_kind<K: Leased>(leased: &Arc<dyn Leased>) -> Option<Arc<K>> {
    let any: Arc<dyn Any + Send + Sync> = Arc::clone(leased) as _;
    any.downcast().ok()
}

//! All batches and searches of a server, each leased to one owner.
//!
//! A lease ends when its owner closes it, when the connection it was opened over ends unless it is to be
//! kept, and when no call has been under way for the idle time. The places of a search count as environments do.

mod lease;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch::SnapshotKey;
use boardwire_batch::pool::{Group, Once, Owner, Pool};

use crate::origin::Origin;
use crate::quota::{Quota, Share};
use crate::requests::{RequestCache, RequestId};
use crate::secret;
use lease::Lease;
pub use lease::{InUse, Leased};

/// How much a server holds, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchLimits {
    /// The most batches and searches that may be open at once; callers of one origin may have three quarters of them.
    pub batches: usize,
    /// The most environments that all of them may have.
    pub environments: usize,
    /// The most environments that those opened by callers of one origin may have.
    pub per_caller: usize,
    /// How long a batch stays that nobody uses.
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

/// All batches and searches.
pub struct Batches {
    limits: BatchLimits,
    key: SnapshotKey,
    /// Whether the key was given, and did not come with the process.
    lasting: bool,
    pool: Arc<Pool>,
    /// On whose behalf memory is given back.
    janitor: Owner,
    requests: RequestCache<(Arc<dyn Leased>, String)>,
    open: Arc<Quota>,
    environments: Arc<Quota>,
    inner: Mutex<OpenLeases>,
}

#[derive(Default)]
struct OpenLeases {
    leases: BTreeMap<String, Lease>,
    peers: u64,
    connected: BTreeSet<Peer>,
    stopped: bool,
}

/// Whose lease is asked for.
#[derive(Debug, Clone)]
pub struct LeaseTerms {
    /// The connection the lease ends with.
    pub peer: Option<Peer>,
    /// Where the caller is.
    pub origin: Origin,
    /// The request, if it may be repeated.
    pub request: Option<RequestId>,
}

impl Batches {
    /// Holds batches within `limits`, which are stepped by `pool`; snapshots are authenticated with `key`, or one of
    /// this process alone.
    #[must_use]
    pub fn new(limits: BatchLimits, key: Option<SnapshotKey>, pool: Arc<Pool>) -> Self {
        Self {
            lasting: key.is_some(),
            key: key.unwrap_or_else(|| SnapshotKey::derive(secret::word().as_bytes())),
            janitor: pool.alone().owner(),
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

    /// How much the server holds, and for how long.
    #[must_use]
    pub fn limits(&self) -> &BatchLimits {
        &self.limits
    }

    /// Whether other servers with the same key take this one's snapshots, and this one theirs.
    #[must_use]
    pub fn has_lasting_snapshots(&self) -> bool {
        self.lasting
    }

    fn lock(&self) -> MutexGuard<'_, OpenLeases> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leases the batch or search that `make` makes in the pool to the holder of `token`; gives it with its token. A repeated request
    /// gets what it got first, whose lease then ends with the connection of the repetition.
    ///
    /// A caller that goes away before it is made leaves nothing.
    ///
    /// # Errors
    /// A server that is full or stops; a request id that was used for something else; those of `make`, which is only called once there is
    /// room.
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
        let enter = async {
            let shares = self.reserve(origin, environments)?;
            let leased: Arc<dyn Leased> = make(self.pool.group(origin.number())).await?;
            let used = Arc::new(Mutex::new(Instant::now()));
            let (leased, token, request) = (Arc::clone(&leased), token.clone(), id);
            let lease = Lease {
                leased: Arc::clone(&leased),
                token: token.clone(),
                peer,
                request,
                used,
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
            Some(request) => self.requests.once(request, enter).await?,
            None => enter.await?,
        };
        let leased = of_kind::<K>(leased)?;
        self.hand_over(&*leased, peer)?;
        Ok((leased, token))
    }

    /// Lets a lease end with this connection, which may have ended already.
    fn hand_over(&self, leased: &impl Leased, peer: Option<Peer>) -> Result<(), Error> {
        let mut inner = self.lock();
        let connected = peer.is_none_or(|peer| inner.connected.contains(&peer));
        let gone = if inner.stopped { Error::ShuttingDown } else { leased.gone() };
        let lease = inner.leases.get_mut(leased.id()).ok_or(gone)?;
        lease.peer = peer.or(lease.peer);
        drop(inner);
        if !connected {
            self.drop_leases(|known, _| known == leased.id());
        }
        Ok(())
    }

    /// Makes sure that a batch with so many environments fits, and counts them.
    fn reserve(&self, origin: Origin, environments: usize) -> Result<[Share; 2], Error> {
        if self.lock().stopped {
            return Err(Error::ShuttingDown);
        }
        let own = Origin::share(self.limits.batches);
        let open = self.open.take(origin, 1, own, |limit, _| Error::BatchesFull { limit })?;
        let own = origin.quotas().environments.unwrap_or(self.limits.per_caller);
        let full = |limit, open| Error::EnvironmentsFull { limit, open, asked: environments };
        Ok([open, self.environments.take(origin, environments, own, full)?])
    }

    /// The batch or search with this id, for a call of the holder of its token.
    ///
    /// # Errors
    /// No such batch or search, no token or a wrong one; a server that stops.
    pub fn find<K: Leased>(&self, id: &str, token: Option<&str>) -> Result<InUse<K>, Error> {
        let token = token.ok_or(Error::TokenMissing)?;
        let inner = self.lock();
        if inner.stopped {
            return Err(Error::ShuttingDown);
        }
        let lease = inner.leases.get(id).ok_or_else(|| K::unknown(id))?;
        let leased = of_kind::<K>(Arc::clone(&lease.leased)).map_err(|_| K::unknown(id))?;
        if !secret::same(token, &lease.token) {
            return Err(K::owner_only(id));
        }
        Ok(InUse { leased, used: Arc::clone(&lease.used) })
    }

    /// Closes a batch or search for its owner.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn close<K: Leased>(&self, id: &str, token: Option<&str>) -> Result<(), Error> {
        self.find::<K>(id, token)?;
        self.drop_leases(|known, _| known == id);
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

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many environments are open or about to be.
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

    /// Ends the leases that have been idle too long at `now`.
    pub fn expire(&self, now: Instant) {
        let idle = self.limits.idle;
        self.drop_leases(|_, lease| lease.idle(now).is_some_and(|since| since >= idle));
    }

    fn drop_leases(&self, unwanted: impl Fn(&str, &Lease) -> bool) {
        let mut inner = self.lock();
        let stopped = inner.stopped;
        let gone: Vec<_> = inner.leases.extract_if(.., |id, lease| unwanted(id, lease)).collect();
        for (_, lease) in &gone {
            // Under the lock, before a repetition can look for the old one: it makes a new one.
            lease.request.inspect(|request| self.requests.forget(*request));
        }
        drop(inner);
        for (_, Lease { leased, .. }) in gone {
            leased.end(if stopped { Error::ShuttingDown } else { leased.gone() });
            // Giving back the memory of many environments takes a while.
            self.janitor.spawn(Once::new(move || drop(leased)));
        }
    }

    /// Ends all batches and lets nobody open another.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.drop_leases(|_, _| true);
    }
}

/// A connection, whose leases end when this is dropped.
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

/// A batch or search, if it is of this kind.
fn of_kind<K: Leased>(leased: Arc<dyn Leased>) -> Result<Arc<K>, Error> {
    let gone = leased.gone();
    let any: Arc<dyn Any + Send + Sync> = leased;
    any.downcast().map_err(|_| gone)
}

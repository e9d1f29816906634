//! All batches and searches of a server, each leased to one owner.
//!
//! A lease ends when its owner closes it, when the connection it was opened over ends unless it is to be
//! kept, and when no call has been under way for the idle time. The places of a search count as environments do.

mod held;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::batch::{Batch, Opening, SnapshotKey};
use boardwire_batch::pool::{Group, Once, Owner, Pool};
use boardwire_batch::search::Search;
use boardwire_batch::tables::Table;
use uuid::Uuid;

use crate::edge::Origin;
use crate::requests::{RequestId, Requests};
use crate::secret;
pub use held::InUse;
use held::{Held, Kind};

/// How much a server holds, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most batches and searches that may be open at once; callers of one origin may have three quarters of them.
    pub batches: usize,
    /// The most environments that all of them may have.
    pub environments: usize,
    /// The most environments that those opened by callers of one origin may have.
    pub per_caller: usize,
    /// How long a batch stays that nobody uses.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { batches: 1_000, environments: 1 << 18, per_caller: 3 << 16, idle: Duration::from_mins(30) }
    }
}

/// A connection to a client, by its number since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub(crate) u64);

/// The batches there are.
pub struct Batches {
    limits: Limits,
    key: SnapshotKey,
    /// Whether the key was given, and did not come with the process.
    lasting: bool,
    pool: Arc<Pool>,
    /// On whose behalf memory is given back.
    janitor: Owner,
    requests: Requests<Leased>,
    searches: Requests<Arc<Search>>,
    inner: Mutex<Inner>,
}

/// A batch with its owner's token.
pub type Leased = (Arc<Batch>, String);

#[derive(Default)]
struct Inner {
    leases: BTreeMap<String, Lease>,
    /// Batches and environments that are open or about to be.
    count: usize,
    environments: usize,
    /// The same by the origin of who opened them.
    by_origin: HashMap<Origin, Own>,
    peers: u64,
    connected: BTreeSet<Peer>,
    stopped: bool,
}

/// What callers of one origin have open or about to be.
#[derive(Clone, Copy, Default)]
struct Own {
    count: usize,
    environments: usize,
}

struct Lease {
    held: Held,
    token: String,
    terms: Terms,
    used: Used,
}

/// When the last call ended that something leased was used by. Each that is under way shares it with the lease.
type Used = Arc<Mutex<Instant>>;

/// Whose lease is asked for.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The connection the lease ends with.
    pub peer: Option<Peer>,
    /// Where the caller is.
    pub origin: Origin,
    /// What the request is named by, to be safe to repeat.
    pub request: Option<Uuid>,
}

/// Room for a batch that is being dealt; it is given back unless a lease takes it.
struct Place<'a> {
    batches: &'a Batches,
    origin: Origin,
    environments: usize,
    taken: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.batches.lock().vacate(self.origin, self.environments);
        }
    }
}

impl Lease {
    /// For how long no call has been under way at `now`; none while one is.
    fn idle(&self, now: Instant) -> Option<Duration> {
        // A call that ends notes the time before it lets go.
        let idle = Arc::strong_count(&self.used) == 1;
        idle.then(|| now.saturating_duration_since(*self.used.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Inner {
    fn vacate(&mut self, origin: Origin, environments: usize) {
        self.count -= 1;
        self.environments -= environments;
        if let Some(own) = self.by_origin.get_mut(&origin) {
            own.count -= 1;
            own.environments -= environments;
            if own.count == 0 {
                self.by_origin.remove(&origin);
            }
        }
    }
}

impl Batches {
    /// Holds batches within `limits`, which are stepped by `pool`; snapshots are authenticated with `key`, or one of
    /// this process alone.
    #[must_use]
    pub fn new(limits: Limits, key: Option<SnapshotKey>, pool: Arc<Pool>) -> Self {
        let lasting = key.is_some();
        let key = key.unwrap_or_else(|| SnapshotKey::derive(secret::word().as_bytes()));
        let (janitor, inner) = (pool.alone().owner(), Mutex::default());
        Self {
            limits,
            key,
            lasting,
            pool,
            janitor,
            requests: Requests::default(),
            searches: Requests::default(),
            inner,
        }
    }

    /// On whose behalf the pool works for a caller.
    fn group(&self, origin: Origin) -> Group {
        self.pool.group(origin.number())
    }

    /// The key of this server's snapshots.
    #[must_use]
    pub fn key(&self) -> &SnapshotKey {
        &self.key
    }

    /// How much the server holds, and for how long.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether other servers with the same key take this one's snapshots, and this one theirs.
    #[must_use]
    pub fn has_lasting_snapshots(&self) -> bool {
        self.lasting
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a batch; gives it with its owner's token. A repeated `request` is given the batch that it was given
    /// first, whose lease then ends with the connection of the repetition.
    ///
    /// A caller that goes away before the batch is ready leaves nothing.
    ///
    /// # Errors
    /// A server that is full or stops; no environment, or so many that their rows do not fit a message; a request id
    /// that was used for something else.
    pub async fn open(
        &self,
        request: Option<RequestId>,
        table: Arc<Table>,
        opening: Opening,
        terms: Terms,
    ) -> Result<Leased, Error> {
        opening.check(&table)?;
        let peer = terms.peer;
        let deal = self.deal(table, opening, terms);
        let (batch, token) = match request {
            Some(request) => self.requests.once(request, deal).await?,
            None => deal.await?,
        };
        self.hand_over::<Batch>(batch.id(), peer)?;
        Ok((batch, token))
    }

    /// Lets a lease end with this connection, which may have ended already.
    fn hand_over<K: Kind>(&self, id: &str, peer: Option<Peer>) -> Result<(), Error> {
        let mut inner = self.lock();
        let connected = peer.is_none_or(|peer| inner.connected.contains(&peer));
        let stopped = inner.stopped;
        let gone = || if stopped { Error::ShuttingDown } else { K::unknown(id.to_owned()) };
        let lease = inner.leases.get_mut(id).ok_or_else(gone)?;
        lease.terms.peer = peer.or(lease.terms.peer);
        drop(inner);
        if !connected {
            self.drop_leases(|known, _| known == id);
        }
        Ok(())
    }

    async fn deal(&self, table: Arc<Table>, opening: Opening, terms: Terms) -> Result<Leased, Error> {
        let mut place = self.reserve(terms.origin, opening.environments)?;
        let batch = Batch::open(secret::word(), table, opening, &self.group(terms.origin)).await?;
        let token = secret::word();
        self.enter(Held::Batch(Arc::clone(&batch)), token.clone(), terms, &mut place)?;
        Ok((batch, token))
    }

    /// Leases what has been made.
    fn enter(&self, held: Held, token: String, terms: Terms, place: &mut Place<'_>) -> Result<(), Error> {
        let mut inner = self.lock();
        if inner.stopped {
            return Err(Error::ShuttingDown);
        }
        let used = Arc::new(Mutex::new(Instant::now()));
        inner.leases.insert(held.id().to_owned(), Lease { held, token, terms, used });
        place.taken = true;
        Ok(())
    }

    /// Makes sure that so many environments fit, and counts them.
    fn reserve(&self, origin: Origin, environments: usize) -> Result<Place<'_>, Error> {
        let mut inner = self.lock();
        if inner.stopped {
            return Err(Error::ShuttingDown);
        }
        if inner.count >= self.limits.batches {
            return Err(Error::BatchesFull { limit: self.limits.batches });
        }
        let (limit, open) = (self.limits.environments, inner.environments);
        if environments > limit.saturating_sub(open) {
            return Err(Error::EnvironmentsFull { limit, open, asked: environments });
        }
        let own = inner.by_origin.get(&origin).copied().unwrap_or_default();
        let limit = Origin::share(self.limits.batches);
        if own.count >= limit {
            return Err(Error::CallerFull { what: "batches", limit });
        }
        let limit = origin.quotas().environments.unwrap_or(self.limits.per_caller);
        if environments > limit.saturating_sub(own.environments) {
            return Err(Error::CallerFull { what: "environments", limit });
        }
        let own = inner.by_origin.entry(origin).or_default();
        own.count += 1;
        own.environments += environments;
        inner.environments += environments;
        inner.count += 1;
        Ok(Place { batches: self, origin, environments, taken: false })
    }

    /// The batch with this id, for the holder of its token.
    ///
    /// # Errors
    /// No such batch, no token or a wrong one.
    pub fn find(&self, id: &str, token: Option<&str>) -> Result<InUse<Batch>, Error> {
        self.held(id, token)
    }

    /// Closes a batch for its owner.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn close(&self, id: &str, token: Option<&str>) -> Result<(), Error> {
        self.find(id, token)?;
        self.drop_leases(|known, _| known == id);
        Ok(())
    }

    /// How many batches, searches and worlds are open.
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
        self.lock().environments
    }

    /// Numbers a new connection.
    pub(crate) fn connected(&self) -> Peer {
        let mut inner = self.lock();
        inner.peers += 1;
        let peer = Peer(inner.peers);
        inner.connected.insert(peer);
        peer
    }

    /// Ends the leases that end with this connection.
    pub(crate) fn disconnected(&self, peer: Peer) {
        self.lock().connected.remove(&peer);
        self.drop_leases(|_, lease| lease.terms.peer == Some(peer));
    }

    /// Ends the leases that have been idle too long at `now`.
    pub fn expire(&self, now: Instant) {
        let idle = self.limits.idle;
        self.drop_leases(|_, lease| lease.idle(now).is_some_and(|since| since >= idle));
    }

    fn drop_leases(&self, unwanted: impl Fn(&str, &Lease) -> bool) {
        let mut inner = self.lock();
        let stopped = inner.stopped;
        let ids = inner.leases.iter().filter(|(id, lease)| unwanted(id, lease)).map(|(id, _)| id.clone());
        let ids: Vec<String> = ids.collect();
        let gone: Vec<_> = ids.iter().filter_map(|id| inner.leases.remove_entry(id)).collect();
        for (_, lease) in &gone {
            inner.vacate(lease.terms.origin, lease.held.places());
            // Under the lock, before a repetition can look for the old one: it makes a new one.
            if let Some(request) = lease.terms.request {
                match lease.held {
                    Held::Batch(_) => self.requests.forget(request),
                    Held::Search(_) => self.searches.forget(request),
                }
            }
        }
        drop(inner);
        for (_, Lease { held, .. }) in gone {
            held.end(stopped);
            // Giving back the memory of many environments takes a while.
            self.janitor.spawn(Once::new(move || drop(held)));
        }
    }

    /// Ends all batches and lets nobody open another.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.drop_leases(|_, _| true);
    }
}

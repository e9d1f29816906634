//! All batches of a server, each leased to one owner.
//!
//! A lease ends when its owner closes it, when the connection it was opened over ends unless it is to be
//! kept, and when it has not been used for the idle time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::batch::{Batch, MESSAGE_HEAD, Opening, SnapshotKey, row_bytes};
use crate::error::ServiceError;
use crate::run::MAX_MESSAGE_BYTES;
use crate::secret;
use crate::tables::Table;

/// How much a server holds, and for how long.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most batches that may be open at once.
    pub batches: usize,
    /// The most environments that all of them may have.
    pub environments: usize,
    /// How long a batch stays that nobody uses.
    pub idle: Duration,
    /// How many threads step environments; 0 for one a core.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { batches: 1_000, environments: 1 << 18, idle: Duration::from_secs(30 * 60), threads: 0 }
    }
}

/// A connection to a client, by its number since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub(crate) u64);

/// The batches there are.
pub struct Batches {
    limits: Limits,
    key: SnapshotKey,
    pool: Arc<rayon::ThreadPool>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    leases: BTreeMap<String, Lease>,
    environments: usize,
    peers: u64,
    stopped: bool,
}

struct Lease {
    batch: Arc<Batch>,
    token: String,
    request: String,
    /// The connection it ends with.
    peer: Option<Peer>,
    used: Instant,
}

/// Whose lease is asked for.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The connection the lease ends with.
    pub peer: Option<Peer>,
    /// A word of the caller's: a repeated, non-empty one is given the batch that it was given first.
    pub request: String,
}

impl Batches {
    /// Holds batches within `limits`; snapshots are authenticated with `key`, or one of this process alone.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn new(limits: Limits, key: Option<SnapshotKey>) -> Result<Self, rayon::ThreadPoolBuildError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(limits.threads)
            .thread_name(|number| format!("step-{number}"))
            .panic_handler(|_| tracing::error!("a step panicked"))
            .build()?;
        let key = key.unwrap_or_else(|| SnapshotKey::derive(secret::word().as_bytes()));
        Ok(Self { limits, key, pool: Arc::new(pool), inner: Mutex::default() })
    }

    /// The key of this server's snapshots.
    #[must_use]
    pub fn key(&self) -> &SnapshotKey {
        &self.key
    }

    /// How long a batch stays that nobody uses.
    #[must_use]
    pub fn idle_time(&self) -> Duration {
        self.limits.idle
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a batch; gives it with its owner's token.
    ///
    /// # Errors
    /// A server that is full or stops; no environment, or so many that their rows do not fit a message.
    pub fn open(
        &self,
        table: Arc<Table>,
        opening: Opening,
        terms: Terms,
    ) -> Result<(Arc<Batch>, String), ServiceError> {
        let most = (MAX_MESSAGE_BYTES - MESSAGE_HEAD) / row_bytes(table.rules.info(), &opening.plan);
        let environments = opening.environments;
        if !(1..=most).contains(&environments) {
            return Err(ServiceError::BadField {
                field: "environments",
                value: environments.to_string(),
                expected: format!("from 1 to {most}"),
            });
        }
        if let Some(known) = self.reserve(&terms.request, environments)? {
            return Ok(known);
        }
        let batch = Batch::open(secret::word(), table, opening, Arc::clone(&self.pool));
        let (batch, token) = (Arc::new(batch), secret::word());
        let Terms { peer, request } = terms;
        let lease =
            Lease { batch: Arc::clone(&batch), token: token.clone(), request, peer, used: Instant::now() };
        let mut inner = self.lock();
        if inner.stopped {
            return Err(ServiceError::ShuttingDown);
        }
        inner.leases.insert(batch.id().to_owned(), lease);
        Ok((batch, token))
    }

    /// Makes sure that so many environments fit, and counts them; or finds the batch of a repeated request.
    fn reserve(
        &self,
        request: &str,
        environments: usize,
    ) -> Result<Option<(Arc<Batch>, String)>, ServiceError> {
        let mut inner = self.lock();
        if inner.stopped {
            return Err(ServiceError::ShuttingDown);
        }
        if !request.is_empty()
            && let Some(lease) = inner.leases.values().find(|lease| lease.request == request)
        {
            return Ok(Some((Arc::clone(&lease.batch), lease.token.clone())));
        }
        if inner.leases.len() >= self.limits.batches {
            return Err(ServiceError::BatchesFull { limit: self.limits.batches });
        }
        let (limit, open) = (self.limits.environments, inner.environments);
        if environments > limit.saturating_sub(open) {
            return Err(ServiceError::EnvironmentsFull { limit, open, asked: environments });
        }
        inner.environments += environments;
        Ok(None)
    }

    /// The batch with this id, for the holder of its token.
    ///
    /// # Errors
    /// No such batch, no token or a wrong one.
    pub fn find(&self, id: &str, token: Option<&str>) -> Result<Arc<Batch>, ServiceError> {
        let token = token.ok_or(ServiceError::MissingToken)?;
        let mut inner = self.lock();
        if inner.stopped {
            return Err(ServiceError::ShuttingDown);
        }
        let lease = inner.leases.get_mut(id);
        let lease = lease.ok_or_else(|| ServiceError::UnknownBatch { id: id.to_owned() })?;
        if !secret::same(token, &lease.token) {
            return Err(ServiceError::BatchOwnerOnly { id: id.to_owned() });
        }
        lease.used = Instant::now();
        Ok(Arc::clone(&lease.batch))
    }

    /// Closes a batch for its owner.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn close(&self, id: &str, token: Option<&str>) -> Result<(), ServiceError> {
        self.find(id, token)?;
        self.drop_leases(|known, _| known == id);
        Ok(())
    }

    /// How many batches are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().leases.len()
    }

    /// Whether no batch is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers a new connection.
    pub(crate) fn connected(&self) -> Peer {
        let mut inner = self.lock();
        inner.peers += 1;
        Peer(inner.peers)
    }

    /// Ends the leases that end with this connection.
    pub(crate) fn disconnected(&self, peer: Peer) {
        self.drop_leases(|_, lease| lease.peer == Some(peer));
    }

    /// Ends the leases that have been idle too long at `now`.
    pub fn expire(&self, now: Instant) {
        let idle = self.limits.idle;
        self.drop_leases(|_, lease| now.saturating_duration_since(lease.used) >= idle);
    }

    fn drop_leases(&self, unwanted: impl Fn(&str, &Lease) -> bool) {
        let mut inner = self.lock();
        let gone = inner.leases.iter().filter(|(id, lease)| unwanted(id, lease)).map(|(id, _)| id.clone());
        for id in gone.collect::<Vec<_>>() {
            let Some(Lease { batch, .. }) = inner.leases.remove(&id) else { continue };
            inner.environments -= batch.opening().environments;
            tracing::info!(batch_id = id, "batch closed");
            batch.end(if inner.stopped {
                ServiceError::ShuttingDown
            } else {
                ServiceError::UnknownBatch { id }
            });
        }
    }

    /// Ends all batches and lets nobody open another.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.drop_leases(|_, _| true);
    }
}

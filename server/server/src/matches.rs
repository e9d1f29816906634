//! All matches of a server. All calls share them.

mod register;

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::pool::{Pool, WorkQueue};
use boardwire_batch::tables::{Table, Tables};
use tokio::sync::watch;

use crate::arbiter::{Arbiter, CloseReason, OPENING_TIMEOUT, Role, Settings};
use crate::journal::{Journal, SavedMatch};
use crate::origin::Origin;
use crate::quota::Quota;
use crate::requests::{RequestCache, RequestId};
use register::{OpenMatch, Register};

/// The limits on matches, and their timeouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchLimits {
    /// The maximum number of open matches.
    pub matches: usize,
    /// The maximum number of open matches that callers of one origin created.
    pub per_caller: usize,
    /// The maximum number of waiting calls of one seat.
    pub waiting: usize,
    /// The idle timeout of an open match.
    pub idle: Duration,
    /// The time that agents have to open their secrets for fair deals, once all have joined.
    pub opening_timeout: Duration,
}

impl Default for MatchLimits {
    fn default() -> Self {
        Self {
            matches: 100_000,
            per_caller: 50_000,
            waiting: 16,
            idle: Duration::from_hours(4),
            opening_timeout: OPENING_TIMEOUT,
        }
    }
}

/// The number of matches that one task of the pool examines for a page, and the maximum number of tasks per page.
const MATCHES_PER_TASK: usize = 250;
const MAX_TASKS_PER_PAGE: usize = 40;

/// A page of a list of matches, ordered by id.
pub struct MatchPage<T> {
    /// The descriptions of the listed matches.
    pub matches: Vec<T>,
    /// The id of the last examined match. `None` on the last page.
    pub last: Option<String>,
}

/// The matches of a server.
pub struct Matches {
    tables: Tables,
    limits: MatchLimits,
    pool: Arc<Pool>,
    requests: RequestCache<Arc<Arbiter>>,
    quota: Arc<Quota>,
    register: Mutex<Register>,
    stopped: watch::Sender<bool>,
    journal: Option<Arc<Journal>>,
}

impl Matches {
    /// Creates an empty set of matches of the games of `tables`, within `limits`. Their bots run in `pool`.
    #[must_use]
    pub fn new(tables: Tables, limits: MatchLimits, pool: Arc<Pool>) -> Self {
        Self {
            tables,
            quota: Quota::new("matches", limits.matches),
            limits,
            pool,
            requests: RequestCache::default(),
            register: Mutex::default(),
            stopped: watch::Sender::new(false),
            journal: None,
        }
    }

    /// Records all events of the matches in a journal.
    #[must_use]
    pub fn with_journal(self, journal: Arc<Journal>) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// Returns the games that the server serves.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Returns the limits on matches.
    #[must_use]
    pub fn limits(&self) -> &MatchLimits {
        &self.limits
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a match and deals its first episode. A retry of `request` gets the same match while it is open.
    ///
    /// # Errors
    /// The settings are invalid; `request` has the id of another request; the server is full or stops; the journal fails.
    pub async fn create(
        &self,
        request: Option<RequestId>,
        origin: Origin,
        table: Arc<Table>,
        settings: Settings,
    ) -> Result<Arc<Arbiter>, Error> {
        settings.check()?;
        let id = request.as_ref().map(|request| request.id);
        let create = async {
            self.check_journal()?;
            let origin_limit = origin.quotas().matches.unwrap_or(self.limits.per_caller);
            let quota_guard =
                self.quota.acquire(origin, 1, origin_limit, |limit, _| Error::MatchesFull { limit })?;
            let (dealer, work_queue, waiting) =
                (self.work_queue(origin), self.work_queue(origin), self.limits.waiting);
            let dealt = dealer.run(move || Arbiter::new(table, settings, work_queue, waiting));
            let mut arbiter = dealt.await.ok_or_else(|| no_result_error("match"))?;
            self.check_journal()?;
            let mut register = self.lock();
            if *self.stopped.borrow() {
                return Err(Error::ShuttingDown);
            }
            // Only now: the server continues every match of the journal after a restart.
            if let Some(journal) = &self.journal {
                arbiter = arbiter.with_journal(journal);
            }
            let arbiter = Arc::new(arbiter);
            register.insert(OpenMatch {
                arbiter: Arc::clone(&arbiter),
                request: id,
                _quota_guard: quota_guard,
            });
            drop(register);
            arbiter.start();
            Ok(arbiter)
        };
        let arbiter = match request {
            Some(request) => self.requests.get_or_execute(request, create).await?,
            None => create.await?,
        };
        // After `get_or_execute`: if this fails, the match exists, and a retry of the request waits for the same match.
        arbiter.wait_until_written().await?;
        Ok(arbiter)
    }

    /// Checks whether this server can continue a match of a journal.
    ///
    /// # Errors
    /// The match is damaged, or this server cannot continue it. The text says why.
    pub fn check(&self, saved: &SavedMatch) -> Result<(), String> {
        self.restore_arbiter(saved, None).map(drop)
    }

    /// Opens a match of the journal. The match and its clocks are paused until [`start_restored`](Self::start_restored).
    ///
    /// # Errors
    /// The match is damaged, or this server cannot continue it. The text says why.
    pub fn restore(&self, saved: &SavedMatch) -> Result<(), String> {
        let journal = self.journal.as_ref().ok_or("the server has no journal")?;
        let arbiter = Arc::new(self.restore_arbiter(saved, Some(journal))?);
        self.lock().insert(OpenMatch {
            arbiter,
            request: None,
            _quota_guard: self.quota.acquire_unchecked(Origin::Unknown),
        });
        Ok(())
    }

    fn restore_arbiter(&self, saved: &SavedMatch, journal: Option<&Arc<Journal>>) -> Result<Arbiter, String> {
        // The journal does not record who created a match.
        let work_queue = self.work_queue(Origin::Unknown);
        Arbiter::restore(saved, &self.tables, work_queue, self.limits.waiting, journal)
    }

    /// Continues the restored matches. Call this once agents can reach the server, and before you create a match.
    pub fn start_restored(&self) {
        for arbiter in self.all_open() {
            arbiter.start();
        }
    }

    fn all_open(&self) -> Vec<Arc<Arbiter>> {
        self.lock().open.values().map(|open| Arc::clone(&open.arbiter)).collect()
    }

    /// Waits until all past events of all matches are written.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn wait_until_written(&self) -> Result<(), Error> {
        match &self.journal {
            Some(journal) => journal.wait_until_written(journal.submitted()).await,
            None => Ok(()),
        }
    }

    /// Returns the number of events that wait to be written.
    pub(crate) fn journal_lag(&self) -> usize {
        self.journal.as_ref().map_or(0, |journal| journal.queued())
    }

    /// Returns whether the journal cannot record events now.
    #[must_use]
    pub fn journal_fails(&self) -> bool {
        self.check_journal().is_err()
    }

    /// Counts a tick of the journal's current write. Call it every 50 ms. Returns whether the write is so slow that clocks
    /// stop. After 100 ticks of one write the journal fails.
    pub fn tick_journal(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.tick())
    }

    /// Returns the match with this id, if it is open or was closed recently.
    ///
    /// # Errors
    /// There is no such match.
    pub fn find(&self, id: &str) -> Result<Arc<Arbiter>, Error> {
        let register = self.lock();
        let closed = || register.closed.iter().find(|arbiter| arbiter.id() == id);
        let arbiter = register.open.get(id).map(|open| &open.arbiter).or_else(closed);
        arbiter.map(Arc::clone).ok_or_else(|| Error::MatchUnknown { match_id: id.to_owned() })
    }

    /// Returns the match with this id if `token` is its host's.
    fn find_for_host(&self, id: &str, token: Option<&str>) -> Result<Arc<Arbiter>, Error> {
        let arbiter = self.find(id)?;
        if arbiter.role(token)? != Role::Host {
            return Err(Error::HostOnly { match_id: id.to_owned() });
        }
        Ok(arbiter)
    }

    /// Returns up to `size` descriptions of matches whose ids follow `after`. `describe` makes them. Omits private matches,
    /// and matches for which `describe` returns `None`. A page that omits many may be short.
    ///
    /// # Errors
    /// An internal error: the pool returned no result.
    pub async fn list<T: Send + 'static>(
        self: &Arc<Self>,
        origin: Origin,
        mut after: String,
        size: usize,
        describe: impl Fn(&Arbiter) -> Option<T> + Send + Sync + 'static,
    ) -> Result<MatchPage<T>, Error> {
        let (work_queue, describe) = (self.work_queue(origin), Arc::new(describe));
        let mut page = MatchPage { matches: vec![], last: None };
        for _ in 0..MAX_TASKS_PER_PAGE {
            let (matches, describe) = (Arc::clone(self), Arc::clone(&describe));
            let filled = work_queue.run(move || {
                let is_finished = matches.add_chunk(&mut page, &mut after, size, &*describe);
                (page, after, is_finished)
            });
            let is_finished;
            (page, after, is_finished) = filled.await.ok_or_else(|| no_result_error("list"))?;
            if is_finished {
                break;
            }
        }
        Ok(page)
    }

    /// Adds the matches after `after` to a page. Returns whether the page is finished.
    fn add_chunk<T>(
        &self,
        page: &mut MatchPage<T>,
        after: &mut String,
        size: usize,
        describe: impl Fn(&Arbiter) -> Option<T>,
    ) -> bool {
        let mut chunk: Vec<_> = {
            let register = self.lock();
            let range = (Bound::Excluded(&**after), Bound::Unbounded);
            let open =
                register.open.range::<str, _>(range).map(|(_, open)| &open.arbiter).take(MATCHES_PER_TASK);
            let closed = register.closed.iter().filter(|arbiter| arbiter.id() > &**after);
            open.chain(closed).map(Arc::clone).collect()
        };
        chunk.sort_unstable_by(|one, other| one.id().cmp(other.id()));
        chunk.truncate(MATCHES_PER_TASK);
        let Some(last) = chunk.last() else {
            page.last = None;
            return true;
        };
        last.id().clone_into(after);
        for arbiter in &chunk {
            let description = if arbiter.settings().private { None } else { describe(arbiter) };
            if let Some(description) = description {
                if page.matches.len() == size {
                    return true;
                }
                page.matches.push(description);
            }
            arbiter.id().clone_into(page.last.get_or_insert_default());
        }
        false
    }

    /// Creates a work queue of the pool for a caller.
    pub(crate) fn work_queue(&self, origin: Origin) -> WorkQueue {
        self.pool.group(origin.number()).work_queue()
    }

    /// Closes a match for its host. Idempotent: closing it again changes nothing.
    ///
    /// # Errors
    /// There is no such match, the token is not its host's, or the journal fails. A stopping server with a journal
    /// refuses to close a match, because the next server continues it.
    pub fn close(&self, id: &str, token: Option<&str>) -> Result<Arc<Arbiter>, Error> {
        let arbiter = self.find_for_host(id, token)?;
        self.check_journal()?;
        arbiter.close(CloseReason::Host);
        if self.journal.is_some() && !arbiter.has_ended() {
            return Err(Error::ShuttingDown);
        }
        self.move_to_closed(&arbiter);
        Ok(arbiter)
    }

    fn check_journal(&self) -> Result<(), Error> {
        self.journal.as_ref().map_or(Ok(()), |journal| journal.check())
    }

    /// Closes the matches whose idle timeout has passed at `now`, and moves ended matches to the closed ones.
    pub fn expire(&self, now: Instant) {
        let limit = self.limits.idle;
        let (ended, open): (Vec<_>, Vec<_>) =
            self.all_open().into_iter().partition(|arbiter| arbiter.has_ended());
        for arbiter in &ended {
            self.move_to_closed(arbiter);
        }
        if self.journal_fails() {
            return;
        }
        let idle = |arbiter: Arc<Arbiter>| {
            let since = arbiter.idle_since()?;
            (now.saturating_duration_since(since) >= limit).then_some((since, arbiter))
        };
        let mut idle: Vec<_> = open.into_iter().filter_map(idle).collect();
        // Ordered by age, the closed matches share few memory pages. The allocator can then free the remaining pages.
        idle.sort_by_key(|(since, _)| *since);
        for (_, arbiter) in idle {
            tracing::info!(match_id = arbiter.id(), "match expired");
            arbiter.close(CloseReason::Idle { limit });
            self.move_to_closed(&arbiter);
        }
    }

    fn move_to_closed(&self, arbiter: &Arbiter) {
        let moved = self.lock().move_to_closed(arbiter);
        // The evicted match is dropped only after the register is unlocked.
        if let Some((Some(request), _evicted)) = moved {
            self.requests.remove(request);
        }
    }

    /// Returns the number of open matches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().open.len()
    }

    /// Returns whether no match is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends all matches, fails waiting calls, and refuses new matches.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
        for arbiter in self.all_open() {
            arbiter.close(CloseReason::ShuttingDown);
        }
    }

    /// Resolves when the server stops.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stopped.subscribe();
        async move {
            // An error means that the server and its matches no longer exist.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }
    }
}

/// Returns the error for work of the pool that returned no result.
pub(crate) fn no_result_error(result: &str) -> Error {
    Error::Internal { place: "the pool".to_owned(), problem: format!("the thread pool returned no {result}") }
}

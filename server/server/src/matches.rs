//! All matches of a server, which its calls share.

mod register;

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::pool::{Owner, Pool};
use boardwire_batch::tables::{Table, Tables};
use tokio::sync::watch;

use crate::arbiter::{Arbiter, CloseReason, OPENING_TIMEOUT, Role, Settings};
use crate::journal::{Journal, SavedMatch};
use crate::origin::Origin;
use crate::quota::Quota;
use crate::requests::{RequestCache, RequestId};
use register::{OpenMatch, Register};

/// How many matches a server holds, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchLimits {
    /// The most open matches.
    pub matches: usize,
    /// The most open matches that callers of one origin created.
    pub per_caller: usize,
    /// The most waiting calls of one seat.
    pub waiting: usize,
    /// How long an unused match stays open.
    pub idle: Duration,
    /// How long agents may take to open their contributions to fair deals, once all have joined.
    pub opening: Duration,
}

impl Default for MatchLimits {
    fn default() -> Self {
        Self {
            matches: 100_000,
            per_caller: 50_000,
            waiting: 16,
            idle: Duration::from_hours(4),
            opening: OPENING_TIMEOUT,
        }
    }
}

/// How many matches one task of the pool examines for a page, and how many tasks a page takes at most.
const CHUNK: usize = 250;
const MAX_CHUNKS: usize = 40;

/// A page of a list of matches, ordered by id.
pub struct Page<T> {
    /// The descriptions of the listed matches.
    pub matches: Vec<T>,
    /// The id of the last match examined; none on the last page.
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
    /// Holds matches of the games of `tables` within `limits`; their bots think in `pool`.
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
    pub fn kept_in(self, journal: Arc<Journal>) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// The games served.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// How many matches the server holds, and for how long.
    #[must_use]
    pub fn limits(&self) -> &MatchLimits {
        &self.limits
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a match and deals its first episode. A repeated `request` gets the same match while it is open.
    ///
    /// # Errors
    /// Invalid settings, a request id of another request, a full or stopping server, or a failing journal.
    pub async fn create(
        &self,
        request: Option<RequestId>,
        origin: Origin,
        table: Arc<Table>,
        settings: Settings,
    ) -> Result<Arc<Arbiter>, Error> {
        settings.check()?;
        let id = request.as_ref().map(|request| request.id);
        let deal = async {
            self.check_journal()?;
            let origin_limit = origin.quotas().matches.unwrap_or(self.limits.per_caller);
            let share = self.quota.take(origin, 1, origin_limit, |limit, _| Error::MatchesFull { limit })?;
            let (dealer, owner, waiting) = (self.owner(origin), self.owner(origin), self.limits.waiting);
            let dealt = dealer.run(move || Arbiter::new(table, settings, owner, waiting));
            let mut arbiter = dealt.await.ok_or_else(|| pool_failed("a match"))?;
            self.check_journal()?;
            let mut register = self.lock();
            if *self.stopped.borrow() {
                return Err(Error::ShuttingDown);
            }
            // Only now: the next server continues every match in the journal.
            if let Some(journal) = &self.journal {
                arbiter = arbiter.kept_in(journal);
            }
            let arbiter = Arc::new(arbiter);
            register.open(OpenMatch { arbiter: Arc::clone(&arbiter), request: id, _share: share });
            drop(register);
            arbiter.begin();
            Ok(arbiter)
        };
        let arbiter = match request {
            Some(request) => self.requests.once(request, deal).await?,
            None => deal.await?,
        };
        // After `once`: if this fails, the match exists, and a repeated request waits for the same match.
        arbiter.kept().await?;
        Ok(arbiter)
    }

    /// Checks whether a match of a journal can continue here.
    ///
    /// # Errors
    /// What is wrong with it, or why it cannot continue here.
    pub fn check(&self, saved: &SavedMatch) -> Result<(), String> {
        self.restored(saved, None).map(drop)
    }

    /// Opens a match of the journal. It and its clocks stand still until all matches [`begin`](Self::begin).
    ///
    /// # Errors
    /// What is wrong with it, or why it cannot continue here.
    pub fn restore(&self, saved: &SavedMatch) -> Result<(), String> {
        let journal = self.journal.as_ref().ok_or("the server has no journal")?;
        let arbiter = Arc::new(self.restored(saved, Some(journal))?);
        self.lock().open(OpenMatch { arbiter, request: None, _share: self.quota.overdraw(Origin::Unknown) });
        Ok(())
    }

    fn restored(&self, saved: &SavedMatch, journal: Option<&Arc<Journal>>) -> Result<Arbiter, String> {
        // The journal does not record who created a match.
        let owner = self.owner(Origin::Unknown);
        Arbiter::restored(saved, &self.tables, owner, self.limits.waiting, journal)
    }

    /// Lets the restored matches continue. To be called once agents can reach the server, and before a match is created.
    pub fn begin(&self) {
        for arbiter in self.all_open() {
            arbiter.begin();
        }
    }

    fn all_open(&self) -> Vec<Arc<Arbiter>> {
        self.lock().open.values().map(|open| Arc::clone(&open.arbiter)).collect()
    }

    /// Waits until all past events of all matches are written.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn kept(&self) -> Result<(), Error> {
        match &self.journal {
            Some(journal) => journal.written(journal.submitted()).await,
            None => Ok(()),
        }
    }

    /// How many events wait to be written.
    pub(crate) fn journal_lag(&self) -> usize {
        self.journal.as_ref().map_or(0, |journal| journal.lag())
    }

    /// Whether events cannot be recorded now.
    #[must_use]
    pub fn journal_fails(&self) -> bool {
        self.check_journal().is_err()
    }

    /// Counts a tick of the journal's current write; to be called every 50 ms. Returns whether the write is so slow that clocks
    /// stop. After 100 ticks of one write the journal fails.
    pub fn look_at_journal(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.tick())
    }

    /// The match with this id, open or closed recently.
    ///
    /// # Errors
    /// No such match.
    pub fn find(&self, id: &str) -> Result<Arc<Arbiter>, Error> {
        let register = self.lock();
        let closed = || register.closed.iter().find(|arbiter| arbiter.id() == id);
        let arbiter = register.open.get(id).map(|open| &open.arbiter).or_else(closed);
        arbiter.map(Arc::clone).ok_or_else(|| Error::MatchUnknown { match_id: id.to_owned() })
    }

    /// The match with this id, for its host.
    fn find_for_host(&self, id: &str, token: Option<&str>) -> Result<Arc<Arbiter>, Error> {
        let arbiter = self.find(id)?;
        if arbiter.role(token)? != Role::Host {
            return Err(Error::HostOnly { match_id: id.to_owned() });
        }
        Ok(arbiter)
    }

    /// A page of up to `size` matches whose ids follow `after`, as `describe` describes them. It omits private matches, and matches
    /// for which `describe` returns none. A page may be short if it omits many.
    ///
    /// # Errors
    /// An internal error of the pool.
    pub async fn list<T: Send + 'static>(
        self: &Arc<Self>,
        origin: Origin,
        mut after: String,
        size: usize,
        describe: impl Fn(&Arbiter) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Page<T>, Error> {
        let (owner, describe) = (self.owner(origin), Arc::new(describe));
        let mut page = Page { matches: vec![], last: None };
        for _ in 0..MAX_CHUNKS {
            let (matches, describe) = (Arc::clone(self), Arc::clone(&describe));
            let filled = owner.run(move || {
                let is_finished = matches.add_chunk(&mut page, &mut after, size, &*describe);
                (page, after, is_finished)
            });
            let is_finished;
            (page, after, is_finished) = filled.await.ok_or_else(|| pool_failed("a list"))?;
            if is_finished {
                break;
            }
        }
        Ok(page)
    }

    /// Adds the matches after `after` to a page; returns whether the page is finished.
    fn add_chunk<T>(
        &self,
        page: &mut Page<T>,
        after: &mut String,
        size: usize,
        describe: impl Fn(&Arbiter) -> Option<T>,
    ) -> bool {
        let mut chunk: Vec<_> = {
            let register = self.lock();
            let range = (Bound::Excluded(&**after), Bound::Unbounded);
            let open = register.open.range::<str, _>(range).map(|(_, open)| &open.arbiter).take(CHUNK);
            let closed = register.closed.iter().filter(|arbiter| arbiter.id() > &**after);
            open.chain(closed).map(Arc::clone).collect()
        };
        chunk.sort_unstable_by(|one, other| one.id().cmp(other.id()));
        chunk.truncate(CHUNK);
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

    /// An owner of work in the pool, on behalf of a caller.
    pub(crate) fn owner(&self, origin: Origin) -> Owner {
        self.pool.group(origin.number()).owner()
    }

    /// Closes a match for its host; closing it again changes nothing.
    ///
    /// # Errors
    /// No such match, a token that is not its host's, or a failing journal. A stopping server with a journal refuses: the next
    /// server continues the match.
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

    /// Checks that events can be recorded now.
    fn check_journal(&self) -> Result<(), Error> {
        self.journal.as_ref().map_or(Ok(()), |journal| journal.check())
    }

    /// Closes the matches that were unused for too long at `now`, and moves ended matches to the closed ones.
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
        // Ordered by age, the closed matches share few memory pages, and the pages of the rest can be freed.
        idle.sort_by_key(|(since, _)| *since);
        for (_, arbiter) in idle {
            tracing::info!(match_id = arbiter.id(), "match expired");
            arbiter.close(CloseReason::Idle { limit });
            self.move_to_closed(&arbiter);
        }
    }

    /// Moves an ended match to the closed ones.
    fn move_to_closed(&self, arbiter: &Arbiter) {
        let moved = self.lock().move_to_closed(arbiter);
        // The forgotten match is dropped after the register is unlocked.
        if let Some((Some(request), _forgotten)) = moved {
            self.requests.forget(request);
        }
    }

    /// How many matches are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().open.len()
    }

    /// Whether no match is open.
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
            // An error means that the matches were dropped, and the server with them.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }
    }
}

/// The error when the pool returned no result for its work.
pub(crate) fn pool_failed(result: &str) -> Error {
    Error::Internal { place: "the pool".to_owned(), what: format!("{result} was not made") }
}

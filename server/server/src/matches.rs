//! All matches of a server: the one thing its calls share.

mod joining;
mod register;

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::pool::{Owner, Pool};
use boardwire_batch::tables::{Table, Tables};
use tokio::sync::watch;
use uuid::Uuid;

use crate::arbiter::{Arbiter, CloseReason, OPENING_TIMEOUT, Role, Settings};
use crate::journal::{Journal, SavedMatch};
use crate::origin::Origin;
use crate::quota::Quota;
use crate::requests::{RequestCache, RequestId};
use register::{OpenMatch, Register};

/// How many matches a server holds, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchLimits {
    /// The most matches that may be open at once.
    pub matches: usize,
    /// The most of them that callers of one origin may have created.
    pub per_caller: usize,
    /// The most calls that one seat may have waiting.
    pub waiting: usize,
    /// How long a match stays that nobody uses.
    pub idle: Duration,
    /// How long agents may take to open what they contribute to fair deals, once all have joined.
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

/// How many matches are looked at in one go, and how often for one page.
const CHUNK: usize = 250;
const CHUNKS: usize = 40;

/// A page of a list of matches, in the order of their ids.
pub struct Page<T> {
    /// An entry for each match.
    pub matches: Vec<T>,
    /// The id of the last one looked at; none when there are no more.
    pub last: Option<String>,
}

/// The matches there are.
pub struct Matches {
    tables: Tables,
    limits: MatchLimits,
    pool: Arc<Pool>,
    requests: RequestCache<Arc<Arbiter>>,
    quota: Arc<Quota>,
    inner: Mutex<Register>,
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
            inner: Mutex::default(),
            stopped: watch::Sender::new(false),
            journal: None,
        }
    }

    /// The same, all that happens in its matches kept in a journal.
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
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a match and deals its first episode; a repeated `request` is given the match that it was given first,
    /// as long as that is open.
    ///
    /// # Errors
    /// Settings that cannot be, a request id that was used for something else, a server that is full or stops.
    pub async fn create(
        &self,
        request: Option<RequestId>,
        origin: Origin,
        table: Arc<Table>,
        settings: Settings,
    ) -> Result<Arc<Arbiter>, Error> {
        settings.check()?;
        let id = request.as_ref().map(|request| request.id);
        let deal = self.deal(id, origin, table, settings);
        let arbiter = match request {
            Some(request) => self.requests.once(request, deal).await?,
            None => deal.await?,
        };
        // The match exists by now: a repeated request waits until the same one is written.
        arbiter.kept().await?;
        Ok(arbiter)
    }

    async fn deal(
        &self,
        request: Option<Uuid>,
        origin: Origin,
        table: Arc<Table>,
        settings: Settings,
    ) -> Result<Arc<Arbiter>, Error> {
        self.check_journal()?;
        let own_limit = origin.quotas().matches.unwrap_or(self.limits.per_caller);
        let share = self.quota.take(origin, 1, own_limit, |limit, _| Error::MatchesFull { limit })?;
        let (dealer, owner, waiting) = (self.owner(origin), self.owner(origin), self.limits.waiting);
        let dealt = dealer.run(move || Arbiter::new(table, settings, owner, waiting));
        let mut arbiter = dealt.await.ok_or_else(|| lost("a match"))?;
        self.check_journal()?;
        let mut inner = self.lock();
        if *self.stopped.borrow() {
            drop(inner);
            return Err(Error::ShuttingDown);
        }
        // Only now: what a journal has been given, the next server goes on with.
        if let Some(journal) = &self.journal {
            arbiter = arbiter.kept_in(journal);
        }
        let arbiter = Arc::new(arbiter);
        inner.enter(OpenMatch { arbiter: Arc::clone(&arbiter), request, _share: share });
        drop(inner);
        arbiter.begin();
        Ok(arbiter)
    }

    /// Looks whether a match that a journal has kept can go on here.
    ///
    /// # Errors
    /// What is wrong with it, or why it cannot be played on here.
    pub fn check(&self, kept: &SavedMatch) -> Result<(), String> {
        self.restored(kept, None).map(drop)
    }

    /// Takes a match in that the journal has kept. It stands, and so do its clocks, until they all [`begin`](Self::begin).
    ///
    /// # Errors
    /// What is wrong with it, or why it cannot be played on here.
    pub fn restore(&self, kept: &SavedMatch) -> Result<(), String> {
        let journal = self.journal.as_ref().ok_or("there is no journal")?;
        let arbiter = Arc::new(self.restored(kept, Some(journal))?);
        let mut inner = self.lock();
        inner.enter(OpenMatch { arbiter, request: None, _share: self.quota.overdraw(Origin::Unknown) });
        Ok(())
    }

    fn restored(&self, kept: &SavedMatch, journal: Option<&Arc<Journal>>) -> Result<Arbiter, String> {
        // Whose they were is not known any more.
        let owner = self.owner(Origin::Unknown);
        Arbiter::restored(kept, &self.tables, owner, self.limits.waiting, journal)
    }

    /// Lets the matches go on that were restored, once there is where agents can reach them, and before any is created.
    pub fn begin(&self) {
        for arbiter in self.all_open() {
            arbiter.begin();
        }
    }

    fn all_open(&self) -> Vec<Arc<Arbiter>> {
        self.lock().open.values().map(|open| Arc::clone(&open.arbiter)).collect()
    }

    /// Waits until all is written that has happened in any match.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub async fn kept(&self) -> Result<(), Error> {
        match &self.journal {
            Some(journal) => journal.written(journal.submitted()).await,
            None => Ok(()),
        }
    }

    /// How much of what has happened is still to be written.
    pub(crate) fn journal_lag(&self) -> usize {
        self.journal.as_ref().map_or(0, |journal| journal.lag())
    }

    /// Whether what happens cannot be kept now.
    #[must_use]
    pub fn journal_fails(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.check().is_err())
    }

    /// Looks at the journal's write that is under way; returns whether it has taken so long that clocks stand. After 100 looks at the
    /// same write the journal fails.
    pub fn look_at_journal(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.look())
    }

    /// The match with this id, open or closed not long ago.
    ///
    /// # Errors
    /// No such match.
    pub fn find(&self, id: &str) -> Result<Arc<Arbiter>, Error> {
        let inner = self.lock();
        let closed = || inner.closed.iter().find(|arbiter| arbiter.id() == id);
        let found = inner.open.get(id).map(|open| &open.arbiter).or_else(closed);
        found.map(Arc::clone).ok_or_else(|| Error::MatchUnknown { match_id: id.to_owned() })
    }

    /// A page of up to `size` matches whose ids come after `after`, each as `tell` describes it. Private matches, and those
    /// for which `tell` gives nothing, are left out. A page may be short where many are.
    ///
    /// # Errors
    /// The pool has lost the work, which is a mistake of the server.
    pub async fn list<T: Send + 'static>(
        self: &Arc<Self>,
        origin: Origin,
        after: String,
        size: usize,
        tell: impl Fn(&Arbiter) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Page<T>, Error> {
        let (owner, tell) = (self.owner(origin), Arc::new(tell));
        let (mut page, mut after) = (Page { matches: vec![], last: None }, after);
        for _ in 0..CHUNKS {
            let (matches, tell) = (Arc::clone(self), Arc::clone(&tell));
            let looked = owner.run(move || {
                let is_over = matches.look(&mut page, &mut after, size, &*tell);
                (page, after, is_over)
            });
            let is_over;
            (page, after, is_over) = looked.await.ok_or_else(|| lost("a list"))?;
            if is_over {
                break;
            }
        }
        Ok(page)
    }

    /// Adds the matches that come next after `after` to a page; returns whether the page is finished.
    fn look<T>(
        &self,
        page: &mut Page<T>,
        after: &mut String,
        size: usize,
        tell: impl Fn(&Arbiter) -> Option<T>,
    ) -> bool {
        let chunk = self.following(after);
        let Some(last) = chunk.last() else {
            page.last = None;
            return true;
        };
        last.id().clone_into(after);
        for arbiter in chunk {
            if let Some(told) = Some(&*arbiter).filter(|arbiter| !arbiter.settings().private).and_then(&tell)
            {
                if page.matches.len() == size {
                    return true;
                }
                page.matches.push(told);
            }
            arbiter.id().clone_into(page.last.get_or_insert_default());
        }
        false
    }

    /// The matches whose ids come next after `after`, open and closed ones.
    fn following(&self, after: &str) -> Vec<Arc<Arbiter>> {
        let mut following: Vec<_> = {
            let inner = self.lock();
            let from = (Bound::Excluded(after), Bound::Unbounded);
            let open = inner.open.range::<str, _>(from).map(|(_, open)| &open.arbiter).take(CHUNK);
            let closed = inner.closed.iter().filter(|arbiter| arbiter.id() > after);
            open.chain(closed).map(Arc::clone).collect()
        };
        following.sort_unstable_by(|one, other| one.id().cmp(other.id()));
        following.truncate(CHUNK);
        following
    }

    /// On whose behalf the pool works for a caller.
    pub(crate) fn owner(&self, origin: Origin) -> Owner {
        self.pool.group(origin.number()).owner()
    }

    /// Closes a match for its host; a closed one stays closed.
    ///
    /// # Errors
    /// No such match, or a token that is not its host's; a journal that cannot keep it; a server that stops, where the next
    /// one goes on with the match.
    pub fn close(&self, id: &str, token: Option<&str>) -> Result<Arc<Arbiter>, Error> {
        let arbiter = self.find(id)?;
        if arbiter.role(token)? != Role::Host {
            return Err(Error::HostOnly { match_id: id.to_owned() });
        }
        self.check_journal()?;
        arbiter.close(CloseReason::Host);
        if self.journal.is_some() && !arbiter.has_ended() {
            return Err(Error::ShuttingDown);
        }
        self.put_away(&arbiter);
        Ok(arbiter)
    }

    /// Refuses while nothing that happens could be kept.
    fn check_journal(&self) -> Result<(), Error> {
        self.journal.as_ref().map_or(Ok(()), |journal| journal.check())
    }

    /// Closes the matches that nobody has used for too long at `now`, and puts away those that have ended by themselves.
    pub fn expire(&self, now: Instant) {
        let open = self.all_open();
        let limit = self.limits.idle;
        let idle = |arbiter: Arc<Arbiter>| {
            let since = arbiter.idle_since()?;
            (now.saturating_duration_since(since) >= limit).then_some((since, arbiter))
        };
        let (ended, open): (Vec<_>, Vec<_>) = open.into_iter().partition(|arbiter| arbiter.has_ended());
        for arbiter in &ended {
            self.put_away(arbiter);
        }
        if self.check_journal().is_err() {
            return;
        }
        let mut idle: Vec<_> = open.into_iter().filter_map(idle).collect();
        // Those that are remembered lie together in memory then, and do not keep the pages of all others.
        idle.sort_by_key(|(since, _)| *since);
        for (_, arbiter) in idle {
            tracing::info!(match_id = arbiter.id(), "match expired");
            arbiter.close(CloseReason::Idle { limit });
            self.put_away(&arbiter);
        }
    }

    /// Puts an ended match among the closed ones.
    fn put_away(&self, arbiter: &Arbiter) {
        let put_away = self.lock().put_away(arbiter);
        // What is forgotten is dropped while the list is free.
        if let Some((Some(request), _forgotten)) = put_away {
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
            // An error means that the matches are gone, and the server with them.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }
    }
}

/// Work of the pool that has come to nothing.
pub(crate) fn lost(what: &str) -> Error {
    Error::Internal { place: "the pool".to_owned(), what: format!("{what} was not made") }
}

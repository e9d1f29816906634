//! All matches of a server: the one thing its calls share.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_kernel::Seat;
use tokio::sync::watch;

use crate::arbiter::{Arbiter, Role, Settings};
use crate::error::ServiceError;
use crate::tables::{Table, Tables};

/// Closed matches that are still shown.
const CLOSED_REMEMBERED: usize = 1_000;
/// Creations that are answered again when they are repeated.
const CREATIONS_REMEMBERED: usize = 1_000;

/// The matches there are.
pub struct Matches {
    tables: Tables,
    limit: usize,
    inner: Mutex<Inner>,
    stopped: watch::Sender<bool>,
}

#[derive(Default)]
struct Inner {
    open: BTreeMap<String, Arc<Arbiter>>,
    closed: VecDeque<Arc<Arbiter>>,
    invitations: BTreeMap<String, (Arc<Arbiter>, Seat)>,
    creations: VecDeque<(String, Arc<Arbiter>)>,
}

impl Matches {
    /// Holds up to `limit` open matches of the games of `tables`.
    #[must_use]
    pub fn new(tables: Tables, limit: usize) -> Self {
        Self { tables, limit, inner: Mutex::default(), stopped: watch::Sender::new(false) }
    }

    /// The games served.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a match and deals its first episode; a repeated, non-empty `request` gives the match that it
    /// gave first.
    ///
    /// # Errors
    /// A server that is full or stops.
    pub fn create(
        &self,
        request: &str,
        table: Arc<Table>,
        settings: Settings,
    ) -> Result<Arc<Arbiter>, ServiceError> {
        let mut inner = self.lock();
        if *self.stopped.borrow() {
            return Err(ServiceError::ShuttingDown);
        }
        if !request.is_empty()
            && let Some((_, arbiter)) = inner.creations.iter().find(|(known, _)| known == request)
        {
            return Ok(Arc::clone(arbiter));
        }
        if inner.open.len() >= self.limit {
            return Err(ServiceError::TableFull { limit: self.limit });
        }
        let arbiter = Arc::new(Arbiter::new(table, settings));
        for (seat, invitation) in arbiter.invitations() {
            inner.invitations.insert(invitation, (Arc::clone(&arbiter), seat));
        }
        inner.open.insert(arbiter.id().to_owned(), Arc::clone(&arbiter));
        if !request.is_empty() {
            inner.creations.push_back((request.to_owned(), Arc::clone(&arbiter)));
            if inner.creations.len() > CREATIONS_REMEMBERED {
                inner.creations.pop_front();
            }
        }
        drop(inner);
        arbiter.begin();
        Ok(arbiter)
    }

    /// The match with this id, open or closed not long ago.
    ///
    /// # Errors
    /// No such match.
    pub fn find(&self, id: &str) -> Result<Arc<Arbiter>, ServiceError> {
        let inner = self.lock();
        let closed = || inner.closed.iter().find(|arbiter| arbiter.id() == id);
        let found = inner.open.get(id).or_else(closed);
        found.map(Arc::clone).ok_or_else(|| ServiceError::UnknownMatch { id: id.to_owned() })
    }

    /// Up to `size` matches whose ids come after `after`, in the order of their ids.
    #[must_use]
    pub fn list(&self, after: &str, size: usize) -> Vec<Arc<Arbiter>> {
        let inner = self.lock();
        let closed = inner.closed.iter().map(|arbiter| (arbiter.id(), arbiter));
        let from = (Bound::Excluded(after), Bound::Unbounded);
        let open = inner.open.range::<str, _>(from).take(size).map(|(id, arbiter)| (id.as_str(), arbiter));
        let page: BTreeMap<&str, &Arc<Arbiter>> = open.chain(closed.filter(|(id, _)| *id > after)).collect();
        page.into_values().take(size).map(Arc::clone).collect()
    }

    /// Turns an invitation into a seat and its token.
    ///
    /// # Errors
    /// An invitation that is unknown or has been used.
    pub fn join(
        &self,
        invitation: &str,
        request: &str,
    ) -> Result<(Arc<Arbiter>, Seat, String), ServiceError> {
        let found = self.lock().invitations.get(invitation).cloned();
        let (arbiter, seat) = found.ok_or(ServiceError::UnknownInvitation)?;
        let token = arbiter.join(seat, request)?;
        Ok((arbiter, seat, token))
    }

    /// Closes a match for its host; a closed one stays closed.
    ///
    /// # Errors
    /// No such match, or a token that is not its host's.
    pub fn close(&self, id: &str, token: Option<&str>) -> Result<Arc<Arbiter>, ServiceError> {
        let arbiter = self.find(id)?;
        if arbiter.role(token)? != Role::Host {
            return Err(ServiceError::HostOnly { id: id.to_owned() });
        }
        arbiter.close();
        let mut inner = self.lock();
        if let Some(arbiter) = inner.open.remove(id) {
            for (_, invitation) in arbiter.invitations() {
                inner.invitations.remove(&invitation);
            }
            inner.creations.retain(|(_, created)| !Arc::ptr_eq(created, &arbiter));
            inner.closed.push_back(arbiter);
            if inner.closed.len() > CLOSED_REMEMBERED {
                inner.closed.pop_front();
            }
        }
        Ok(arbiter)
    }

    /// Ends all matches, tells whoever waits, and lets nobody create another.
    pub fn stop(&self) {
        let inner = self.lock();
        self.stopped.send_replace(true);
        inner.open.values().for_each(|arbiter| arbiter.end(ServiceError::ShuttingDown));
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

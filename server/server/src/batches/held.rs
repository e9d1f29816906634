//! What is leased: batches and searches.

use std::ops::Deref;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use boardwire_api::Error;
use boardwire_batch::batch::Batch;
use boardwire_batch::play::Insight;
use boardwire_batch::search::{self, Search};
use boardwire_batch::tables::Table;

use super::{Batches, Terms, Used};
use crate::requests::RequestId;
use crate::secret;

/// Something that is leased.
pub(super) enum Held {
    /// Environments.
    Batch(Arc<Batch>),
    /// Worlds that somebody searches in.
    Search(Arc<Search>),
}

impl Held {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Batch(batch) => batch.id(),
            Self::Search(search) => search.id(),
        }
    }

    /// How much room it takes.
    pub(super) fn places(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.opening().environments,
            Self::Search(search) => search.opening().places,
        }
    }

    /// Ends what is being done with it.
    pub(super) fn end(&self, stopped: bool) {
        let id = self.id();
        let reason = |unknown: fn(String) -> Error| {
            if stopped { Error::ShuttingDown } else { unknown(id.to_owned()) }
        };
        match self {
            Self::Batch(batch) => {
                tracing::info!(batch_id = id, "batch closed");
                batch.end(reason(Batch::unknown));
            }
            Self::Search(search) => {
                tracing::debug!(search_id = id, "search released");
                search.end(reason(Search::unknown));
            }
        }
    }
}

/// Something leased, for as long as a call uses it: it is not idle until this is dropped.
pub struct InUse<K> {
    held: Arc<K>,
    used: Used,
}

impl<K> Deref for InUse<K> {
    type Target = Arc<K>;

    fn deref(&self) -> &Arc<K> {
        &self.held
    }
}

impl<K> Drop for InUse<K> {
    fn drop(&mut self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Kinds of what is leased, as callers ask for them.
pub(super) trait Kind: Sized {
    /// This kind, if it is of it.
    fn of(held: &Held) -> Option<Arc<Self>>;
    /// What is said when there is none of this id.
    fn unknown(id: String) -> Error;
    /// The error for a caller with another token.
    fn owner_only(id: String) -> Error;
}

impl Kind for Batch {
    fn of(held: &Held) -> Option<Arc<Self>> {
        if let Held::Batch(batch) = held { Some(Arc::clone(batch)) } else { None }
    }

    fn unknown(id: String) -> Error {
        Error::BatchUnknown { batch_id: id }
    }

    fn owner_only(id: String) -> Error {
        Error::BatchOwnerOnly { batch_id: id }
    }
}

impl Kind for Search {
    fn of(held: &Held) -> Option<Arc<Self>> {
        if let Held::Search(search) = held { Some(Arc::clone(search)) } else { None }
    }

    fn unknown(id: String) -> Error {
        Error::SearchUnknown { search_id: id }
    }

    fn owner_only(id: String) -> Error {
        Error::SearchOwnerOnly { search_id: id }
    }
}

impl Batches {
    /// Draws worlds for seats that owe a choice, leased to the holder of `token`. What the seats know is only
    /// asked for once there are places for the worlds. A repeated `request` is given the same search.
    ///
    /// # Errors
    /// A server that is full or stops; no world, or so many that their rows do not fit a message; fewer places than worlds;
    /// nothing that is known.
    pub async fn search(
        &self,
        request: Option<RequestId>,
        table: Arc<Table>,
        opening: search::Opening,
        insights: impl Future<Output = Result<Vec<Box<dyn Insight>>, Error>>,
        token: String,
        terms: Terms,
    ) -> Result<Arc<Search>, Error> {
        let peer = terms.peer;
        let draw = async {
            let mut place = self.reserve(terms.origin, opening.places)?;
            let insights = insights.await?;
            let group = self.group(terms.origin);
            let search = Search::open(secret::word(), table, opening, insights, &group).await?;
            self.enter(Held::Search(Arc::clone(&search)), token, terms, &mut place)?;
            Ok(search)
        };
        let search = match request {
            Some(request) => self.searches.once(request, draw).await?,
            None => draw.await?,
        };
        self.hand_over::<Search>(search.id(), peer)?;
        Ok(search)
    }

    /// The search with this id, for the holder of its token.
    ///
    /// # Errors
    /// No such search, no token or a wrong one.
    pub fn find_search(&self, id: &str, token: Option<&str>) -> Result<InUse<Search>, Error> {
        self.held(id, token)
    }

    /// Releases a search.
    ///
    /// # Errors
    /// As [`find_search`](Self::find_search).
    pub fn release(&self, id: &str, token: Option<&str>) -> Result<(), Error> {
        self.find_search(id, token)?;
        self.drop_leases(|known, _| known == id);
        Ok(())
    }

    /// What is leased under this id, for a call of the holder of its token.
    pub(super) fn held<K: Kind>(&self, id: &str, token: Option<&str>) -> Result<InUse<K>, Error> {
        let token = token.ok_or(Error::TokenMissing)?;
        let inner = self.lock();
        if inner.stopped {
            return Err(Error::ShuttingDown);
        }
        let lease = inner.leases.get(id).and_then(|lease| Some((K::of(&lease.held)?, lease)));
        let (held, lease) = lease.ok_or_else(|| K::unknown(id.to_owned()))?;
        if !secret::same(token, &lease.token) {
            return Err(K::owner_only(id.to_owned()));
        }
        Ok(InUse { held, used: Arc::clone(&lease.used) })
    }
}

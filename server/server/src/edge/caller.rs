//! Who calls: the connection a call came in on, where that comes from, and the token the call carries.
//!
//! Every call has a [`Caller`]. Nothing else reads the header `authorization`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::codegen::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

use super::connections::ConnectionSlot;
use super::ledger::{Budget, Charge, Ledger};
use super::serve::CONNECTION_WINDOW;
use crate::batches::Peer;
use crate::origin::{Account, Origin};
use boardwire_api::Error;

/// The most bytes that `authorization` may have; a token of ours has 32.
const MAX_AUTHORIZATION_BYTES: usize = 1_024;

/// Whose call it is: the connection that it came in on, and the account that it has proved to be.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    connection: Arc<Connection>,
    /// The account, with what is cancelled when its token is revoked.
    account: Option<(Account, CancellationToken)>,
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct Connection {
    peer: Peer,
    origin: Origin,
    calls: TaskTracker,
    /// What the connection takes for itself.
    _charge: Charge,
    /// What may have come on it before it is read.
    unread: OnceLock<Charge>,
    place: ConnectionSlot,
    last_read: LastRead,
}

/// When something was last read from a connection.
#[derive(Debug, Clone)]
pub(super) struct LastRead(Arc<(Instant, AtomicU64)>);

impl LastRead {
    /// The time for a connection that is opened now.
    pub(super) fn new() -> Self {
        Self(Arc::new((Instant::now(), AtomicU64::new(0))))
    }

    /// Records that something was read just now.
    pub(super) fn note(&self) {
        let nanos = u64::try_from(self.0.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.1.store(nanos, Ordering::Relaxed);
    }
}

impl Caller {
    /// A connection, which has been charged.
    pub(crate) fn new(
        peer: Peer,
        origin: Origin,
        budget: Arc<Budget>,
        charge: Charge,
        place: ConnectionSlot,
    ) -> Self {
        let (calls, unread, last_read) = (TaskTracker::new(), OnceLock::new(), LastRead::new());
        let connection = Connection { peer, origin, calls, _charge: charge, unread, place, last_read };
        Self { connection: Arc::new(connection), account: None, budget }
    }

    /// The same connection, with a call of this account.
    pub(super) fn of(&self, (account, revoked): (Account, CancellationToken), ledger: &Ledger) -> Self {
        self.connection.place.prove(Origin::Account(account));
        Self {
            connection: Arc::clone(&self.connection),
            account: Some((account, revoked)),
            budget: ledger.budget_of(&self.budget, Origin::Account(account)),
        }
    }

    /// The connection's number.
    pub(crate) fn peer(&self) -> Peer {
        self.connection.peer
    }

    /// Whose account it is, or else where the connection comes from.
    pub(crate) fn origin(&self) -> Origin {
        self.account.as_ref().map_or(self.connection.origin, |(account, _)| Origin::Account(*account))
    }

    /// What is cancelled when the token of the call's account is revoked.
    pub(super) fn revoked(&self) -> Option<CancellationToken> {
        self.account.as_ref().map(|(_, revoked)| revoked.clone())
    }

    /// Where its calls are charged.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The calls under way on this connection, each with a token of its own.
    pub(crate) fn calls(&self) -> &TaskTracker {
        &self.connection.calls
    }

    /// When something was last read from the connection. What was read by then and is looked at now has waited since.
    pub(crate) fn last_read(&self) -> Instant {
        let (began, nanos) = &*self.connection.last_read.0;
        *began + Duration::from_nanos(nanos.load(Ordering::Relaxed))
    }

    /// The time of the last read, which the reader of the connection updates.
    pub(super) fn reading(&self) -> LastRead {
        self.connection.last_read.clone()
    }

    /// The connection's place.
    pub(super) fn place(&self) -> &ConnectionSlot {
        &self.connection.place
    }

    /// Charges the window of the connection once: a stream of requests is read as fast as they are answered, and as much
    /// may have come before it is read. A single request is read at once.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) fn charge_unread(&self) -> Result<(), Error> {
        if self.connection.unread.get().is_none() {
            // Of two streams that begin at once both are charged, and one charge is given back.
            let _ = self.connection.unread.set(self.budget.charge(CONNECTION_WINDOW as usize)?);
        }
        Ok(())
    }
}

/// The header `authorization: Bearer TOKEN` of a call, if it carries one; its `Debug` does not show it.
///
/// # Errors
/// It is longer than any that was given.
pub(super) fn bearer(headers: &HeaderMap) -> Result<Option<HeaderValue>, Error> {
    let Some(mut header) = headers.get(AUTHORIZATION).cloned() else { return Ok(None) };
    if header.len() > MAX_AUTHORIZATION_BYTES {
        return Err(Error::TokenTooLong { limit: MAX_AUTHORIZATION_BYTES });
    }
    header.set_sensitive(true);
    Ok(Some(header).filter(|header| token(header).is_some()))
}

/// The token of that header.
pub(super) fn token(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(authorization: &str) -> Result<Option<String>, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization.parse().expect("a header"));
        Ok(bearer(&headers)?.as_ref().and_then(token).map(str::to_owned))
    }

    #[test]
    fn the_token_is_read() {
        assert_eq!(read("Bearer abc"), Ok(Some("abc".to_owned())));
        assert_eq!(read("bearer abc"), Ok(Some("abc".to_owned())));
        assert_eq!(read("Bearer \t abc "), Ok(Some("abc".to_owned())), "as it is copied");
        assert_eq!(read("Basic abc"), Ok(None));
        assert!(bearer(&HeaderMap::new()).expect("there is none").is_none());
        let refused = read(&format!("Bearer {}", "a".repeat(2_000)));
        assert_eq!(refused, Err(Error::TokenTooLong { limit: MAX_AUTHORIZATION_BYTES }));
    }

    #[test]
    fn a_token_is_never_printed() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer abc"));
        let header = bearer(&headers).expect("it is short").expect("it is there");
        assert!(!format!("{header:?}").contains("abc"), "{header:?}");
    }
}

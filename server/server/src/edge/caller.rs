//! The caller of a call: its connection, the connection's origin, and the account that the call has proved.
//!
//! Every call has a [`Caller`]. No other module reads the header `authorization`.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::codegen::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

use super::connections::ConnectionSlot;
use super::ledger::{ConnectionBudget, MemoryCharge, MemoryLedger};
use super::serve::CONNECTION_WINDOW;
use crate::batches::ConnectionId;
use crate::origin::{Account, Origin};
use boardwire_api::Error;

/// The maximum size in bytes of `authorization`. The server's own tokens have 32 bytes.
const MAX_AUTHORIZATION_BYTES: usize = 1_024;

/// The connection of a call, and the account that the call has proved.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(super) connection: Arc<Connection>,
    /// The account, and the signal that its token is revoked.
    pub(super) account: Option<(Account, CancellationToken)>,
    budget: Arc<ConnectionBudget>,
}

#[derive(Debug)]
pub(super) struct Connection {
    id: ConnectionId,
    origin: Origin,
    /// The open calls that a stopping server waits for.
    pub(super) calls: TaskTracker,
    /// The charge for the connection itself.
    _charge: MemoryCharge,
    /// The charge for bytes that have arrived and that no call has read yet.
    unread: OnceLock<MemoryCharge>,
    pub(super) slot: ConnectionSlot,
    /// When the server last read from the connection.
    pub(super) last_read: Arc<Mutex<Instant>>,
}

impl Caller {
    /// Creates the caller of a new connection, whose charge is `charge`.
    pub(crate) fn new(
        id: ConnectionId,
        origin: Origin,
        budget: Arc<ConnectionBudget>,
        charge: MemoryCharge,
        slot: ConnectionSlot,
    ) -> Self {
        let last_read = Arc::new(Mutex::new(Instant::now()));
        let (calls, unread) = (TaskTracker::new(), OnceLock::new());
        let connection = Connection { id, origin, calls, _charge: charge, unread, slot, last_read };
        Self { connection: Arc::new(connection), account: None, budget }
    }

    /// Returns the caller of a call on the same connection by this account.
    pub(super) fn with_account(&self, account: (Account, CancellationToken), ledger: &MemoryLedger) -> Self {
        let origin = Origin::Account(account.0);
        self.connection.slot.count_for_account(origin);
        Self {
            connection: Arc::clone(&self.connection),
            account: Some(account),
            budget: ledger.budget_for_account(&self.budget, origin),
        }
    }

    pub(crate) fn connection_id(&self) -> ConnectionId {
        self.connection.id
    }

    /// Returns the account, or without one the origin of the connection.
    pub(crate) fn origin(&self) -> Origin {
        self.account.as_ref().map_or(self.connection.origin, |(account, _)| Origin::Account(*account))
    }

    pub(crate) fn budget(&self) -> &Arc<ConnectionBudget> {
        &self.budget
    }

    /// Returns when the server last read from the connection. A message that it handles now has waited at most since then.
    pub(crate) fn last_read(&self) -> Instant {
        *self.connection.last_read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges the connection's flow-control window, once. The server reads a stream of requests only as fast as it
    /// responds, so up to one window of unread bytes can wait. It reads the request of a unary call immediately.
    ///
    /// # Errors
    /// The origin or the server has reached its limit.
    pub(super) fn charge_unread(&self) -> Result<(), Error> {
        if self.connection.unread.get().is_none() {
            // Two streams that start at the same time both charge. Dropping the second charge returns it.
            let _ = self.connection.unread.set(self.budget.charge(CONNECTION_WINDOW as usize)?);
        }
        Ok(())
    }
}

/// Returns the header `authorization: Bearer TOKEN` of a call, if it carries one. Its `Debug` output hides the token.
///
/// # Errors
/// The header is longer than [`MAX_AUTHORIZATION_BYTES`].
pub(super) fn bearer(headers: &HeaderMap) -> Result<Option<HeaderValue>, Error> {
    let Some(mut header) = headers.get(AUTHORIZATION).cloned() else { return Ok(None) };
    if header.len() > MAX_AUTHORIZATION_BYTES {
        return Err(Error::TokenTooLong { limit: MAX_AUTHORIZATION_BYTES });
    }
    header.set_sensitive(true);
    Ok(Some(header).filter(|header| token(header).is_some()))
}

/// Returns the token of that header.
pub(super) fn token(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(authorization: &str) -> Result<Option<String>, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization.parse().expect("a header"));
        Ok(bearer(&headers)?.as_ref().and_then(token).map(str::to_owned))
    }

    #[test]
    fn bearer_tokens_are_parsed() {
        assert_eq!(parse("Bearer abc"), Ok(Some("abc".to_owned())));
        assert_eq!(parse("bearer abc"), Ok(Some("abc".to_owned())));
        assert_eq!(parse("Bearer \t abc "), Ok(Some("abc".to_owned())), "whitespace is trimmed");
        assert_eq!(parse("Basic abc"), Ok(None));
        assert!(bearer(&HeaderMap::new()).expect("no header").is_none());
        let result = parse(&format!("Bearer {}", "a".repeat(2_000)));
        assert_eq!(result, Err(Error::TokenTooLong { limit: MAX_AUTHORIZATION_BYTES }));
    }

    #[test]
    fn a_token_is_never_printed() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer abc"));
        let header = bearer(&headers).expect("the header is short").expect("the header is present");
        assert!(!format!("{header:?}").contains("abc"), "{header:?}");
    }
}

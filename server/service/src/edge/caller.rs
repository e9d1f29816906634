//! Who calls: the connection a call came in on, where that comes from, and the token the call carries.
//!
//! Every request finds a [`Caller`] among its extensions, and a [`Bearer`] if it carries a token. Nothing
//! else reads the header `authorization`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use tokio_util::task::TaskTracker;
use tonic::Extensions;
use tonic::codegen::http::{HeaderValue, Request, header::AUTHORIZATION};

use super::accounts::{Account, Quotas};
use super::room::Budget;
use crate::batches::Peer;
use crate::error::ServiceError;

/// The most bytes that `authorization` may have; a token of ours has 32.
const MAX_AUTHORIZATION_BYTES: usize = 1_024;

/// Where a connection comes from: limits by caller count what comes from the same origin together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A user of this machine, by number: the peer of a Unix socket.
    User(u32),
    /// A host, by address: the peer of a TCP socket.
    Host(IpAddr),
    /// Whoever has the token of an account.
    Account(Account),
    /// The operating system does not tell.
    Unknown,
}

impl Origin {
    /// The host at `address`. An IPv6 address stands for its network of 64 bits, since a single host commonly
    /// owns all of it.
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self::Host(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// How much of a limit for all one origin may have: three quarters, so that others find some.
    pub(crate) const fn share(limit: usize) -> usize {
        limit - limit / 4
    }

    /// What callers of this origin may have, where that differs from what others may.
    pub(crate) fn quotas(self) -> Quotas {
        if let Self::Account(account) = self { account.quotas() } else { Quotas::default() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(out, "user {user}"),
            Self::Host(address) => write!(out, "host {address}"),
            Self::Account(account) => write!(out, "account {}", account.name()),
            Self::Unknown => out.write_str("an unknown caller"),
        }
    }
}

/// Whose call it is: the connection that it came in on, and the account that it has proved to be.
#[derive(Debug, Clone)]
pub struct Caller {
    connection: Arc<Connection>,
    account: Option<Account>,
}

#[derive(Debug)]
struct Connection {
    peer: Peer,
    origin: Origin,
    budget: Budget,
    calls: TaskTracker,
}

impl Caller {
    /// A connection that may hold as many bytes as its budget says.
    pub(crate) fn new(peer: Peer, origin: Origin, budget: Budget) -> Self {
        let connection = Connection { peer, origin, budget, calls: TaskTracker::new() };
        Self { connection: Arc::new(connection), account: None }
    }

    /// The same connection, with a call of this account.
    pub(super) fn of(&self, account: Account) -> Self {
        Self { connection: Arc::clone(&self.connection), account: Some(account) }
    }

    /// The connection's number.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.connection.peer
    }

    /// Whose account it is, or else where the connection comes from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.account.map_or(self.connection.origin, Origin::Account)
    }

    /// What the connection may hold.
    pub(crate) fn budget(&self) -> &Budget {
        &self.connection.budget
    }

    /// The calls under way on this connection, each with a token of its own.
    pub(crate) fn calls(&self) -> &TaskTracker {
        &self.connection.calls
    }
}

/// The token of `authorization: Bearer TOKEN`; its `Debug` does not show it.
#[derive(Clone)]
pub struct Bearer(HeaderValue);

impl fmt::Debug for Bearer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Bearer").finish_non_exhaustive()
    }
}

/// The token that a call with these extensions carries, if it does.
#[must_use]
pub fn bearer(extensions: &Extensions) -> Option<&str> {
    extensions.get::<Bearer>().and_then(|Bearer(header)| token(header))
}

fn token(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Puts the token of a call among its extensions.
pub(crate) fn read_token<B>(request: &mut Request<B>) -> Result<(), ServiceError> {
    let Some(header) = request.headers().get(AUTHORIZATION) else { return Ok(()) };
    if header.len() > MAX_AUTHORIZATION_BYTES {
        return Err(ServiceError::TokenTooLong { limit: MAX_AUTHORIZATION_BYTES });
    }
    if token(header).is_some() {
        let bearer = Bearer(header.clone());
        request.extensions_mut().insert(bearer);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(authorization: &str) -> Result<Option<String>, ServiceError> {
        let mut request = Request::new(());
        request.headers_mut().insert(AUTHORIZATION, authorization.parse().expect("a header"));
        read_token(&mut request)?;
        Ok(bearer(request.extensions()).map(str::to_owned))
    }

    #[test]
    fn the_token_is_found_among_the_extensions() {
        assert_eq!(read("Bearer abc"), Ok(Some("abc".to_owned())));
        assert_eq!(read("bearer abc"), Ok(Some("abc".to_owned())));
        assert_eq!(read("Basic abc"), Ok(None));
        assert_eq!(bearer(&Extensions::new()), None);
        let refused = read(&format!("Bearer {}", "a".repeat(2_000)));
        assert_eq!(refused, Err(ServiceError::TokenTooLong { limit: MAX_AUTHORIZATION_BYTES }));
    }

    #[test]
    fn a_token_is_never_printed() {
        assert!(!format!("{:?}", Bearer(HeaderValue::from_static("Bearer abc"))).contains("abc"));
    }

    #[test]
    fn a_network_of_ipv6_is_one_origin() {
        let host = |address: &str| Origin::host(address.parse().expect("an address"));
        assert_eq!(host("2001:db8::1"), host("2001:db8::2:1"));
        assert_ne!(host("2001:db8::1"), host("2001:db8:0:1::1"));
        assert_eq!(host("::ffff:10.0.0.1"), host("10.0.0.1"));
        assert_ne!(host("10.0.0.2"), host("10.0.0.1"));
    }
}

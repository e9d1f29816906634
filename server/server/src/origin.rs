//! The origin of a connection or call: a user of this machine, a host, or an account. Limits per caller apply per origin.

use std::fmt;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

/// The origin of a connection or call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A user of this machine, by user id: the peer of a Unix socket.
    User(u32),
    /// A host, by address: the peer of a TCP socket.
    Host(IpAddr),
    /// An account, proved by its token.
    Account(Account),
    /// The operating system does not name the peer.
    Unknown,
}

impl Origin {
    /// Returns the origin of the host at `address`. All loopback addresses are one host. An IPv6 /64 network is one host
    /// too, since a single host commonly owns all of it.
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self::Host(match address.to_canonical() {
            IpAddr::V4(address) if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// Returns the part of a server-wide limit that one origin may use: three quarters. The rest is for other origins.
    pub(crate) const fn max_share(limit: usize) -> usize {
        limit - limit / 4
    }

    /// Returns whether the origin is an account or a user of this machine.
    pub(crate) fn is_local_or_account(self) -> bool {
        matches!(self, Self::User(_) | Self::Account(_))
    }

    /// Returns a number for this origin: its hash.
    pub(crate) fn number(self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self)
    }

    /// Returns the quotas that replace the server's limits for this origin.
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

/// The quotas of an account. Each replaces a limit of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quotas {
    /// The maximum number of open matches.
    pub(crate) matches: Option<usize>,
    /// The maximum number of environments.
    pub(crate) environments: Option<usize>,
    /// The maximum number of calls per second; 0 for no limit.
    pub(crate) calls: Option<u32>,
}

/// An account. Accounts with the same name are equal.
#[derive(Debug, Clone, Copy)]
pub struct Account(&'static AccountState);

/// An account's name and quotas. The server never frees it: accounts are few, and limits count until the process ends.
#[derive(Debug)]
struct AccountState {
    name: String,
    terms: RwLock<AccountTerms>,
}

/// The quotas of an account from the last read of the file, and the rate limiter for its calls.
#[derive(Debug, Clone, Default)]
struct AccountTerms {
    quotas: Quotas,
    rate: Option<Arc<DefaultDirectRateLimiter>>,
}

impl Account {
    pub(crate) fn new(name: &str) -> Self {
        Self(Box::leak(Box::new(AccountState { name: name.to_owned(), terms: RwLock::default() })))
    }

    /// Returns the account's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    fn terms(self) -> AccountTerms {
        self.0.terms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn quotas(self) -> Quotas {
        self.terms().quotas
    }

    /// Returns the rate limiter for the account's calls, if it has a quota for them.
    pub(crate) fn rate(self) -> Option<Arc<DefaultDirectRateLimiter>> {
        self.terms().rate
    }

    pub(crate) fn set_quotas(self, quotas: Quotas) {
        let mut terms = self.0.terms.write().unwrap_or_else(PoisonError::into_inner);
        if terms.quotas.calls != quotas.calls {
            let limit = quotas.calls.and_then(NonZeroU32::new);
            terms.rate = limit.map(|limit| Arc::new(RateLimiter::direct(Quota::per_second(limit))));
        }
        terms.quotas = quotas;
    }
}

impl PartialEq for Account {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Account {}

impl Hash for Account {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.name().hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_origin() {
        let host = |address: &str| Origin::host(address.parse().expect("an address"));
        assert_eq!(host("2001:db8::1"), host("2001:db8::2:1"));
        assert_ne!(host("2001:db8::1"), host("2001:db8:0:1::1"));
        assert_eq!(host("::ffff:10.0.0.1"), host("10.0.0.1"));
        assert_ne!(host("10.0.0.2"), host("10.0.0.1"));
        assert_eq!(host("127.0.0.2"), host("::1"));
    }
}

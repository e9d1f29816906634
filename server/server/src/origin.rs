//! Where calls come from, which limits by caller count by: a user of this machine, a host, or an account.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde::Deserialize;

/// Where a connection comes from: limits by caller count what comes from the same origin together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A user of this machine, by number: the peer of a Unix socket.
    User(u32),
    /// A host, by address: the peer of a TCP socket.
    Host(IpAddr),
    /// An account, by its token.
    Account(Account),
    /// The operating system does not tell.
    Unknown,
}

impl Origin {
    /// The host at `address`. This machine is one, by whatever address. An IPv6 address stands for its network of 64
    /// bits, since a single host commonly owns all of it.
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self::Host(match address.to_canonical() {
            IpAddr::V4(address) if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// How much of a limit for all one origin may have: three quarters, so that others find some.
    pub(crate) const fn share(limit: usize) -> usize {
        limit - limit / 4
    }

    /// Whether it names an account or a user; an address names neither.
    pub(crate) fn is_known(self) -> bool {
        matches!(self, Self::User(_) | Self::Account(_))
    }

    /// A number that tells it apart from others.
    pub(crate) fn number(self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
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

/// What an account may have, where that differs from what any caller may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quotas {
    /// The most matches that it may have open.
    pub(crate) matches: Option<usize>,
    /// The most environments that it may have.
    pub(crate) environments: Option<usize>,
    /// The most calls a second; 0 for as many as it likes.
    pub(crate) calls: Option<u32>,
}

/// An account. One is the same as another of its name.
#[derive(Clone, Copy)]
pub struct Account(&'static AccountFacts);

/// What is known of an account. Accounts are few, and what they hold is counted as long as the process lasts: so they last
/// as long.
struct AccountFacts {
    name: String,
    terms: RwLock<AccountTerms>,
}

/// What holds for an account until the file is read again.
#[derive(Clone, Default)]
struct AccountTerms {
    quotas: Quotas,
    rate: Option<Arc<DefaultDirectRateLimiter>>,
}

impl Account {
    pub(crate) fn new(name: &str) -> Self {
        Self(Box::leak(Box::new(AccountFacts { name: name.to_owned(), terms: RwLock::default() })))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    fn terms(self) -> AccountTerms {
        self.0.terms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it may have.
    pub(crate) fn quotas(self) -> Quotas {
        self.terms().quotas
    }

    /// What counts its calls, if it has a quota of its own.
    pub(crate) fn rate(self) -> Option<Arc<DefaultDirectRateLimiter>> {
        self.terms().rate
    }

    pub(crate) fn set(self, quotas: Quotas) {
        let mut terms = self.0.terms.write().unwrap_or_else(PoisonError::into_inner);
        if terms.quotas.calls != quotas.calls {
            let limit = quotas.calls.and_then(NonZeroU32::new);
            terms.rate = limit.map(|limit| Arc::new(RateLimiter::direct(Quota::per_second(limit))));
        }
        terms.quotas = quotas;
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Account").field(&self.name()).finish()
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
    fn a_network_of_ipv6_is_one_origin() {
        let host = |address: &str| Origin::host(address.parse().expect("an address"));
        assert_eq!(host("2001:db8::1"), host("2001:db8::2:1"));
        assert_ne!(host("2001:db8::1"), host("2001:db8:0:1::1"));
        assert_eq!(host("::ffff:10.0.0.1"), host("10.0.0.1"));
        assert_ne!(host("10.0.0.2"), host("10.0.0.1"));
        assert_eq!(host("127.0.0.2"), host("::1"));
    }
}

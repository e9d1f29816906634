//! Rate limits: the maximum number of calls per second of each origin.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::origin::Origin;
use boardwire_api::Error;

/// The minimum number of entries before the limiter removes idle origins.
const PRUNE_THRESHOLD: usize = 1_024;

/// A reset call counts as this many calls.
const RESET_CALLS: u32 = 4;

/// The rate limits of all origins. `None`: the server limits only accounts with a quota.
#[derive(Debug)]
pub(crate) struct RateLimits(Option<Limiter>);

#[derive(Debug)]
struct Limiter {
    limit: u32,
    by_origin: DefaultKeyedRateLimiter<Origin>,
    /// The number of origins above which the next connection removes idle ones.
    capacity: AtomicUsize,
}

impl RateLimits {
    /// Creates limits of `limit` calls per second for each origin; 0 for no limit.
    pub(crate) fn new(limit: u32) -> Self {
        Self(NonZeroU32::new(limit).map(|quota| Limiter {
            limit,
            by_origin: RateLimiter::keyed(Quota::per_second(quota)),
            capacity: AtomicUsize::new(PRUNE_THRESHOLD),
        }))
    }

    /// Counts a call, and refuses it if its origin makes too many calls. An account's own quota replaces the server's limit.
    pub(crate) fn check(&self, origin: Origin) -> Result<(), Error> {
        let (limit, checked) = match (origin, origin.quotas().calls, &self.0) {
            (Origin::Account(account), Some(limit), _) => {
                (limit, account.rate().map_or(Ok(()), |rate| rate.check()))
            }
            (_, None, Some(limiter)) => (limiter.limit, limiter.by_origin.check_key(&origin)),
            _ => return Ok(()),
        };
        checked.map_err(|early| {
            let wait = early.wait_time_from(DefaultClock::default().now());
            Error::RateExceeded { limit, wait }
        })
    }

    /// Counts a call that the client has reset; it costs the server more. Returns whether its origin makes too many calls.
    pub(crate) fn count_reset(&self, origin: Origin) -> bool {
        (1..RESET_CALLS).any(|_| self.check(origin).is_err())
    }

    /// Removes idle origins once there are many. The server calls this for every connection, which spreads the work.
    pub(crate) fn prune_idle_origins(&self) {
        let Some(limiter) = &self.0 else { return };
        if limiter.by_origin.len() > limiter.capacity.load(Ordering::Relaxed) {
            limiter.by_origin.retain_recent();
            limiter.by_origin.shrink_to_fit();
            limiter.capacity.store(PRUNE_THRESHOLD.max(2 * limiter.by_origin.len()), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(number: u32) -> Origin {
        Origin::host(Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn each_origin_has_its_own_rate() {
        let rates = RateLimits::new(3);
        let refused = |number| rates.check(host(number)).is_err();
        assert_eq!([1, 1, 1, 1, 2].map(refused), [false, false, false, true, false]);
        let unlimited = RateLimits::new(0);
        assert!((0..1_000).all(|_| unlimited.check(host(1)).is_ok()));
    }

    #[test]
    fn idle_origins_are_removed() {
        // An origin soon counts as idle, since its calls are far below its rate.
        let rates = RateLimits::new(1_000_000_000);
        for number in 0..10_000 {
            rates.prune_idle_origins();
            rates.check(host(number)).expect("the first call");
        }
        let count = rates.0.as_ref().expect("a limit is set").by_origin.len();
        assert!(count <= PRUNE_THRESHOLD + 1, "{count} origins");
    }
}

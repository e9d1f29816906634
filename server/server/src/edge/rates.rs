//! How often callers call.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};

use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::origin::Origin;
use boardwire_api::Error;

/// So many origins are always remembered.
const ORIGINS: usize = 1_024;

/// A call that was reset counts for so many.
const RESET_CALLS: u32 = 4;

/// How often callers call.
#[derive(Debug)]
pub(crate) struct Rates(Option<Limiter>);

#[derive(Debug)]
struct Limiter {
    limit: u32,
    by_origin: RateLimiter<Origin, HashMapStateStore<Origin>, DefaultClock>,
    clock: DefaultClock,
    /// How many origins may be remembered before those are forgotten that have not called for a while.
    room: AtomicUsize,
}

impl Rates {
    /// At most so many calls a second for each caller; 0 for as many as it likes.
    pub(crate) fn new(limit: u32) -> Self {
        Self(NonZeroU32::new(limit).map(|quota| Limiter {
            limit,
            by_origin: RateLimiter::hashmap(Quota::per_second(quota)),
            clock: DefaultClock::default(),
            room: AtomicUsize::new(ORIGINS),
        }))
    }

    /// Refuses a call if its caller makes too many.
    pub(crate) fn check(&self, origin: Origin) -> Result<(), Error> {
        if let Some(limit) = origin.quotas().calls {
            return within(origin, limit);
        }
        let Some(rates) = &self.0 else { return Ok(()) };
        rates.by_origin.check_key(&origin).map_err(|early| {
            let wait = early.wait_time_from(rates.clock.now());
            Error::RateExceeded { limit: rates.limit, wait }
        })
    }

    /// Counts a call that was reset before it was answered: it costs the server more than its caller. Whether its caller
    /// makes too many.
    pub(crate) fn is_reset_too_often(&self, origin: Origin) -> bool {
        (1..RESET_CALLS).any(|_| self.check(origin).is_err())
    }

    /// Forgets callers that have not called for a second, once there are many. To be called for every
    /// connection: the time it takes is then spread evenly over them.
    pub(crate) fn forget(&self) {
        let Some(rates) = &self.0 else { return };
        if rates.by_origin.len() > rates.room.load(Ordering::Relaxed) {
            rates.by_origin.retain_recent();
            rates.by_origin.shrink_to_fit();
            rates.room.store(ORIGINS.max(2 * rates.by_origin.len()), Ordering::Relaxed);
        }
    }
}

/// Refuses a call of an account that calls more often than its own quota lets it.
fn within(origin: Origin, limit: u32) -> Result<(), Error> {
    let Origin::Account(account) = origin else { return Ok(()) };
    let Some(rate) = account.rate() else { return Ok(()) };
    rate.check().map_err(|early| {
        let wait = early.wait_time_from(DefaultClock::default().now());
        Error::RateExceeded { limit, wait }
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(number: u32) -> Origin {
        Origin::host(Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn rates_are_those_of_one_caller() {
        let rates = Rates::new(3);
        let refused = |number| rates.check(host(number)).is_err();
        assert_eq!([1, 1, 1, 1, 2].map(refused), [false, false, false, true, false]);
        let unlimited = Rates::new(0);
        assert!((0..1_000).all(|_| unlimited.check(host(1)).is_ok()));
    }

    #[test]
    fn callers_are_forgotten() {
        // A caller whose calls are far below its rate is not remembered.
        let rates = Rates::new(1_000_000_000);
        for number in 0..10_000 {
            rates.forget();
            rates.check(host(number)).expect("its first");
        }
        let remembered = rates.0.as_ref().expect("there is a limit").by_origin.len();
        assert!(remembered <= ORIGINS + 1, "{remembered} callers");
    }
}

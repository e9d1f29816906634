//! Time in which the server could not do its work, by no fault of those who play: nobody's clock may count it.
//!
//! The process was stopped, the machine had too much to do, or the journal's disk failed. A timer that should go off often
//! notices by how late it does.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::matches::Matches;

/// How often the timer goes off.
const OFTEN: Duration = Duration::from_millis(50);

/// How long it was held up altogether, and when the timer went off last, if it has.
static HELD_UP: LazyLock<Mutex<(Duration, Option<Instant>)>> = LazyLock::new(Mutex::default);

/// How long this process has been held up so far.
pub(crate) fn so_far() -> Duration {
    #[cfg(test)]
    if tests::IGNORED.get() {
        return Duration::ZERO;
    }
    let (all, last) = *HELD_UP.lock().unwrap_or_else(PoisonError::into_inner);
    all + last.map_or(Duration::ZERO, |last| late(last.elapsed()))
}

/// How late a timer is that has not gone off for so long. A little is nothing.
fn late(since: Duration) -> Duration {
    if since > 2 * OFTEN { since.saturating_sub(OFTEN) } else { Duration::ZERO }
}

/// Nobody looks any more: what has happened since is nothing to anybody.
struct Asleep;

impl Drop for Asleep {
    fn drop(&mut self) {
        HELD_UP.lock().unwrap_or_else(PoisonError::into_inner).1 = None;
    }
}

/// Notices when the server is held up, for ever.
pub(crate) async fn notice(matches: &Matches) {
    #[cfg(test)]
    if tests::IGNORED.get() {
        return std::future::pending().await;
    }
    let _asleep = Asleep;
    let mut often = tokio::time::interval(OFTEN);
    often.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        often.tick().await;
        let fails = matches.journal_fails();
        let mut held_up = HELD_UP.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(last) = held_up.1.replace(now) {
            let since = now.saturating_duration_since(last);
            held_up.0 += if fails { since } else { late(since) };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        pub(crate) static IGNORED: Cell<bool> = const { Cell::new(false) };
    }

    /// In this thread time is simulated: what the machine is doing is nothing to it.
    pub(crate) fn ignore() {
        IGNORED.set(true);
    }

    #[test]
    fn a_timer_that_is_a_little_late_is_in_time() {
        let late = |millis| late(Duration::from_millis(millis)).as_millis();
        assert_eq!([50, 100, 101, 5_050].map(late), [0, 0, 51, 5_000]);
    }
}

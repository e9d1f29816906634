//! Measures how long the process was stalled: suspended, without CPU time, or waiting for the journal's disk.
//!
//! No player's clock may count this time. A thread that should wake at short intervals measures how late it wakes. It serves
//! no callers, so that mere load does not delay it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// The time between two wake-ups of the thread.
const WAKE_INTERVAL: Duration = Duration::from_millis(50);
/// The longest lag for which [`wait_for_pending_tasks`] waits.
const MAX_LAG: Duration = Duration::from_secs(2);

/// The total stalled time, and when the thread last woke. `None` if no thread runs.
static STALLED: Mutex<(Duration, Option<Instant>)> = Mutex::new((Duration::ZERO, None));
/// The time in microseconds that the last measured task waited for a runtime thread.
static LAG: AtomicU64 = AtomicU64::new(0);

/// Returns whether a test simulates time on this thread.
fn is_simulated() -> bool {
    #[cfg(test)]
    return tests::IS_SIMULATED.get();
    #[cfg(not(test))]
    false
}

/// Returns the total stalled time of this process.
pub(crate) fn stalled_time() -> Duration {
    if is_simulated() {
        return Duration::ZERO;
    }
    let (total, last) = *STALLED.lock().unwrap_or_else(PoisonError::into_inner);
    total + last.map_or(Duration::ZERO, |last| late(last.elapsed()))
}

/// Returns how late the thread is if it last woke `since` ago. A small delay counts as zero.
fn late(since: Duration) -> Duration {
    if since > 2 * WAKE_INTERVAL { since.saturating_sub(WAKE_INTERVAL) } else { Duration::ZERO }
}

/// Waits until the server has handled earlier messages: a decision may have arrived in time and still wait for a thread.
pub(crate) async fn wait_for_pending_tasks() {
    let lag = Duration::from_micros(LAG.load(Ordering::Relaxed)).min(MAX_LAG);
    if !is_simulated() && lag > Duration::from_millis(1) {
        tokio::time::sleep(2 * lag).await;
    }
    // Tasks that were woken before this one run before it.
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// A running measurement. Dropping it ends the thread.
pub(crate) struct StallMonitor(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl Drop for StallMonitor {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // The thread ends immediately. It must not record a wake-up after the next line.
            let _ = thread.join();
            STALLED.lock().unwrap_or_else(PoisonError::into_inner).1 = None;
        }
    }
}

/// Starts the thread. At each wake-up it calls `stalls`, which returns whether the journal's disk stalls. Then the
/// whole interval counts as stalled: the server shows no decision before it is written.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn start_monitor(stalls: impl Fn() -> bool + Send + 'static) -> std::io::Result<StallMonitor> {
    if is_simulated() {
        return Ok(StallMonitor(None));
    }
    let (stop, stopped) = mpsc::channel::<()>();
    let runtime = Handle::current();
    let measure = move || {
        while stopped.recv_timeout(WAKE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let (stalls, now) = (stalls(), Instant::now());
            let mut stalled = STALLED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(last) = stalled.1.replace(now) {
                let since = now.saturating_duration_since(last);
                stalled.0 += if stalls { since } else { late(since) };
            }
            drop(stalled);
            // The task is spawned from outside the runtime, so it runs after all tasks that wait already.
            runtime.spawn(async move {
                let micros = u64::try_from(now.elapsed().as_micros()).unwrap_or(u64::MAX);
                LAG.store(micros, Ordering::Relaxed);
            });
        }
    };
    let thread = std::thread::Builder::new().name("stall-monitor".to_owned()).spawn(measure)?;
    Ok(StallMonitor(Some((stop, thread))))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        pub(super) static IS_SIMULATED: Cell<bool> = const { Cell::new(false) };
    }

    /// Turns off the measurement for this thread, on which a test simulates time.
    pub(crate) fn disable() {
        IS_SIMULATED.set(true);
    }

    #[test]
    fn a_small_delay_does_not_count() {
        let late = |millis| late(Duration::from_millis(millis)).as_millis();
        assert_eq!([50, 100, 101, 5_050].map(late), [0, 0, 51, 5_000]);
    }
}

//! Time in which the server could not do its work, by no fault of those who play: nobody's clock may count it.
//!
//! The process was stopped, the machine gave it no processor, or the journal's disk failed. A thread that should wake often
//! notices by how late it does. It is none of those that serve callers: however much they ask for, it wakes in time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// How often the thread wakes.
const WAKE_INTERVAL: Duration = Duration::from_millis(50);
/// The longest that a decision is waited for which may have come in time.
const LONGEST_LAG: Duration = Duration::from_secs(2);

/// How long it was held up altogether, and when the thread woke last, if it has.
static HELD_UP: LazyLock<Mutex<(Duration, Option<Instant>)>> = LazyLock::new(Mutex::default);
/// How many microseconds a task has waited for its turn lately.
static LAG: AtomicU64 = AtomicU64::new(0);

/// Whether a test simulates time on this thread.
fn is_ignored() -> bool {
    #[cfg(test)]
    return tests::IGNORED.get();
    #[cfg(not(test))]
    false
}

/// How long this process has been held up so far.
pub(crate) fn so_far() -> Duration {
    if is_ignored() {
        return Duration::ZERO;
    }
    let (all, last) = *HELD_UP.lock().unwrap_or_else(PoisonError::into_inner);
    all + last.map_or(Duration::ZERO, |last| late(last.elapsed()))
}

/// How late a thread is that has not woken for so long. A little is nothing.
fn late(since: Duration) -> Duration {
    if since > 2 * WAKE_INTERVAL { since.saturating_sub(WAKE_INTERVAL) } else { Duration::ZERO }
}

/// Resolves when whatever had come before has been looked at: a decision may have come in time, and wait for its turn.
pub(crate) async fn settle() {
    let lag = Duration::from_micros(LAG.load(Ordering::Relaxed)).min(LONGEST_LAG);
    if !is_ignored() && lag > Duration::from_millis(1) {
        tokio::time::sleep(2 * lag).await;
    }
    // Tasks that were woken before this one run before it.
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// Notices when the server is held up, until this is dropped: what happens since is nothing to anybody.
pub(crate) struct Watch(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((watching, thread)) = self.0.take() {
            drop(watching);
            // It ends at once, and must not note another time afterwards.
            let _ = thread.join();
            HELD_UP.lock().unwrap_or_else(PoisonError::into_inner).1 = None;
        }
    }
}

/// Begins to notice. Every time that the thread wakes it asks whether the disk `stalls`: no decision can be shown before it is
/// written.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn watch(stalls: impl Fn() -> bool + Send + 'static) -> std::io::Result<Watch> {
    if is_ignored() {
        return Ok(Watch(None));
    }
    let (watching, watched) = mpsc::channel::<()>();
    let tasks = Handle::current();
    let notice = move || {
        while watched.recv_timeout(WAKE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let stalls = stalls();
            let now = Instant::now();
            {
                let mut held_up = HELD_UP.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(last) = held_up.1.replace(now) {
                    let since = now.saturating_duration_since(last);
                    held_up.0 += if stalls { since } else { late(since) };
                }
            }
            // From outside: it waits behind all that wait for a thread.
            tasks.spawn(async move {
                let micros = u64::try_from(now.elapsed().as_micros()).unwrap_or(u64::MAX);
                LAG.store(micros, Ordering::Relaxed);
            });
        }
    };
    let thread = std::thread::Builder::new().name("held-up".to_owned()).spawn(notice)?;
    Ok(Watch(Some((watching, thread))))
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
    fn a_thread_that_is_a_little_late_is_in_time() {
        let late = |millis| late(Duration::from_millis(millis)).as_millis();
        assert_eq!([50, 100, 101, 5_050].map(late), [0, 0, 51, 5_000]);
    }
}

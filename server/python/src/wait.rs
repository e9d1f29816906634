//! Waits for the engine without Python's lock, so that Ctrl-C interrupts the wait.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use pyo3::{PyResult, Python};

/// The longest delay before Python handles a signal.
pub(crate) const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A waker that wakes the waiting thread when its work can continue.
#[derive(Default)]
pub(crate) struct ThreadWaker {
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl ThreadWaker {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_woken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a wake-up, at most `time`.
    fn wait(&self, time: Duration) {
        let waited = self.woken.wait_timeout_while(self.lock(), time, |is_woken| !*is_woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        *self.lock() = true;
        self.woken.notify_one();
    }
}

/// A call of the engine, pending or done.
pub(crate) enum PendingCall<T> {
    /// The work continues in other threads, or waits for them.
    Waiting(Pin<Box<dyn Future<Output = T> + Send>>, Arc<ThreadWaker>),
    /// The work is done, with this result.
    Done(T),
}

impl<T: Send> PendingCall<T> {
    /// Starts work, and runs it as far as possible without waiting.
    pub(crate) fn begin(work: impl Future<Output = T> + Send + 'static) -> Self {
        let mut call = Self::Waiting(Box::pin(work), Arc::default());
        call.poll();
        call
    }

    /// Continues the work as far as possible without waiting.
    fn poll(&mut self) {
        if let Self::Waiting(work, waker) = self
            && let waker = Waker::from(Arc::clone(waker))
            && let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker))
        {
            *self = Self::Done(done);
        }
    }

    /// Waits for the work, at most `time`. Returns whether the work is done.
    ///
    /// # Errors
    /// A signal handler raises. The work continues, and the caller may wait for it again.
    pub(crate) fn wait(&mut self, py: Python<'_>, time: Duration) -> PyResult<bool> {
        let due = Instant::now().checked_add(time);
        // Only while it waits: another thread may try the lock of a call that is done.
        if let Self::Waiting(..) = self {
            py.detach(|| self.poll());
        }
        loop {
            let Self::Waiting(_, waker) = self else { return Ok(true) };
            let left = due.map_or(SIGNAL_CHECK_INTERVAL, |due| due.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            let waker = Arc::clone(waker);
            py.detach(|| {
                waker.wait(left.min(SIGNAL_CHECK_INTERVAL));
                self.poll();
            });
            // If the work is done, its result is returned first. Python handles the signal right after that.
            if let Self::Waiting(..) = self {
                py.check_signals()?;
            }
        }
    }
}

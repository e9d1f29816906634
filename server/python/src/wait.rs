//! Waiting for the engine: without Python's lock, and so that Ctrl-C is heard.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use pyo3::{PyResult, Python};

/// How long Python's signals may wait.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// Tells the thread that waits that there is something to go on with.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it rings, or so long.
    fn wait(&self, time: Duration) {
        let waited = self.heard.wait_timeout_while(self.lock(), time, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.lock() = true;
        self.heard.notify_one();
    }
}

/// Something that the engine does, as far as it has come.
pub(crate) enum Doing<T> {
    /// It goes on in other threads, or waits for them.
    Waiting(Pin<Box<dyn Future<Output = T> + Send>>, Arc<Bell>),
    /// It is done.
    Done(T),
}

impl<T: Send> Doing<T> {
    /// Does as much as needs no waiting.
    pub(crate) fn begin(work: impl Future<Output = T> + Send + 'static) -> Self {
        let mut doing = Self::Waiting(Box::pin(work), Arc::default());
        doing.go_on();
        doing
    }

    /// Does as much as needs no waiting now.
    fn go_on(&mut self) {
        if let Self::Waiting(work, bell) = self
            && let waker = Waker::from(Arc::clone(bell))
            && let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker))
        {
            *self = Self::Done(done);
        }
    }

    /// Waits for its end, at most so long; whether it has come.
    ///
    /// # Errors
    /// What a handler of a signal has raised: it goes on, and may be waited for again.
    pub(crate) fn wait(&mut self, py: Python<'_>, time: Duration) -> PyResult<bool> {
        let due = Instant::now().checked_add(time);
        py.detach(|| self.go_on());
        loop {
            let Self::Waiting(_, bell) = self else { return Ok(true) };
            let left = due.map_or(PATIENCE, |due| due.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            let bell = Arc::clone(bell);
            py.detach(|| {
                bell.wait(left.min(PATIENCE));
                self.go_on();
            });
            // What is done is given; Python hears of a signal right after it.
            if let Self::Waiting(..) = self {
                py.check_signals()?;
            }
        }
    }
}

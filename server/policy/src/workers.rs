//! Threads that evaluate networks, on which others wait only so long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rten::ThreadPool;

/// As many threads as evaluations go on at once. Each evaluates on one core: it is those who ask that are many.
pub(crate) struct Workers {
    patience: Duration,
    idle: Mutex<Vec<Sender<Job>>>,
}

type Job = Box<dyn FnOnce() + Send>;

/// Why a job gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It takes too long, and goes on all the same.
    Late,
    /// It panicked.
    Panicked,
}

impl Workers {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, idle: Mutex::default() }
    }

    /// How long they may take.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Has a worker do something, and waits for it.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Lost> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker = idle.unwrap_or_else(begin);
        let (done, result) = channel();
        let job = Box::new(move || {
            // Nobody waits for what is late.
            let _ = done.send(job());
        });
        // A worker that has gone drops the job, which is noticed below.
        let _ = worker.send(job);
        let result = result.recv_timeout(self.patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Lost::Late,
            RecvTimeoutError::Disconnected => Lost::Panicked,
        })?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        Ok(result)
    }
}

/// Starts a worker, which ends once nobody can reach it.
fn begin() -> Sender<Job> {
    let (worker, jobs): (_, Receiver<Job>) = channel();
    // Operators divide among the threads of the pool that they run in: this one has none but their own.
    std::thread::spawn(move || {
        ThreadPool::with_num_threads(1).run(move || jobs.iter().for_each(|job| job()));
    });
    worker
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_or_is_late_is_lost_and_the_others_go_on() {
        let patient = Workers::new(Duration::from_mins(1));
        assert_eq!(patient.run(|| 1), Ok(1));
        assert_eq!(patient.run(|| panic!("as the test wants it")), Err::<u8, _>(Lost::Panicked));
        assert_eq!(patient.run(|| 2), Ok(2));
        let impatient = Workers::new(Duration::from_millis(1));
        let (release, held) = channel::<()>();
        assert_eq!(impatient.run(move || held.recv().is_ok()), Err(Lost::Late));
        drop(release);
    }
}

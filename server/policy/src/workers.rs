//! Threads that evaluate networks. Callers wait for them with a timeout.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rten::ThreadPool;

/// The worker threads, one per concurrent evaluation. Each evaluation uses one core, because there are many callers.
pub(crate) struct Workers {
    patience: Duration,
    idle: Mutex<Vec<Sender<Job>>>,
}

type Job = Box<dyn FnOnce(&Arc<ThreadPool>) + Send>;

/// Why a job has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It exceeded the timeout, and still runs.
    Late,
    /// It panicked.
    Panicked,
}

impl Workers {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, idle: Mutex::default() }
    }

    /// Returns the timeout of a job.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Runs a job on a worker, in the worker's pool of one thread, and waits for the result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Arc<ThreadPool>) -> T + Send + 'static,
    ) -> Result<T, Lost> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker = idle.unwrap_or_else(begin);
        let (done, result) = channel();
        let job: Job = Box::new(move |pool| {
            // No caller waits for a late result.
            let _ = done.send(job(pool));
        });
        // A worker that has ended drops the job. `recv_timeout` below detects that.
        let _ = worker.send(job);
        let result = result.recv_timeout(self.patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Lost::Late,
            RecvTimeoutError::Disconnected => Lost::Panicked,
        })?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        Ok(result)
    }
}

/// Starts a worker. It ends when its sender is dropped.
fn begin() -> Sender<Job> {
    let (worker, jobs): (_, Receiver<Job>) = channel();
    // Operators use all threads of the pool in which they run. This pool has only the thread of its jobs.
    std::thread::spawn(move || {
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        pool.run(|| jobs.into_iter().for_each(|job| job(&pool)));
    });
    worker
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_or_is_late_is_lost_and_the_others_go_on() {
        let patient = Workers::new(Duration::from_mins(1));
        assert_eq!(patient.run(|_| 1), Ok(1));
        assert_eq!(patient.run(|_| panic!("as the test wants it")), Err::<u8, _>(Lost::Panicked));
        assert_eq!(patient.run(|_| 2), Ok(2));
        let impatient = Workers::new(Duration::from_millis(1));
        let (release, held) = channel::<()>();
        assert_eq!(impatient.run(move |_| held.recv().is_ok()), Err(Lost::Late));
        drop(release);
    }

    #[test]
    fn what_a_job_does_in_its_pool_is_done_by_its_own_thread() {
        let own = || std::thread::current().id();
        let (here, there) =
            Workers::new(Duration::from_mins(1)).run(move |pool| (own(), pool.run(own))).expect("it is done");
        assert_eq!(here, there);
    }
}

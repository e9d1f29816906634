//! Threads that evaluate networks. Callers wait for them with a timeout.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rten::ThreadPool;

/// The worker threads, one per concurrent evaluation. Each evaluation uses one core, because there are many callers.
pub(crate) struct Workers {
    timeout: Duration,
    idle: Mutex<Vec<Sender<Job>>>,
}

type Job = Box<dyn FnOnce(&Arc<ThreadPool>) + Send>;

/// The reason for which a job has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobError {
    /// It exceeded the timeout, and still runs.
    TimedOut,
    /// It panicked.
    Panicked,
}

impl Workers {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { timeout, idle: Mutex::default() }
    }

    /// Returns the timeout of a job.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Runs a job on a worker, in the worker's pool of one thread, and waits for the result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Arc<ThreadPool>) -> T + Send + 'static,
    ) -> Result<T, JobError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker = idle.unwrap_or_else(spawn_worker);
        let (done, result) = channel();
        let job: Job = Box::new(move |pool| {
            // No caller waits for a late result.
            let _ = done.send(job(pool));
        });
        // A worker that has ended drops the job. `recv_timeout` below detects that.
        let _ = worker.send(job);
        let result = result.recv_timeout(self.timeout).map_err(|error| match error {
            RecvTimeoutError::Timeout => JobError::TimedOut,
            RecvTimeoutError::Disconnected => JobError::Panicked,
        })?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        Ok(result)
    }
}

/// Starts a worker. It ends when its sender is dropped.
fn spawn_worker() -> Sender<Job> {
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
    fn panic_and_timeout_return_errors() {
        let with_long_timeout = Workers::new(Duration::from_mins(1));
        assert_eq!(with_long_timeout.run(|_| 1), Ok(1));
        assert_eq!(with_long_timeout.run(|_| panic!("test panic")), Err::<u8, _>(JobError::Panicked));
        assert_eq!(with_long_timeout.run(|_| 2), Ok(2));
        let with_short_timeout = Workers::new(Duration::from_millis(1));
        let (release, released) = channel::<()>();
        assert_eq!(with_short_timeout.run(move |_| released.recv().is_ok()), Err(JobError::TimedOut));
        drop(release);
    }

    #[test]
    fn a_job_runs_in_the_pool_of_its_own_thread() {
        let own = || std::thread::current().id();
        let (here, there) =
            Workers::new(Duration::from_mins(1)).run(move |pool| (own(), pool.run(own))).expect("it is done");
        assert_eq!(here, there);
    }
}

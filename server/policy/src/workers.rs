//! Threads that evaluate networks, on which others wait only so long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rten::ThreadPool;

/// As many threads as evaluations go on at once. Each evaluates on one core: it is those who ask that are many.
pub(crate) struct Workers {
    patience: Duration,
    idle: Mutex<Vec<Sender<Job>>>,
}

type Job = Box<dyn FnOnce(&Arc<ThreadPool>) + Send>;

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

    /// Has a worker do something in its pool of one thread, and waits for it.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Arc<ThreadPool>) -> T + Send + 'static,
    ) -> Result<T, Lost> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker = idle.unwrap_or_else(begin);
        let (done, result) = channel();
        let job: Job = Box::new(move |pool| {
            // Nobody waits for what is late.
            let _ = done.send(job(pool));
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
    // Operators divide among the threads of the pool that they are evaluated in: this one has none but the jobs' own.
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

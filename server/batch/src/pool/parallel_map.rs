//! Runs a task for many numbers on the free threads of the pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::{Flow, OneShot, Slice, Work, WorkQueue};

/// A task for the numbers below `count`. Each thread takes the next number.
struct ParallelMap<T, F> {
    task: F,
    next: AtomicUsize,
    count: usize,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    items: Vec<Option<T>>,
    missing: usize,
    /// Sends the items once none is missing.
    sender: Option<oneshot::Sender<Vec<T>>>,
}

/// The work of one thread on the task.
struct ParallelWorker<T, F>(Arc<ParallelMap<T, F>>);

impl WorkQueue {
    /// Runs a task that is short or cannot be divided; returns its result. `None` if the task was cancelled or panicked.
    pub async fn run<T: Send + 'static>(&self, task: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        self.spawn(OneShot::new(move || {
            // Fails if the caller no longer waits.
            let _ = sender.send(task());
        }));
        receiver.await.ok()
    }

    /// Runs `task` for each number below `count` on at most `threads` threads of the pool; returns the results in order.
    /// `None` if the work was cancelled or panicked. The work ends soon after the caller drops the future.
    pub async fn parallel_map<T: Send + 'static>(
        &self,
        threads: usize,
        count: usize,
        task: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> Option<Vec<T>> {
        if count == 0 {
            return Some(Vec::new());
        }
        let (sender, receiver) = oneshot::channel();
        let items = std::iter::repeat_with(|| None).take(count).collect();
        let inner = Mutex::new(Inner { items, missing: count, sender: Some(sender) });
        let map = Arc::new(ParallelMap { task, next: AtomicUsize::new(0), count, inner });
        std::iter::repeat_n(map, threads.min(count)).for_each(|map| self.spawn(ParallelWorker(map)));
        receiver.await.ok()
    }
}

impl<T: Send + 'static, F: Fn(usize) -> T + Send + Sync + 'static> Work for ParallelWorker<T, F> {
    fn advance(&mut self, slice: &Slice) -> Flow {
        let map = &*self.0;
        loop {
            let number = map.next.fetch_add(1, Ordering::Relaxed);
            if number >= map.count {
                return Flow::Done;
            }
            let item = (map.task)(number);
            let mut inner = map.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.items[number] = Some(item);
            inner.missing -= 1;
            if inner.missing == 0
                && let Some(sender) = inner.sender.take()
            {
                let items = std::mem::take(&mut inner.items).into_iter().flatten().collect();
                // Fails if the caller no longer waits.
                let _ = sender.send(items);
            }
            if inner.sender.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return Flow::Done;
            }
            drop(inner);
            if slice.is_over() {
                return Flow::Continue;
            }
        }
    }
}

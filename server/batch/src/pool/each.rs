//! The same task for many numbers, on whichever threads are free.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::{Flow, Once, Owner, Slice, Work};

/// A task for the numbers below `count`: threads take up number after number.
struct Each<T, F> {
    task: F,
    next: AtomicUsize,
    count: usize,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    items: Vec<Option<T>>,
    left: usize,
    /// Takes the items when all are there.
    finished: Option<oneshot::Sender<Vec<T>>>,
}

/// A thread of the pool that works on it.
struct Helper<T, F>(Arc<Each<T, F>>);

impl Owner {
    /// What `task` gives, which takes no more than a slice or cannot be divided. None if the work was cancelled or has
    /// panicked.
    pub async fn run<T: Send + 'static>(&self, task: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (finished, finish) = oneshot::channel();
        self.spawn(Once::new(move || {
            // Nobody may wait for it any more.
            let _ = finished.send(task());
        }));
        finish.await.ok()
    }

    /// What `task` makes of each number below `count`, in their order, on at most `threads` threads of the pool. None
    /// if the work was cancelled or has panicked. It ends soon when nobody waits for it any more.
    pub async fn each<T: Send + 'static>(
        &self,
        threads: usize,
        count: usize,
        task: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> Option<Vec<T>> {
        if count == 0 {
            return Some(Vec::new());
        }
        let (finished, finish) = oneshot::channel();
        let items = std::iter::repeat_with(|| None).take(count).collect();
        let inner = Mutex::new(Inner { items, left: count, finished: Some(finished) });
        let each = Arc::new(Each { task, next: AtomicUsize::new(0), count, inner });
        (0..threads.min(count)).for_each(|_| self.spawn(Helper(Arc::clone(&each))));
        drop(each);
        finish.await.ok()
    }
}

impl<T: Send + 'static, F: Fn(usize) -> T + Send + Sync + 'static> Work for Helper<T, F> {
    fn advance(&mut self, slice: &Slice) -> Flow {
        let each = &*self.0;
        loop {
            let number = each.next.fetch_add(1, Ordering::Relaxed);
            if number >= each.count {
                return Flow::Done;
            }
            let item = (each.task)(number);
            let mut inner = each.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.items[number] = Some(item);
            inner.left -= 1;
            if inner.left == 0
                && let Some(finished) = inner.finished.take()
            {
                let items = std::mem::take(&mut inner.items).into_iter().flatten().collect();
                // Nobody may wait for them any more.
                let _ = finished.send(items);
            }
            if inner.finished.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return Flow::Done;
            }
            drop(inner);
            if slice.is_over() {
                return Flow::More;
            }
        }
    }
}

//! The tasks of a connection. There is one for each call, and for a moment for each that was reset.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use hyper::rt::Executor;

/// Starts the tasks of a connection and counts them. While there are too many, nothing is read from it: HTTP/2 limits the
/// calls that are open, but not those that are reset as soon as they are made.
#[derive(Clone)]
pub(crate) struct Tasks(Arc<TaskCount>);

struct TaskCount {
    limit: usize,
    count: AtomicUsize,
    reading: AtomicWaker,
}

/// One of them; it has ended when this is dropped.
struct Task(Arc<TaskCount>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        self.0.reading.wake();
    }
}

impl Tasks {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(TaskCount { limit, count: AtomicUsize::new(0), reading: AtomicWaker::new() }))
    }

    /// Ready while there are not too many. To be asked before the connection is read.
    pub(crate) fn poll_few(&self, context: &Context<'_>) -> Poll<()> {
        let few = || self.0.count.load(Ordering::Acquire) < self.0.limit;
        if few() {
            return Poll::Ready(());
        }
        self.0.reading.register(context.waker());
        // One may have ended just now.
        if few() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        let task = Task(Arc::clone(&self.0));
        tokio::spawn(async move {
            let _task = task;
            future.await
        });
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn nothing_is_read_while_there_are_too_many() {
        let (tasks, end) = (Tasks::new(2), Arc::new(Notify::new()));
        let few = || poll_fn(|context| tasks.poll_few(context));
        for _ in 0..2 {
            few().await;
            let end = Arc::clone(&end);
            tasks.execute(async move { end.notified().await });
        }
        let mut waiting = Box::pin(few());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        end.notify_one();
        waiting.await;
        end.notify_one();
    }
}

//! Blocks the threads of a pool during a test.

use std::sync::mpsc;

use super::{OneShot, Pool};

/// Blocks every thread of a pool until it is dropped.
#[derive(Debug)]
pub struct PoolBlocker(#[expect(dead_code, reason = "dropping it wakes the threads")] Vec<mpsc::Sender<()>>);

impl Pool {
    /// Waits until the pool has no work, then blocks its threads. Work spawned later waits until the blocker is dropped.
    ///
    /// # Panics
    /// The pool has stopped.
    #[must_use]
    pub fn block_threads(&self) -> PoolBlocker {
        loop {
            let work_queue = self.new_group().work_queue();
            let (notify, occupied) = mpsc::channel();
            let occupy = |_| {
                let (release, released) = mpsc::channel::<()>();
                let notify = notify.clone();
                work_queue.spawn(OneShot::new(move || {
                    let _ = notify.send(());
                    let _ = released.recv();
                }));
                release
            };
            let releases = (0..self.threads()).map(occupy).collect();
            (0..self.threads()).for_each(|_| occupied.recv().expect("the threads run"));
            // Earlier work may still be queued behind the work of the blocker.
            if self.queued() == 0 {
                return PoolBlocker(releases);
            }
        }
    }
}

//! Holds a pool while a test acts.

use std::sync::mpsc;

use super::{Once, Pool};

/// Occupies every thread of a pool. When it is dropped, the threads are free again.
#[derive(Debug)]
pub struct Hold(#[expect(dead_code, reason = "dropping it wakes the threads")] Vec<mpsc::Sender<()>>);

impl Pool {
    /// Waits until no thread has other work, and keeps it so: what is spawned from now on waits until the hold is dropped.
    ///
    /// # Panics
    /// The pool has no threads or has stopped.
    #[must_use]
    pub fn hold(&self) -> Hold {
        let owner = self.owner();
        let (occupied, waiting) = mpsc::channel();
        let occupy = |_| {
            let (release, released) = mpsc::channel::<()>();
            let occupied = occupied.clone();
            owner.spawn(Once::new(move || {
                let _ = occupied.send(());
                let _ = released.recv();
            }));
            release
        };
        let releases = (0..self.threads).map(occupy).collect();
        for _ in 0..self.threads {
            waiting.recv().expect("the threads run");
        }
        Hold(releases)
    }
}

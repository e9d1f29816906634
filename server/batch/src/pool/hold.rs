//! Blocks the threads of a pool during a test.

use std::sync::mpsc;

use super::{Once, Pool};

/// Blocks every thread of a pool until it is dropped.
#[derive(Debug)]
pub struct Hold(#[expect(dead_code, reason = "dropping it wakes the threads")] Vec<mpsc::Sender<()>>);

impl Pool {
    /// Waits until the pool has no work, then blocks its threads. Work spawned later waits until the hold is dropped.
    ///
    /// # Panics
    /// The pool has stopped.
    #[must_use]
    pub fn hold(&self) -> Hold {
        loop {
            let owner = self.alone().owner();
            let (notify, occupied) = mpsc::channel();
            let occupy = |_| {
                let (release, released) = mpsc::channel::<()>();
                let notify = notify.clone();
                owner.spawn(Once::new(move || {
                    let _ = notify.send(());
                    let _ = released.recv();
                }));
                release
            };
            let releases = (0..self.threads()).map(occupy).collect();
            (0..self.threads()).for_each(|_| occupied.recv().expect("the threads run"));
            // Earlier work may still be queued behind the work of the hold.
            if self.queued() == 0 {
                return Hold(releases);
            }
        }
    }
}

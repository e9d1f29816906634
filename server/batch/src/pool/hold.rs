//! Holds a pool while a test acts.

use std::sync::mpsc;

use super::{Once, Pool};

/// Occupies every thread of a pool. When it is dropped, the threads are free again.
#[derive(Debug)]
pub struct Hold(#[expect(dead_code, reason = "dropping it wakes the threads")] Vec<mpsc::Sender<()>>);

impl Pool {
    /// Waits until the pool has no work, and occupies it: what is spawned from now on waits until the hold is dropped.
    ///
    /// # Panics
    /// The pool has stopped.
    #[must_use]
    pub fn hold(&self) -> Hold {
        loop {
            let hold = self.occupy();
            // Work that came before may still wait, behind that of the hold.
            if self.queued() == 0 {
                return hold;
            }
        }
    }

    fn occupy(&self) -> Hold {
        let owner = self.alone().owner();
        let (occupied, waiting) = mpsc::channel();
        let keep = |_| {
            let (release, released) = mpsc::channel::<()>();
            let occupied = occupied.clone();
            owner.spawn(Once::new(move || {
                let _ = occupied.send(());
                let _ = released.recv();
            }));
            release
        };
        let releases = (0..self.threads).map(keep).collect();
        for _ in 0..self.threads {
            waiting.recv().expect("the threads run");
        }
        Hold(releases)
    }
}

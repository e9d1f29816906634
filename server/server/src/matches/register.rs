//! Which matches there are, and who finds them by what.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use boardwire_kernel::Seat;
use uuid::Uuid;

use crate::arbiter::Arbiter;
use crate::edge::Origin;

/// Closed matches that are still shown.
const CLOSED_REMEMBERED: usize = 1_000;

/// The matches that are open or have been closed not long ago.
#[derive(Default)]
pub(super) struct Register {
    pub(super) open: BTreeMap<String, Open>,
    pub(super) closed: VecDeque<Arc<Arbiter>>,
    /// The seat of each invitation, by the digest of its code.
    pub(super) invitations: HashMap<[u8; 32], (Arc<Arbiter>, Seat)>,
    /// Matches that are open or about to be.
    pub(super) count: usize,
    /// The same by the origin of who created them.
    pub(super) by_origin: HashMap<Origin, usize>,
}

/// An open match.
pub(super) struct Open {
    pub(super) arbiter: Arc<Arbiter>,
    pub(super) origin: Origin,
    pub(super) request: Option<Uuid>,
}

impl Register {
    /// Counts a match that is about to be opened.
    pub(super) fn occupy(&mut self, origin: Origin) {
        self.count += 1;
        *self.by_origin.entry(origin).or_default() += 1;
    }

    /// Counts it no longer.
    pub(super) fn vacate(&mut self, origin: Origin) {
        self.count -= 1;
        if let Some(own) = self.by_origin.get_mut(&origin) {
            *own -= 1;
            if *own == 0 {
                self.by_origin.remove(&origin);
            }
        }
    }

    /// Puts a match among the open ones.
    pub(super) fn enter(&mut self, open: Open) {
        let arbiter = &open.arbiter;
        for (seat, invitation) in arbiter.invited() {
            self.invitations.insert(invitation, (Arc::clone(arbiter), seat));
        }
        self.open.insert(arbiter.id().to_owned(), open);
    }

    /// Puts an ended match among the closed ones; gives its request id, and a match that is shown no longer. As long as a match
    /// is shown, a caller with one of its invitations is told that it is closed.
    pub(super) fn put_away(&mut self, arbiter: &Arbiter) -> Option<(Option<Uuid>, Option<Arc<Arbiter>>)> {
        let Open { origin, request, arbiter } = self.open.remove(arbiter.id())?;
        self.vacate(origin);
        self.closed.push_back(arbiter);
        let forgotten = if self.closed.len() > CLOSED_REMEMBERED { self.closed.pop_front() } else { None };
        if let Some(forgotten) = &forgotten {
            forgotten.invited().iter().for_each(|(_, invitation)| drop(self.invitations.remove(invitation)));
        }
        Some((request, forgotten))
    }
}

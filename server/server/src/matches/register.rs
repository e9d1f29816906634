//! Which matches there are, and who finds them by what.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use boardwire_kernel::Seat;
use uuid::Uuid;

use crate::arbiter::Arbiter;
use crate::quota::Share;

/// Closed matches that are still shown.
const CLOSED_REMEMBERED: usize = 1_000;

/// The matches that are open or have been closed not long ago.
#[derive(Default)]
pub(super) struct Register {
    pub(super) open: BTreeMap<String, OpenMatch>,
    pub(super) closed: VecDeque<Arc<Arbiter>>,
    /// The seat of each invitation, by the digest of its code.
    pub(super) invitations: HashMap<[u8; 32], (Arc<Arbiter>, Seat)>,
}

/// An open match.
pub(super) struct OpenMatch {
    pub(super) arbiter: Arc<Arbiter>,
    /// The id of the request that created it.
    pub(super) request: Option<Uuid>,
    pub(super) _share: Share,
}

impl Register {
    /// Puts a match among the open ones.
    pub(super) fn enter(&mut self, open: OpenMatch) {
        let arbiter = &open.arbiter;
        for (seat, invitation) in arbiter.invited() {
            self.invitations.insert(invitation, (Arc::clone(arbiter), seat));
        }
        self.open.insert(arbiter.id().to_owned(), open);
    }

    /// Puts an ended match among the closed ones; gives its request id, and a match that is shown no longer. As long as a match
    /// is shown, a caller with one of its invitations is told that it is closed.
    pub(super) fn put_away(&mut self, arbiter: &Arbiter) -> Option<(Option<Uuid>, Option<Arc<Arbiter>>)> {
        let OpenMatch { request, arbiter, .. } = self.open.remove(arbiter.id())?;
        self.closed.push_back(arbiter);
        let forgotten = if self.closed.len() > CLOSED_REMEMBERED { self.closed.pop_front() } else { None };
        if let Some(forgotten) = &forgotten {
            forgotten.invited().iter().for_each(|(_, invitation)| drop(self.invitations.remove(invitation)));
        }
        Some((request, forgotten))
    }
}

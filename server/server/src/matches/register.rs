//! The register of matches and invitations.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use boardwire_kernel::Seat;
use uuid::Uuid;

use crate::arbiter::Arbiter;
use crate::quota::Share;

/// How many closed matches can still be found.
const MAX_CLOSED: usize = 1_000;

/// The matches that are open or were closed recently.
#[derive(Default)]
pub(super) struct Register {
    pub(super) open: BTreeMap<String, OpenMatch>,
    pub(super) closed: VecDeque<Arc<Arbiter>>,
    /// The seat of each invitation, by the digest of its code.
    pub(super) invitations: HashMap<[u8; 32], (Arc<Arbiter>, Seat)>,
}

pub(super) struct OpenMatch {
    pub(super) arbiter: Arc<Arbiter>,
    /// The id of the request that created it.
    pub(super) request: Option<Uuid>,
    pub(super) _share: Share,
}

impl Register {
    /// Adds an open match.
    pub(super) fn open(&mut self, open: OpenMatch) {
        let arbiter = &open.arbiter;
        for (seat, invitation) in arbiter.invited() {
            self.invitations.insert(invitation, (Arc::clone(arbiter), seat));
        }
        self.open.insert(arbiter.id().to_owned(), open);
    }

    /// Moves an ended match to the closed ones. Returns its request id, and a closed match that is forgotten for it. Until then
    /// the invitations of a closed match are known, and callers learn that it is closed.
    pub(super) fn put_away(&mut self, arbiter: &Arbiter) -> Option<(Option<Uuid>, Option<Arc<Arbiter>>)> {
        let OpenMatch { request, arbiter, .. } = self.open.remove(arbiter.id())?;
        self.closed.push_back(arbiter);
        let forgotten = if self.closed.len() > MAX_CLOSED { self.closed.pop_front() } else { None };
        for (_, invitation) in forgotten.iter().flat_map(|forgotten| forgotten.invited()) {
            self.invitations.remove(&invitation);
        }
        Some((request, forgotten))
    }
}

//! Which matches there are, and who finds them by what.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use boardwire_kernel::Seat;
use uuid::Uuid;

use crate::arbiter::{Arbiter, Role};
use crate::edge::Origin;
use crate::secret;

/// Closed matches that are still shown.
const CLOSED_REMEMBERED: usize = 1_000;

/// The matches that are open or have been closed not long ago.
#[derive(Default)]
pub(super) struct Register {
    pub(super) open: BTreeMap<String, Open>,
    pub(super) closed: VecDeque<Arc<Arbiter>>,
    /// Who may take a seat, by the digest of the invitation.
    pub(super) invitations: HashMap<[u8; 32], (Arc<Arbiter>, Seat)>,
    /// Who holds each token, by its digest.
    pub(super) tokens: HashMap<[u8; 32], (Arc<Arbiter>, Role)>,
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
        for (token, role) in arbiter.holders() {
            self.tokens.insert(token, (Arc::clone(arbiter), role));
        }
        self.open.insert(arbiter.id().to_owned(), open);
    }

    /// Lets whoever holds a new invitation find the seat that it is for, and whoever held the former one or the seat no longer.
    pub(super) fn invite<'a>(
        &mut self,
        arbiter: &Arc<Arbiter>,
        seat: Seat,
        code: &str,
        former: impl Iterator<Item = &'a [u8; 32]>,
        holders: &[([u8; 32], Role)],
    ) {
        if self.open.contains_key(arbiter.id()) {
            for former in former {
                self.invitations.remove(former);
            }
            for (former, _) in holders.iter().filter(|(_, role)| *role == Role::Seat(seat)) {
                self.tokens.remove(former);
            }
            self.invitations.insert(secret::digest(code), (Arc::clone(arbiter), seat));
        }
    }

    /// Lets the holder of a token find the seat that it is for, as long as the match is open; whoever had the seat before
    /// does not find it any more.
    pub(super) fn admit(
        &mut self,
        arbiter: &Arc<Arbiter>,
        seat: Seat,
        token: &str,
        before: &[([u8; 32], Role)],
    ) {
        if self.open.contains_key(arbiter.id()) {
            for (former, _) in before.iter().filter(|(_, role)| *role == Role::Seat(seat)) {
                self.tokens.remove(former);
            }
            self.tokens.insert(secret::digest(token), (Arc::clone(arbiter), Role::Seat(seat)));
        }
    }

    /// Puts an ended match among the closed ones; gives what it was, and a match that is shown no longer. As long as it is
    /// shown, a caller with one of its tokens or invitations is told that it is closed.
    pub(super) fn put_away(&mut self, arbiter: &Arbiter) -> Option<(Option<Uuid>, Option<Arc<Arbiter>>)> {
        let Open { origin, request, arbiter } = self.open.remove(arbiter.id())?;
        self.vacate(origin);
        self.closed.push_back(arbiter);
        let forgotten = if self.closed.len() > CLOSED_REMEMBERED { self.closed.pop_front() } else { None };
        if let Some(forgotten) = &forgotten {
            forgotten.holders().iter().for_each(|(token, _)| drop(self.tokens.remove(token)));
            forgotten.invited().iter().for_each(|(_, invitation)| drop(self.invitations.remove(invitation)));
        }
        Some((request, forgotten))
    }
}

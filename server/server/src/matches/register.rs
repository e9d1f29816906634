//! The register of matches and invitations. Gives agents invitations to seats, and lets agents join.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use boardwire_api::Error;
use boardwire_kernel::Seat;
use uuid::Uuid;

use super::Matches;
use crate::arbiter::Arbiter;
use crate::quota::QuotaGuard;
use crate::record::fair::DealCommitment;
use crate::secret;

/// How many closed matches callers can still find.
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
    pub(super) _quota_guard: QuotaGuard,
}

impl Register {
    /// Adds an open match and its invitations.
    pub(super) fn insert(&mut self, open: OpenMatch) {
        let arbiter = &open.arbiter;
        for (seat, invitation) in arbiter.invitation_digests() {
            self.invitations.insert(invitation, (Arc::clone(arbiter), seat));
        }
        self.open.insert(arbiter.id().to_owned(), open);
    }

    /// Moves an ended match to the closed ones. Returns its request id, and the closed match that is dropped to make room,
    /// if any. The register keeps the invitations of closed matches, so that callers learn that these are closed.
    pub(super) fn move_to_closed(
        &mut self,
        arbiter: &Arbiter,
    ) -> Option<(Option<Uuid>, Option<Arc<Arbiter>>)> {
        let OpenMatch { request, arbiter, .. } = self.open.remove(arbiter.id())?;
        self.closed.push_back(arbiter);
        let evicted = if self.closed.len() > MAX_CLOSED { self.closed.pop_front() } else { None };
        for (_, invitation) in evicted.iter().flat_map(|evicted| evicted.invitation_digests()) {
            self.invitations.remove(&invitation);
        }
        Some((request, evicted))
    }
}

impl Matches {
    /// Gives a seat to another agent for the host. Returns the new invitation.
    ///
    /// # Errors
    /// The match does not exist, or the token is not its host's; otherwise as [`Arbiter::invite`].
    pub async fn invite(&self, id: &str, token: Option<&str>, seat: u32) -> Result<(Seat, String), Error> {
        let arbiter = self.find_for_host(id, token)?;
        let (seat, code) = {
            // Holds the lock, so that meanwhile no call joins with the former invitation or invites again.
            let mut register = self.lock();
            let former = arbiter.invitation_digests();
            let (seat, code) = arbiter.invite(seat)?;
            if register.open.contains_key(id) {
                for (_, digest) in former.iter().filter(|(of, _)| *of == seat) {
                    register.invitations.remove(digest);
                }
                register.invitations.insert(secret::digest(&code), (Arc::clone(&arbiter), seat));
            }
            (seat, code)
        };
        arbiter.wait_until_written().await?;
        Ok((seat, code))
    }

    /// Redeems an invitation for a seat and its token.
    ///
    /// # Errors
    /// The invitation is unknown or used, the commitment is missing in a fair deal, or the journal cannot be written.
    pub async fn join(
        &self,
        invitation: &str,
        request: Option<Uuid>,
        commitment: Option<DealCommitment>,
    ) -> Result<(Arc<Arbiter>, Seat, String), Error> {
        let (arbiter, seat, token) = {
            // Holds the lock, so that meanwhile the host cannot give the seat to another agent.
            let register = self.lock();
            let invited = register.invitations.get(&secret::digest(invitation)).cloned();
            let (arbiter, seat) = invited.ok_or(Error::InvitationUnknown)?;
            let token = arbiter.join(seat, request, commitment)?;
            (arbiter, seat, token)
        };
        arbiter.wait_until_written().await?;
        Ok((arbiter, seat, token))
    }
}

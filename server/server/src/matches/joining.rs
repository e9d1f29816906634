//! How seats are given away.

use std::sync::Arc;

use boardwire_kernel::Seat;
use uuid::Uuid;

use super::Matches;
use crate::arbiter::{Arbiter, Role};
use crate::record::fair::Contribution;
use crate::secret;
use boardwire_api::Error;

impl Matches {
    /// Gives a seat to another agent, for the host.
    ///
    /// # Errors
    /// No such match, a token that is not its host's; as [`Arbiter::invite`].
    pub async fn invite(&self, id: &str, token: Option<&str>, seat: u32) -> Result<(Seat, String), Error> {
        let arbiter = self.find(id)?;
        if arbiter.role(token)? != Role::Host {
            return Err(Error::HostOnly { match_id: id.to_owned() });
        }
        let (seat, code) = {
            // No call joins by the former invitation in between, nor invites again.
            let mut register = self.lock();
            let before = arbiter.invited();
            let (seat, code) = arbiter.invite(seat)?;
            if register.open.contains_key(id) {
                let former = before.iter().filter(|(known, _)| *known == seat);
                former.for_each(|(_, digest)| drop(register.invitations.remove(digest)));
                register.invitations.insert(secret::digest(&code), (Arc::clone(&arbiter), seat));
            }
            (seat, code)
        };
        arbiter.kept().await?;
        Ok((seat, code))
    }

    /// Turns an invitation into a seat and its token.
    ///
    /// # Errors
    /// An invitation that is unknown or has been used; deals that are fair, and nothing that binds the agent; a journal that cannot be written.
    pub async fn join(
        &self,
        invitation: &str,
        request: Option<Uuid>,
        bound: Option<Contribution>,
    ) -> Result<(Arc<Arbiter>, Seat, String), Error> {
        let (arbiter, seat, token) = {
            // Under the lock: else the seat could be given away in between.
            let register = self.lock();
            let found = register.invitations.get(&secret::digest(invitation)).cloned();
            let (arbiter, seat) = found.ok_or(Error::InvitationUnknown)?;
            let token = arbiter.join(seat, request, bound)?;
            (arbiter, seat, token)
        };
        arbiter.kept().await?;
        Ok((arbiter, seat, token))
    }
}

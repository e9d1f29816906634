//! Inviting agents to seats, and joining.

use std::sync::Arc;

use boardwire_api::Error;
use boardwire_kernel::Seat;
use uuid::Uuid;

use super::Matches;
use crate::arbiter::Arbiter;
use crate::record::fair::Contribution;
use crate::secret;

impl Matches {
    /// Gives a seat to another agent, for the host. Returns the new invitation.
    ///
    /// # Errors
    /// No such match, a token that is not its host's; as [`Arbiter::invite`].
    pub async fn invite(&self, id: &str, token: Option<&str>, seat: u32) -> Result<(Seat, String), Error> {
        let arbiter = self.find_for_host(id, token)?;
        let (seat, code) = {
            // Under the lock: meanwhile no call joins with the former invitation or invites again.
            let mut register = self.lock();
            let former = arbiter.invited();
            let (seat, code) = arbiter.invite(seat)?;
            if register.open.contains_key(id) {
                for (_, digest) in former.iter().filter(|(of, _)| *of == seat) {
                    register.invitations.remove(digest);
                }
                register.invitations.insert(secret::digest(&code), (Arc::clone(&arbiter), seat));
            }
            (seat, code)
        };
        arbiter.kept().await?;
        Ok((seat, code))
    }

    /// Redeems an invitation for a seat and its token.
    ///
    /// # Errors
    /// An unknown or used invitation, no commitment although deals are fair, or a journal that cannot be written.
    pub async fn join(
        &self,
        invitation: &str,
        request: Option<Uuid>,
        commitment: Option<Contribution>,
    ) -> Result<(Arc<Arbiter>, Seat, String), Error> {
        let (arbiter, seat, token) = {
            // Under the lock: meanwhile the host cannot give the seat to another agent.
            let register = self.lock();
            let invited = register.invitations.get(&secret::digest(invitation)).cloned();
            let (arbiter, seat) = invited.ok_or(Error::InvitationUnknown)?;
            let token = arbiter.join(seat, request, commitment)?;
            (arbiter, seat, token)
        };
        arbiter.kept().await?;
        Ok((arbiter, seat, token))
    }
}

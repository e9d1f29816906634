//! Invitations, the seat tokens that agents exchange them for, and the role of a token.

use std::sync::Arc;
use std::time::Instant;

use boardwire_api::Error;
use boardwire_kernel::Seat;
use uuid::Uuid;

use super::event::EventKind;
use super::state::Holder;
use super::{Arbiter, Inner};
use crate::record::fair::DealCommitment;
use crate::secret::{self, Secret};

/// The owner of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The caller that created the match.
    Host,
    /// The agent at a seat.
    Seat(Seat),
}

/// The secrets of a seat.
#[derive(Debug)]
pub(super) struct SeatAccess {
    /// `None` for a bot.
    invitation: Option<Secret>,
    /// The token of the agent that joined; `None` after a restart.
    token: Option<String>,
    /// The number of waiting calls.
    pub(super) waiting_calls: usize,
}

impl SeatAccess {
    pub(super) fn new(invitation: Option<Secret>) -> Self {
        Self { invitation, token: None, waiting_calls: 0 }
    }

    /// Returns the digest of the invitation.
    pub(super) fn invitation_digest(&self) -> Option<[u8; 32]> {
        self.invitation.as_ref().map(|invitation| invitation.digest)
    }
}

impl Arbiter {
    /// Returns the host's token; empty after a restart.
    #[must_use]
    pub fn host_token(&self) -> &str {
        &self.identity.host.secret
    }

    /// Returns the invitation of each agent's seat; empty after a restart.
    #[must_use]
    pub fn invitations(&self) -> Vec<(Seat, String)> {
        self.map_seats(|access| access.invitation.as_ref().map(|invitation| invitation.secret.clone()))
    }

    /// Returns the digests of the invitations.
    pub(crate) fn invitation_digests(&self) -> Vec<(Seat, [u8; 32])> {
        self.map_seats(SeatAccess::invitation_digest)
    }

    fn map_seats<T>(&self, of: impl Fn(&SeatAccess) -> Option<T>) -> Vec<(Seat, T)> {
        let inner = self.lock();
        let seat_access = self.settings.seats().zip(&inner.seat_access);
        seat_access.filter_map(|(seat, access)| Some((seat, of(access)?))).collect()
    }

    /// Gives a seat to another agent, or to the same agent that has lost its token. Returns the new invitation; the former
    /// token becomes invalid.
    ///
    /// # Errors
    /// The seat is not an agent's. Agents are opening their secrets (a new agent could choose its own after it sees
    /// another). The match is closed. The journal cannot be written.
    pub fn invite(self: &Arc<Self>, number: u32) -> Result<(Seat, String), Error> {
        self.update(|inner| {
            self.require_open(inner)?;
            let seat = self.settings.agent_seat(Some(number))?;
            if inner.state.waits_for_secrets() {
                inner.state.require_dealt()?;
            }
            inner.last_used = Instant::now();
            let invitation = Secret::random();
            self.commit(inner, [EventKind::Invited { seat, invitation: invitation.digest }])?;
            let access = &mut inner.seat_access[seat.index()];
            (access.token, access.invitation) = (None, Some(invitation.clone()));
            Ok((seat, invitation.secret))
        })
    }

    /// Exchanges the invitation of `seat` for its token. `commitment` is the agent's, if deals are fair.
    ///
    /// A retry gets the same token. After a restart it gets a new one, because the server stores only digests.
    ///
    /// # Errors
    /// Another request has joined the seat; the commitment is missing; the match is closed; the journal cannot be written.
    pub fn join(
        self: &Arc<Self>,
        seat: Seat,
        request: Option<Uuid>,
        commitment: Option<DealCommitment>,
    ) -> Result<String, Error> {
        self.update(|inner| {
            self.require_open(inner)?;
            let commitment = inner.state.deals.commitment_to_store(commitment)?;
            inner.last_used = Instant::now();
            if let Some(holder) = &inner.state.holders[seat.index()] {
                let is_other =
                    inner.state.is_before_first_deal() && inner.state.deals.commitment(seat) != commitment;
                if request.is_none() || holder.request != request || is_other {
                    let (match_id, seat) = (self.identity.id.clone(), seat.number());
                    return Err(Error::InvitationUsed { match_id, seat });
                }
                if let Some(token) = &inner.seat_access[seat.index()].token {
                    return Ok(token.clone());
                }
            }
            let token = secret::random_hex();
            self.commit(
                inner,
                [EventKind::Joined { seat, token: secret::digest(&token), request, commitment }],
            )?;
            inner.seat_access[seat.index()].token = Some(token.clone());
            // The clocks may have waited for this agent.
            inner.clocks.update(&inner.state, self.bots_think());
            Ok(token)
        })
    }

    /// Returns the role of a token.
    ///
    /// # Errors
    /// There is no token, or it does not belong to this match.
    pub fn role(&self, token: Option<&str>) -> Result<Role, Error> {
        let token = token.ok_or(Error::TokenMissing)?;
        let mut inner = self.lock();
        let role = self.role_of(&inner, &secret::digest(token))?;
        inner.last_used = Instant::now();
        Ok(role)
    }

    /// Returns the role of the token with this digest.
    pub(super) fn role_of(&self, inner: &Inner, digest: &[u8; 32]) -> Result<Role, Error> {
        if *digest == self.identity.host.digest {
            return Ok(Role::Host);
        }
        let holds = |holder: &Option<Holder>| holder.as_ref().is_some_and(|holder| holder.token == *digest);
        let seat = inner.state.holders.iter().position(holds).and_then(|at| self.settings.seats().nth(at));
        seat.map(Role::Seat).ok_or_else(|| Error::TokenWrong { match_id: self.identity.id.clone() })
    }

    /// Returns the seat of a role.
    ///
    /// # Errors
    /// The role is the host's.
    pub(crate) fn seat_of(&self, role: Role) -> Result<Seat, Error> {
        match role {
            Role::Seat(seat) => Ok(seat),
            Role::Host => Err(Error::SeatOnly { match_id: self.identity.id.clone() }),
        }
    }
}

//! Invitations, the seat tokens that agents exchange them for, and the role of a token.

use std::sync::Arc;
use std::time::Instant;

use boardwire_api::Error;
use boardwire_kernel::Seat;
use uuid::Uuid;

use super::event::EventKind;
use super::state::Holder;
use super::{Arbiter, Inner};
use crate::record::fair::Contribution;
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
pub(super) struct Ticket {
    /// `None` for a bot.
    invitation: Option<Secret>,
    /// The token of the agent that joined; `None` after a restart.
    token: Option<String>,
    /// The number of waiting calls.
    pub(super) waiting: usize,
}

impl Ticket {
    pub(super) fn new(invitation: Option<Secret>) -> Self {
        Self { invitation, token: None, waiting: 0 }
    }

    /// Returns the digest of the invitation.
    pub(super) fn invited(&self) -> Option<[u8; 32]> {
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
        self.each_ticket(|ticket| ticket.invitation.as_ref().map(|invitation| invitation.secret.clone()))
    }

    /// Returns the digests of the invitations.
    pub(crate) fn invited(&self) -> Vec<(Seat, [u8; 32])> {
        self.each_ticket(Ticket::invited)
    }

    fn each_ticket<T>(&self, of: impl Fn(&Ticket) -> Option<T>) -> Vec<(Seat, T)> {
        let inner = self.lock();
        let tickets = self.settings.seats().zip(&inner.tickets);
        tickets.filter_map(|(seat, ticket)| Some((seat, of(ticket)?))).collect()
    }

    /// Gives a seat to another agent, or to the same agent that has lost its token. Returns the new invitation; the former
    /// token becomes invalid.
    ///
    /// # Errors
    /// The seat is not an agent's. Agents are opening their secrets (a new agent could choose its own after it sees
    /// another). The match is closed. The journal cannot be written.
    pub fn invite(self: &Arc<Self>, number: u32) -> Result<(Seat, String), Error> {
        self.change(|inner| {
            self.check_open(inner)?;
            let seat = self.settings.agent_seat(Some(number))?;
            if inner.state.is_opening() {
                inner.state.check_dealt()?;
            }
            inner.last_used = Instant::now();
            let invitation = Secret::fresh();
            self.commit(inner, [EventKind::Invited { seat, invitation: invitation.digest }])?;
            let ticket = &mut inner.tickets[seat.index()];
            (ticket.token, ticket.invitation) = (None, Some(invitation.clone()));
            Ok((seat, invitation.secret))
        })
    }

    /// Exchanges the invitation of `seat` for its token. `bound` is the agent's commitment, if deals are fair.
    ///
    /// A retry gets the same token. After a restart it gets a new one, because the server stores only digests.
    ///
    /// # Errors
    /// Another request has joined the seat; the commitment is missing; the match is closed; the journal cannot be written.
    pub fn join(
        self: &Arc<Self>,
        seat: Seat,
        request: Option<Uuid>,
        bound: Option<Contribution>,
    ) -> Result<String, Error> {
        self.change(|inner| {
            self.check_open(inner)?;
            let bound = inner.state.deals.binding(bound)?;
            inner.last_used = Instant::now();
            if let Some(holder) = &inner.state.holders[seat.index()] {
                let is_other = inner.state.is_gathering() && inner.state.deals.bound(seat) != bound;
                if request.is_none() || holder.request != request || is_other {
                    let (match_id, seat) = (self.identity.id.clone(), seat.number());
                    return Err(Error::InvitationUsed { match_id, seat });
                }
                if let Some(token) = &inner.tickets[seat.index()].token {
                    return Ok(token.clone());
                }
            }
            let token = secret::word();
            self.commit(inner, [EventKind::Joined { seat, token: secret::digest(&token), request, bound }])?;
            inner.tickets[seat.index()].token = Some(token.clone());
            // The clocks may have waited for this agent.
            inner.clocks.run(&inner.state, self.bots_think());
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

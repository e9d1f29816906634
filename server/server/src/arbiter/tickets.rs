//! Who plays at a match: invitations, the tokens that they are exchanged for, and whom a token belongs to.

use std::sync::Arc;
use std::time::Instant;

use boardwire_api::Error;
use boardwire_batch::Player;
use boardwire_kernel::Seat;
use uuid::Uuid;

use super::event::EventKind;
use super::state::Holder;
use super::{Arbiter, Inner};
use crate::record::fair::Contribution;
use crate::secret::{self, Secret};

/// Who a token belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The caller that created the match.
    Host,
    /// An agent at a seat.
    Seat(Seat),
}

/// What a seat is taken with.
#[derive(Debug, Default)]
pub(super) struct Ticket {
    /// The invitation; none for a bot.
    invitation: Option<Secret>,
    /// The token of who has taken it.
    token: Option<String>,
    /// Calls of the seat that wait.
    pub(super) waiting: usize,
}

impl Ticket {
    /// A ticket for the player at the seat: an invitation, unless it is a bot.
    pub(super) fn of(player: &Player) -> Self {
        match player {
            Player::Agent => Self { invitation: Some(Secret::fresh()), ..Self::default() },
            Player::Bot(_) => Self::default(),
        }
    }

    /// A ticket of which no more is known than what its invitation is found by.
    pub(super) fn restored(invitation: [u8; 32]) -> Self {
        Self { invitation: Some(Secret::by(invitation)), ..Self::default() }
    }

    /// What the invitation is found by.
    pub(super) fn invited(&self) -> Option<[u8; 32]> {
        self.invitation.as_ref().map(|invitation| invitation.digest)
    }
}

impl Arbiter {
    /// The host's token; empty after a restart.
    #[must_use]
    pub fn host_token(&self) -> &str {
        &self.name.host.secret
    }

    /// The invitation of every agent's seat; empty after a restart.
    #[must_use]
    pub fn invitations(&self) -> Vec<(Seat, String)> {
        self.each_ticket(|ticket| ticket.invitation.as_ref().map(|invitation| invitation.secret.clone()))
    }

    /// What the invitations are found by.
    pub(crate) fn invited(&self) -> Vec<(Seat, [u8; 32])> {
        self.each_ticket(Ticket::invited)
    }

    fn each_ticket<T>(&self, of: impl Fn(&Ticket) -> Option<T>) -> Vec<(Seat, T)> {
        let inner = self.lock();
        self.settings
            .seats()
            .zip(&inner.tickets)
            .filter_map(|(seat, ticket)| Some((seat, of(ticket)?)))
            .collect()
    }

    /// Gives a seat to another agent, or to one that has lost its token: returns the new invitation. The former agent loses the
    /// seat.
    ///
    /// # Errors
    /// A seat that is not an agent's; agents that are opening what they contribute to the deal, since the new one would choose
    /// what to contribute when others have opened; a match that has ended for good; a journal that cannot be written.
    pub fn invite(self: &Arc<Self>, number: u32) -> Result<(Seat, String), Error> {
        let mut inner = self.change();
        self.check_open(&inner)?;
        let agents = self.settings.agents();
        let seat = agents.iter().find(|seat| u32::from(seat.number()) == number);
        let seat = seat.ok_or_else(|| Error::field("seat", number, format!("an agent's seat: {agents}")))?;
        if inner.state.is_opening() {
            inner.state.check_dealt()?;
        }
        inner.used = Instant::now();
        let found = Secret::fresh();
        self.commit(&mut inner, [EventKind::Invited { seat, invitation: found.digest }])?;
        let ticket = &mut inner.tickets[seat.index()];
        (ticket.token, ticket.invitation) = (None, Some(found.clone()));
        Ok((seat, found.secret))
    }

    /// Gives the token of `seat` to the holder of its invitation, an agent that is `bound` to what it contributes to deals, if they are
    /// fair.
    ///
    /// A repeated request is given the same token again, or another one for it after a restart, when it is not known
    /// any more.
    ///
    /// # Errors
    /// A seat that has been joined already, unless by the same `request`; an agent that is not bound where deals are fair; a match
    /// that has ended for good; a journal that cannot be written.
    pub fn join(
        self: &Arc<Self>,
        seat: Seat,
        request: Option<Uuid>,
        bound: Option<Contribution>,
    ) -> Result<String, Error> {
        let mut inner = self.change();
        self.check_open(&inner)?;
        let bound = inner.state.deals.binding(bound)?;
        inner.used = Instant::now();
        if let Some(holder) = &inner.state.holders[seat.index()] {
            let another = inner.state.is_gathering() && inner.state.deals.bound(seat) != bound;
            if request.is_none() || holder.request != request || another {
                return Err(Error::InvitationUsed { match_id: self.name.id.clone(), seat: seat.number() });
            }
            if let Some(token) = &inner.tickets[seat.index()].token {
                return Ok(token.clone());
            }
        }
        let token = secret::word();
        self.commit(&mut inner, [EventKind::Joined { seat, token: secret::digest(&token), request, bound }])?;
        inner.tickets[seat.index()].token = Some(token.clone());
        // Clocks may have waited for it.
        inner.run_clocks(self.bots_think());
        Ok(token)
    }

    /// Who the holder of `token` is.
    ///
    /// # Errors
    /// No token, or one that is none of this match's.
    pub fn role(&self, token: Option<&str>) -> Result<Role, Error> {
        let token = token.ok_or(Error::TokenMissing)?;
        let mut inner = self.lock();
        let role = self.role_of(&inner, &secret::digest(token))?;
        inner.used = Instant::now();
        Ok(role)
    }

    /// Whose token has this digest.
    pub(super) fn role_of(&self, inner: &Inner, digest: &[u8; 32]) -> Result<Role, Error> {
        if *digest == self.name.host.digest {
            return Ok(Role::Host);
        }
        let own = |holder: &Option<Holder>| holder.as_ref().is_some_and(|holder| holder.token == *digest);
        let seat = inner.state.holders.iter().position(own).and_then(|at| self.settings.seats().nth(at));
        seat.map(Role::Seat).ok_or_else(|| Error::TokenWrong { match_id: self.name.id.clone() })
    }

    /// The seat of a role.
    ///
    /// # Errors
    /// It is the host.
    pub(crate) fn seat_of(&self, role: Role) -> Result<Seat, Error> {
        match role {
            Role::Seat(seat) => Ok(seat),
            Role::Host => Err(Error::SeatOnly { match_id: self.name.id.clone() }),
        }
    }
}

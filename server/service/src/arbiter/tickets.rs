//! Who plays at a match: invitations, the tokens that they are exchanged for, and whom a token belongs to.

use std::time::Instant;

use boardwire_kernel::Seat;
use uuid::Uuid;

use super::event::What;
use super::standing::Holder;
use super::{Arbiter, Player};
use crate::error::ServiceError;
use crate::secret;

/// Who a token belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Whoever created the match.
    Host,
    /// An agent at a seat.
    Seat(Seat),
}

/// What a seat is taken with.
#[derive(Debug, Default)]
pub(super) struct Ticket {
    invitation: String,
    /// The token of who has taken it.
    token: Option<String>,
    /// Calls of the seat that wait.
    pub(super) waiting: usize,
}

impl Ticket {
    /// A ticket for whoever plays at the seat: an invitation, unless it is a bot.
    pub(super) fn of(player: &Player) -> Self {
        match player {
            Player::Remote => Self { invitation: secret::word(), ..Self::default() },
            Player::Bot(_) => Self::default(),
        }
    }
}

impl Arbiter {
    /// The host's token.
    #[must_use]
    pub fn host_token(&self) -> &str {
        &self.host
    }

    /// What the tokens of the host and of every seat that has been joined are found by.
    pub(crate) fn tokens(&self) -> Vec<[u8; 32]> {
        let inner = self.lock();
        let seats = inner.standing.holders.iter().flatten().map(|holder| holder.token);
        seats.chain([secret::digest(&self.host)]).collect()
    }

    /// The invitation of every remote seat.
    #[must_use]
    pub fn invitations(&self) -> Vec<(Seat, String)> {
        let inner = self.lock();
        self.settings
            .remote()
            .iter()
            .map(|seat| (seat, inner.tickets[seat.index()].invitation.clone()))
            .collect()
    }

    /// Gives the token of `seat` to whoever holds its invitation.
    ///
    /// # Errors
    /// A seat that has been joined already, unless by the same `request`; a match that has ended for good.
    pub fn join(&self, seat: Seat, request: Option<Uuid>) -> Result<String, ServiceError> {
        let mut inner = self.lock();
        self.refuse_closed(&inner)?;
        inner.used = Instant::now();
        if let Some(holder) = &inner.standing.holders[seat.index()] {
            let known = inner.tickets[seat.index()].token.clone();
            let again = request.is_some() && holder.request == request;
            let refused = || ServiceError::InvitationUsed { id: self.id.clone(), seat };
            return known.filter(|_| again).ok_or_else(refused);
        }
        let token = secret::word();
        self.happened(&mut inner, [What::Joined { seat, token: secret::digest(&token), request }])?;
        inner.tickets[seat.index()].token = Some(token.clone());
        Ok(token)
    }

    /// Who the holder of `token` is.
    ///
    /// # Errors
    /// No token, or one that is none of this match's.
    pub fn role(&self, token: Option<&str>) -> Result<Role, ServiceError> {
        let token = token.ok_or(ServiceError::MissingToken)?;
        let mut inner = self.lock();
        let role = if secret::same(token, &self.host) {
            Some(Role::Host)
        } else {
            let digest = secret::digest(token);
            let own = |holder: &Option<Holder>| holder.as_ref().is_some_and(|holder| holder.token == digest);
            let mut seats = self.settings.seats().zip(&inner.standing.holders);
            seats.find(|(_, holder)| own(holder)).map(|(seat, _)| Role::Seat(seat))
        };
        let role = role.ok_or_else(|| ServiceError::WrongToken { id: self.id.clone() })?;
        inner.used = Instant::now();
        Ok(role)
    }

    /// The seat the holder of `token` plays at.
    ///
    /// # Errors
    /// As [`role`](Self::role), and for the host.
    pub fn seat(&self, token: Option<&str>) -> Result<Seat, ServiceError> {
        match self.role(token)? {
            Role::Seat(seat) => Ok(seat),
            Role::Host => Err(ServiceError::SeatOnly { id: self.id.clone() }),
        }
    }
}

//! Who plays at a match: invitations, the tokens that they are exchanged for, and whom a token belongs to.

use std::time::Instant;

use boardwire_kernel::Seat;
use uuid::Uuid;

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

/// How a seat is taken.
#[derive(Debug, Default)]
pub(super) struct Ticket {
    invitation: String,
    token: Option<String>,
    request: Option<Uuid>,
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

    /// Whether the seat has somebody who plays: a bot, or an agent that has joined.
    pub(super) fn is_taken(&self) -> bool {
        self.invitation.is_empty() || self.token.is_some()
    }
}

impl Arbiter {
    /// The host's token.
    #[must_use]
    pub fn host_token(&self) -> &str {
        &self.host
    }

    /// The tokens of the host and of every seat that has been joined.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let inner = self.lock();
        let seats = inner.tickets.iter().filter_map(|ticket| ticket.token.clone());
        seats.chain([self.host.clone()]).collect()
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
        let ticket = &mut inner.tickets[seat.index()];
        match &ticket.token {
            Some(token) if request.is_some() && ticket.request == request => Ok(token.clone()),
            Some(_) => Err(ServiceError::InvitationUsed { id: self.id.clone(), seat }),
            None => {
                ticket.request = request;
                Ok(ticket.token.insert(secret::word()).clone())
            }
        }
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
            let own =
                |ticket: &Ticket| ticket.token.as_deref().is_some_and(|secret| secret::same(token, secret));
            let mut seats = self.settings.seats().zip(&inner.tickets);
            seats.find(|(_, ticket)| own(ticket)).map(|(seat, _)| Role::Seat(seat))
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

//! Calls that wait for a match to change.

use std::sync::Arc;
use std::time::Instant;

use boardwire_api::{Error, v1};
use boardwire_kernel::Seat;

use super::match_journal::wait_until_written;
use super::{Arbiter, Audience, CloseReason, Inner, Role};
use crate::secret;

/// A waiting call, which counts against its seat's limit until it is dropped.
struct Waiter<'a> {
    arbiter: &'a Arbiter,
    role: Role,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut inner = self.arbiter.lock();
        inner.last_used = Instant::now();
        if let Role::Seat(seat) = self.role {
            inner.seat_access[seat.index()].waiting_calls -= 1;
        }
    }
}

/// How a call proves its role.
#[derive(Debug, Clone, Copy)]
pub enum Auth {
    /// By the digest of its token; `None` if the call has no token.
    Token(Option<[u8; 32]>),
    /// The server itself calls, in this role.
    Server(Role),
}

impl From<Option<&str>> for Auth {
    fn from(token: Option<&str>) -> Self {
        Self::Token(token.map(secret::digest))
    }
}

impl From<Seat> for Auth {
    fn from(seat: Seat) -> Self {
        Self::Server(Role::Seat(seat))
    }
}

impl From<Role> for Auth {
    fn from(role: Role) -> Self {
        Self::Server(role)
    }
}

impl Arbiter {
    /// Runs `try_respond` now and after every change, until it returns a response or an error. Then waits until the journal
    /// has written everything that the response may show.
    ///
    /// Checks the auth before every run, because the host may give the seat to another agent in the meantime.
    /// `may_wait_after_change` is for calls that may wait after they have changed the match: a busy seat gets an error before
    /// the change.
    pub(super) async fn respond_when<T>(
        self: &Arc<Self>,
        auth: impl Into<Auth>,
        may_wait_after_change: bool,
        mut try_respond: impl FnMut(&mut Inner, Role) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let (auth, mut waiter) = (auth.into(), None);
        loop {
            let mut changed = std::pin::pin!(self.change_notify.notified());
            changed.as_mut().enable();
            let (response, position) = self.update(|inner| {
                let response = self.poll(inner, auth, may_wait_after_change, &mut try_respond, &mut waiter);
                // A call that waits and has changed nothing reveals no state.
                let shows = inner.has_changed || !matches!(response, Ok(None));
                (response, inner.journal_position().filter(|_| shows))
            });
            // An error reveals state, too.
            wait_until_written(position).await?;
            match response? {
                Some(response) => return Ok(response),
                None => changed.await,
            }
        }
    }

    fn poll<'a, T>(
        &'a self,
        inner: &mut Inner,
        auth: Auth,
        may_wait_after_change: bool,
        try_respond: &mut impl FnMut(&mut Inner, Role) -> Result<Option<T>, Error>,
        waiter: &mut Option<Waiter<'a>>,
    ) -> Result<Option<T>, Error> {
        let role = match auth {
            Auth::Token(digest) => self.role_of(inner, &digest.ok_or(Error::TokenMissing)?)?,
            Auth::Server(role) => role,
        };
        inner.last_used = Instant::now();
        // After the last episode, seats may still read how it ended.
        if inner.state.closed != Some(CloseReason::Finished) {
            self.require_open(inner)?;
        }
        if may_wait_after_change && waiter.is_none() {
            self.require_waiting_slot(inner, role)?;
        }
        let response = try_respond(inner, role)?;
        if response.is_none() && waiter.is_none() {
            *waiter = Some(self.start_waiting(inner, role)?);
        }
        Ok(response)
    }

    fn start_waiting<'a>(&'a self, inner: &mut Inner, role: Role) -> Result<Waiter<'a>, Error> {
        self.require_waiting_slot(inner, role)?;
        if let Role::Seat(seat) = role {
            inner.seat_access[seat.index()].waiting_calls += 1;
        }
        Ok(Waiter { arbiter: self, role })
    }

    /// Returns the match as the holder of `token` may see it, when its etag differs from `known_etag` or the match is closed.
    ///
    /// # Errors
    /// The token does not give access to the match; the server stops; the seat has too many waiting calls; the journal
    /// cannot be written.
    pub async fn describe_when_changed(
        &self,
        token: Option<&str>,
        known_etag: &str,
    ) -> Result<v1::Match, Error> {
        let mut waiter = None;
        loop {
            let mut changed = std::pin::pin!(self.change_notify.notified());
            changed.as_mut().enable();
            // Checks again after every change: the host may have given the seat to another agent.
            let audience = self.audience(token)?;
            // Before the description, so that no position becomes visible unnoticed.
            let first_hidden_time = self.lock().state.first_hidden_time(self.settings.watch_delay);
            let shown = self.describe(audience);
            if shown.etag != known_etag || shown.state() == v1::MatchState::Closed {
                // Another server may continue a match that a shutdown closed.
                if self.lock().state.closed == Some(CloseReason::ShuttingDown) {
                    return Err(Error::ShuttingDown);
                }
                self.wait_until_written().await?;
                return Ok(shown);
            }
            let role = match audience {
                Audience::Host => Some(Role::Host),
                Audience::Seat(seat) => Some(Role::Seat(seat)),
                Audience::Public => None,
            };
            if let (Some(role), None) = (role, &waiter) {
                waiter = Some(self.start_waiting(&mut self.lock(), role)?);
            }
            match first_hidden_time.filter(|_| role.is_none()) {
                None => changed.await,
                Some(time) => tokio::select! {
                    () = changed => {}
                    visible = self.wait_until_visible(time) => visible?,
                },
            }
        }
    }

    /// Returns an error if the seat already has the maximum number of waiting calls.
    fn require_waiting_slot(&self, inner: &Inner, role: Role) -> Result<(), Error> {
        let limit = self.max_waiting_calls;
        match role {
            Role::Seat(seat) if inner.seat_access[seat.index()].waiting_calls >= limit => {
                Err(Error::SeatBusy { seat: seat.number(), limit })
            }
            Role::Seat(_) | Role::Host => Ok(()),
        }
    }
}

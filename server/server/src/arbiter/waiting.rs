//! Calls that wait for a match to change.

use std::sync::Arc;
use std::time::Instant;

use boardwire_api::Error;
use boardwire_kernel::Seat;

use super::log::written;
use super::{Arbiter, Inner, Role};
use crate::secret;

/// A waiting call, counted until it is dropped.
struct Waiter<'a> {
    arbiter: &'a Arbiter,
    role: Role,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut inner = self.arbiter.lock();
        inner.used = Instant::now();
        if let Role::Seat(seat) = self.role {
            inner.tickets[seat.index()].waiting -= 1;
        }
    }
}

/// Who calls.
#[derive(Debug, Clone, Copy)]
pub enum By {
    /// The holder of the token with this digest; none where the call carries no token.
    Token(Option<[u8; 32]>),
    /// The server itself, in place of the host or a seat.
    Server(Role),
}

impl From<Option<&str>> for By {
    fn from(token: Option<&str>) -> Self {
        Self::Token(token.map(secret::digest))
    }
}

impl From<Seat> for By {
    fn from(seat: Seat) -> Self {
        Self::Server(Role::Seat(seat))
    }
}

impl From<Role> for By {
    fn from(role: Role) -> Self {
        Self::Server(role)
    }
}

impl Arbiter {
    /// Answers a call as soon as `ready` gives an answer or an error, at once or after a change, and when the journal has written
    /// all that the answer may show. The caller must hold its token whenever the match is looked at. A call that may have to wait
    /// after it has changed the match says so: while its seat is busy it is refused before it changes anything.
    pub(super) async fn answered<T>(
        self: &Arc<Self>,
        by: impl Into<By>,
        waits_after: bool,
        mut ready: impl FnMut(&mut Inner, Role) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let (by, mut waiter) = (by.into(), None);
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let (answer, mark) = {
                let mut inner = self.change();
                let answer = self.answer(&mut inner, (by, waits_after), &mut ready, &mut waiter);
                // A call that waits without having changed anything shows nothing.
                let shows = inner.has_changed || !matches!(answer, Ok(None));
                (answer, inner.mark().filter(|_| shows))
            };
            // What an error tells must be written, too.
            written(mark).await?;
            match answer? {
                Some(answer) => return Ok(answer),
                None => changed.await,
            }
        }
    }

    fn answer<'a, T>(
        &'a self,
        inner: &mut Inner,
        (by, waits_after): (By, bool),
        ready: &mut impl FnMut(&mut Inner, Role) -> Result<Option<T>, Error>,
        waiter: &mut Option<Waiter<'a>>,
    ) -> Result<Option<T>, Error> {
        let role = match by {
            By::Token(digest) => self.role_of(inner, &digest.ok_or(Error::TokenMissing)?)?,
            By::Server(role) => role,
        };
        inner.used = Instant::now();
        self.check_open_or_finished(inner)?;
        if let (true, None, Role::Seat(seat)) = (waits_after, &*waiter, role) {
            self.refuse_busy(inner, seat)?;
        }
        let answer = ready(inner, role)?;
        if answer.is_none() && waiter.is_none() {
            *waiter = Some(self.wait(inner, role)?);
        }
        Ok(answer)
    }

    fn wait(&self, inner: &mut Inner, role: Role) -> Result<Waiter<'_>, Error> {
        if let Role::Seat(seat) = role {
            self.refuse_busy(inner, seat)?;
            inner.tickets[seat.index()].waiting += 1;
        }
        Ok(Waiter { arbiter: self, role })
    }

    /// Refuses a call that waits while its seat has as many waiting calls as it may.
    fn refuse_busy(&self, inner: &Inner, seat: Seat) -> Result<(), Error> {
        let limit = self.most_waiting;
        let is_busy = inner.tickets[seat.index()].waiting >= limit;
        if is_busy { Err(Error::SeatBusy { seat: seat.number(), limit }) } else { Ok(()) }
    }
}

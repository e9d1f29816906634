//! Calls that wait for a match to change.

use std::sync::Arc;
use std::time::Instant;

use super::log::{Mark, written};
use super::thinking::Thinking;
use super::{Arbiter, Inner, Role};
use boardwire_api::Error;

/// A call of a seat that waits, counted as long as it does.
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

impl Arbiter {
    /// Waits until `ready` gives an answer or refuses, or the match has ended for good; then until all is written that
    /// the answer may show.
    pub(super) async fn until<T>(
        &self,
        role: Role,
        ready: impl FnMut(&mut Inner) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let (answer, mark) = self.answered(role, ready).await?;
        written(mark).await?;
        Ok(answer)
    }

    /// The same for what changes the match. It goes on before anything is awaited: whoever asked may be gone by then, and
    /// what it has changed stays changed.
    pub(super) async fn until_changed<T>(
        self: &Arc<Self>,
        role: Role,
        ready: impl FnMut(&mut Inner) -> Result<Option<(Option<Thinking>, T)>, Error>,
    ) -> Result<T, Error> {
        let ((round, answer), mark) = self.answered(role, ready).await?;
        self.carry_on(round);
        written(mark).await?;
        Ok(answer)
    }

    /// The answer, and what must be written before anybody is told. Nothing is awaited once it is there.
    async fn answered<T>(
        &self,
        role: Role,
        mut ready: impl FnMut(&mut Inner) -> Result<Option<T>, Error>,
    ) -> Result<(T, Mark), Error> {
        let (mut waiter, holder) = (None, Self::holder(&self.lock(), role));
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let (answer, mark) = {
                let mut inner = self.lock();
                let answer = match self.refuse_cut(&inner) {
                    // The seat has been given to somebody else: whoever called has nothing to do with it any more.
                    Ok(()) if Self::holder(&inner, role) != holder => {
                        Err(Error::TokenWrong { match_id: self.name.id.clone() })
                    }
                    Ok(()) => ready(&mut inner),
                    Err(closed) => Err(closed),
                };
                if matches!(answer, Ok(None)) && waiter.is_none() {
                    waiter = Some(self.wait(&mut inner, role)?);
                }
                (answer, inner.mark())
            };
            match answer {
                Ok(Some(answer)) => return Ok((answer, mark)),
                Ok(None) => changed.await,
                Err(refused) => {
                    // What a refusal tells must be written, too.
                    written(mark).await?;
                    return Err(refused);
                }
            }
        }
    }

    /// Who has the seat of a call, if anybody has.
    fn holder(inner: &Inner, role: Role) -> Option<[u8; 32]> {
        let Role::Seat(seat) = role else { return None };
        inner.standing.holders[seat.index()].as_ref().map(|holder| holder.token)
    }

    fn wait(&self, inner: &mut Inner, role: Role) -> Result<Waiter<'_>, Error> {
        if let Role::Seat(seat) = role {
            let waiting = &mut inner.tickets[seat.index()].waiting;
            if *waiting >= self.most_waiting {
                return Err(Error::SeatBusy { seat: seat.number(), limit: self.most_waiting });
            }
            *waiting += 1;
        }
        Ok(Waiter { arbiter: self, role })
    }
}

//! Calls that wait for a match to change.

use super::log::written;
use super::{Arbiter, Inner, Role};
use crate::error::ServiceError;

/// A call of a seat that waits, counted as long as it does.
struct Waiter<'a> {
    arbiter: &'a Arbiter,
    role: Role,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Role::Seat(seat) = self.role {
            self.arbiter.lock().tickets[seat.index()].waiting -= 1;
        }
    }
}

impl Arbiter {
    /// Waits until `ready` gives an answer or refuses, or the match has ended for good; then until all is written that
    /// the answer may show.
    pub(super) async fn until<T>(
        &self,
        role: Role,
        mut ready: impl FnMut(&mut Inner) -> Result<Option<T>, ServiceError>,
    ) -> Result<T, ServiceError> {
        let mut waiter = None;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let answered = {
                let mut inner = self.lock();
                self.refuse_closed(&inner)?;
                let answer = ready(&mut inner)?;
                if answer.is_none() && waiter.is_none() {
                    waiter = Some(self.wait(&mut inner, role)?);
                }
                answer.map(|answer| (answer, inner.mark()))
            };
            if let Some((answer, mark)) = answered {
                written(mark).await?;
                return Ok(answer);
            }
            changed.await;
        }
    }

    fn wait(&self, inner: &mut Inner, role: Role) -> Result<Waiter<'_>, ServiceError> {
        if let Role::Seat(seat) = role {
            let waiting = &mut inner.tickets[seat.index()].waiting;
            if *waiting >= self.most_waiting {
                return Err(ServiceError::SeatBusy { seat, limit: self.most_waiting });
            }
            *waiting += 1;
        }
        Ok(Waiter { arbiter: self, role })
    }
}

//! How the episodes of a match begin and how they end early.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use boardwire_batch::Refused;

use super::event::What;
use super::{Arbiter, Forfeit, Forfeited, Inner, Role, Series};
use crate::error::{ServiceError, list};

impl Arbiter {
    /// Begins the next episode: at once for the host and for an agent that plays against bots alone, else when every
    /// remote seat has asked for it. A seat's episode of a series is over before it begins the next, which waits until others
    /// are as far.
    ///
    /// # Errors
    /// A seed from a seat that may not give one, an episode that is not over or has not come, a match that has ended
    /// for good; more calls that wait than a seat may have.
    pub async fn reset(
        self: &Arc<Self>,
        role: Role,
        seed: Option<u64>,
        leave: Option<u32>,
    ) -> Result<(), ServiceError> {
        if let (Role::Seat(_), Some(Series { skip, until, .. })) = (role, &self.settings.series) {
            let may_come = |inner: &mut Inner| {
                let present = inner.standing.present.episode;
                let is_left = leave.is_some_and(|episode| episode < present);
                Ok((is_left || skip + present + 1 < until.load(Ordering::Relaxed)).then_some(()))
            };
            self.until(role, may_come).await?;
        }
        let asked = {
            let mut inner = self.lock();
            self.refuse_closed(&inner)?;
            let present = inner.standing.present.episode;
            leave.map_or(Ok(()), |episode| inner.standing.not_to_come(episode))?;
            if leave.is_some_and(|episode| episode < present) {
                None
            } else {
                inner.standing.check_dealt()?;
                inner.standing.check_left()?;
                let begins = self.may_begin(&mut inner, role, seed)?;
                if begins {
                    let dealt = inner.standing.deal(seed);
                    self.happened(&mut inner, [dealt])?;
                    inner.clocks.all_begin_anew();
                }
                Some((present, begins.then(|| self.settle(&mut inner))))
            }
        };
        // It has been left already; that too is told when it is written.
        let Some((present, round)) = asked else { return self.kept().await };
        if let Some(round) = round {
            self.carry_on(round);
        }
        self.until(role, |inner| Ok((inner.standing.present.episode > present).then_some(()))).await
    }

    /// Lets calls that wait look once more whether they may go on, since something has changed that is none of the match.
    pub fn look_again(&self) {
        self.changed.notify_waiters();
    }

    /// Counts the vote of `role` for the next episode; whether it may begin now.
    fn may_begin(&self, inner: &mut Inner, role: Role, seed: Option<u64>) -> Result<bool, ServiceError> {
        let remote = self.settings.remote();
        if seed.is_some() && self.settings.fair_deals {
            let (value, expected) =
                ("given".to_owned(), "nothing: the deals of this match are fair".to_owned());
            return Err(Refused::BadField { field: "seed", value, expected }.into());
        }
        // Where deals are fair nobody leaves one that it dislikes, the host neither.
        if self.settings.fair_deals && !inner.standing.is_over() {
            return Err(ServiceError::EpisodeNotOver { episode: inner.standing.present.episode });
        }
        let Role::Seat(seat) = role else { return Ok(true) };
        let alone = remote.len() == 1;
        // Whoever gives a seed knows every card.
        if seed.is_some() && !(alone && self.settings.seat_may_seed) {
            return Err(ServiceError::HostOnly { id: self.name.id.clone() });
        }
        // In a series every episode counts: whoever dislikes its cards cannot leave it.
        if alone && self.settings.series.is_none() {
            return Ok(true);
        }
        if !inner.standing.is_over() {
            return Err(ServiceError::EpisodeNotOver { episode: inner.standing.present.episode });
        }
        let is_new = !inner.standing.votes.contains(seat);
        self.happened(inner, is_new.then_some(What::Voted { seat }))?;
        Ok(inner.standing.votes == remote)
    }

    /// Ends the present episode against a seat, once no bot thinks: it resigns, or the host names it.
    ///
    /// # Errors
    /// A seat that is not the caller's, or not remote; an episode that is over or has not come; a match that has ended
    /// for good; more calls that wait than a seat may have.
    pub async fn resign(
        self: &Arc<Self>,
        role: Role,
        named: Option<u32>,
        episode: Option<u32>,
    ) -> Result<(), ServiceError> {
        let forfeited = self.resigning(role, named)?;
        let resigned = self.until_changed(role, |inner| {
            if self.bots_think() {
                return Ok(None);
            }
            let decided =
                inner.standing.forfeit(episode.unwrap_or(inner.standing.present.episode), forfeited)?;
            self.happened(inner, decided)?;
            Ok(Some((self.settle(inner), ())))
        });
        resigned.await
    }

    fn resigning(&self, role: Role, named: Option<u32>) -> Result<Forfeited, ServiceError> {
        let remote = self.settings.remote();
        let named_seat = named.and_then(|seat| remote.iter().find(|known| u32::from(known.number()) == seat));
        match (role, named) {
            (Role::Seat(seat), None) => Ok(Forfeited { seat, why: Forfeit::Resigned }),
            (Role::Seat(seat), Some(_)) if named_seat == Some(seat) => {
                Ok(Forfeited { seat, why: Forfeit::Resigned })
            }
            (Role::Seat(_), Some(_)) => Err(ServiceError::HostOnly { id: self.name.id.clone() }),
            (Role::Host, _) => {
                let seat = named_seat.ok_or_else(|| Refused::BadField {
                    field: "seat",
                    value: named.map_or_else(|| "nothing".to_owned(), |seat| seat.to_string()),
                    expected: format!("a remote seat: {}", list(remote)),
                })?;
                Ok(Forfeited { seat, why: Forfeit::Host })
            }
        }
    }
}

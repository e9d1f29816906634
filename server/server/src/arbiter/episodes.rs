//! How the episodes of a match begin and how they end early.

use std::sync::Arc;

use boardwire_api::Error;
use boardwire_kernel::Seat;

use super::event::EventKind;
use super::{Arbiter, By, Extras, Forfeit, Inner, Observation, Role, Settings};
use crate::record::Forfeited;

/// How a seat asks for the next episode.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reset {
    /// The seed of the next episode, from a seat that may give it.
    pub seed: Option<u64>,
    /// The episode that the seat leaves, by default the present one: a repeated request begins no further episode.
    pub leave: Option<u32>,
    /// Whether the answer waits until the seat is due, or the episode over.
    pub wait: bool,
    /// Which parts of the observation are asked for.
    pub extras: Extras,
}

impl Arbiter {
    /// Begins the next episode, for the host: at any time, or once the present one is over where deals are fair. Where only the host
    /// begins episodes it waits until every agent has asked for the next one, and so has seen how this one ended.
    ///
    /// # Errors
    /// A seed where deals are fair, an episode that is not over or has not come, a match that has ended for good.
    pub async fn reset_match(
        self: &Arc<Self>,
        by: impl Into<By>,
        seed: Option<u64>,
        leave: Option<u32>,
    ) -> Result<(), Error> {
        let ready = |inner: &mut Inner, role| {
            if role != Role::Host {
                return Err(Error::HostOnly { match_id: self.name.id.clone() });
            }
            let state = &inner.state;
            let is_left = leave.is_some_and(|episode| episode < state.present.episode);
            let have_asked = state.votes == self.settings.agents() || state.closed.is_some();
            if self.settings.host_begins && !is_left && state.is_over() && !have_asked {
                return Ok(None);
            }
            if !self.has_left(inner, seed, leave)? {
                inner.state.check_leave()?;
                self.begin_next(inner, seed)?;
            }
            Ok(Some(()))
        };
        self.answered(by, false, ready).await
    }

    /// Asks for the next episode, for a seat, and waits for it: gives its first observation, as [`observe`](Self::observe) does. It
    /// begins at once for an agent that plays against bots alone, else when every agent's seat has asked for it, or when the host
    /// begins it.
    ///
    /// # Errors
    /// A token of no seat, a seed from a seat that may not give one, an episode that is not over or has not come, a match that has
    /// ended for good; more waiting calls than a seat may have.
    pub async fn reset(
        self: &Arc<Self>,
        by: impl Into<By>,
        Reset { seed, leave, wait, extras }: Reset,
    ) -> Result<Observation, Error> {
        let mut left = None;
        let ready = |inner: &mut Inner, role| {
            let seat = self.seat_of(role)?;
            let left = match left {
                Some(left) => left,
                None => *left.insert(self.leave(inner, seat, seed, leave)?),
            };
            if inner.state.present.episode <= left {
                return Ok(None);
            }
            self.observed(inner, seat, wait, extras)
        };
        self.answered(by, true, ready).await
    }

    /// Counts a seat's vote for the next episode, and begins it if that was the last; gives the episode that the seat leaves.
    fn leave(
        &self,
        inner: &mut Inner,
        seat: Seat,
        seed: Option<u64>,
        leave: Option<u32>,
    ) -> Result<u32, Error> {
        let present = inner.state.present.episode;
        if self.has_left(inner, seed, leave)? {
            return Ok(leave.unwrap_or_default());
        }
        if self.counts_vote(inner, seat, seed)? {
            self.begin_next(inner, seed)?;
        }
        Ok(present)
    }

    /// Whether the episode that is to be left has been left already.
    ///
    /// # Errors
    /// As [`reset`](Self::reset), but for who may ask.
    fn has_left(&self, inner: &Inner, seed: Option<u64>, leave: Option<u32>) -> Result<bool, Error> {
        leave.map_or(Ok(()), |episode| inner.state.not_to_come(episode))?;
        if leave.is_some_and(|episode| episode < inner.state.present.episode) {
            return Ok(true);
        }
        self.check_open(inner)?;
        inner.state.check_dealt()?;
        inner.state.check_next(seed)?;
        Ok(false)
    }

    /// Deals the next episode.
    fn begin_next(&self, inner: &mut Inner, seed: Option<u64>) -> Result<(), Error> {
        let dealt = inner.state.deal(seed);
        self.commit(inner, [dealt])?;
        inner.clocks.restart_all();
        self.settle(inner);
        Ok(())
    }

    /// Counts the vote of `seat` for the next episode; whether it may begin now.
    fn counts_vote(&self, inner: &mut Inner, seat: Seat, seed: Option<u64>) -> Result<bool, Error> {
        let Settings { seat_may_seed, host_begins, .. } = self.settings;
        let agents = self.settings.agents();
        let alone = agents.len() == 1;
        // The caller can compute every card from a seed.
        if seed.is_some() && !(alone && seat_may_seed) {
            return Err(Error::HostOnly { match_id: self.name.id.clone() });
        }
        // Where episodes are counted, an agent cannot leave one that it dislikes.
        if alone && self.settings.may_leave() {
            return Ok(true);
        }
        inner.state.check_over()?;
        let is_new = !inner.state.votes.contains(seat);
        self.commit(inner, is_new.then_some(EventKind::Voted { seat }))?;
        Ok(!host_begins && inner.state.votes == agents)
    }

    /// Ends the present episode against a seat, once no bot thinks: it resigns, or the host names it. Gives a seat its observation.
    ///
    /// # Errors
    /// A seat that is not the caller's, or not an agent's; an episode that is over or has not come; a match that has ended
    /// for good; more calls that wait than a seat may have.
    pub async fn resign(
        self: &Arc<Self>,
        by: impl Into<By>,
        named: Option<u32>,
        episode: Option<u32>,
        extras: Extras,
    ) -> Result<Option<Observation>, Error> {
        let ready = |inner: &mut Inner, role| {
            let forfeited = self.resigning(role, named)?;
            if self.bots_think() {
                return Ok(None);
            }
            let episode = episode.unwrap_or(inner.state.present.episode);
            let decided = inner.state.forfeit(episode, forfeited)?;
            self.commit(inner, decided)?;
            self.settle(inner);
            Ok(Some(match role {
                Role::Seat(seat) => self.observed(inner, seat, false, extras)?,
                Role::Host => None,
            }))
        };
        self.answered(by, false, ready).await
    }

    fn resigning(&self, role: Role, named: Option<u32>) -> Result<Forfeited, Error> {
        let agents = self.settings.agents();
        let named_seat = named.and_then(|seat| agents.iter().find(|known| u32::from(known.number()) == seat));
        match (role, named) {
            (Role::Seat(seat), None) => Ok(Forfeited { seat, why: Forfeit::Resigned }),
            (Role::Seat(seat), Some(_)) if named_seat == Some(seat) => {
                Ok(Forfeited { seat, why: Forfeit::Resigned })
            }
            (Role::Seat(_), Some(_)) => Err(Error::HostOnly { match_id: self.name.id.clone() }),
            (Role::Host, _) => {
                let seat = named_seat.ok_or_else(|| {
                    let value = named.map_or_else(|| "nothing".to_owned(), |seat| seat.to_string());
                    Error::field("seat", value, format!("an agent's seat: {agents}"))
                })?;
                Ok(Forfeited { seat, why: Forfeit::Host })
            }
        }
    }
}

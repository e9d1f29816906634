//! How the episodes of a match begin and how they end early.

use std::sync::Arc;

use boardwire_api::Error;
use boardwire_kernel::Seat;

use super::event::What;
use super::thinking::Thinking;
use super::{Arbiter, Forfeit, Forfeited, Inner, Role, Settings};

impl Arbiter {
    /// Begins the next episode, for the host: at any time, or once the present one is over where deals are fair. Where only the host
    /// begins episodes it waits until every agent has asked for the next one, and so has seen how this one ended.
    ///
    /// # Errors
    /// A seed where deals are fair, an episode that is not over or has not come, a match that has ended for good.
    pub async fn reset_match(self: &Arc<Self>, seed: Option<u64>, leave: Option<u32>) -> Result<(), Error> {
        if self.settings.host_begins {
            let agents = self.settings.agents();
            let have_asked = |inner: &mut Inner| {
                let standing = &inner.standing;
                let is_left = leave.is_some_and(|episode| episode < standing.present.episode);
                let goes_on = !standing.is_over() || standing.votes == agents || standing.closed.is_some();
                Ok((is_left || goes_on).then_some(()))
            };
            self.until(Role::Host, have_asked).await?;
        }
        let round = {
            let mut inner = self.lock();
            if self.has_left(&inner, seed, leave)? {
                None
            } else {
                // Where deals are fair nobody leaves one that it dislikes.
                if self.settings.fair_deals {
                    inner.standing.check_over()?;
                }
                self.begin_next(&mut inner, seed)?
            }
        };
        self.carry_on(round);
        self.kept().await
    }

    /// Asks for the next episode, for a seat, and waits for it. It begins at once for an agent that plays against bots alone,
    /// else when every agent's seat has asked for it, or when the host begins it.
    ///
    /// # Errors
    /// A seed from a seat that may not give one, an episode that is not over or has not come, a match that has ended
    /// for good; more calls that wait than a seat may have.
    pub async fn reset(
        self: &Arc<Self>,
        seat: Seat,
        seed: Option<u64>,
        leave: Option<u32>,
    ) -> Result<(), Error> {
        let (left, round) = {
            let mut inner = self.lock();
            let present = inner.standing.present.episode;
            if self.has_left(&inner, seed, leave)? {
                (leave.unwrap_or_default(), None)
            } else if self.counts_vote(&mut inner, seat, seed)? {
                (present, self.begin_next(&mut inner, seed)?)
            } else {
                (present, None)
            }
        };
        self.carry_on(round);
        self.until(Role::Seat(seat), |inner| Ok((inner.standing.present.episode > left).then_some(()))).await
    }

    /// Whether the episode that is to be left has been left already.
    ///
    /// # Errors
    /// As [`reset`](Self::reset), but for who may ask.
    fn has_left(&self, inner: &Inner, seed: Option<u64>, leave: Option<u32>) -> Result<bool, Error> {
        self.refuse_cut(inner)?;
        leave.map_or(Ok(()), |episode| inner.standing.not_to_come(episode))?;
        if leave.is_some_and(|episode| episode < inner.standing.present.episode) {
            return Ok(true);
        }
        self.refuse_closed(inner)?;
        inner.standing.check_dealt()?;
        inner.standing.check_left()?;
        if seed.is_some() && self.settings.fair_deals {
            return Err(Error::field("seed", "a seed", "absent, since the deals of this match are fair"));
        }
        Ok(false)
    }

    /// Deals the next episode; gives the round of bots that have to think.
    fn begin_next(self: &Arc<Self>, inner: &mut Inner, seed: Option<u64>) -> Result<Option<Thinking>, Error> {
        let dealt = inner.standing.deal(seed);
        self.happened(inner, [dealt])?;
        inner.clocks.all_begin_anew();
        Ok(self.settle(inner))
    }

    /// Counts the vote of `seat` for the next episode; whether it may begin now.
    fn counts_vote(&self, inner: &mut Inner, seat: Seat, seed: Option<u64>) -> Result<bool, Error> {
        let Settings { seat_may_seed, fair_deals, episodes, host_begins, .. } = self.settings;
        let agents = self.settings.agents();
        let alone = agents.len() == 1;
        // Whoever gives a seed knows every card.
        if seed.is_some() && !(alone && seat_may_seed) {
            return Err(Error::HostOnly { match_id: self.name.id.clone() });
        }
        // Where episodes are counted, whoever dislikes its cards cannot leave them.
        if alone && !fair_deals && !host_begins && episodes == 0 {
            return Ok(true);
        }
        inner.standing.check_over()?;
        let is_new = !inner.standing.votes.contains(seat);
        self.happened(inner, is_new.then_some(What::Voted { seat }))?;
        Ok(!host_begins && inner.standing.votes == agents)
    }

    /// Ends the present episode against a seat, once no bot thinks: it resigns, or the host names it.
    ///
    /// # Errors
    /// A seat that is not the caller's, or not an agent's; an episode that is over or has not come; a match that has ended
    /// for good; more calls that wait than a seat may have.
    pub async fn resign(
        self: &Arc<Self>,
        role: Role,
        named: Option<u32>,
        episode: Option<u32>,
    ) -> Result<(), Error> {
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

//! What happens: decided by somebody who plays, or by itself.

use std::sync::atomic::Ordering;

use boardwire_api::Error;
use boardwire_batch::play::Round;
use boardwire_bots::BotFault;
use boardwire_kernel::Seat;

use super::decide::Next;
use super::event::{Event, EventKind};
use super::{Arbiter, CloseReason, Inner, log};
use crate::record::InvalidEvent;

impl Arbiter {
    /// Plays what follows upon a change without an agent; bots that have to think begin when the lock is released.
    pub(super) fn settle(&self, inner: &mut Inner) {
        let round = self.play_bots(inner).unwrap_or_else(|fault| {
            self.bot_failed(inner, fault);
            None
        });
        if inner.state.is_over() && self.settings.is_last(inner.state.present.episode) {
            self.end(inner, CloseReason::Finished);
        }
        inner.rounds += u64::from(round.is_some());
        let number = if round.is_some() { inner.rounds } else { 0 };
        self.round.store(number, Ordering::Relaxed);
        inner.run_clocks(round.is_some());
        (inner.round, inner.has_changed) = (round, true);
    }

    /// Lets everything happen that needs no agent and next to no time; gives the round of bots that have to think.
    fn play_bots(&self, inner: &mut Inner) -> Result<Option<Box<dyn Round>>, BotFault> {
        loop {
            match inner.state.next(&self.settings)? {
                Next::Nothing => return Ok(None),
                Next::Think(round) => return Ok(Some(round)),
                Next::Events(played) => self.bots_played(inner, played)?,
            }
        }
    }

    /// Lets what was decided happen, now.
    ///
    /// # Errors
    /// A journal that cannot be written: nothing happens then.
    pub(super) fn commit(
        &self,
        inner: &mut Inner,
        decided: impl IntoIterator<Item = EventKind>,
    ) -> Result<(), Error> {
        let place = || self.table.rules.info().id.to_owned();
        let impossible = |InvalidEvent(what)| Error::Internal { place: place(), what };
        decided.into_iter().try_for_each(|what| {
            inner.check_journal()?;
            self.commit_one(inner, what).map_err(impossible)
        })
    }

    /// Lets happen what bots have chosen. It is kept together: none of a round would choose the same again once another's
    /// choice stands.
    pub(super) fn bots_played(&self, inner: &mut Inner, played: Vec<EventKind>) -> Result<(), BotFault> {
        let all = played.into_iter().try_for_each(|what| {
            let seat = what.seat().unwrap_or(Seat::FIRST);
            self.note(inner, what).map_err(|InvalidEvent(what)| BotFault { seat, what })
        });
        inner.flush();
        all
    }

    pub(super) fn commit_one(&self, inner: &mut Inner, what: EventKind) -> Result<(), InvalidEvent> {
        self.note(inner, what)?;
        inner.flush();
        Ok(())
    }

    /// Lets it happen, but for what is kept of it, which waits to be handed over.
    fn note(&self, inner: &mut Inner, what: EventKind) -> Result<(), InvalidEvent> {
        let event = Event { at: log::now(), what };
        inner.state.apply(&self.table, &event)?;
        if let EventKind::Played { .. } = event.what {
            self.table.decisions.increment(1);
        }
        inner.note(&event);
        inner.has_changed = true;
        #[cfg(test)]
        inner.events.push(event);
        Ok(())
    }

    /// Ends the match for good, since nobody can play for the bot.
    pub(super) fn bot_failed(&self, inner: &mut Inner, fault: BotFault) {
        tracing::error!(
            match_id = self.name.id,
            seat = fault.seat.number(),
            what = fault.what,
            "a bot failed"
        );
        let BotFault { seat, what } = fault;
        self.end(inner, CloseReason::BotFailed { seat, what });
    }
}

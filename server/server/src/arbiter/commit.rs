//! Commits events, and plays all steps that need no agent. Slow bots think on the thread pool.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use boardwire_api::Error;
use boardwire_batch::play::Round;
use boardwire_batch::pool::{Flow, Slice, Work};
use boardwire_bots::BotFault;
use boardwire_kernel::Seat;

use super::decide::Next;
use super::event::{Event, EventKind};
use super::{Arbiter, CloseReason, Inner, log};
use crate::record::InvalidEvent;

impl Arbiter {
    /// Plays all steps that need no agent after a change. Slow bots start to think when the caller releases the lock.
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
        inner.clocks.run(&inner.state, round.is_some());
        (inner.new_round, inner.has_changed) = (round, true);
    }

    /// Commits all events that need no agent and are quick to compute. Returns the round of slow bots that must think next.
    fn play_bots(&self, inner: &mut Inner) -> Result<Option<Box<dyn Round>>, BotFault> {
        loop {
            match inner.state.next(&self.settings)? {
                Next::Nothing => return Ok(None),
                Next::Think(round) => return Ok(Some(round)),
                Next::Events(events) => self.commit_round(inner, events)?,
            }
        }
    }

    /// Commits the events that a call causes.
    ///
    /// # Errors
    /// The journal cannot be written, and then the match does not change; or an event contradicts the events before it.
    pub(super) fn commit(
        &self,
        inner: &mut Inner,
        events: impl IntoIterator<Item = EventKind>,
    ) -> Result<(), Error> {
        events.into_iter().try_for_each(|what| {
            inner.check_journal()?;
            self.commit_event(inner, what).map_err(|error| self.internal(error))
        })
    }

    /// Commits the choices of a round of bots. The journal writes all of them or none: with only some of them, the other
    /// bots would choose differently after a restart.
    pub(super) fn commit_round(&self, inner: &mut Inner, events: Vec<EventKind>) -> Result<(), BotFault> {
        let applied = events.into_iter().try_for_each(|what| {
            let seat = what.seat().unwrap_or(Seat::FIRST);
            self.apply(inner, what).map_err(|InvalidEvent(what)| BotFault { seat, what })
        });
        inner.flush();
        applied
    }

    pub(super) fn commit_event(&self, inner: &mut Inner, what: EventKind) -> Result<(), InvalidEvent> {
        self.apply(inner, what)?;
        inner.flush();
        Ok(())
    }

    /// Applies an event and adds it to the journal's next write.
    fn apply(&self, inner: &mut Inner, what: EventKind) -> Result<(), InvalidEvent> {
        let event = Event { at: log::now(), what };
        inner.state.apply(&self.table, &event)?;
        if let EventKind::Played { .. } = event.what {
            self.table.decisions.increment(1);
        }
        inner.log_event(&event);
        inner.has_changed = true;
        #[cfg(test)]
        inner.events.push(event);
        Ok(())
    }

    /// Logs the fault and closes the match, which cannot continue without the bot.
    pub(super) fn bot_failed(&self, inner: &mut Inner, BotFault { seat, what }: BotFault) {
        tracing::error!(match_id = self.identity.id, seat = seat.number(), what, "a bot failed");
        self.end(inner, CloseReason::BotFailed { seat, what });
    }

    /// Returns the internal error for an event that contradicts the events before it.
    pub(super) fn internal(&self, InvalidEvent(what): InvalidEvent) -> Error {
        Error::Internal { place: self.table.rules.info().id.to_owned(), what }
    }
}

/// The work of the thread pool for one round of bots.
pub(super) struct BotRound {
    arbiter: Arc<Arbiter>,
    number: u64,
    /// `None` when all bots have chosen, or when the match no longer needs the round.
    round: Option<Box<dyn Round>>,
}

impl BotRound {
    pub(super) fn new(arbiter: &Arc<Arbiter>, number: u64, round: Box<dyn Round>) -> Self {
        Self { arbiter: Arc::clone(arbiter), number, round: Some(round) }
    }

    /// Returns whether the match still waits for this round.
    fn is_wanted(&self) -> bool {
        self.arbiter.round.load(Ordering::Relaxed) == self.number
    }

    /// Runs `finish` on the match, unless the match is closed or no longer waits for this round.
    fn finish(&self, finish: impl FnOnce(&mut Inner) -> Result<(), BotFault>) {
        self.arbiter.change(|inner| {
            if self.is_wanted()
                && inner.state.closed.is_none()
                && let Err(fault) = finish(inner)
            {
                self.arbiter.bot_failed(inner, fault);
                self.arbiter.round.store(0, Ordering::Relaxed);
            }
        });
    }
}

impl Work for BotRound {
    fn advance(&mut self, slice: &Slice) -> Flow {
        while self.is_wanted() {
            let Some(round) = &mut self.round else { return Flow::Done };
            match round.advance() {
                Ok(false) => {}
                result => {
                    let round = self.round.take();
                    self.finish(|inner| {
                        result?;
                        let events = inner.state.bot_events(round.map(Round::choices).unwrap_or_default());
                        self.arbiter.commit_round(inner, events)?;
                        self.arbiter.settle(inner);
                        Ok(())
                    });
                    return Flow::Done;
                }
            }
            if slice.is_over() {
                return Flow::More;
            }
        }
        self.round = None;
        Flow::Done
    }
}

impl Drop for BotRound {
    /// Closes the match if a bot panicked, so that no call waits for its choice.
    fn drop(&mut self) {
        if let Some(round) = &self.round
            && self.is_wanted()
        {
            let seat = round.seat().unwrap_or(Seat::FIRST);
            self.finish(|_| Err(BotFault { seat, what: "it panicked".to_owned() }));
        }
    }
}

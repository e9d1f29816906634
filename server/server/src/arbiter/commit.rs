//! Commits events, and plays all steps that need no agent. Slow bots think on the thread pool.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use boardwire_api::Error;
use boardwire_batch::play::BotDecisions;
use boardwire_batch::pool::{Flow, Slice, Work};
use boardwire_bots::BotError;
use boardwire_kernel::Seat;

use super::decide::NextStep;
use super::event::{Event, EventKind};
use super::{Arbiter, CloseReason, Inner, match_journal};
use crate::record::InvalidEvent;

impl Arbiter {
    /// Plays all steps that need no agent after a change. Slow bots start to think when the caller releases the lock.
    pub(super) fn play_automatic_steps(&self, inner: &mut Inner) {
        let round = self.play_bots(inner).unwrap_or_else(|error| {
            self.bot_failed(inner, error);
            None
        });
        if inner.state.is_over() && self.settings.is_last(inner.state.present.episode) {
            self.close_with(inner, CloseReason::Finished);
        }
        inner.bot_round_count += u64::from(round.is_some());
        let number = if round.is_some() { inner.bot_round_count } else { 0 };
        self.current_bot_round.store(number, Ordering::Relaxed);
        inner.clocks.update(&inner.state, round.is_some());
        (inner.pending_bot_round, inner.has_changed) = (round, true);
    }

    /// Commits all events that need no agent and are quick to compute. Returns the round of slow bots that must think next.
    fn play_bots(&self, inner: &mut Inner) -> Result<Option<Box<dyn BotDecisions>>, BotError> {
        loop {
            match inner.state.next_step(&self.settings)? {
                NextStep::Nothing => return Ok(None),
                NextStep::StartBots(round) => return Ok(Some(round)),
                NextStep::Events(events) => self.commit_bot_choices(inner, events)?,
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
        events.into_iter().try_for_each(|kind| {
            inner.check_journal()?;
            self.commit_event(inner, kind).map_err(|error| self.internal(error))
        })
    }

    /// Commits the choices of a round of bots. The journal writes all of them or none: with only some of them, the other
    /// bots would choose differently after a restart.
    pub(super) fn commit_bot_choices(
        &self,
        inner: &mut Inner,
        events: Vec<EventKind>,
    ) -> Result<(), BotError> {
        let applied = events.into_iter().try_for_each(|kind| {
            let seat = kind.seat().unwrap_or(Seat::FIRST);
            self.apply(inner, kind).map_err(|InvalidEvent(problem)| BotError { seat, reason: problem })
        });
        inner.flush();
        applied
    }

    pub(super) fn commit_event(&self, inner: &mut Inner, kind: EventKind) -> Result<(), InvalidEvent> {
        self.apply(inner, kind)?;
        inner.flush();
        Ok(())
    }

    /// Applies an event and adds it to the journal's next write.
    fn apply(&self, inner: &mut Inner, kind: EventKind) -> Result<(), InvalidEvent> {
        let event = Event { at: match_journal::now(), kind };
        inner.state.apply(&self.table, &event)?;
        if let EventKind::Played { .. } = event.kind {
            self.table.decisions.increment(1);
        }
        inner.journal_event(&event);
        inner.has_changed = true;
        #[cfg(test)]
        inner.events.push(event);
        Ok(())
    }

    /// Logs the error and closes the match, which cannot continue without the bot.
    pub(super) fn bot_failed(&self, inner: &mut Inner, BotError { seat, reason }: BotError) {
        tracing::error!(match_id = self.identity.id, seat = seat.number(), reason, "a bot failed");
        self.close_with(inner, CloseReason::BotFailed { seat, problem: reason });
    }

    /// Returns the internal error for an event that contradicts the events before it.
    pub(super) fn internal(&self, InvalidEvent(problem): InvalidEvent) -> Error {
        Error::Internal { place: self.table.game.info().id.to_owned(), problem }
    }
}

/// The work of the thread pool for one round of bots.
pub(super) struct BotRound {
    arbiter: Arc<Arbiter>,
    number: u64,
    /// `None` when all bots have chosen, or when the match no longer needs the round.
    round: Option<Box<dyn BotDecisions>>,
}

impl BotRound {
    pub(super) fn new(arbiter: &Arc<Arbiter>, number: u64, round: Box<dyn BotDecisions>) -> Self {
        Self { arbiter: Arc::clone(arbiter), number, round: Some(round) }
    }

    /// Returns whether the match still waits for this round.
    fn is_current(&self) -> bool {
        self.arbiter.current_bot_round.load(Ordering::Relaxed) == self.number
    }

    /// Runs `finish` on the match, unless the match is closed or no longer waits for this round.
    fn with_match(&self, finish: impl FnOnce(&mut Inner) -> Result<(), BotError>) {
        self.arbiter.update(|inner| {
            if self.is_current()
                && inner.state.closed.is_none()
                && let Err(error) = finish(inner)
            {
                self.arbiter.bot_failed(inner, error);
                self.arbiter.current_bot_round.store(0, Ordering::Relaxed);
            }
        });
    }
}

impl Work for BotRound {
    fn advance(&mut self, slice: &Slice) -> Flow {
        while self.is_current() {
            let Some(round) = &mut self.round else { return Flow::Done };
            match round.advance() {
                Ok(false) => {}
                result => {
                    let round = self.round.take();
                    self.with_match(|inner| {
                        result?;
                        let events =
                            inner.state.bot_events(round.map(BotDecisions::choices).unwrap_or_default());
                        self.arbiter.commit_bot_choices(inner, events)?;
                        self.arbiter.play_automatic_steps(inner);
                        Ok(())
                    });
                    return Flow::Done;
                }
            }
            if slice.is_over() {
                return Flow::Continue;
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
            && self.is_current()
        {
            let seat = round.seat().unwrap_or(Seat::FIRST);
            self.with_match(|_| Err(BotError { seat, reason: "the bot panicked".to_owned() }));
        }
    }
}

//! Runs the bots of a match on the thread pool.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use boardwire_batch::play::Round;
use boardwire_batch::pool::{Flow, Slice, Work};
use boardwire_bots::BotFault;
use boardwire_kernel::Seat;

use super::{Arbiter, Inner};

/// The pool's work for one round of bots.
pub(super) struct BotRound {
    arbiter: Arc<Arbiter>,
    number: u64,
    /// None once all bots have chosen, or the match needs the round no longer.
    round: Option<Box<dyn Round>>,
}

impl BotRound {
    pub(super) fn new(arbiter: &Arc<Arbiter>, number: u64, round: Box<dyn Round>) -> Self {
        Self { arbiter: Arc::clone(arbiter), number, round: Some(round) }
    }

    /// Whether the match still waits for this round.
    fn is_wanted(&self) -> bool {
        self.arbiter.round.load(Ordering::Relaxed) == self.number
    }

    /// Runs `finish` on the match, unless the match no longer waits for this round.
    fn finish(&self, finish: impl FnOnce(&mut Inner) -> Result<(), BotFault>) {
        let mut inner = self.arbiter.change();
        if self.is_wanted()
            && inner.state.closed.is_none()
            && let Err(fault) = finish(&mut inner)
        {
            self.arbiter.bot_failed(&mut inner, fault);
            self.arbiter.round.store(0, Ordering::Relaxed);
        }
    }
}

impl Work for BotRound {
    fn advance(&mut self, slice: &Slice) -> Flow {
        while self.is_wanted() {
            let Some(round) = &mut self.round else { return Flow::Done };
            match round.advance() {
                Ok(false) => {}
                Ok(true) => {
                    let choices = self.round.take().map(Round::choices).unwrap_or_default();
                    self.finish(|inner| {
                        let events = inner.state.bot_events(choices);
                        self.arbiter.commit_round(inner, events)?;
                        self.arbiter.settle(inner);
                        Ok(())
                    });
                    return Flow::Done;
                }
                Err(fault) => {
                    self.round = None;
                    self.finish(|_| Err(fault));
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
    /// Ends the match when a bot panicked: no call may wait for its choice.
    fn drop(&mut self) {
        if let Some(round) = &self.round
            && self.is_wanted()
        {
            let seat = round.seat().unwrap_or(Seat::FIRST);
            self.finish(|_| Err(BotFault { seat, what: "it panicked".to_owned() }));
        }
    }
}

//! Bots of a match that think, in the pool.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use boardwire_batch::play::Round;
use boardwire_batch::pool::{Flow, Slice, Work};
use boardwire_bots::{BotFault, Choice};
use boardwire_kernel::Seat;

use super::{Arbiter, Inner};

/// A round of bots on its way to be played.
pub(super) struct Thinking {
    arbiter: Arc<Arbiter>,
    number: u64,
    /// Absent once it has been played.
    round: Option<Box<dyn Round>>,
}

impl Thinking {
    pub(super) fn new(arbiter: &Arc<Arbiter>, number: u64, round: Box<dyn Round>) -> Self {
        Self { arbiter: Arc::clone(arbiter), number, round: Some(round) }
    }

    /// Whether the match still waits for this round.
    fn is_wanted(&self) -> bool {
        self.arbiter.round.load(Ordering::Relaxed) == self.number
    }
}

impl Work for Thinking {
    fn advance(&mut self, slice: &Slice) -> Flow {
        while self.is_wanted() {
            let Some(round) = &mut self.round else { return Flow::Done };
            match round.advance() {
                Ok(false) => {}
                Ok(true) => {
                    let choices = self.round.take().map(Round::choices).unwrap_or_default();
                    self.arbiter.play_round(self.number, choices);
                    return Flow::Done;
                }
                Err(fault) => {
                    self.round = None;
                    self.arbiter.lose_round(self.number, fault);
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

impl Drop for Thinking {
    /// A bot that panicked has chosen nothing: nobody may wait for it.
    fn drop(&mut self) {
        if let Some(round) = &self.round
            && self.is_wanted()
        {
            let seat = round.seat().unwrap_or(Seat::new(0));
            self.arbiter.lose_round(self.number, BotFault { seat, what: "it panicked".to_owned() });
        }
    }
}

impl Arbiter {
    /// Plays what bots have chosen, unless the episode they thought about has been left.
    fn play_round(self: &Arc<Self>, number: u64, choices: Vec<Choice>) {
        let mut inner = self.change();
        if self.round.load(Ordering::Relaxed) != number || inner.state.closed.is_some() {
            return;
        }
        let chosen = inner.state.chosen(choices);
        match self.bots_played(&mut inner, chosen) {
            Ok(()) => self.settle(&mut inner),
            Err(fault) => self.end_round(&mut inner, fault),
        }
    }

    /// Ends the match: the bots of this round will not choose.
    fn lose_round(self: &Arc<Self>, number: u64, fault: BotFault) {
        let mut inner = self.change();
        if self.round.load(Ordering::Relaxed) == number && inner.state.closed.is_none() {
            self.end_round(&mut inner, fault);
        }
    }

    fn end_round(&self, inner: &mut Inner, fault: BotFault) {
        self.bot_failed(inner, fault);
        self.round.store(0, Ordering::Relaxed);
    }
}

//! A world of a search.

use std::sync::Arc;

use boardwire_kernel::{RngStream, Seat, WORLD_STREAM};

use crate::play::{Insight, Play};

/// A world, and for which seat it was drawn. Its clones share the episode until one of them plays.
#[derive(Clone)]
pub(super) struct World {
    pub(super) play: Arc<dyn Play>,
    pub(super) viewer: Seat,
}

impl World {
    /// The world with this number of a search with this seed, as its seat may know it.
    pub(super) fn drawn(insight: &dyn Insight, seed: u64, number: usize) -> Self {
        Self { play: insight.imagine(world_seed(seed, number)), viewer: insight.seat() }
    }

    /// The episode, to be played on: a copy of it if it is shared.
    pub(super) fn own(&mut self) -> &mut dyn Play {
        if Arc::get_mut(&mut self.play).is_none() {
            self.play = self.play.copy();
        }
        Arc::get_mut(&mut self.play).expect("nobody shares a new copy")
    }

    /// The seat whose decision is shown: the one that the world was drawn for, if it owes one.
    pub(super) fn decides(&self) -> Option<Seat> {
        let pending = self.play.pending();
        if pending.contains(self.viewer) { Some(self.viewer) } else { pending.lowest() }
    }

    /// Plays decisions with a single legal action.
    pub(super) fn skip_forced(&mut self) {
        let forced =
            |play: &dyn Play| play.pending().iter().find_map(|seat| Some((seat, play.forced(seat)?)));
        while let Some((seat, action)) = forced(&*self.play) {
            self.own().apply(seat, action.into()).expect("the only legal action");
        }
    }
}

/// The seed of the world with this number: none of an episode of a batch with the same seed, whose luck it would have.
pub(super) fn world_seed(seed: u64, number: usize) -> u64 {
    RngStream::new(seed, WORLD_STREAM + number as u64).seed()
}

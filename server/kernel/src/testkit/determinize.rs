//! Episodes in a determinization of a seat's information set.

use crate::{Episode, Game, RngStream, Seat};

/// Returns the same episode after a resample of everything that `seat` cannot know.
#[must_use]
pub fn determinize<G: Game>(episode: &Episode<G>, seat: Seat, rng: &mut RngStream) -> Episode<G> {
    let mut sample = *episode.state();
    episode.game().resample(&mut sample, seat, rng);
    episode.with_state(sample)
}

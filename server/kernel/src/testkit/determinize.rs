//! Episodes in the worlds that a seat may believe itself in.

use crate::{Episode, Game, RngStream, Seat};

/// The same episode with everything that `seat` cannot know drawn anew.
#[must_use]
pub fn determinized<G: Game>(episode: &Episode<G>, seat: Seat, rng: &mut RngStream) -> Episode<G> {
    let mut world = *episode.state();
    episode.game().resample(&mut world, seat, rng);
    episode.at(world)
}

//! The laws of knowledge: what a seat can infer from everything that it was shown.
//!
//! [`check_histories`] checks determinizations that [`resample`](crate::Hidden::resample) draws. A
//! replay of a world from its deal must show the seat the same at every earlier ply. The game must return that
//! history ([`Replayable`]), because a state holds only the part of its past that determines knowledge.
//!
//! [`Posterior`] computes the exact probability of each world for a seat, over all random outcomes and all choices of
//! the other seats. [`check_frequencies`] compares it with how often `resample` draws each world. A world is the whole
//! state, including the memories of other seats. So the comparison also detects wrong frequencies of those memories.
//! [`check_knowledge`] runs both tests through a whole game, if the game is small enough. For a large game, start
//! at a position with few worlds, with [`Posterior::of`].

mod frequencies;
mod history;
mod posterior;

use std::sync::Arc;

pub use frequencies::{Frequencies, check_frequencies};
pub use history::{History, Replayable, check_histories};
pub use posterior::{InverseLikelihood, Posterior, deals, posterior, uniform_likelihood};

use super::playout::random_play;
use crate::{BOT_STREAM, Episode, Game, RESAMPLE_STREAM, RngStream, Seat};

/// Plays one random game and computes what every seat knows. At every ply it draws worlds for one seat and compares
/// their frequencies with the computed probabilities.
///
/// # Panics
/// When frequencies and probabilities do not agree, or when there are too many worlds to count.
pub fn check_knowledge<G: Game>(game: &Arc<G>, seed: u64, likelihood: InverseLikelihood<G>) {
    let deals = deals(&**game);
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    let choices = random_play(game, seed, |_| {}).choices;
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let seats: Vec<Seat> = Seat::all(game.info().seats).collect();
    let prior = |&seat: &Seat| Posterior::of(&**game, seat, deals.iter().copied(), episode.state());
    let mut posteriors: Vec<Posterior<G>> = seats.iter().map(prior).collect();
    let mut whose = RngStream::new(seed, BOT_STREAM + 1);
    for &(seat, action) in &choices {
        let checked = &posteriors[whose.below(game.info().seats.into()) as usize];
        check_frequencies(&**game, episode.state(), checked, &mut rng);
        episode.apply(seat, action.into()).expect("equal choices are as legal");
        for posterior in &mut posteriors {
            posterior.update(&**game, (seat, action), episode.state(), likelihood);
        }
    }
    for posterior in &posteriors {
        check_frequencies(&**game, episode.state(), posterior, &mut rng);
    }
}

//! The laws of knowledge: what a seat can believe, given all it has been shown.
//!
//! [`worlds_have_histories`] asks of every game that a world drawn by [`resample`](crate::Hidden::resample) could have
//! come about: replayed from its deal, it shows the seat the same at every earlier ply. It needs a game to say what
//! that history is ([`Replayable`]), since a state holds no more of its past than knowledge follows from.
//!
//! [`Posterior`] follows, world by world, how likely each is to a seat: exactly, by every way that chance can fall and
//! every choice the others can make. [`frequencies_agree`] compares how often `resample` draws each world. A world
//! is the whole state, with all that is kept of what other seats remember: a resample that gives them memories which
//! they would have less or more often in play is seen as well. [`knowledge_is_exact`] does both through a whole game
//! that is small enough; a large one begins at a position of few worlds, with [`Posterior::of`].

mod frequencies;
mod history;
mod posterior;

use std::sync::Arc;

pub use frequencies::{Frequencies, frequencies_agree};
pub use history::{History, Replayable, worlds_have_histories};
pub use posterior::{Likelihood, Posterior, deals, posterior, usual_likelihood};

use super::playout::random_play;
use crate::{BOT_STREAM, Episode, Game, RESAMPLE_STREAM, RngStream, Seat};

/// Plays one random game and follows what every seat can believe; at every ply the worlds drawn for one of them are
/// counted and compared with that.
///
/// # Panics
/// When they are not drawn as often as they are likely; when there are too many worlds to be counted.
pub fn knowledge_is_exact<G: Game>(game: &Arc<G>, seed: u64, likelihood: Likelihood<G>) {
    let deals = deals(&**game);
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    let choices = random_play(game, seed, |_| {}).choices;
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let seats: Vec<Seat> = Seat::all(game.info().seats).collect();
    let begin = |&seat: &Seat| Posterior::of(&**game, seat, deals.iter().copied(), episode.state());
    let mut beliefs: Vec<Posterior<G>> = seats.iter().map(begin).collect();
    let mut whose = RngStream::new(seed, BOT_STREAM + 1);
    for &(seat, action) in &choices {
        let checked = &beliefs[whose.below(game.info().seats.into()) as usize];
        frequencies_agree(&**game, episode.state(), checked, &mut rng);
        episode.apply(seat, action.into()).expect("equal choices are as legal");
        for belief in &mut beliefs {
            belief.follow(&**game, (seat, action), episode.state(), likelihood);
        }
    }
    for belief in &beliefs {
        frequencies_agree(&**game, episode.state(), belief, &mut rng);
    }
}

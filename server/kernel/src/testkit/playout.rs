//! Random play.

use std::sync::Arc;

use crate::{Episode, Game, RngStream};

/// Plays one game at random to its end; the seed gives both its chance and its choices.
///
/// The lowest pending seat chooses uniformly among its legal actions. `before` sees the episode ahead of
/// every choice.
///
/// # Panics
/// When the game refuses a legal action or offers a pending seat none.
pub fn random_game<G: Game>(game: &Arc<G>, seed: u64, mut before: impl FnMut(&Episode<G>)) -> Episode<G> {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng = RngStream::new(seed, crate::BOT_STREAM);
    while let Some(seat) = episode.pending().lowest() {
        before(&episode);
        let mut legal = game.legal(episode.state(), seat);
        assert!(!legal.is_empty(), "{seat} owes a choice and has none");
        let action = rng.draw(&mut legal);
        episode.apply(seat, action.into()).expect("a legal action is accepted");
    }
    episode
}

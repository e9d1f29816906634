//! Random play.

use std::sync::Arc;

use crate::{Episode, Game, RngStream, Seat};

/// A game played to its end, with every choice.
#[derive(Debug)]
pub struct FinishedGame<G: Game> {
    /// The episode at its end.
    pub end: Episode<G>,
    /// The seat and the action of each ply.
    pub choices: Vec<(Seat, u8)>,
}

/// Plays one random game to its end. The seed determines random outcomes and choices.
///
/// The lowest pending seat chooses uniformly among its legal actions. `before` receives the episode before every
/// choice.
///
/// # Panics
/// When the game refuses a legal action, or a pending seat has none.
pub fn random_play<G: Game>(
    game: &Arc<G>,
    seed: u64,
    mut before: impl FnMut(&Episode<G>),
) -> FinishedGame<G> {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng = RngStream::new(seed, crate::BOT_STREAM);
    let mut choices = Vec::new();
    while let Some(seat) = episode.pending().lowest() {
        before(&episode);
        let mut legal = game.legal(episode.state(), seat);
        assert!(!legal.is_empty(), "{seat} has a pending decision but no legal action");
        let action = rng.draw(&mut legal);
        episode.apply(seat, action.into()).expect("a legal action is accepted");
        choices.push((seat, action));
    }
    FinishedGame { end: episode, choices }
}

/// Returns the end of a game [played at random](random_play).
///
/// # Panics
/// When the game refuses a legal action, or a pending seat has none.
pub fn random_game<G: Game>(game: &Arc<G>, seed: u64, before: impl FnMut(&Episode<G>)) -> Episode<G> {
    random_play(game, seed, before).end
}

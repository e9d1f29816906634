//! Random play.

use std::sync::Arc;

use crate::{Episode, Game, RngStream, Seat};

/// A game played to its end, and every choice made in it.
#[derive(Debug)]
pub struct Played<G: Game> {
    /// The episode at its end.
    pub end: Episode<G>,
    /// Who chose what, ply by ply.
    pub choices: Vec<(Seat, u8)>,
}

/// Plays one game at random to its end; the seed gives both its chance and its choices.
///
/// The lowest pending seat chooses uniformly among its legal actions. `before` sees the episode ahead of
/// every choice.
///
/// # Panics
/// When the game refuses a legal action or offers a pending seat none.
pub fn random_play<G: Game>(game: &Arc<G>, seed: u64, mut before: impl FnMut(&Episode<G>)) -> Played<G> {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng = RngStream::new(seed, crate::BOT_STREAM);
    let mut choices = Vec::new();
    while let Some(seat) = episode.pending().lowest() {
        before(&episode);
        let mut legal = game.legal(episode.state(), seat);
        assert!(!legal.is_empty(), "{seat} owes a choice and has none");
        let action = rng.draw(&mut legal);
        episode.apply(seat, action.into()).expect("a legal action is accepted");
        choices.push((seat, action));
    }
    Played { end: episode, choices }
}

/// The end of a game [played at random](random_play).
///
/// # Panics
/// When the game refuses a legal action or offers a pending seat none.
pub fn random_game<G: Game>(game: &Arc<G>, seed: u64, before: impl FnMut(&Episode<G>)) -> Episode<G> {
    random_play(game, seed, before).end
}

//! Shared parts of every game's tests: the laws, random playouts, golden playthroughs, perft-like counts.
//!
//! This module knows no specific game, and everything in it holds for every game. The [`toy`] is a small game: a
//! template for new games. Its broken variants prove that each law can fail. `docs/testing.md` lists the laws.

mod determinize;
mod knowledge;
mod laws;
mod perft;
mod playout;
mod playthrough;
pub mod toy;
mod viewer_snapshot;

use std::sync::Arc;

pub use determinize::determinize;
pub use knowledge::{
    Frequencies, History, InverseLikelihood, Posterior, Replayable, check_frequencies, check_histories,
    check_knowledge, deals, posterior, uniform_likelihood,
};
pub use laws::{Law, check_laws};
pub use perft::perft;
pub use playout::{FinishedGame, random_game, random_play};
pub use playthrough::playthrough;
pub use viewer_snapshot::ViewerSnapshot;

use crate::{Episode, Game, LoadedCatalogue, OptionKind, Seat, Viewer, set_up};

/// Returns the rules of a table with the compiled-in catalogue.
///
/// # Panics
/// When the game refuses its own catalogue, or the seats or options are wrong.
#[must_use]
pub fn table<G: Game>(seats: u8, options: &[(&str, &str)]) -> Arc<G> {
    let catalogue = LoadedCatalogue::read(G::TYPE.catalogue).expect("the compiled-in catalogue is valid");
    let game = set_up(Arc::new(catalogue), seats.into(), options.iter().copied());
    Arc::new(game.expect("the table can be set up"))
}

/// Plays the action with this label, for tests of rules.
///
/// # Panics
/// The action is not legal for `seat` now. The message lists the legal ones.
#[track_caller]
pub fn act<G: Game>(episode: &mut Episode<G>, seat: u8, label: &str) {
    let (game, seat) = (Arc::clone(episode.game()), Seat::new(seat));
    let legal = || -> Vec<_> {
        let legal = game.legal(episode.state(), seat).into_iter();
        legal.filter_map(|action| game.info().actions.label(action)).collect()
    };
    let action = game.info().actions.parse(label);
    let action = action.filter(|action| game.legal(episode.state(), seat).contains(*action));
    let action = action.unwrap_or_else(|| panic!("{seat} cannot `{label}`; it can {:?}", legal()));
    episode.apply(seat, action.into()).expect("the action is legal");
}

/// Returns the text of the position as `viewer` sees it, for tests of texts.
#[must_use]
pub fn text<G: Game>(episode: &Episode<G>, viewer: impl Into<Viewer>) -> String {
    let mut text = String::new();
    let written = episode.game().text(episode.state(), viewer.into(), &mut text);
    written.expect("writing to a string does not fail");
    text
}

/// Returns every seat count with every combination of choice and flag options. Whole numbers have their default.
#[must_use]
pub fn every_table<G: Game>() -> Vec<Arc<G>> {
    let mut combinations: Vec<Vec<(&str, &str)>> = vec![vec![]];
    for spec in G::TYPE.options {
        let values: &[&str] = match spec.kind {
            OptionKind::Choice(words) => words,
            OptionKind::Flag => &["false", "true"],
            OptionKind::Int(..) => &[spec.default],
        };
        combinations = combinations
            .iter()
            .flat_map(|chosen| values.iter().map(|value| [chosen.as_slice(), &[(spec.name, value)]].concat()))
            .collect();
    }
    let tables = |seats| combinations.iter().map(move |options| table(seats, options));
    G::TYPE.seats.flat_map(tables).collect()
}

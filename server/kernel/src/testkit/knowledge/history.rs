//! Histories of determinizations.

use std::sync::Arc;

use crate::testkit::{Law, ViewerSnapshot, random_play};
use crate::{CheckResult, Episode, Game, RESAMPLE_STREAM, RandomSource, RngStream, Seat, Viewer, ensure};

/// The number of states to sample for each seat at each ply.
const SAMPLES: u32 = 3;

/// Everything that happened from the deal to a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The random outcomes, stream by stream, as [`RandomSource::scripted`] takes them.
    pub outcomes: Vec<Vec<u8>>,
    /// The seat and the action of each ply.
    pub choices: Vec<(Seat, u8)>,
}

/// A game that can return the history of a world, for its tests.
pub trait Replayable: Game {
    /// Returns the history of a `determinization` that was sampled for `viewer` after these choices of all seats.
    ///
    /// The game may use the viewer's own choices, and those of other seats that `viewer` saw. Unseen choices of other
    /// seats and random outcomes must come from it. If several histories lead to it, the game returns any
    /// that shows `viewer` what it saw. None means that there is no such history: the game breaks the law.
    fn history(&self, determinization: &Self::State, choices: &[(Seat, u8)], viewer: Seat)
    -> Option<History>;
}

/// Plays one random game, draws worlds for every seat at every ply, and replays each from its deal. At every earlier
/// ply the seat and the public must be shown the same as in the game. The replay must end in the world.
///
/// # Panics
/// When a world has no such history.
pub fn check_histories<G: Replayable>(game: &Arc<G>, seed: u64) {
    let mut states = Vec::new();
    let played = random_play(game, seed, |episode| states.push(*episode.state()));
    states.push(*played.end.state());
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    for seat in Seat::all(game.info().seats) {
        let show = |state: &G::State| {
            [seat.into(), Viewer::Public].map(|viewer| ViewerSnapshot::of(&**game, state, viewer))
        };
        let shown: Vec<[ViewerSnapshot; 2]> = states.iter().map(show).collect();
        for (ply, state) in states.iter().enumerate() {
            for _ in 0..SAMPLES {
                let mut sample = *state;
                game.resample(&mut sample, seat, &mut rng);
                let replayed = match game.history(&sample, &played.choices[..ply], seat) {
                    None => Err("the game returned no history".to_owned()),
                    Some(history) => replay(game, &history, &sample, &shown[..=ply], show),
                };
                let place = |broken| format!("at ply {ply}, for {seat}: {broken}\n{sample:?}");
                Law::Histories.assert_ok(replayed.map_err(place));
            }
        }
    }
}

/// Checks that a history shows the same at every ply, and leads to `sample` with all its outcomes used.
fn replay<G: Game>(
    game: &Arc<G>,
    history: &History,
    sample: &G::State,
    shown: &[[ViewerSnapshot; 2]],
    show: impl Fn(&G::State) -> [ViewerSnapshot; 2],
) -> CheckResult {
    let mut episode =
        Episode::start(Arc::clone(game), RandomSource::scripted(history.outcomes.iter().cloned()));
    let plies = shown.len() - 1;
    ensure(history.choices.len() == plies, || {
        format!("the history has {} choices, not {plies}", history.choices.len())
    })?;
    for (ply, shown) in shown.iter().enumerate() {
        if let Some(&(seat, action)) = ply.checked_sub(1).and_then(|last| history.choices.get(last)) {
            let refused = |refused| format!("the choice of ply {}: {refused}", ply - 1);
            episode.apply(seat, action.into()).map_err(refused)?;
        }
        if let Some(error) = episode.random_source().script_error() {
            return Err(format!("before ply {ply}: {error}"));
        }
        let again = show(episode.state());
        ensure(again == *shown, || {
            format!("the replay shows {again:?} at ply {ply}, but the game showed {shown:?}")
        })?;
    }
    ensure(episode.state() == sample, || format!("the replay ends in {:?}", episode.state()))?;
    let unused: u64 = episode.random_source().usage().iter().sum();
    ensure(unused == 0, || format!("the replay left {unused} random outcomes of the history unused"))
}

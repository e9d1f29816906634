//! Checks of a whole game.

use std::sync::Arc;

use super::position::{PlayoutAnswers, seats};
use crate::testkit::playout::FinishedGame;
use crate::{CheckResult, Digest, Episode, Estimate, Game, Seat, ensure};

/// The maximum number of episodes to restore in one game.
const MAX_RESTORED: usize = 64;
/// The maximum number of plies from which a game continues after `reduce_for_playouts`.
const MAX_REDUCED: usize = 16;

pub(super) fn play_ends<G: Game>(end: &Episode<G>) -> CheckResult {
    let maximum = end.game().info().max_plies;
    ensure(!end.is_truncated(), || format!("the game is not over after {maximum} plies"))
}

pub(super) fn the_end_has_an_outcome<G: Game>(end: &Episode<G>) -> CheckResult {
    let seats = usize::from(end.game().info().seats);
    match end.outcome() {
        None => Err("no decision is pending, but the game has no outcome".to_owned()),
        Some(outcome) => {
            ensure(outcome.scores().len() == seats, || format!("{outcome:?} is not for {seats} seats"))
        }
    }
}

pub(super) fn scores_are_explained<G: Game>(end: &Episode<G>) -> CheckResult {
    let (minimum, maximum) = end.game().info().scores;
    let outcome = end.outcome().ok_or("there is no outcome")?;
    for seat in seats(end) {
        let score = outcome.scores()[seat.index()];
        let lines = end.game().explain(end.state(), seat);
        let explained: i32 = lines.iter().map(|line| line.points).sum();
        ensure(explained == score, || {
            format!("{seat} has {score} points, of which {lines:?} explain {explained}")
        })?;
        ensure((minimum..=maximum).contains(&score), || {
            format!("{score} is not within {minimum} to {maximum}")
        })?;
    }
    Ok(())
}

fn apply_choice<G: Game>(episode: &mut Episode<G>, (seat, action): (Seat, u8)) -> CheckResult {
    let ply = episode.ply();
    episode.apply(seat, action.into()).map_err(|refused| format!("at ply {ply}: {refused}"))
}

/// Checks that the same seed and choices lead to these digests, one at every ply and one at the end.
pub(super) fn play_is_repeatable<G: Game>(
    played: &FinishedGame<G>,
    seed: u64,
    digests: &[Digest],
) -> CheckResult {
    let mut again = Episode::seeded(Arc::clone(played.end.game()), seed);
    for (&digest, &choice) in digests.iter().zip(&played.choices) {
        ensure(again.digest() == digest, || format!("the digests of ply {} differ", again.ply()))?;
        apply_choice(&mut again, choice)?;
    }
    ensure(again.digest() == played.end.digest(), || "the digests of the end differ")
}

/// Checks that restored episodes reach the same end by the same choices. It restores the snapshot of every ply, or in a
/// long game of every second ply, every third, and so on.
pub(super) fn check_restored_snapshots<G: Game>(
    played: &FinishedGame<G>,
    snapshots: &[Vec<u8>],
) -> CheckResult {
    let step = snapshots.len().div_ceil(MAX_RESTORED);
    for (ply, snapshot) in snapshots.iter().enumerate().step_by(step) {
        let mut restored = Episode::restore(Arc::clone(played.end.game()), snapshot)?;
        for &choice in &played.choices[ply..] {
            apply_choice(&mut restored, choice)
                .map_err(|broken| format!("restored at ply {ply}, {broken}"))?;
        }
        let is_equal = restored.digest() == played.end.digest() && restored.state() == played.end.state();
        ensure(is_equal, || format!("restored at ply {ply}, it reaches another end"))?;
    }
    Ok(())
}

/// Checks, from some plies on, that an episode after `reduce_for_playouts` gives the same answers for the same choices.
pub(super) fn check_reduced_playthroughs<G: Estimate>(played: &FinishedGame<G>, seed: u64) -> CheckResult {
    let game = played.end.game();
    let step = played.choices.len().div_ceil(MAX_REDUCED);
    let mut full = Episode::seeded(Arc::clone(game), seed);
    for (ply, &choice) in played.choices.iter().enumerate() {
        if ply.is_multiple_of(step) {
            compare_reduced(full.clone(), &played.choices[ply..])?;
        }
        apply_choice(&mut full, choice)?;
    }
    compare_reduced(full, &[])
}

fn compare_reduced<G: Estimate>(mut full: Episode<G>, choices: &[(Seat, u8)]) -> CheckResult {
    let since = full.ply();
    let mut state = *full.state();
    full.game().reduce_for_playouts(&mut state);
    let mut reduced = full.with_state(state);
    let mut choices = choices.iter();
    loop {
        let [one, other] = [&full, &reduced].map(|episode| {
            (PlayoutAnswers::of(&**episode.game(), episode.state()), episode.random_source().usage())
        });
        let ply = full.ply();
        ensure(one == other, || format!("reduced at ply {since}, ply {ply} is {other:?}, not {one:?}"))?;
        let Some(&choice) = choices.next() else { return Ok(()) };
        apply_choice(&mut full, choice)?;
        apply_choice(&mut reduced, choice).map_err(|broken| format!("reduced at ply {since}, {broken}"))?;
    }
}

pub(super) fn a_restart_is_a_new_episode<G: Game>(played: &FinishedGame<G>, seed: u64) -> CheckResult {
    let (mut restarted, other) = (played.end.clone(), !seed);
    restarted.restart(other);
    let begun = Episode::seeded(Arc::clone(played.end.game()), other);
    ensure(restarted.digest() == begun.digest(), || "their digests differ")
}

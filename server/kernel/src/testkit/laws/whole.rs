//! Checks of a whole game.

use std::sync::Arc;

use super::position::{Answers, seats};
use crate::testkit::playout::Played;
use crate::{Audit, Digest, Episode, Estimate, Game, Seat, ensure};

/// The maximum number of episodes to restore in one game.
const MOST_RESTORED: usize = 64;
/// The maximum number of plies from which a game continues after `forget`.
const MOST_FORGOTTEN: usize = 16;

pub(super) fn play_ends<G: Game>(end: &Episode<G>) -> Audit {
    let most = end.game().info().max_plies;
    ensure(!end.is_truncated(), || format!("it goes on after {most} plies"))
}

pub(super) fn the_end_has_an_outcome<G: Game>(end: &Episode<G>) -> Audit {
    let seats = usize::from(end.game().info().seats);
    match end.outcome() {
        None => Err("nobody owes a choice, and yet there is no outcome".to_owned()),
        Some(outcome) => {
            ensure(outcome.scores().len() == seats, || format!("{outcome:?} is not for {seats} seats"))
        }
    }
}

pub(super) fn scores_are_explained<G: Game>(end: &Episode<G>) -> Audit {
    let (least, most) = end.game().info().scores;
    let outcome = end.outcome().ok_or("there is no outcome")?;
    for seat in seats(end) {
        let score = outcome.scores()[seat.index()];
        let lines = end.game().explain(end.state(), seat);
        let explained: i32 = lines.iter().map(|line| line.points).sum();
        ensure(explained == score, || {
            format!("{seat} has {score} points, of which {lines:?} explain {explained}")
        })?;
        ensure((least..=most).contains(&score), || format!("{score} is not within {least} to {most}"))?;
    }
    Ok(())
}

fn play_on<G: Game>(episode: &mut Episode<G>, (seat, action): (Seat, u8)) -> Audit {
    let ply = episode.ply();
    episode.apply(seat, action.into()).map_err(|refused| format!("at ply {ply}: {refused}"))
}

/// Checks that the same seed and choices lead to these digests, one at every ply and one at the end.
pub(super) fn play_is_repeatable<G: Game>(played: &Played<G>, seed: u64, digests: &[Digest]) -> Audit {
    let mut again = Episode::seeded(Arc::clone(played.end.game()), seed);
    for (&digest, &choice) in digests.iter().zip(&played.choices) {
        ensure(again.digest() == digest, || format!("at ply {} they differ", again.ply()))?;
        play_on(&mut again, choice)?;
    }
    ensure(again.digest() == played.end.digest(), || "the ends differ")
}

/// Checks that restored episodes reach the same end by the same choices. It restores the snapshot of every ply, or in a
/// long game of every second ply, every third, and so on.
pub(super) fn snapshots_are_played_on<G: Game>(played: &Played<G>, snapshots: &[Vec<u8>]) -> Audit {
    let step = snapshots.len().div_ceil(MOST_RESTORED);
    for (ply, snapshot) in snapshots.iter().enumerate().step_by(step) {
        let mut restored = Episode::restore(Arc::clone(played.end.game()), snapshot)?;
        for &choice in &played.choices[ply..] {
            play_on(&mut restored, choice).map_err(|broken| format!("restored at ply {ply}, {broken}"))?;
        }
        let is_equal = restored.digest() == played.end.digest() && restored.state() == played.end.state();
        ensure(is_equal, || format!("restored at ply {ply}, it comes to another end"))?;
    }
    Ok(())
}

/// Checks, from some plies on, that an episode after `forget` gives the same answers for the same choices.
pub(super) fn what_forgets_goes_on_alike<G: Estimate>(played: &Played<G>, seed: u64) -> Audit {
    let game = played.end.game();
    let step = played.choices.len().div_ceil(MOST_FORGOTTEN);
    let mut full = Episode::seeded(Arc::clone(game), seed);
    for (ply, &choice) in played.choices.iter().enumerate() {
        if ply.is_multiple_of(step) {
            goes_on_alike(full.clone(), &played.choices[ply..])?;
        }
        play_on(&mut full, choice)?;
    }
    goes_on_alike(full, &[])
}

fn goes_on_alike<G: Estimate>(mut full: Episode<G>, choices: &[(Seat, u8)]) -> Audit {
    let since = full.ply();
    let mut state = *full.state();
    full.game().forget(&mut state);
    let mut forgetful = full.at(state);
    let mut choices = choices.iter();
    loop {
        let [one, other] = [&full, &forgetful]
            .map(|episode| (Answers::of(&**episode.game(), episode.state()), episode.chance().words()));
        let ply = full.ply();
        ensure(one == other, || format!("forgetful since ply {since}, ply {ply} is {other:?}, not {one:?}"))?;
        let Some(&choice) = choices.next() else { return Ok(()) };
        play_on(&mut full, choice)?;
        play_on(&mut forgetful, choice).map_err(|broken| format!("forgetful since ply {since}, {broken}"))?;
    }
}

pub(super) fn a_restart_is_a_new_episode<G: Game>(played: &Played<G>, seed: u64) -> Audit {
    let (mut restarted, other) = (played.end.clone(), !seed);
    restarted.restart(other);
    let begun = Episode::seeded(Arc::clone(played.end.game()), other);
    ensure(restarted.digest() == begun.digest(), || "their digests differ")
}

//! The laws of every game, checked at every ply of random games.
//!
//! A check returns nothing, or what does not hold. [`Law::require`] turns that into a panic that names the law.

mod law;
mod position;
mod table;
mod texts;
mod whole;

use std::sync::Arc;

pub use law::Law;

use super::playout::random_play;
use crate::{CheckResult, Episode, Estimate, RESAMPLE_STREAM, RngStream, Seat, SeatSet, ensure};

/// Plays random games with these seeds and checks every law. It checks the laws about positions at every ply.
///
/// Other functions check the laws about determinizations and knowledge of the past: see
/// [`check_histories`](super::check_histories) and [`check_knowledge`](super::check_knowledge).
/// In a short game, resampling may happen to change nothing for a seat. So use twenty seeds or more.
///
/// # Panics
/// When the game breaks a law; the message names it.
pub fn check_laws<G: Estimate>(game: &Arc<G>, seeds: std::ops::Range<u64>) {
    Law::RoundTrip.assert_ok(table::actions_round_trip(&**game));
    Law::Described.assert_ok(table::names_stay_within_tables(game.info(), &G::TYPE));
    let mut varied = SeatSet::EMPTY;
    seeds.for_each(|seed| check_game(game, seed, &mut varied));
    // If the public sees all that a seat sees, nothing is hidden.
    let info = game.info();
    if info.layout.fields.len() > info.public_layout.fields.len() {
        for seat in Seat::all(info.seats) {
            let has_varied =
                ensure(varied.contains(seat), || format!("for {seat} it changed nothing in any game"));
            Law::ResampleVaries.assert_ok(has_varied);
        }
    }
}

fn check_game<G: Estimate>(game: &Arc<G>, seed: u64, varied: &mut SeatSet) {
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    let (mut digests, mut snapshots) = (Vec::new(), Vec::new());
    let mut at_every_ply = |episode: &Episode<G>| {
        check_position(episode, &mut rng, varied);
        digests.push(episode.digest());
        snapshots.push(episode.save());
    };
    let played = random_play(game, seed, &mut at_every_ply);
    at_every_ply(&played.end);
    Law::Ends.assert_ok(whole::play_ends(&played.end));
    Law::Outcome.assert_ok(whole::the_end_has_an_outcome(&played.end));
    Law::Scores.assert_ok(whole::scores_are_explained(&played.end));
    Law::Repeatable.assert_ok(whole::play_is_repeatable(&played, seed, &digests));
    Law::Restored.assert_ok(whole::check_restored_snapshots(&played, &snapshots));
    Law::Reduced.assert_ok(whole::check_reduced_playthroughs(&played, seed));
    Law::Restarted.assert_ok(whole::a_restart_is_a_new_episode(&played, seed));
}

fn check_position<G: Estimate>(episode: &Episode<G>, rng: &mut RngStream, varied: &mut SeatSet) {
    let check = |law: Law, result: CheckResult| {
        law.assert_ok(result.map_err(|broken| format!("at ply {}: {broken}", episode.ply())));
    };
    check(Law::Audited, position::audit_holds(episode));
    check(Law::Pending, position::only_pending_seats_have_legal_actions(episode));
    check(Law::Outcome, position::check_no_pending_after_outcome(episode));
    check(Law::LegalAgrees, position::a_single_action_is_as_legal_as_in_the_set(episode));
    check(Law::Views, position::views_keep_to_their_layout(episode));
    check(Law::Pure, position::check_pure(episode, rng));
    check(Law::ResampleKeeps, position::resample_keeps_what_its_seat_is_shown(episode, rng, varied));
    check(Law::ResampleFollows, position::check_sample_depends_on_knowledge_only(episode, rng));
    check(Law::Audited, position::audit_holds_after_a_sample(episode, rng));
    check(Law::Reduced, position::check_reduced_samples(episode, rng));
    check(Law::CommitsCommute, position::commits_commute(episode, rng));
    check(Law::CommitsHidden, position::commits_stay_hidden(episode, rng));
    check(Law::Phrases, texts::phrases_are_unique(episode));
    check(Law::Reports, texts::reports_follow_from_views(episode, rng));
    check(Law::Refusals, position::refusals_change_nothing(episode));
    check(Law::Restored, position::a_restored_position_is_equal(episode));
    check(Law::Small, position::the_state_is_small(episode));
}

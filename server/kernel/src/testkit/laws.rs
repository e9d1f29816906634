//! The laws every game obeys, checked at every ply of a random game.

use std::sync::Arc;

use super::playout::random_game;
use crate::{
    ActionSet, Chance, Episode, Game, MAX_ACTIONS, MAX_SEATS, RESAMPLE_STREAM, Rejection, RngStream, Seat,
    Viewer, apply,
};

/// Everything a viewer is shown of a position: two positions that differ only in what the viewer may not
/// know show it the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    view: Vec<u8>,
    text: String,
    legal: ActionSet,
    pending: crate::SeatSet,
}

impl Shown {
    /// What `viewer` is shown of `state`.
    ///
    /// # Panics
    /// When the game cannot write to memory.
    pub fn to<G: Game>(game: &G, state: &G::State, viewer: impl Into<Viewer>) -> Self {
        let viewer = viewer.into();
        let mut view = vec![0xff; game.info().layout_for(viewer).bytes()];
        game.view(state, viewer, &mut view);
        let mut text = String::new();
        game.text(state, viewer, &mut text).expect("writing to a string does not fail");
        let legal = viewer.seat().map_or(ActionSet::EMPTY, |seat| game.legal(state, seat));
        Self { view, text, legal, pending: game.pending(state) }
    }
}

/// Plays one random game and checks every law at every ply.
///
/// # Panics
/// When the game breaks a law; the message names it.
pub fn law_abiding_game<G: Game>(game: &Arc<G>, seed: u64) {
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    let mut varied = false;
    let mut digests = Vec::new();
    let end = random_game(game, seed, |episode| {
        digests.push(episode.digest());
        audits_hold(episode);
        only_pending_seats_have_legal_actions(episode);
        a_single_action_is_as_legal_as_in_the_set(episode);
        refusals_change_nothing(episode);
        views_stay_within_their_maxima(episode);
        resample_keeps_what_its_seat_is_shown(episode, &mut rng, &mut varied);
        commits_commute_and_stay_hidden(episode, &mut rng);
        a_restored_episode_is_the_same(episode);
    });
    audits_hold(&end);
    views_stay_within_their_maxima(&end);
    refusals_change_nothing(&end);
    outcomes_are_whole(&end);
    assert!(varied, "resample never changed anything in a whole game");
    let mut again = digests.iter();
    random_game(game, seed, |episode| {
        assert_eq!(again.next(), Some(&episode.digest()), "equal seed and actions give equal digests");
    });
    actions_round_trip(&**game);
    a_restarted_episode_is_a_fresh_one(end, seed);
}

fn a_restarted_episode_is_a_fresh_one<G: Game>(mut end: Episode<G>, seed: u64) {
    end.restart(seed);
    assert_eq!(end.digest(), Episode::seeded(Arc::clone(end.game()), seed).digest());
}

fn seats<G: Game>(episode: &Episode<G>) -> impl Iterator<Item = Seat> + use<G> {
    Seat::all(episode.game().info().seats)
}

fn audits_hold<G: Game>(episode: &Episode<G>) {
    if let Err(broken) = episode.game().audit(episode.state()) {
        panic!("ply {}: {broken}\n{:?}", episode.ply(), episode.state());
    }
}

fn only_pending_seats_have_legal_actions<G: Game>(episode: &Episode<G>) {
    let (game, pending) = (episode.game(), episode.pending());
    for seat in seats(episode) {
        let legal = game.legal(episode.state(), seat);
        assert_eq!(legal.is_empty(), !pending.contains(seat), "{seat} at ply {}: {legal:?}", episode.ply());
        for index in legal {
            assert!(game.decode(index).is_some(), "legal action {index} is beyond the action space");
        }
    }
    assert!(episode.outcome().is_none(), "somebody owes a choice, and yet there is an outcome");
}

fn a_single_action_is_as_legal_as_in_the_set<G: Game>(episode: &Episode<G>) {
    let game = episode.game();
    let seats_there_may_be = u8::try_from(MAX_SEATS).unwrap_or(0);
    for seat in Seat::all(seats_there_may_be) {
        let legal = if seat.number() < game.info().seats {
            game.legal(episode.state(), seat)
        } else {
            ActionSet::EMPTY
        };
        for index in 0..=u8::MAX {
            let Some(action) = game.decode(index) else { continue };
            assert_eq!(
                game.is_legal(episode.state(), seat, action),
                legal.contains(index),
                "is_legal and legal differ on {action:?} of {seat} at ply {}",
                episode.ply()
            );
        }
    }
}

fn refusals_change_nothing<G: Game>(episode: &Episode<G>) {
    let game = episode.game();
    for seat in seats(episode) {
        let legal = game.legal(episode.state(), seat);
        for action in 0..u32::try_from(MAX_ACTIONS).unwrap_or(0) + 2 {
            if u8::try_from(action).is_ok_and(|index| legal.contains(index)) {
                continue;
            }
            let mut state = *episode.state();
            let mut chance = episode.chance().clone();
            let refused = apply(&**game, &mut state, seat, action, &mut chance);
            let space = u32::try_from(game.info().actions.count()).unwrap_or(0);
            let expected = match refused {
                Err(Rejection::Over) => game.pending(episode.state()).is_empty(),
                Err(Rejection::OutOfRange { .. }) => action >= space,
                Err(Rejection::NotPending { .. }) => !episode.pending().contains(seat),
                Err(Rejection::Illegal { .. }) => true,
                Err(Rejection::NoSeat { .. }) | Ok(()) => false,
            };
            assert!(expected, "action {action} of {seat} gave {refused:?}");
            assert!(state == *episode.state(), "a refusal changed the state");
            assert_eq!(chance.words(), episode.chance().words(), "a refusal used chance");
        }
    }
}

fn views_stay_within_their_maxima<G: Game>(episode: &Episode<G>) {
    let info = episode.game().info();
    for viewer in Viewer::all(info.seats) {
        let shown = Shown::to(&**episode.game(), episode.state(), viewer);
        if let Err(broken) = info.layout_for(viewer).check(&shown.view) {
            panic!("the view of {viewer:?} at ply {}: {broken}", episode.ply());
        }
    }
}

fn resample_keeps_what_its_seat_is_shown<G: Game>(
    episode: &Episode<G>,
    rng: &mut RngStream,
    varied: &mut bool,
) {
    let game = episode.game();
    for seat in seats(episode) {
        let mut world = *episode.state();
        game.resample(&mut world, seat, rng);
        *varied |= world != *episode.state();
        if let Err(broken) = game.audit(&world) {
            panic!("resample for {seat} at ply {}: {broken}\n{world:?}", episode.ply());
        }
        for viewer in [Viewer::Seat(seat), Viewer::Public] {
            assert_eq!(
                Shown::to(&**game, &world, viewer),
                Shown::to(&**game, episode.state(), viewer),
                "resample for {seat} changed what {viewer:?} is shown at ply {}",
                episode.ply()
            );
        }
    }
}

/// While others still owe their choice, what one seat chose shows to nobody else, and the order of two
/// choices makes no difference.
fn commits_commute_and_stay_hidden<G: Game>(episode: &Episode<G>, rng: &mut RngStream) {
    let game = &**episode.game();
    let pending: Vec<Seat> = episode.pending().iter().collect();
    if pending.len() < 2 {
        return;
    }
    let choose = |seat, rng: &mut RngStream| rng.draw(&mut game.legal(episode.state(), seat));
    let play = |moves: &[(Seat, u8)]| {
        let (mut state, mut chance): (G::State, Chance) = (*episode.state(), episode.chance().clone());
        for &(seat, action) in moves {
            apply(game, &mut state, seat, action.into(), &mut chance).expect("commits do not hinder commits");
        }
        (state, chance.words())
    };
    let (first, second) = (pending[0], pending[1]);
    let (a, b) = (choose(first, rng), choose(second, rng));
    let one_way = play(&[(first, a), (second, b)]);
    let other_way = play(&[(second, b), (first, a)]);
    assert!(one_way == other_way, "the choices of {first} and {second} do not commute");
    for &seat in &pending {
        let (one, other) = (play(&[(seat, choose(seat, rng))]), play(&[(seat, choose(seat, rng))]));
        if game.pending(&one.0).is_empty() || game.pending(&one.0) != game.pending(&other.0) {
            continue;
        }
        for watcher in Viewer::all(game.info().seats).filter(|watcher| !watcher.is(seat)) {
            assert_eq!(
                Shown::to(game, &one.0, watcher),
                Shown::to(game, &other.0, watcher),
                "the hidden choice of {seat} shows to {watcher:?} at ply {}",
                episode.ply()
            );
        }
    }
}

fn a_restored_episode_is_the_same<G: Game>(episode: &Episode<G>) {
    let restored = Episode::restore(Arc::clone(episode.game()), &episode.save());
    let restored = restored.expect("a saved episode can be restored");
    assert!(restored.state() == episode.state(), "a restored state differs");
    assert_eq!(restored.digest(), episode.digest(), "a restored episode differs");
    let size = borsh::to_vec(episode.state()).map_or(0, |bytes| bytes.len());
    assert!(size <= 2048, "a state of {size} bytes");
}

fn outcomes_are_whole<G: Game>(end: &Episode<G>) {
    let game = end.game();
    let info = game.info();
    let Some(outcome) = end.outcome() else {
        assert!(end.is_truncated(), "nobody owes a choice, and yet there is no outcome");
        return;
    };
    assert!(end.ply() <= info.max_plies, "{} plies, more than {}", end.ply(), info.max_plies);
    for seat in seats(end) {
        let score = outcome.scores()[seat.index()];
        let explained: i32 = game.explain(end.state(), seat).iter().map(|line| line.points).sum();
        assert_eq!(explained, score, "the explanation of {seat} does not add up");
        assert!((info.scores.0..=info.scores.1).contains(&score), "{score} is outside {:?}", info.scores);
    }
}

fn actions_round_trip<G: Game>(game: &G) {
    let labels = &game.info().actions;
    for index in 0..=u8::MAX {
        let action = game.decode(index);
        assert_eq!(action.is_some(), usize::from(index) < labels.count(), "action {index}");
        if let Some(action) = action {
            assert_eq!(game.encode(action), index, "{action:?}");
            assert_eq!(labels.label(index).and_then(|label| labels.parse(label)), Some(index), "{action:?}");
        }
    }
}

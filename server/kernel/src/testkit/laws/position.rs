//! Checks of one position.

use std::sync::Arc;

use crate::testkit::ViewerSnapshot;
use crate::{
    ActionSet, CheckResult, Episode, Estimate, Game, MAX_ACTIONS, MAX_SEATS, MAX_STATE_BYTES, Outcome,
    RandomSource, Rejection, RngStream, Seat, SeatSet, Setup, Viewer, apply, ensure,
};

pub(super) fn seats<G: Game>(episode: &Episode<G>) -> impl Iterator<Item = Seat> + use<G> {
    Seat::all(episode.game().info().seats)
}

pub(super) fn audit_holds<G: Game>(episode: &Episode<G>) -> CheckResult {
    let audit = episode.game().audit(episode.state());
    audit.map_err(|broken| format!("{broken}\n{:?}", episode.state()))
}

pub(super) fn only_pending_seats_have_legal_actions<G: Game>(episode: &Episode<G>) -> CheckResult {
    let (game, pending) = (episode.game(), episode.game().pending(episode.state()));
    for seat in seats(episode) {
        let legal = game.legal(episode.state(), seat);
        ensure(legal.is_empty() != pending.contains(seat), || format!("{seat} may choose from {legal:?}"))?;
        for index in legal {
            ensure(game.decode(index).is_some(), || {
                format!("legal action {index} is beyond the action space")
            })?;
        }
    }
    let unknown = pending.iter().find(|seat| seat.number() >= game.info().seats);
    unknown
        .map_or(Ok(()), |seat| Err(format!("{seat} has a pending decision, but the table has no such seat")))
}

pub(super) fn check_no_pending_after_outcome<G: Game>(episode: &Episode<G>) -> CheckResult {
    let is_over = episode.game().pending(episode.state()).is_empty();
    ensure(is_over || episode.outcome().is_none(), || "a decision is pending, but the game has an outcome")
}

pub(super) fn a_single_action_is_as_legal_as_in_the_set<G: Game>(episode: &Episode<G>) -> CheckResult {
    let game = episode.game();
    let seats_there_may_be = u8::try_from(MAX_SEATS).expect("few seats");
    for seat in Seat::all(seats_there_may_be) {
        let legal = if seat.number() < game.info().seats {
            game.legal(episode.state(), seat)
        } else {
            ActionSet::EMPTY
        };
        for index in 0..=u8::MAX {
            let Some(action) = game.decode(index) else { continue };
            let is_legal = game.is_legal(episode.state(), seat, action);
            ensure(is_legal == legal.contains(index), || format!("they differ on {action:?} of {seat}"))?;
        }
    }
    Ok(())
}

pub(super) fn refusals_change_nothing<G: Game>(episode: &Episode<G>) -> CheckResult {
    let game = episode.game();
    let seats = game.info().seats;
    let beyond = Some(seats).filter(|&number| usize::from(number) < MAX_SEATS).map(Seat::new);
    for seat in Seat::all(seats).chain(beyond) {
        let is_seated = seat.number() < seats;
        let legal = if is_seated { game.legal(episode.state(), seat) } else { ActionSet::EMPTY };
        for action in 0..u32::try_from(MAX_ACTIONS).expect("few actions") + 2 {
            if !u8::try_from(action).is_ok_and(|index| legal.contains(index)) {
                a_refusal_changes_nothing(episode, seat, action)?;
            }
        }
    }
    Ok(())
}

fn a_refusal_changes_nothing<G: Game>(episode: &Episode<G>, seat: Seat, action: u32) -> CheckResult {
    let (game, pending) = (episode.game(), episode.game().pending(episode.state()));
    let (mut state, mut chance) = (*episode.state(), episode.random_source().clone());
    let refused = apply(&**game, &mut state, seat, action, &mut chance);
    let space = u32::try_from(game.info().actions.count()).expect("few actions");
    let is_right = match refused {
        Err(Rejection::Over) => pending.is_empty(),
        Err(Rejection::NoSeat { .. }) => seat.number() >= game.info().seats,
        Err(Rejection::OutOfRange { .. }) => action >= space,
        Err(Rejection::NotPending { .. }) => !pending.contains(seat),
        Err(Rejection::Illegal { .. }) => pending.contains(seat) && action < space,
        Ok(()) => false,
    };
    ensure(is_right, || format!("action {action} of {seat}, which is not legal, gave {refused:?}"))?;
    ensure(state == *episode.state(), || "the state has changed")?;
    ensure(chance.usage() == episode.random_source().usage(), || "the random source was used")
}

pub(super) fn views_keep_to_their_layout<G: Game>(episode: &Episode<G>) -> CheckResult {
    let (game, info) = (episode.game(), episode.game().info());
    for viewer in Viewer::all(info.seats) {
        let layout = info.layout_for(viewer);
        let [mut view, mut again] = [0x00, 0xff].map(|byte| vec![byte; layout.bytes()]);
        game.view(episode.state(), viewer, &mut view);
        game.view(episode.state(), viewer, &mut again);
        if let Some(at) = view.iter().zip(&again).position(|bytes| bytes == (&0x00, &0xff)) {
            return Err(format!("byte {at} of the view of {viewer} is not overwritten"));
        }
        layout.check(&view).map_err(|broken| format!("the view of {viewer}: {broken}"))?;
    }
    Ok(())
}

pub(super) fn check_pure<G: Game>(episode: &Episode<G>, rng: &RngStream) -> CheckResult {
    let (game, state) = (&**episode.game(), episode.state());
    // Each ply checks one seat or the public, because sampling may take long.
    let whose = episode.ply() % (u32::from(game.info().seats) + 1);
    let seat = u8::try_from(whose).ok().filter(|&number| number < game.info().seats).map(Seat::new);
    let viewer = seat.map_or(Viewer::Public, Viewer::Seat);
    let is_equal = ViewerSnapshot::of(game, state, viewer) == ViewerSnapshot::of(game, state, viewer);
    ensure(is_equal, || format!("two calls show {viewer} different positions"))?;
    let Some(seat) = seat else { return Ok(()) };
    let [sample, again] = [0; 2].map(|_| {
        let (mut state, mut rng) = (*state, rng.clone());
        game.resample(&mut state, seat, &mut rng);
        (state, rng.words())
    });
    ensure(sample == again, || format!("resample for {seat} gives another state for equal random words"))
}

pub(super) fn resample_keeps_what_its_seat_is_shown<G: Game>(
    episode: &Episode<G>,
    rng: &mut RngStream,
    varied: &mut SeatSet,
) -> CheckResult {
    let game = &**episode.game();
    for seat in seats(episode) {
        let sample = determinize(episode, seat, rng);
        if sample != *episode.state() {
            varied.insert(seat);
        }
        game.audit(&sample).map_err(|broken| format!("a sample for {seat}: {broken}\n{sample:?}"))?;
        for viewer in [Viewer::Seat(seat), Viewer::Public] {
            let (drawn, real) = (
                ViewerSnapshot::of(game, &sample, viewer),
                ViewerSnapshot::of(game, episode.state(), viewer),
            );
            ensure(drawn == real, || {
                let difference = drawn.difference(&real, game.info().layout_for(viewer));
                format!("a sample for {seat} shows {viewer} {difference}")
            })?;
        }
    }
    Ok(())
}

/// Returns a state that `seat` cannot distinguish from the true one.
fn determinize<G: Game>(episode: &Episode<G>, seat: Seat, rng: &mut RngStream) -> G::State {
    let mut sample = *episode.state();
    episode.game().resample(&mut sample, seat, rng);
    sample
}

/// Checks that a seat gets the same samples from all states that it cannot distinguish.
pub(super) fn check_sample_depends_on_knowledge_only<G: Game>(
    episode: &Episode<G>,
    rng: &mut RngStream,
) -> CheckResult {
    let game = &**episode.game();
    for seat in seats(episode) {
        let mut other = determinize(episode, seat, rng);
        game.resample(&mut other, seat, &mut rng.clone());
        let sample = determinize(episode, seat, &mut rng.clone());
        ensure(sample == other, || {
            format!(
                "{seat} cannot distinguish two states, but a sample of one is {sample:?}, of the other {other:?}"
            )
        })?;
    }
    Ok(())
}

pub(super) fn audit_holds_after_a_sample<G: Game>(episode: &Episode<G>, rng: &mut RngStream) -> CheckResult {
    let game = &**episode.game();
    for seat in game.pending(episode.state()).iter() {
        let mut sample = determinize(episode, seat, rng);
        let action = rng.draw(&mut game.legal(&sample, seat));
        let mut chance = RandomSource::seeded(rng.next_seed(), G::TYPE.streams.len());
        apply(game, &mut sample, seat, action.into(), &mut chance).expect("a legal action");
        game.audit(&sample)
            .map_err(|broken| format!("after action {action} of {seat} in a sample: {broken}\n{sample:?}"))?;
    }
    Ok(())
}

/// What playouts read, which `reduce_for_playouts` must not change: legal actions and value for each seat, and the
/// outcome.
#[derive(Debug, PartialEq)]
pub(super) struct PlayoutAnswers {
    seats: Vec<(ActionSet, Option<i32>)>,
    outcome: Option<Outcome>,
}

impl PlayoutAnswers {
    pub(super) fn of<G: Estimate>(game: &G, state: &G::State) -> Self {
        let of = |seat| (game.legal(state, seat), game.value(state, seat));
        Self { seats: Seat::all(game.info().seats).map(of).collect(), outcome: game.outcome(state) }
    }
}

pub(super) fn check_reduced_samples<G: Estimate>(episode: &Episode<G>, rng: &RngStream) -> CheckResult {
    let game = &**episode.game();
    for seat in episode.pending().iter() {
        let mut reduced = *episode.state();
        game.reduce_for_playouts(&mut reduced);
        let [full, reduced] = [*episode.state(), reduced].map(|mut sample| {
            let mut rng = rng.clone();
            game.resample(&mut sample, seat, &mut rng);
            let action = rng.draw(&mut game.legal(&sample, seat));
            let mut chance = RandomSource::seeded(rng.next_seed(), G::TYPE.streams.len());
            apply(game, &mut sample, seat, action.into(), &mut chance).expect("a legal action");
            (action, PlayoutAnswers::of(game, &sample), rng.words(), chance.usage())
        });
        ensure(full == reduced, || {
            format!("after reduce_for_playouts, a sample for {seat} leads to {reduced:?}, not {full:?}")
        })?;
    }
    Ok(())
}

/// The position after some choices, and the random words used.
type Reached<G> = (<G as Setup>::State, Vec<u64>);

fn reach<G: Game>(episode: &Episode<G>, choices: &[(Seat, u8)]) -> Result<Reached<G>, String> {
    let (mut state, mut chance): (_, RandomSource) = (*episode.state(), episode.random_source().clone());
    for &(seat, action) in choices {
        let played = apply(&**episode.game(), &mut state, seat, action.into(), &mut chance);
        played.map_err(|refused| format!("a choice makes a simultaneous choice illegal: {refused}"))?;
    }
    Ok((state, chance.usage()))
}

/// Checks that the order of the choices of any two pending seats makes no difference.
pub(super) fn commits_commute<G: Game>(episode: &Episode<G>, rng: &mut RngStream) -> CheckResult {
    let pending: Vec<Seat> = episode.pending().iter().collect();
    for (at, &first) in pending.iter().enumerate() {
        for &second in &pending[at + 1..] {
            let choose =
                |seat, rng: &mut RngStream| rng.draw(&mut episode.game().legal(episode.state(), seat));
            let (one, other) = ((first, choose(first, rng)), (second, choose(second, rng)));
            let is_equal = reach(episode, &[one, other])? == reach(episode, &[other, one])?;
            ensure(is_equal, || format!("the order of the choices of {first} and {second} matters"))?;
        }
    }
    Ok(())
}

/// Checks that two choices of one seat look the same to all other viewers while other decisions are pending.
pub(super) fn commits_stay_hidden<G: Game>(episode: &Episode<G>, rng: &mut RngStream) -> CheckResult {
    let game = &**episode.game();
    let pending = episode.pending();
    if pending.len() < 2 {
        return Ok(());
    }
    for seat in pending.iter() {
        let mut legal = game.legal(episode.state(), seat);
        if legal.len() < 2 {
            continue;
        }
        let (one, other) = (rng.draw(&mut legal), rng.draw(&mut legal));
        let (one, other) = (reach(episode, &[(seat, one)])?.0, reach(episode, &[(seat, other)])?.0);
        for watcher in Viewer::all(game.info().seats).filter(|watcher| !watcher.is_seat(seat)) {
            let (one, other) =
                (ViewerSnapshot::of(game, &one, watcher), ViewerSnapshot::of(game, &other, watcher));
            ensure(one == other, || format!("two choices of {seat} show {watcher} {one:?} or {other:?}"))?;
        }
    }
    Ok(())
}

pub(super) fn a_restored_position_is_equal<G: Game>(episode: &Episode<G>) -> CheckResult {
    let restored = Episode::restore(Arc::clone(episode.game()), &episode.save())?;
    ensure(restored.state() == episode.state(), || "the restored state differs")?;
    ensure(restored.digest() == episode.digest(), || "the restored episode has another digest")
}

pub(super) fn the_state_is_small<G: Game>(episode: &Episode<G>) -> CheckResult {
    let bytes = borsh::to_vec(episode.state()).expect("writing to memory does not fail").len();
    ensure(bytes <= MAX_STATE_BYTES, || format!("{bytes} bytes are more than {MAX_STATE_BYTES}"))
}

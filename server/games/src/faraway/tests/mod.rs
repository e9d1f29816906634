//! Tests of the clauses in `docs/rules/faraway.md`. Each test cites the clauses it covers.

mod catalogue;
mod course;
mod ends;
mod histories;
mod knowledge;
mod quests;
mod sanctuaries;
mod setup;
mod shortage;
mod texts;
mod walk;

use std::sync::Arc;

use boardwire_kernel::{Choices, Components, Episode, RandomSource, RngStream, Seat, Setup, Views, testkit};

use super::{Action, Catalogue, Faraway, Phase, RegionId, SanctuaryId, State};

const VARIANTS: [&str; 2] = ["basic", "advanced"];

fn table(seats: u8, variant: &str) -> Arc<Faraway> {
    testkit::table(seats, &[("variant", variant)])
}

fn catalogue() -> Catalogue {
    Catalogue::read(Faraway::TYPE.catalogue).expect("the catalogue is valid")
}

fn seat(number: u8) -> Seat {
    Seat::new(number)
}

fn region(id: u8) -> Action {
    Action::Region(RegionId::new(id))
}

fn sanctuary(id: u8) -> Action {
    Action::Sanctuary(SanctuaryId::new(id))
}

/// Returns the regions of a seat's line.
fn line(state: &State, number: u8) -> Vec<u8> {
    state.line(seat(number)).map(RegionId::get).collect()
}

/// Returns the sanctuaries a seat has placed.
fn placed(state: &State, number: u8) -> Vec<u8> {
    state.placed[seat(number)].iter().flatten().map(|id| id.get()).collect()
}

/// Starts a game whose decks begin with these cards and continue in ascending order.
fn scripted(seats: u8, variant: &str, regions: &[u8], sanctuaries: &[u8]) -> Episode<Faraway> {
    let whole = |first: &[u8], last: u8| -> Vec<u8> {
        let rest = (1..=last).filter(|id| !first.contains(id));
        first.iter().copied().chain(rest).collect()
    };
    let script = [whole(regions, super::REGION_COUNT), whole(sanctuaries, super::SANCTUARY_COUNT)];
    Episode::start(table(seats, variant), RandomSource::scripted(script))
}

fn play(episode: &mut Episode<Faraway>, number: u8, action: Action) {
    let label = format!("seat {number} {action:?}\n{:?}", episode.state());
    episode.apply(seat(number), action.index().into()).expect(&label);
}

/// All seats explore these regions, in seat order.
fn explore(episode: &mut Episode<Faraway>, regions: &[u8]) {
    for (number, &id) in (0..).zip(regions) {
        play(episode, number, region(id));
    }
}

/// Plays the lowest legal action of the lowest pending seat until `done` returns true.
fn play_on(episode: &mut Episode<Faraway>, done: impl Fn(&State) -> bool) {
    while !done(episode.state()) {
        let lowest = episode.pending().lowest().expect("not over");
        let action = episode.game().legal(episode.state(), lowest).lowest().expect("a choice");
        episode.apply(lowest, action.into()).expect("a legal action is accepted");
    }
}

/// Chooses an action for a climbing seat: regions just longer than its last one, and cards with clues first.
fn climbing_action(game: &Faraway, state: &State, number: Seat) -> u8 {
    let last = state.line(number).next_back();
    let legal = game.legal(state, number);
    let rank = |index: &u8| match Action::at(*index).expect("legal actions exist") {
        Action::Region(id) if Some(id) > last => (0, 1 - game.region(id).clues().min(1), id.get()),
        Action::Region(id) => (1, 0, if state.phase == Phase::Take { 69 - id.get() } else { id.get() }),
        Action::Sanctuary(id) => (0, 1 - game.sanctuary(id).clues(), id.get()),
    };
    legal.iter().min_by_key(rank).expect("a pending seat has an action")
}

/// Plays a whole game in which all seats climb. Returned sanctuaries are dealt again, and the deck runs out.
fn climbing_game(
    game: &Arc<Faraway>,
    seed: u64,
    mut before: impl FnMut(&Episode<Faraway>),
) -> Episode<Faraway> {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng = RngStream::new(seed, boardwire_kernel::BOT_STREAM);
    while let Some(number) = episode.pending().lowest() {
        before(&episode);
        let action = match rng.below(10) {
            0 => rng.draw(&mut game.legal(episode.state(), number)),
            _ => climbing_action(game, episode.state(), number),
        };
        episode.apply(number, action.into()).expect("a legal action is accepted");
    }
    episode
}

/// Returns the fame of a line of regions with sanctuaries.
fn fame(line: &[u8], sanctuaries: &[u8]) -> super::Fame {
    super::scoring::fame(&catalogue(), line, sanctuaries)
}

/// Returns one field of a seat's observation.
fn field(game: &Faraway, state: &State, number: u8, name: &str) -> Vec<u8> {
    let layout = &game.info().layout;
    let mut view = vec![0; layout.bytes()];
    game.view(state, seat(number).into(), &mut view);
    let found = layout.with_offsets().find(|(_, field)| field.name == name);
    let (offset, field) = found.expect("a known field");
    view[offset..offset + field.bytes()].to_vec()
}

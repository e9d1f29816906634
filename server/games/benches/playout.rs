//! How many decisions a second the rules serve on one core, without any wire.
//!
//! Every game of the registry plays at random at its fewest and its most seats. At every decision the legal set,
//! the view of the acting seat and the mask are made, as a server would make them. A row is the median of
//! several runs; `--json` prints a row a line, for `bench/run`.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a measurement reads a clock and its arguments; the rules it measures do not"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_games::{Recorded, Registry, Visitor};
use boardwire_kernel::{BOT_STREAM, Dice, Episode, Game, Loaded, set_up};

/// How long one run plays, at least.
const RUN: Duration = Duration::from_millis(800);
/// The runs of a row, an odd number.
const RUNS: usize = 7;

/// What one row found.
struct Row {
    game: &'static str,
    seats: u8,
    view_bytes: usize,
    /// Decisions a second of every run, ascending.
    runs: Vec<u64>,
}

fn main() {
    let json = std::env::args().any(|argument| argument == "--json");
    let registry = Registry::load(|_| None).expect("the catalogues compiled in are valid");
    for id in Registry::IDS {
        for row in registry.visit(id, Measure).expect("the registry knows its ids") {
            print(&row, json);
        }
    }
}

fn print(row: &Row, json: bool) {
    let Row { game, seats, view_bytes, runs } = row;
    let median = runs[runs.len() / 2];
    if json {
        let row = serde_json::json!({
            "row": format!("engine {game} {seats} seats"),
            "figure": median,
            "unit": "decisions/s",
            "quartiles": [runs[runs.len() / 4], runs[runs.len() * 3 / 4]],
            "view_bytes": view_bytes,
        });
        println!("{row}");
    } else {
        let (least, most) = (runs[0], runs[runs.len() - 1]);
        println!(
            "{game:15} {seats} seats {median:9} decisions/s ({least} to {most}), view {view_bytes} bytes"
        );
    }
}

/// Measures a game at its fewest and its most seats.
struct Measure;

impl Visitor for Measure {
    type Output = Vec<Row>;

    fn visit<G: Recorded>(self, catalogue: &Arc<Loaded<G::Catalogue>>) -> Vec<Row> {
        let mut seats = vec![*G::TITLE.seats.start(), *G::TITLE.seats.end()];
        seats.dedup();
        seats.into_iter().map(|seats| measure::<G>(catalogue, seats)).collect()
    }
}

fn measure<G: Game>(catalogue: &Arc<Loaded<G::Catalogue>>, seats: u8) -> Row {
    let game = set_up::<G>(Arc::clone(catalogue), seats.into(), []).expect("the title names these seats");
    let game = Arc::new(game);
    let mut seeds = 0..;
    // The first run warms up and is not counted.
    let mut runs: Vec<u64> = (0..=RUNS).map(|_| run(&game, &mut seeds)).skip(1).collect();
    runs.sort_unstable();
    Row { game: G::TITLE.id, seats, view_bytes: game.info().layout.bytes(), runs }
}

/// Plays whole games for a while; gives the decisions a second.
fn run<G: Game>(game: &Arc<G>, seeds: &mut impl Iterator<Item = u64>) -> u64 {
    let mut view = vec![0; game.info().layout.bytes()];
    let mut mask = vec![0; game.info().actions.mask_bytes()];
    let (mut decisions, start) = (0_u128, Instant::now());
    loop {
        let seed = seeds.next().expect("there are seeds enough");
        decisions += u128::from(play(game, seed, &mut view, &mut mask));
        let passed = start.elapsed();
        if passed >= RUN {
            return u64::try_from(decisions * 1_000_000_000 / passed.as_nanos()).unwrap_or(u64::MAX);
        }
    }
}

/// Plays one game from its deal to its outcome; gives the decisions it took.
fn play<G: Game>(game: &Arc<G>, seed: u64, view: &mut [u8], mask: &mut [u8]) -> u32 {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut dice = Dice::new(seed, BOT_STREAM);
    while let Some(seat) = episode.pending().lowest() {
        let mut legal = game.legal(episode.state(), seat);
        game.view(episode.state(), seat, view);
        legal.write_bits(mask);
        black_box((&view, &mask));
        let action = dice.draw(&mut legal);
        episode.apply(seat, action.into()).expect("a legal action is accepted");
    }
    black_box(episode.outcome());
    episode.ply()
}

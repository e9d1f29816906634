//! Measures the decisions per second of the rules on one core, without transport.
//!
//! It plays random games of every game at its fewest and its most seats. At every decision it computes the legal set, the
//! view of the acting seat and the mask, as a server does. A row is the median of several runs. `--json` prints one row
//! per line, for `bench/run`.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a measurement reads a clock and its arguments; the rules it measures do not"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{BOT_STREAM, Episode, Estimate, Game, RngStream, testkit};

/// The minimum duration of one run.
const RUN: Duration = Duration::from_millis(800);
/// The number of runs of a row; it must be odd.
const RUNS: usize = 7;

struct Row {
    game: &'static str,
    seats: u8,
    view_bytes: usize,
    /// Decisions per second of wall-clock time, one value per run.
    per_wall_second: Vec<u64>,
    /// Decisions per second of CPU time, one value per run. It is empty if the system does not report CPU time.
    per_cpu_second: Vec<u64>,
}

struct Run {
    decisions: u128,
    elapsed_nanos: u128,
    cpu_nanos: Option<u128>,
}

fn main() {
    let json = std::env::args().any(|argument| argument == "--json");
    if let Some(game) = std::env::args().skip_while(|argument| argument != "--profile").nth(1) {
        return visit(&game, Profile).expect("`--profile` is followed by the id of a game");
    }
    for id in IDS {
        for row in visit(id, MeasurePlayouts).expect("the registry knows its ids") {
            print(&row, json);
        }
    }
}

fn print(row: &Row, json: bool) {
    let Row { game, seats, view_bytes, per_wall_second, per_cpu_second } = row;
    for (what, runs) in [("", per_wall_second), (", on core", per_cpu_second)] {
        let mut runs = runs.clone();
        runs.sort_unstable();
        let quartile = |number: usize| runs.get(runs.len() * number / 4);
        let (Some(low), Some(figure), Some(high)) = (quartile(1), quartile(2), quartile(3)) else { continue };
        let (row, unit) = (format!("engine {game} {seats} seats{what}"), "decisions/s");
        if json {
            let quartiles = [low, high];
            let row = serde_json::json!({
                "row": row, "figure": figure, "quartiles": quartiles, "unit": unit, "view_bytes": view_bytes,
            });
            println!("{row}");
        } else {
            println!("{row:36} {figure:9} {unit} ({low} to {high}), view {view_bytes} bytes");
        }
    }
}

/// Plays 4000 games at the fewest seats, for a profiler that counts instructions.
struct Profile;

impl Visitor for Profile {
    type Output = ();

    fn visit<G: Estimate>(self) {
        let seats = *G::TYPE.seats.start();
        let game = testkit::table::<G>(seats, &[]);
        let mut view = vec![0; game.info().layout.bytes()];
        let mut mask = vec![0; game.info().actions.mask_bytes()];
        let decisions: u32 = (0..4000).map(|seed| play(&game, seed, &mut view, &mut mask)).sum();
        println!("{decisions} decisions");
    }
}

/// Measures a game at its fewest and its most seats.
struct MeasurePlayouts;

impl Visitor for MeasurePlayouts {
    type Output = Vec<Row>;

    fn visit<G: Estimate>(self) -> Vec<Row> {
        let mut seats = vec![*G::TYPE.seats.start(), *G::TYPE.seats.end()];
        seats.dedup();
        seats.into_iter().map(|seats| measure::<G>(seats)).collect()
    }
}

fn measure<G: Game>(seats: u8) -> Row {
    let game = testkit::table::<G>(seats, &[]);
    let mut seeds = 0..;
    // The first run is a warm-up and is not counted.
    let runs: Vec<Run> = (0..=RUNS).map(|_| run(&game, &mut seeds)).skip(1).collect();
    let rate = |decisions: u128, nanos: u128| u64::try_from(decisions * 1_000_000_000 / nanos.max(1));
    Row {
        game: G::TYPE.id,
        seats,
        view_bytes: game.info().layout.bytes(),
        per_wall_second: runs.iter().filter_map(|run| rate(run.decisions, run.elapsed_nanos).ok()).collect(),
        per_cpu_second: runs.iter().filter_map(|run| rate(run.decisions, run.cpu_nanos?).ok()).collect(),
    }
}

/// Returns the CPU time of this thread in nanoseconds, if the system reports it (Linux).
fn thread_cpu_nanos() -> Option<u128> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedstat.split_whitespace().next()?.parse().ok()
}

/// Plays whole games until the run has its minimum duration.
fn run<G: Game>(game: &Arc<G>, seeds: &mut impl Iterator<Item = u64>) -> Run {
    let mut view = vec![0; game.info().layout.bytes()];
    let mut mask = vec![0; game.info().actions.mask_bytes()];
    let (mut decisions, before, start) = (0, thread_cpu_nanos(), Instant::now());
    loop {
        let seed = seeds.next().expect("there are seeds enough");
        decisions += u128::from(play(game, seed, &mut view, &mut mask));
        let elapsed = start.elapsed();
        if elapsed >= RUN {
            let cpu_nanos = thread_cpu_nanos().zip(before).map(|(after, before)| after - before);
            return Run { decisions, elapsed_nanos: elapsed.as_nanos(), cpu_nanos };
        }
    }
}

/// Plays one game from its deal to its outcome. Returns the number of decisions.
fn play<G: Game>(game: &Arc<G>, seed: u64, view: &mut [u8], mask: &mut [u8]) -> u32 {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng = RngStream::new(seed, BOT_STREAM);
    while let Some(seat) = episode.pending().lowest() {
        let mut legal = game.legal(episode.state(), seat);
        game.view(episode.state(), seat.into(), view);
        legal.write_bits(mask);
        black_box((&view, &mask));
        let action = rng.draw(&mut legal);
        episode.apply(seat, action.into()).expect("a legal action is accepted");
    }
    black_box(episode.outcome());
    episode.ply()
}

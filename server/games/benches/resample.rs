//! Measures the time to sample a state for a seat (`resample`), on one core.
//!
//! The positions come from random games of every game at every seat count. It samples each of them for every seat.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a measurement reads a clock; the rules it measures do not"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{BOT_STREAM, Episode, Estimate, Game, RESAMPLE_STREAM, RngStream, Seat, testkit};

/// The number of random games.
const GAMES: u64 = 20;
/// The number of states that a run samples for each position and seat.
const SAMPLES: u32 = 4;
/// The number of runs. The result is the median run.
const RUNS: usize = 5;

fn main() {
    for id in IDS
        .iter()
        .filter(|id| std::env::args().nth(1).is_none_or(|only| only.starts_with("--") || only == **id))
    {
        for row in visit(id, MeasureResampling).expect("the registry knows its ids") {
            println!("{row}");
        }
    }
}

struct MeasureResampling;

impl Visitor for MeasureResampling {
    type Output = Vec<String>;

    fn visit<G: Estimate>(self) -> Vec<String> {
        G::TYPE.seats.map(|seats| measure::<G>(seats)).collect()
    }
}

fn measure<G: Game>(seats: u8) -> String {
    let game = testkit::table::<G>(seats, &[]);
    let mut positions = Vec::new();
    for seed in 0..GAMES {
        let mut episode = Episode::seeded(Arc::clone(&game), seed);
        let mut rng = RngStream::new(seed, BOT_STREAM);
        while let Some(seat) = episode.pending().lowest() {
            positions.push(*episode.state());
            let action = rng.draw(&mut game.legal(episode.state(), seat));
            episode.apply(seat, action.into()).expect("a legal action is accepted");
        }
    }
    let mut rng = RngStream::new(1, RESAMPLE_STREAM);
    let mut runs: Vec<u128> = (0..RUNS).map(|_| run(&game, &positions, &mut rng)).collect();
    runs.sort_unstable();
    format!("resample {} {seats} seats: {} ns a state", G::TYPE.id, runs[RUNS / 2])
}

fn run<G: Game>(game: &Arc<G>, positions: &[G::State], rng: &mut RngStream) -> u128 {
    let (mut samples, start, before) = (0, Instant::now(), thread_cpu_nanos());
    for position in positions {
        for seat in Seat::all(game.info().seats) {
            for _ in 0..SAMPLES {
                let mut sample = *position;
                game.resample(&mut sample, seat, rng);
                black_box(&sample);
                samples += 1;
            }
        }
    }
    let cpu_nanos = thread_cpu_nanos().zip(before).map(|(after, before)| after - before);
    cpu_nanos.unwrap_or(start.elapsed().as_nanos()) / samples
}

/// Returns the CPU time of this thread in nanoseconds, if the system reports it (Linux).
fn thread_cpu_nanos() -> Option<u128> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedstat.split_whitespace().next()?.parse().ok()
}

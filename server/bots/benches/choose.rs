//! Measures how many decisions per second bots make on one core.
//!
//! A bot plays every seat of every registered game, at the minimum number of seats. A row is the median of several runs.
//! `--json` prints one row per line, for `bench/run`. Game ids as arguments restrict the benchmark to these games.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a measurement reads a clock and its arguments; the bots it measures do not"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_bots::{Bot, BotDecision, DEFAULT_DETERMINIZATIONS};
use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{BOT_STREAM, Episode, Estimate, RngStream, testkit};

/// The minimum duration of one run.
const RUN: Duration = Duration::from_millis(800);
/// The number of runs per row: odd.
const RUNS: usize = 5;
/// The bots. The search has several numbers of playouts, because they determine its cost.
const BOTS: [Bot; 3] = [
    Bot::Greedy { determinizations: DEFAULT_DETERMINIZATIONS },
    Bot::Search { playouts: 10 },
    Bot::Search { playouts: 160 },
];

fn main() {
    let json = std::env::args().any(|argument| argument == "--json");
    let only: Vec<String> = std::env::args().filter(|argument| IDS.contains(&argument.as_str())).collect();
    let games: Vec<&str> =
        IDS.iter().copied().filter(|id| only.is_empty() || only.iter().any(|only| only == id)).collect();
    for bot in &BOTS {
        for id in &games {
            let mut runs = visit(id, BenchmarkBot(bot)).expect("the registry knows its ids");
            runs.sort_unstable();
            let (low, figure, high) = (runs[RUNS / 4], runs[RUNS / 2], runs[RUNS * 3 / 4]);
            let row = format!("{bot} {id} 2 seats");
            if json {
                let unit = "decisions/s";
                println!(
                    "{}",
                    serde_json::json!({"row": row, "figure": figure, "quartiles": [low, high], "unit": unit})
                );
            } else {
                println!("{row:36} {figure:9} decisions/s ({low} to {high})");
            }
        }
    }
}

/// Measures a bot in a game at its minimum number of seats. Returns the decisions per second of each run.
struct BenchmarkBot<'a>(&'a Bot);

impl Visitor for BenchmarkBot<'_> {
    type Output = Vec<u64>;

    fn visit<G: Estimate>(self) -> Vec<u64> {
        let seats = *G::TYPE.seats.start();
        let game = testkit::table::<G>(seats, &[]);
        let mut seeds = 0..;
        // The first run is a warm-up and is not counted.
        let runs = (0..=RUNS).map(|_| {
            let (mut decisions, start) = (0, Instant::now());
            while start.elapsed() < RUN {
                decisions += u128::from(play(&game, self.0, seeds.next().expect("there are seeds enough")));
            }
            u64::try_from(decisions * 1_000_000_000 / start.elapsed().as_nanos().max(1)).unwrap_or(0)
        });
        runs.skip(1).collect()
    }
}

/// Plays one game between bots. Returns the number of decisions.
fn play<G: Estimate>(game: &Arc<G>, bot: &Bot, seed: u64) -> u32 {
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng: Vec<RngStream> =
        (0..u64::from(game.info().seats)).map(|seat| RngStream::new(seed, BOT_STREAM + seat)).collect();
    while let Some(seat) = episode.pending().lowest() {
        let decision = BotDecision::new(bot, episode.knowledge(seat), rng[seat.index()].clone());
        let choice = decision.run_to_end().expect("these bots always choose");
        episode.apply(seat, choice.action.into()).expect("a bot's choice is legal");
        rng[seat.index()] = choice.rng;
    }
    episode.ply()
}

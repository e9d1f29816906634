//! How often greedy beats random, as data: `tests/strength.tsv`, a line for every game.
//!
//! Greedy takes each seat in turn; a shared victory is shared.
#![expect(clippy::disallowed_methods, reason = "the table is a file")]

use std::path::Path;
use std::sync::Arc;

use boardwire_bots::{Bot, DEFAULT_WORLDS, Thought};
use boardwire_games::{Registered, Registry, Visitor};
use boardwire_kernel::{BOT_STREAM, Episode, Loaded, RngStream, Seat, testkit};

const GREEDY: Bot = Bot::Greedy { worlds: DEFAULT_WORLDS };

struct Strength {
    seats: u8,
    matches: u64,
}

impl Visitor for Strength {
    /// Greedy's wins in hundredths of a percent of all matches.
    type Output = u64;

    fn visit<G: Registered>(self, _: &Arc<Loaded<G::Catalogue>>) -> u64 {
        let game = testkit::table::<G>(self.seats, &[]);
        let mut wins = 0;
        for seed in 0..self.matches {
            let greedy = Seat::new(u8::try_from(seed % u64::from(self.seats)).expect("a seat"));
            let mut episode = Episode::seeded(Arc::clone(&game), seed);
            let mut rng: Vec<RngStream> = (BOT_STREAM..)
                .zip(Seat::all(self.seats))
                .map(|(stream, _)| RngStream::new(seed, stream))
                .collect();
            while let Some(seat) = episode.pending().lowest() {
                let bot = if seat == greedy { GREEDY } else { Bot::Random };
                let own = &mut rng[seat.index()];
                let choice = Thought::new(bot, episode.knowledge(seat), own.clone()).finish();
                *own = choice.rng;
                episode.apply(seat, choice.action.into()).expect("bots choose legal actions");
            }
            if let Some(outcome) = episode.outcome()
                && outcome.is_winner(greedy)
            {
                wins += 10_000 / Seat::all(self.seats).filter(|&seat| outcome.is_winner(seat)).count() as u64;
            }
        }
        wins / self.matches
    }
}

#[test]
fn greedy_beats_random_as_often_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/strength.tsv");
    let table = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let registry = Registry::load(|_| None).expect("the catalogues are valid");
    let mut tested = Vec::new();
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let number = |at: usize| cells[at].parse::<u64>().expect("a number");
        let strength = Strength { seats: u8::try_from(number(1)).expect("few seats"), matches: number(2) };
        let percent = registry.visit(cells[0], strength).expect("a known game");
        let least = 100 * number(3);
        assert!(percent >= least, "{row}: greedy won {}.{:02} %", percent / 100, percent % 100);
        tested.push(cells[0].to_owned());
    }
    assert_eq!(tested, Registry::IDS, "a game has no line in tests/strength.tsv");
}

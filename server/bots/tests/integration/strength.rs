//! Checks how often bots beat other bots: `tests/strength.tsv` has one line for every pair of bots in a game.
//!
//! The bot takes each seat of a deal in turn, against the other bot at all other seats. Tied winners share the victory.
#![expect(clippy::disallowed_methods, reason = "the table is a file")]

use std::path::Path;
use std::sync::Arc;

use boardwire_bots::{Bot, BotDecision};
use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{BOT_STREAM, Episode, Estimate, RngStream, Seat, testkit};

struct Strength {
    bot: Bot,
    against: Bot,
    seats: u8,
    deals: u64,
}

impl Visitor for Strength {
    /// The bot's wins in hundredths of a percent of all matches.
    type Output = u64;

    fn visit<G: Estimate>(self) -> u64 {
        let game = testkit::table::<G>(self.seats, &[]);
        let mut wins = 0;
        for (seed, own) in (0..self.deals).flat_map(|seed| Seat::all(self.seats).map(move |own| (seed, own)))
        {
            let mut episode = Episode::seeded(Arc::clone(&game), seed);
            let mut rng: Vec<RngStream> = (BOT_STREAM..)
                .zip(Seat::all(self.seats))
                .map(|(stream, _)| RngStream::new(seed, stream))
                .collect();
            while let Some(seat) = episode.pending().lowest() {
                let bot = if seat == own { &self.bot } else { &self.against };
                let decision = BotDecision::new(bot, episode.knowledge(seat), rng[seat.index()].clone());
                let choice = decision.run_to_end().expect("these bots always choose");
                rng[seat.index()] = choice.rng;
                episode.apply(seat, choice.action.into()).expect("bots choose legal actions");
            }
            if let Some(outcome) = episode.outcome()
                && outcome.is_winner(own)
            {
                wins += 10_000 / Seat::all(self.seats).filter(|&seat| outcome.is_winner(seat)).count() as u64;
            }
        }
        wins / (self.deals * u64::from(self.seats))
    }
}

#[test]
fn bots_win_as_often_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/strength.tsv");
    let table = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut tested = Vec::new();
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let number = |at: usize| cells[at].parse::<u64>().expect("a number");
        let bot = |at: usize| cells[at].parse::<Bot>().expect("a bot");
        let seats = u8::try_from(number(3)).expect("few seats");
        let strength = Strength { bot: bot(1), against: bot(2), seats, deals: number(4) };
        let percent = visit(cells[0], strength).expect("a known game");
        let least = 100 * number(5);
        assert!(percent >= least, "{row}: it won {}.{:02} %", percent / 100, percent % 100);
        tested.push(cells[0].to_owned());
    }
    tested.dedup();
    assert_eq!(tested, IDS, "a game has no line in tests/strength.tsv");
}

//! Compares the choices of bots with `tests/golden/<game>/greedy.txt` and `mc.txt`. `make golden` rewrites these files.
//!
//! A change that makes estimates, sampled determinizations or playouts faster must not change a choice unnoticed.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use boardwire_bots::{Bot, Round};
use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{BOT_STREAM, Episode, Estimate, RngStream, Seat, testkit};

/// A bot at every seat, at the minimum number of seats. Fast bots also play at the maximum number.
struct Choices {
    bot: Bot,
    file: &'static str,
}

impl Visitor for Choices {
    type Output = (PathBuf, String);

    fn visit<G: Estimate>(self) -> Self::Output {
        let mut lines = String::new();
        let max_seats = if self.bot == SEARCH { G::TYPE.seats.start() } else { G::TYPE.seats.end() };
        for seats in BTreeSet::from([*G::TYPE.seats.start(), *max_seats]) {
            let game = testkit::table::<G>(seats, &[]);
            let mut episode = Episode::seeded(game, 11);
            let _ = writeln!(lines, "{seats} seats, {}", self.bot);
            let mut rng: Vec<RngStream> = Seat::all(seats)
                .map(|seat| RngStream::new(11, BOT_STREAM + u64::from(seat.number())))
                .collect();
            while !episode.pending().is_empty() {
                let due =
                    episode.pending().iter().map(|seat| (seat, self.bot.clone(), rng[seat.index()].clone()));
                let mut round = Round::new(&episode, due);
                while !round.advance().expect("these bots always choose") {}
                let mut choices = round.choices();
                choices.sort_by_key(|choice| choice.seat);
                for choice in choices {
                    let _ = write!(lines, "{}:{} ", choice.seat.number(), choice.action);
                    episode.apply(choice.seat, choice.action.into()).expect("a bot's choice is legal");
                    rng[choice.seat.index()] = choice.rng;
                }
            }
            let scores = episode.outcome().map(|outcome| outcome.scores().to_vec());
            let _ = writeln!(lines, "\nscores {scores:?}");
        }
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        (golden.join(G::TYPE.id).join(self.file), lines)
    }
}

const SEARCH: Bot = Bot::Search { playouts: 24 };

#[test]
fn greedy_bots_choose_as_in_the_golden_file() {
    agree(&Bot::Greedy { determinizations: 3 }, "greedy.txt");
}

#[test]
fn search_bots_choose_as_in_the_golden_file() {
    agree(&SEARCH, "mc.txt");
}

fn agree(bot: &Bot, file: &'static str) {
    let only = std::env::var("GAME").ok();
    for id in IDS.iter().filter(|id| only.as_deref().is_none_or(|only| only == **id)) {
        let (path, chosen) =
            visit(id, Choices { bot: bot.clone(), file }).expect("the registry knows its own ids");
        if std::env::var_os("BOARDWIRE_BLESS").is_some() {
            std::fs::write(&path, &chosen).expect("the golden can be written");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(chosen, golden, "{}", path.display());
    }
}

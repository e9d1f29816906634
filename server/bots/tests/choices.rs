//! What greedy bots choose: `tests/golden/<game>/greedy.txt`, written anew by `make golden`.
//!
//! Whoever makes estimates or drawn worlds faster must not change a choice without noticing.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boardwire_bots::{Bot, Round};
use boardwire_games::{Registered, Registry, Visitor};
use boardwire_kernel::{BOT_STREAM, Episode, Loaded, RngStream, Seat, testkit};

/// Worlds that each bot looks at.
const WORLDS: u32 = 3;

struct Choices;

impl Visitor for Choices {
    type Output = (PathBuf, String);

    fn visit<G: Registered>(self, _: &Arc<Loaded<G::Catalogue>>) -> Self::Output {
        let mut lines = String::new();
        for seats in [*G::TYPE.seats.start(), *G::TYPE.seats.end()] {
            let game = testkit::table::<G>(seats, &[]);
            let mut episode = Episode::seeded(game, 11);
            let _ = writeln!(lines, "{seats} seats, {}", Bot::Greedy { worlds: WORLDS });
            let mut rng: Vec<RngStream> = Seat::all(seats)
                .map(|seat| RngStream::new(11, BOT_STREAM + u64::from(seat.number())))
                .collect();
            while !episode.pending().is_empty() {
                let due = episode
                    .pending()
                    .iter()
                    .map(|seat| (seat, Bot::Greedy { worlds: WORLDS }, rng[seat.index()].clone()));
                let mut round = Round::new(&episode, due);
                while !round.advance() {}
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
        (golden.join(G::TYPE.id).join("greedy.txt"), lines)
    }
}

#[test]
fn greedy_bots_choose_what_they_chose() {
    let registry = Registry::load(|_| None).expect("the catalogues are valid");
    let only = std::env::var("GAME").ok();
    for id in Registry::IDS.iter().filter(|id| only.as_deref().is_none_or(|only| only == **id)) {
        let (path, chosen) = registry.visit(id, Choices).expect("the registry knows its own ids");
        if std::env::var_os("BOARDWIRE_BLESS").is_some() {
            std::fs::write(&path, &chosen).expect("the golden can be written");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(chosen, golden, "{}", path.display());
    }
}

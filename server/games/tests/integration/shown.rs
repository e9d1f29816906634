//! Golden digests of random games, `tests/golden/<game>/shown.txt`. `make golden` rewrites them.
//!
//! Each line is a table with one digest. It covers every view, text and legal set of every seat at every ply of a few
//! random games. A playthrough shows how one game reads; this test detects a byte that differs anywhere else.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{Digest, Episode, Estimate, Game, Seat, testkit};

/// The number of random games per table.
const GAMES: u64 = 5;

struct Digests;

impl Visitor for Digests {
    type Output = (PathBuf, String);

    fn visit<G: Estimate>(self) -> Self::Output {
        let mut lines = String::new();
        for game in testkit::every_table::<G>() {
            let options: Vec<_> = game.info().options.all().iter().map(|(_, value)| value.as_str()).collect();
            let games = (1..=GAMES).map(|seed| of_a_game(&game, seed).to_string());
            let digest = Digest::of_bytes(games.collect::<String>().as_bytes()).to_string();
            let _ = writeln!(lines, "{} {} {}", game.info().seats, options.join(" "), &digest[..32]);
        }
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        (golden.join(G::TYPE.id).join("shown.txt"), lines)
    }
}

/// Returns the digest of everything that all seats see in one random game.
fn of_a_game<G: Game>(game: &Arc<G>, seed: u64) -> Digest {
    let mut shown = Vec::new();
    let mut look = |episode: &Episode<G>| {
        for seat in Seat::all(game.info().seats) {
            let mut view = vec![0; game.info().layout.bytes()];
            game.view(episode.state(), seat.into(), &mut view);
            let mut text = String::new();
            game.text(episode.state(), seat.into(), &mut text).expect("writing to a string does not fail");
            let mut legal = [0; 32];
            game.legal(episode.state(), seat).write_bits(&mut legal);
            shown.extend_from_slice(&view);
            shown.extend_from_slice(text.as_bytes());
            shown.extend_from_slice(&legal);
        }
    };
    let end = testkit::random_game(game, seed, &mut look);
    look(&end);
    Digest::of_bytes(&shown)
}

/// The fields that are always zero in these random games, by game and field. A test of the game covers them.
const SELDOM: &[(&str, &str)] = &[("faraway", "owed")];

/// Finds the fields that hold only zeros in all random games, for every seat.
struct Empty;

impl Visitor for Empty {
    type Output = BTreeSet<&'static str>;

    fn visit<G: Estimate>(self) -> Self::Output {
        let (mut fields, mut written) = (BTreeSet::new(), BTreeSet::new());
        for game in testkit::every_table::<G>() {
            let layout = &game.info().layout;
            fields.extend(layout.fields.iter().map(|field| field.name));
            let mut view = vec![0; layout.bytes()];
            for seed in 1..=GAMES {
                testkit::random_game(&game, seed, |episode| {
                    for seat in Seat::all(game.info().seats) {
                        game.view(episode.state(), seat.into(), &mut view);
                        let fields = layout.with_offsets();
                        let shown = fields
                            .filter(|(at, field)| view[*at..][..field.bytes()].iter().any(|&byte| byte > 0));
                        written.extend(shown.map(|(_, field)| field.name));
                    }
                });
            }
        }
        &fields - &written
    }
}

#[test]
fn every_field_shows_something() {
    for id in IDS {
        let empty = visit(id, Empty).expect("the registry knows its own ids");
        let seldom = SELDOM.iter().filter(|(game, _)| *game == id).map(|&(_, field)| field).collect();
        assert_eq!(empty, seldom, "{id}");
    }
}

#[test]
fn random_games_show_what_they_showed() {
    let only = std::env::var("GAME").ok();
    for id in IDS.iter().filter(|id| only.as_deref().is_none_or(|only| only == **id)) {
        let (path, shown) = visit(id, Digests).expect("the registry knows its own ids");
        if std::env::var_os("BOARDWIRE_BLESS").is_some() {
            std::fs::write(&path, &shown).expect("the golden can be written");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(shown, golden, "{}", path.display());
    }
}

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
            let games = (1..=GAMES).map(|seed| digest_of_game(&game, seed).to_string());
            let digest = Digest::of_bytes(games.collect::<String>().as_bytes()).to_string();
            let _ = writeln!(lines, "{} {} {}", game.info().seats, options.join(" "), &digest[..32]);
        }
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        (golden.join(G::TYPE.id).join("shown.txt"), lines)
    }
}

/// Returns the digest of everything that all seats see in one random game.
fn digest_of_game<G: Game>(game: &Arc<G>, seed: u64) -> Digest {
    let mut bytes = Vec::new();
    let mut look = |episode: &Episode<G>| {
        for seat in Seat::all(game.info().seats) {
            let mut view = vec![0; game.info().layout.bytes()];
            game.view(episode.state(), seat.into(), &mut view);
            let mut text = String::new();
            game.text(episode.state(), seat.into(), &mut text).expect("writing to a string does not fail");
            let mut legal = [0; 32];
            game.legal(episode.state(), seat).write_bits(&mut legal);
            bytes.extend_from_slice(&view);
            bytes.extend_from_slice(text.as_bytes());
            bytes.extend_from_slice(&legal);
        }
    };
    let end = testkit::random_game(game, seed, &mut look);
    look(&end);
    Digest::of_bytes(&bytes)
}

/// The fields that are always zero in these random games, by game and field. A test of the game covers them.
const ALWAYS_ZERO: &[(&str, &str)] = &[("faraway", "owed")];

/// Finds the fields that hold only zeros in all random games, for every seat.
struct UnwrittenFields;

impl Visitor for UnwrittenFields {
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
                        let non_zero = fields
                            .filter(|(at, field)| view[*at..][..field.bytes()].iter().any(|&byte| byte > 0));
                        written.extend(non_zero.map(|(_, field)| field.name));
                    }
                });
            }
        }
        &fields - &written
    }
}

#[test]
fn every_field_is_written() {
    for id in IDS {
        let unwritten = visit(id, UnwrittenFields).expect("the registry knows its own ids");
        let always_zero =
            ALWAYS_ZERO.iter().filter(|(game, _)| *game == id).map(|&(_, field)| field).collect();
        assert_eq!(unwritten, always_zero, "{id}");
    }
}

#[test]
fn digests_of_random_games_equal_the_golden_file() {
    let only = std::env::var("GAME").ok();
    for id in IDS.iter().filter(|id| only.as_deref().is_none_or(|only| only == **id)) {
        let (path, digests) = visit(id, Digests).expect("the registry knows its own ids");
        if std::env::var_os("BOARDWIRE_BLESS").is_some() {
            std::fs::write(&path, &digests).expect("the golden can be written");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(digests, golden, "{}", path.display());
    }
}

//! Golden file of every kind of decision, `tests/golden/<game>/decisions.txt`. `make golden` rewrites it.
//!
//! A kind is the value of the view's first category field: the phase or the decision. Random games at the fewest and the
//! most seats run until many consecutive games show no new kind. The first time, text, view fields and legal actions
//! are recorded.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{Episode, Estimate, FieldKind, Game, Seat, testkit};

/// The search for kinds ends after this number of consecutive games without a new kind.
const MAX_GAMES_WITHOUT_NEW_KIND: u64 = 25;

struct Decisions;

impl Visitor for Decisions {
    type Output = (PathBuf, String);

    fn visit<G: Estimate>(self) -> Self::Output {
        let mut out = String::new();
        let mut kinds = BTreeSet::new();
        for game in testkit::every_table::<G>() {
            let seats = game.info().seats;
            if seats != *G::TYPE.seats.start() && seats != *G::TYPE.seats.end() {
                continue;
            }
            let (mut seed, mut last) = (1, 1);
            while seed < last + MAX_GAMES_WITHOUT_NEW_KIND {
                testkit::random_game(&game, seed, |episode| {
                    let seat = episode.pending().lowest().expect("a seat must decide");
                    let kind = kind(episode, seat);
                    if kinds.insert(kind.clone()) {
                        last = seed;
                        let ply = episode.ply();
                        let _ = writeln!(out, "== {kind} ({seats} seats, seed {seed}, ply {ply}, {seat})");
                        write_decision(&mut out, episode, seat);
                    }
                });
                seed += 1;
            }
        }
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        (golden.join(G::TYPE.id).join("decisions.txt"), out)
    }
}

/// Returns the phase or decision that the view of a seat shows.
fn kind<G: Game>(episode: &Episode<G>, seat: Seat) -> String {
    let (game, layout) = (episode.game(), &episode.game().info().layout);
    let mut view = vec![0; layout.bytes()];
    game.view(episode.state(), seat.into(), &mut view);
    let mut categories = layout.with_offsets().filter_map(|(offset, field)| match &field.kind {
        FieldKind::Category { names } if field.axes.is_empty() => names.get(usize::from(view[offset])),
        _ => None,
    });
    categories.next().expect("the view has a category field for the decision").clone()
}

/// Appends the text, the view and the legal actions of a seat to `out`.
fn write_decision<G: Game>(out: &mut String, episode: &Episode<G>, seat: Seat) {
    let (game, state) = (episode.game(), episode.state());
    game.text(state, seat.into(), out).expect("writing to a string does not fail");
    let layout = &game.info().layout;
    let mut view = vec![0; layout.bytes()];
    game.view(state, seat.into(), &mut view);
    for (offset, field) in layout.with_offsets() {
        let _ = write!(out, "{} ", field.name);
        for byte in &view[offset..offset + field.bytes()] {
            let _ = write!(out, "{byte:02x}");
        }
        out.push('\n');
    }
    let legal = game.legal(state, seat);
    let labels = legal.iter().filter_map(|action| game.info().actions.label(action));
    let _ = writeln!(out, "legal: {}\n", labels.collect::<Vec<_>>().join("; "));
}

#[test]
fn the_first_decision_of_every_kind_equals_the_golden_file() {
    let only = std::env::var("GAME").ok();
    for id in IDS.iter().filter(|id| only.as_deref().is_none_or(|only| only == **id)) {
        let (path, decisions) = visit(id, Decisions).expect("the registry knows its own ids");
        if std::env::var_os("BOARDWIRE_BLESS").is_some() {
            std::fs::write(&path, &decisions).expect("the golden can be written");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = decisions.lines().zip(golden.lines()).position(|(new, old)| new != old);
        let line = differs.map_or(golden.lines().count(), |line| line + 1);
        assert!(decisions == golden, "{} differs from line {line}", path.display());
    }
}

//! Golden playthroughs: one random game as text, for people to read and for tests to compare.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::{BOT_STREAM, Digest, Episode, Game, RngStream, Seat};

/// Returns one random game as text: a header, every action with the digest after it, and the result. It adds the
/// position at the start, at the start of every simultaneous phase and at the end. A position is the text and view of
/// the first seat, and the digests of the other views.
///
/// # Panics
/// When the game does not behave as [`Game`] requires.
#[must_use]
pub fn playthrough<G: Game>(game: &Arc<G>, seed: u64) -> String {
    let info = game.info();
    let mut out = String::new();
    let options: Vec<_> = info.options.all().iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _ = writeln!(out, "game {} rules {} seats {} seed {seed}", info.id, info.rules_version, info.seats);
    let _ =
        writeln!(out, "options {}\ncatalogue {}\nspec {}", options.join(" "), info.catalogue, info.digest());
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    let mut rng = RngStream::new(seed, BOT_STREAM);
    let _ = writeln!(out, "deal {}", episode.digest());
    let mut owed = 0;
    while let Some(seat) = episode.pending().lowest() {
        let now = episode.pending().len();
        if now > owed.max(1) || episode.ply() == 0 {
            position(&mut out, &episode);
        }
        owed = now;
        let action = rng.draw(&mut game.legal(episode.state(), seat));
        episode.apply(seat, action.into()).expect("a legal action is accepted");
        let label = info.actions.label(action).expect("a legal action has a label");
        let digest = episode.digest().to_string();
        let _ = writeln!(out, "{:>3} {} {label}  {}", episode.ply(), seat.number(), &digest[..16]);
    }
    position(&mut out, &episode);
    ending(&mut out, &episode);
    let _ = writeln!(out, "end {}", episode.digest());
    out
}

/// Writes scores, ranks and the sources of the points.
fn ending<G: Game>(out: &mut String, episode: &Episode<G>) {
    let Some(end) = episode.outcome() else {
        return out.push_str("truncated\n");
    };
    let _ = writeln!(out, "scores {:?} ranks {:?}", end.scores(), end.ranks());
    for seat in Seat::all(episode.game().info().seats) {
        let lines = episode.game().explain(episode.state(), seat);
        let lines: Vec<_> = lines.iter().map(|line| format!("{} {}", line.source, line.points)).collect();
        let _ = writeln!(out, "{seat}: {}", lines.join(", "));
    }
}

/// Writes the text of the first seat's position, its view in hexadecimal, and the digests of the other views.
///
/// People read a view byte by byte only after a change, and then one view is enough. The full views of five seats
/// would be most of the file.
fn position<G: Game>(out: &mut String, episode: &Episode<G>) {
    let game = episode.game();
    let _ = game.text(episode.state(), Seat::FIRST.into(), out);
    let mut view = vec![0; game.info().layout.bytes()];
    for seat in Seat::all(game.info().seats) {
        game.view(episode.state(), seat.into(), &mut view);
        let _ = write!(out, "view {} ", seat.number());
        if seat.number() == 0 {
            for byte in &view {
                let _ = write!(out, "{byte:02x}");
            }
        } else {
            let _ = write!(out, "{}", &Digest::of_bytes(&view).to_string()[..16]);
        }
        out.push('\n');
    }
}

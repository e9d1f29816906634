//! `conformance`: checks the games against scoring cases and recorded games from other sources.
//!
//! `conformance score GAME` answers scoring cases. `conformance replay GAME` plays whole games with given decks and
//! choices, and compares every fact in their records. Both read one JSON object per line and write one per line.
//! `docs/games/<game>.md` has the formats. The exit code is 1 if a line has an error or a difference.
//!
//! [`play`] replays a game by its record. It uses only the interface of all games: actions by verb and row, facts as fields
//! of views. The games' modules read their formats. Scoring cases may have boards that no game can reach. A snapshot of
//! these would be refused, so the modules call functions of the rules that take a board.

mod faraway;
mod golden_compass;
mod log;
mod play;
mod rauha;

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use boardwire_games::faraway::Faraway;
use boardwire_games::golden_compass::GoldenCompass;
use boardwire_games::rauha::Rauha;
use boardwire_kernel::catalogue::Checked;
use boardwire_kernel::{CatalogueError, Game, Loaded};
use clap::Parser;
use serde_json::json;

use play::Replayed;

/// Checks a game with scoring cases or recorded games. Reads and writes one JSON object per line.
#[derive(Debug, Parser)]
enum Ask {
    /// Answers scoring cases.
    Score(Of),
    /// Replays recorded games and compares every fact.
    Replay(Of),
}

/// The game to check.
#[derive(Debug, clap::Args)]
struct Of {
    /// The game's id.
    game: String,
    /// Plays with the components of a file instead of the built-in ones.
    #[arg(long, value_name = "GAME=FILE")]
    catalogue: Option<String>,
}

/// The answer to a line: the text to print, and whether the check passed.
type Answered = Checked<(String, bool)>;

/// A function that answers a line, given its number and its text.
type Answerer = Box<dyn Fn(usize, &str) -> Answered>;

/// The components of a game: the text of its catalogue, and the loaded catalogue.
struct Components<G: Game> {
    text: String,
    loaded: Arc<Loaded<G::Catalogue>>,
}

fn main() -> ExitCode {
    match run(&Ask::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(ask: &Ask) -> anyhow::Result<ExitCode> {
    let answer: Answerer = match ask {
        Ask::Score(of) => match of.game.as_str() {
            "faraway" => score(of.components::<Faraway>()?, faraway::score),
            "rauha" => score(of.components::<Rauha>()?, rauha::score),
            "golden_compass" => anyhow::bail!("golden_compass has no scoring cases: `replay` checks it"),
            other => return unknown(other),
        },
        Ask::Replay(of) => match of.game.as_str() {
            "faraway" => replay(of.components::<Faraway>()?, faraway::replay),
            "rauha" => replay(of.components::<Rauha>()?, rauha::replay),
            "golden_compass" => replay(of.components::<GoldenCompass>()?, golden_compass::replay),
            other => return unknown(other),
        },
    };
    each_line(&answer)
}

fn unknown<T>(game: &str) -> anyhow::Result<T> {
    anyhow::bail!("there is no game `{game}`: known are faraway, rauha, golden_compass")
}

impl Of {
    fn components<G: Game>(&self) -> anyhow::Result<Components<G>> {
        let text = match &self.catalogue {
            None => G::TYPE.catalogue.to_owned(),
            Some(given) => {
                let file = given.strip_prefix(G::TYPE.id).and_then(|rest| rest.strip_prefix('='));
                let file =
                    file.with_context(|| format!("--catalogue is `{given}`, not {}=FILE", G::TYPE.id))?;
                std::fs::read_to_string(file).with_context(|| format!("catalogue {file}"))?
            }
        };
        Components::read(text).map_err(|error| anyhow::anyhow!("no catalogue of {}: {error}", G::TYPE.id))
    }
}

impl<G: Game> Components<G> {
    fn read(text: String) -> Checked<Self> {
        Ok(Self { loaded: Arc::new(Loaded::read(&text)?), text })
    }
}

fn score<G: Game>(game: Components<G>, score: fn(&Components<G>, &str) -> Checked<String>) -> Answerer {
    Box::new(move |_, line| Ok((score(&game, line)?, true)))
}

fn replay<G: Game>(game: Components<G>, replay: fn(&Components<G>, &str) -> Checked<Replayed>) -> Answerer {
    Box::new(move |number, line| {
        let (answer, is_same) = match replay(&game, line)? {
            Ok(scores) => (json!({ "line": number, "ok": true, "scores": scores }), true),
            Err(found) => {
                let (at, expected, got) = (found.at, found.expected, found.got);
                (json!({ "line": number, "ok": false, "at": at, "expected": expected, "got": got }), false)
            }
        };
        Ok((answer.to_string(), is_same))
    })
}

/// Answers every line of standard input that is not blank. An error in one line does not stop the others.
fn each_line(answer: &Answerer) -> anyhow::Result<ExitCode> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut all_good = true;
    for (number, line) in (1..).zip(std::io::stdin().lock().split(b'\n')) {
        let line = line?;
        let text = std::str::from_utf8(&line);
        if text.is_ok_and(|text| text.trim().is_empty()) {
            continue;
        }
        let answered = text.map_err(|error| CatalogueError::new("line", format!("not UTF-8: {error}")));
        let (text, good) = answered.and_then(|text| answer(number, text)).unwrap_or_else(|error| {
            eprintln!("conformance: line {number}: {error}");
            (json!({ "line": number, "ok": false, "error": error.to_string() }).to_string(), false)
        });
        all_good &= good;
        writeln!(out, "{text}")?;
    }
    out.flush()?;
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

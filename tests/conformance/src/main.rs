//! `conformance`: checks the games with scoring cases and recorded games that were made elsewhere.
//!
//! `conformance score GAME` answers questions about positions; `conformance replay GAME` plays whole games, whose decks
//! and choices are given, and compares every fact they state. Both read a JSON object a line and write one a line;
//! `docs/games/<game>.md` has the formats. A line that cannot be answered or is not as stated makes the exit code 1.
//!
//! [`play`] is a game under way beside its record and knows only the contract of all games: actions by verb and row, facts
//! as fields of views. The modules of the games read their formats. Scoring cases ask about boards that no game need
//! reach, so they call functions of the rules that take a board, where a snapshot would be refused.

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

/// Checks a game with cases or recorded games: a JSON line on standard input, a JSON line on standard output.
#[derive(Debug, Parser)]
enum Ask {
    /// Answers scoring cases.
    Score(Of),
    /// Plays recorded games and compares every fact.
    Replay(Of),
}

/// The game that is asked about.
#[derive(Debug, clap::Args)]
struct Of {
    /// The game's id.
    game: String,
    /// Plays with the components of a file instead of those built in.
    #[arg(long, value_name = "GAME=FILE")]
    catalogue: Option<String>,
}

/// What comes of one line: what is printed, and whether it is as it should be.
type Answered = Checked<(String, bool)>;

/// What answers a line of this number.
type Answerer = Box<dyn Fn(usize, &str) -> Answered>;

/// A game with the components it is played with: their text, and as the rules have read them.
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

/// Answers every line of standard input that is not blank, whatever is wrong with another.
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

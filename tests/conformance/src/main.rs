//! `conformance`: checks the games against scoring cases and recorded games from other sources.
//!
//! `conformance score GAME` answers scoring cases. `conformance replay GAME` plays whole games with given decks and
//! choices, and compares every fact in their records. Both read one JSON object per line and write one per line.
//! `tests/conformance/README.md` has the formats. The exit code is 1 if a line has an error or a difference.
//!
//! [`play`] replays a game by its record. It uses only the interface of all games: actions by verb and row, facts as fields
//! of views. The games' modules read their formats. Scoring cases may have boards that no game can reach. A snapshot of
//! these would be refused, so the modules call functions of the rules that take a board.

mod faraway;
mod golden_compass;
mod play;
mod rauha;
mod record;

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use boardwire_games::faraway::Faraway;
use boardwire_games::golden_compass::GoldenCompass;
use boardwire_games::rauha::Rauha;
use boardwire_kernel::catalogue::CatalogueResult;
use boardwire_kernel::{CatalogueError, Game, LoadedCatalogue};
use clap::Parser;
use serde_json::json;

use play::{Difference, ReplayResult};

/// Checks a game with scoring cases or recorded games. Reads and writes one JSON object per line.
#[derive(Debug, Parser)]
enum Command {
    /// Answers scoring cases.
    Score(GameArguments),
    /// Replays recorded games and compares every fact.
    Replay(GameArguments),
}

/// The game to check.
#[derive(Debug, clap::Args)]
struct GameArguments {
    /// The game's id.
    game: String,
    /// Plays with the components of a file instead of the built-in ones.
    #[arg(long, value_name = "GAME=FILE")]
    catalogue: Option<String>,
}

/// The answer to a line: the text to print, and whether the check passed.
type AnswerResult = CatalogueResult<(String, bool)>;

/// A function that answers a line, given its number and its text.
type LineHandler = Box<dyn Fn(usize, &str) -> AnswerResult>;

/// The components of a game: the text of its catalogue, and the loaded catalogue.
struct GameCatalogue<G: Game> {
    text: String,
    loaded: Arc<LoadedCatalogue<G::Catalogue>>,
}

fn main() -> ExitCode {
    match run(&Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> anyhow::Result<ExitCode> {
    let handler: LineHandler = match command {
        Command::Score(arguments) => match arguments.game.as_str() {
            "faraway" => score(arguments.catalogue::<Faraway>()?, faraway::score),
            "rauha" => score(arguments.catalogue::<Rauha>()?, rauha::score),
            "golden_compass" => anyhow::bail!("golden_compass has no scoring cases: `replay` checks it"),
            other => return unknown(other),
        },
        Command::Replay(arguments) => match arguments.game.as_str() {
            "faraway" => replay(arguments.catalogue::<Faraway>()?, faraway::replay),
            "rauha" => replay(arguments.catalogue::<Rauha>()?, rauha::replay),
            "golden_compass" => replay(arguments.catalogue::<GoldenCompass>()?, golden_compass::replay),
            other => return unknown(other),
        },
    };
    each_line(&handler)
}

fn unknown<T>(game: &str) -> anyhow::Result<T> {
    anyhow::bail!("there is no game `{game}`: known are faraway, rauha, golden_compass")
}

impl GameArguments {
    fn catalogue<G: Game>(&self) -> anyhow::Result<GameCatalogue<G>> {
        let text = match &self.catalogue {
            None => G::TYPE.catalogue.to_owned(),
            Some(given) => {
                let file = given.strip_prefix(G::TYPE.id).and_then(|rest| rest.strip_prefix('='));
                let file =
                    file.with_context(|| format!("--catalogue is `{given}`, not {}=FILE", G::TYPE.id))?;
                std::fs::read_to_string(file).with_context(|| format!("catalogue {file}"))?
            }
        };
        GameCatalogue::read(text).map_err(|error| anyhow::anyhow!("no catalogue of {}: {error}", G::TYPE.id))
    }
}

impl<G: Game> GameCatalogue<G> {
    fn read(text: String) -> CatalogueResult<Self> {
        Ok(Self { loaded: Arc::new(LoadedCatalogue::read(&text)?), text })
    }
}

fn score<G: Game>(
    game: GameCatalogue<G>,
    score: fn(&GameCatalogue<G>, &str) -> CatalogueResult<String>,
) -> LineHandler {
    Box::new(move |_, line| Ok((score(&game, line)?, true)))
}

fn replay<G: Game>(
    game: GameCatalogue<G>,
    replay: fn(&GameCatalogue<G>, &str) -> CatalogueResult<ReplayResult>,
) -> LineHandler {
    Box::new(move |number, line| {
        let (answer, is_same) = match replay(&game, line)? {
            Ok(scores) => (json!({ "line": number, "ok": true, "scores": scores }), true),
            Err(difference) => {
                let Difference { location, expected, actual } = difference;
                (
                    json!({ "line": number, "ok": false, "at": location, "expected": expected, "got": actual }),
                    false,
                )
            }
        };
        Ok((answer.to_string(), is_same))
    })
}

/// Answers every line of standard input that is not blank. An error in one line does not stop the others.
fn each_line(handler: &LineHandler) -> anyhow::Result<ExitCode> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut all_good = true;
    for (number, line) in (1..).zip(std::io::stdin().lock().split(b'\n')) {
        let line = line?;
        let text = std::str::from_utf8(&line);
        if text.is_ok_and(|text| text.trim().is_empty()) {
            continue;
        }
        let line = text.map_err(|error| CatalogueError::new("line", format!("not UTF-8: {error}")));
        let (text, good) = line.and_then(|text| handler(number, text)).unwrap_or_else(|error| {
            eprintln!("conformance: line {number}: {error}");
            (json!({ "line": number, "ok": false, "error": error.to_string() }).to_string(), false)
        });
        all_good &= good;
        writeln!(out, "{text}")?;
    }
    out.flush()?;
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! `score` and `replay --script`: a JSON line in, a JSON line out, whatever is wrong with another line.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use boardwire_games::{Registered, Registry, Visitor};
use boardwire_kernel::Loaded;
use boardwire_kernel::record::{LineError, Replayed};
use clap::Args;
use serde_json::json;

use super::Catalogues;

/// Answers scoring cases.
#[derive(Debug, Args)]
pub(super) struct Score {
    /// The game's id.
    game: String,
    #[command(flatten)]
    catalogues: Catalogues,
}

impl Score {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let registry = self.catalogues.load()?;
        visit(&registry, &self.game, Scoring)?
    }
}

/// Plays the recorded games of stdin, and compares every fact.
pub(super) fn replay(game: &str, catalogues: &Catalogues) -> anyhow::Result<ExitCode> {
    visit(&catalogues.load()?, game, Replaying)?
}

fn visit<V: Visitor>(registry: &Registry, game: &str, visitor: V) -> anyhow::Result<V::Output> {
    let known = Registry::IDS.join(", ");
    registry
        .visit(game, visitor)
        .ok_or_else(|| anyhow::anyhow!("there is no game `{game}`: known are {known}"))
}

/// What came of one line: what is printed for it, and whether it is as it should be.
struct Answer {
    line: String,
    good: bool,
}

struct Scoring;

impl Visitor for Scoring {
    type Output = anyhow::Result<ExitCode>;

    fn visit<G: Registered>(self, catalogue: &Arc<Loaded<G::Catalogue>>) -> Self::Output {
        let Some(score) = G::REPLAY.and_then(|format| format.score) else {
            anyhow::bail!("{} has no scoring cases; `boardwire replay --script` checks it", G::TYPE.id);
        };
        each_line(|_, case| Ok(Answer { line: score(catalogue, case)?, good: true }))
    }
}

struct Replaying;

impl Visitor for Replaying {
    type Output = anyhow::Result<ExitCode>;

    fn visit<G: Registered>(self, catalogue: &Arc<Loaded<G::Catalogue>>) -> Self::Output {
        let Some(format) = G::REPLAY else {
            anyhow::bail!("{} has no format of recorded games", G::TYPE.id);
        };
        each_line(|number, script| {
            let (good, answer) = match (format.replay)(catalogue, script)? {
                Replayed::Same { scores } => (true, json!({"line": number, "ok": true, "scores": scores})),
                Replayed::Differs(differs) => {
                    let (expected, got) = (differs.expected, differs.got);
                    let at = differs.at;
                    (false, json!({"line": number, "ok": false, "at": at, "expected": expected, "got": got}))
                }
            };
            Ok(Answer { line: answer.to_string(), good })
        })
    }
}

/// Answers every line of stdin that is not blank; one that is none is answered with its error.
fn each_line(answer: impl Fn(usize, &str) -> Result<Answer, LineError>) -> anyhow::Result<ExitCode> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut all_good = true;
    for (number, line) in (1..).zip(std::io::stdin().lock().split(b'\n')) {
        let line = line?;
        let text = std::str::from_utf8(&line).map_err(|error| LineError(format!("not UTF-8: {error}")));
        if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
            continue;
        }
        let answered = text.and_then(|text| answer(number, text)).unwrap_or_else(|error| {
            eprintln!("boardwire: line {number}: {error}");
            let line = json!({"line": number, "ok": false, "error": error.to_string()}).to_string();
            Answer { line, good: false }
        });
        all_good &= answered.good;
        writeln!(out, "{}", answered.line)?;
    }
    out.flush()?;
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

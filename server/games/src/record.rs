//! Scoring cases and recorded games: lines of JSON by which a game is checked from outside.

use std::sync::Arc;

use boardwire_kernel::{Game, Loaded};
use serde_json::Value;
use thiserror::Error;

/// Answers one scoring case, a JSON object, with a JSON object.
pub type Scorer<C> = fn(&C, &str) -> Result<String, LineError>;

/// A game that answers scoring cases and plays recorded games.
pub trait ReplayFormat: Game {
    /// What answers a scoring case; none for a game without them.
    const SCORER: Option<Scorer<Self::Catalogue>>;

    /// Plays one recorded game through the ordinary actions and compares every fact it states.
    ///
    /// # Errors
    /// A line that is no recorded game: not JSON, a field missing, a component unknown or twice.
    fn replay(catalogue: &Arc<Loaded<Self::Catalogue>>, line: &str) -> Result<Replayed, LineError>;
}

/// How the replay of a well-formed recorded game went.
#[derive(Debug, Clone, PartialEq)]
pub enum Replayed {
    /// Everything was as recorded.
    Same {
        /// The final scores by seat.
        scores: Vec<i32>,
    },
    /// The first thing that was not as recorded.
    Differs(Difference),
}

/// A fact that was not as recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where in the record: `round 3 turn 1 take`.
    pub at: String,
    /// What the record says.
    pub expected: Value,
    /// What the engine says.
    pub got: Value,
}

impl Difference {
    /// Says that at `at` the record has `expected` and the engine `got`.
    pub fn new(at: impl Into<String>, expected: impl Into<Value>, got: impl Into<Value>) -> Self {
        Self { at: at.into(), expected: expected.into(), got: got.into() }
    }
}

/// Why a line is no scoring case or recorded game.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LineError(pub String);

impl From<serde_json::Error> for LineError {
    fn from(error: serde_json::Error) -> Self {
        // A case is one line: its own line number is always 1 and says nothing.
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let what = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        Self(format!("column {column}: {what}"))
    }
}

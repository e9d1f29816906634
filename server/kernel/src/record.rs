//! Scoring cases and recorded games: lines of JSON by which a game is checked from outside.

use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use crate::{BitSet, Chance, Episode, Game, Loaded, Seat};

/// Answers one scoring case, a JSON object, with a JSON object; `C` is the game's catalogue.
pub type Scorer<C> = fn(&Arc<Loaded<C>>, &str) -> Result<String, LineError>;

/// How the scoring cases and recorded games of one game are written; `C` is its catalogue.
#[derive(Debug, Clone, Copy)]
pub struct ReplayFormat<C> {
    /// Answers scoring cases; none for a game without them.
    pub score: Option<Scorer<C>>,
    /// Plays one recorded game through the ordinary actions and compares every fact it states.
    ///
    /// An error is a line that is no recorded game: not JSON, a field missing, a component unknown or twice.
    pub replay: fn(&Arc<Loaded<C>>, &str) -> Result<Replayed, LineError>,
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

impl From<Result<Vec<i32>, Difference>> for Replayed {
    fn from(played: Result<Vec<i32>, Difference>) -> Self {
        match played {
            Ok(scores) => Self::Same { scores },
            Err(difference) => Self::Differs(difference),
        }
    }
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

/// Compares a recorded value with the engine's.
///
/// # Errors
/// When they differ.
pub fn same<T: Into<Value> + PartialEq>(
    at: impl Into<String>,
    expected: T,
    got: T,
) -> Result<(), Difference> {
    if expected == got { Ok(()) } else { Err(Difference::new(at, expected, got)) }
}

/// Compares recorded ids with the engine's, whatever their order; in a difference both are ascending.
///
/// # Errors
/// When they differ.
pub fn same_set<const W: usize>(
    at: impl Into<String>,
    expected: &[u8],
    got: BitSet<W>,
) -> Result<(), Difference> {
    let mut sorted = expected.to_vec();
    sorted.sort_unstable();
    same(at, sorted, got.iter().collect())
}

/// A recorded game being played: its decks are the script of chance, its choices go through the ordinary door.
#[derive(Debug)]
pub struct Cursor<G: Game> {
    episode: Episode<G>,
}

impl<G: Game> Cursor<G> {
    /// Deals from the outcomes of each stream; [`script`](Self::script) adds what becomes known later.
    ///
    /// # Errors
    /// When the outcomes recorded could not come in the deal.
    pub fn deal<I: IntoIterator<Item = u8>>(
        game: Arc<G>,
        outcomes: impl IntoIterator<Item = I>,
    ) -> Result<Self, Difference> {
        let cursor = Self { episode: Episode::start(game, Chance::scripted(outcomes)) };
        cursor.possible("the deal")?;
        Ok(cursor)
    }

    /// The rules.
    #[must_use]
    pub fn game(&self) -> &G {
        self.episode.game()
    }

    /// The position reached.
    #[must_use]
    pub fn state(&self) -> &G::State {
        self.episode.state()
    }

    /// The episode as far as it has been played.
    #[must_use]
    pub fn episode(&self) -> &Episode<G> {
        &self.episode
    }

    /// Appends outcomes to a stream of chance.
    pub fn script(&mut self, stream: usize, outcomes: impl IntoIterator<Item = u8>) {
        self.episode.chance_mut().extend(stream, outcomes);
    }

    /// The labels of what `seat` may choose now; null when it owes no choice.
    #[must_use]
    pub fn legal(&self, seat: Seat) -> Value {
        if !self.episode.pending().contains(seat) {
            return Value::Null;
        }
        let actions = &self.game().info().actions;
        let legal = self.game().legal(self.state(), seat);
        legal.iter().filter_map(|action| actions.label(action)).collect()
    }

    /// Plays a recorded choice.
    ///
    /// # Errors
    /// A choice that the seat could not make, with those it could; a scripted outcome that could not come.
    pub fn choose(&mut self, at: &str, seat: Seat, action: G::Action) -> Result<(), Difference> {
        let index = self.game().encode(action);
        if self.episode.apply(seat, index.into()).is_err() {
            let label = self.game().info().actions.label(index).unwrap_or_default();
            return Err(Difference::new(at, label, self.legal(seat)));
        }
        self.possible(at)
    }

    fn possible(&self, at: &str) -> Result<(), Difference> {
        match self.episode.chance().fault() {
            None => Ok(()),
            Some(fault) => Err(Difference::new(at, "a possible draw", fault.to_string())),
        }
    }

    /// The final scores, if they are as recorded.
    ///
    /// # Errors
    /// Other scores, or none because the game is not over.
    pub fn scores(&self, expected: &[i32]) -> Result<Vec<i32>, Difference> {
        let got = self.episode.outcome().map(|outcome| outcome.scores().to_vec());
        same("scores", Some(expected.to_vec()), got.clone())?;
        Ok(got.unwrap_or_default())
    }
}

//! Everything that tables, batches and searches refuse, in one enum.

use boardwire_kernel::Seat;
use thiserror::Error;

use crate::refusal::{Code, Metadata, Refusal};

/// Why a request was refused; nothing has changed then.
///
/// `tests/errors.tsv` lists them all, with what else the service refuses. The fields are the metadata.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are the values the messages mention")]
pub enum Refused {
    /// No game has this id.
    #[error("there is no game `{game}`: known are {known}")]
    UnknownGame { game: String, known: String },
    /// The game is not played by this many.
    #[error("{game} is played by {min} to {max} seats, not {given}")]
    Seats { game: &'static str, given: u32, min: u8, max: u8 },
    /// The game has no such option.
    #[error("{game} has no option `{option}`: known are {known}")]
    UnknownOption { game: &'static str, option: String, known: String },
    /// The option has no such value.
    #[error("option `{option}` is {expected}, not `{value}`")]
    OptionValue { option: &'static str, value: String, expected: String },
    /// A seat was given to a bot that does not exist.
    #[error("seat {seat} is given to `{given}`: known are {expected}")]
    UnknownBot { seat: usize, given: String, expected: String },
    /// A field of the request cannot be.
    #[error("`{field}` is {expected}, not `{value}`")]
    BadField { field: &'static str, value: String, expected: String },
    /// A bot did not choose, or chose what may not be chosen.
    #[error("the bot at seat {} of {id} has failed: {problem}", .seat.number())]
    BotFailed { id: String, seat: Seat, problem: String },
    /// No batch has this id.
    #[error("there is no batch `{id}`: it was closed, or its connection ended, or it was idle for too long")]
    UnknownBatch { id: String },
    /// The action exists, but not now.
    #[error(
        "environment {environment}: seat {} may not choose action {action} (`{label}`) now: its mask shows \
         what it may",
        .seat.number()
    )]
    BatchActionIllegal { environment: usize, seat: Seat, action: u8, label: String },
    /// The action does not exist.
    #[error("environment {environment}: there is no action {action}: indices are below {actions}")]
    BatchActionOutOfRange { environment: usize, action: u8, actions: usize },
    /// The answer would not have the number that the request states.
    #[error(
        "sequence {sequence} is not due for these environments: due is {expected}, or the last request again"
    )]
    SequenceStale { expected: u64, sequence: u64 },
    /// An episode has ended that nothing resets by itself.
    #[error("the episode of environment {environment} is over: a reset begins the next")]
    EnvironmentOver { environment: usize },
    /// No search has this id.
    #[error(
        "there is no search `{id}`: it was released, or its connection ended, or it was idle for too long"
    )]
    UnknownSearch { id: String },
    /// The action exists, but not now.
    #[error(
        "row {row}, world {world}: seat {} may not choose action {action} (`{label}`) now: its mask shows what it \
         may",
        .seat.number()
    )]
    WorldActionIllegal { row: usize, world: u32, seat: Seat, action: u8, label: String },
    /// The action does not exist.
    #[error("row {row}, world {world}: there is no action {action}: indices are below {actions}")]
    WorldActionOutOfRange { row: usize, world: u32, action: u8, actions: usize },
    /// A world has ended.
    #[error("row {row}: world {world} is over")]
    WorldOver { row: usize, world: u32 },
    /// The bytes are no snapshot that fits.
    #[error("this snapshot cannot be loaded: {problem}")]
    SnapshotInvalid { problem: String },
    /// The server stops.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// An invariant is broken. What it was is logged, never sent.
    #[error("the server has made a mistake with {place}; it is logged")]
    Internal {
        /// The match or game in which it happened.
        place: String,
        /// What happened, for the log.
        what: String,
    },
}

impl Refused {
    /// How callers are told of it.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let (code, reason, metadata) = self.row();
        Refusal::new(code, reason, self.to_string(), metadata)
    }

    /// Code, reason and metadata.
    #[expect(clippy::too_many_lines, reason = "one row an error, exhaustive on purpose")]
    #[must_use]
    pub fn row(&self) -> (Code, &'static str, Metadata) {
        let text = |value: &dyn ToString| value.to_string();
        match self {
            Self::UnknownGame { game, known } => {
                (Code::NotFound, "GAME_UNKNOWN", vec![("game", game.clone()), ("known", known.clone())])
            }
            Self::Seats { game, given, min, max } => (
                Code::InvalidArgument,
                "SEATS_OUT_OF_RANGE",
                vec![("game", text(game)), ("given", text(given)), ("min", text(min)), ("max", text(max))],
            ),
            Self::UnknownOption { game, option, known } => (
                Code::InvalidArgument,
                "OPTION_UNKNOWN",
                vec![("game", text(game)), ("option", option.clone()), ("known", known.clone())],
            ),
            Self::OptionValue { option, value, expected } => (
                Code::InvalidArgument,
                "OPTION_VALUE_INVALID",
                vec![("option", text(option)), ("value", value.clone()), ("expected", expected.clone())],
            ),
            Self::UnknownBot { seat, given, expected } => (
                Code::InvalidArgument,
                "BOT_UNKNOWN",
                vec![("seat", text(seat)), ("given", given.clone()), ("expected", expected.clone())],
            ),
            Self::BadField { field, value, expected } => (
                Code::InvalidArgument,
                "FIELD_INVALID",
                vec![("field", text(field)), ("value", value.clone()), ("expected", expected.clone())],
            ),
            Self::BotFailed { id, seat, problem } => (
                Code::Internal,
                "BOT_FAILED",
                vec![("match", id.clone()), ("seat", text(&seat.number())), ("problem", problem.clone())],
            ),
            Self::UnknownBatch { id } => (Code::NotFound, "BATCH_UNKNOWN", vec![("batch", id.clone())]),
            Self::BatchActionIllegal { environment, seat, action, label } => (
                Code::FailedPrecondition,
                "BATCH_ACTION_ILLEGAL",
                vec![
                    ("environment", text(environment)),
                    ("seat", text(&seat.number())),
                    ("action", text(action)),
                    ("label", label.clone()),
                ],
            ),
            Self::BatchActionOutOfRange { environment, action, actions } => (
                Code::InvalidArgument,
                "BATCH_ACTION_OUT_OF_RANGE",
                vec![
                    ("environment", text(environment)),
                    ("action", text(action)),
                    ("actions", text(actions)),
                ],
            ),
            Self::SequenceStale { expected, sequence } => (
                Code::Aborted,
                "SEQUENCE_STALE",
                vec![("expected", text(expected)), ("sequence", text(sequence))],
            ),
            Self::EnvironmentOver { environment } => {
                (Code::FailedPrecondition, "ENVIRONMENT_OVER", vec![("environment", text(environment))])
            }
            Self::UnknownSearch { id } => (Code::NotFound, "SEARCH_UNKNOWN", vec![("search", id.clone())]),
            Self::WorldActionIllegal { row, world, seat, action, label } => (
                Code::FailedPrecondition,
                "WORLD_ACTION_ILLEGAL",
                vec![
                    ("row", text(row)),
                    ("world", text(world)),
                    ("seat", text(&seat.number())),
                    ("action", text(action)),
                    ("label", label.clone()),
                ],
            ),
            Self::WorldActionOutOfRange { row, world, action, actions } => (
                Code::InvalidArgument,
                "WORLD_ACTION_OUT_OF_RANGE",
                vec![
                    ("row", text(row)),
                    ("world", text(world)),
                    ("action", text(action)),
                    ("actions", text(actions)),
                ],
            ),
            Self::WorldOver { row, world } => {
                (Code::FailedPrecondition, "WORLD_OVER", vec![("row", text(row)), ("world", text(world))])
            }
            Self::SnapshotInvalid { problem } => {
                (Code::InvalidArgument, "SNAPSHOT_INVALID", vec![("problem", problem.clone())])
            }
            Self::ShuttingDown => (Code::Unavailable, "SHUTTING_DOWN", vec![]),
            Self::Internal { place, .. } => (Code::Internal, "INTERNAL", vec![("match", place.clone())]),
        }
    }
}

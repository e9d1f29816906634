//! Errors of set-ups and actions.

use thiserror::Error;

use crate::{CatalogueError, Seat};

/// The reason for which a game refuses an action. The state is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The game is over: no decision is pending.
    #[error("the game is over")]
    Over,
    /// The table has no such seat.
    #[error("there is no {seat}: the table has {seats} seats")]
    NoSeat {
        /// The requested seat.
        seat: Seat,
        /// The number of seats.
        seats: u8,
    },
    /// The seat has no pending decision.
    #[error("{seat} has no pending decision")]
    NotPending {
        /// The seat that tried to act.
        seat: Seat,
    },
    /// No action of the game has this index.
    #[error("action {action} is out of range: indices are below {actions}")]
    OutOfRange {
        /// The given index.
        action: u32,
        /// The number of actions.
        actions: u32,
    },
    /// The action exists, but the seat may not choose it now.
    #[error("action {action} is not legal for {seat} now")]
    Illegal {
        /// The seat that tried to act.
        seat: Seat,
        /// The given index.
        action: u8,
    },
}

/// The reason for which a game cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The game does not allow this number of seats.
    #[error("{game} has {min} to {max} seats; got {given}")]
    Seats {
        /// The game's id.
        game: &'static str,
        /// The requested number of seats.
        given: u32,
        /// The minimum number of seats.
        min: u8,
        /// The maximum number of seats.
        max: u8,
    },
    /// The game has no option of this name.
    #[error("{game} has no option `{name}`; known options: {known}")]
    UnknownOption {
        /// The game's id.
        game: &'static str,
        /// The given name.
        name: String,
        /// The known names, comma-separated.
        known: String,
    },
    /// The option does not allow this value.
    #[error("option `{name}` must be {expected}; got `{value}`")]
    OptionValue {
        /// The option's name.
        name: &'static str,
        /// The given value.
        value: String,
        /// The allowed values.
        expected: String,
    },
    /// The catalogue is not valid.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

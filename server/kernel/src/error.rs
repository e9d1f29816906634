//! Why a set-up or an action was refused.

use thiserror::Error;

use crate::{CatalogueError, Seat};

/// Why an action was refused; the state is as it was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The game is over: nobody owes a choice.
    #[error("the game is over")]
    Over,
    /// The table has no such seat.
    #[error("there is no {seat}: the table has {seats} seats")]
    NoSeat {
        /// The seat asked for.
        seat: Seat,
        /// How many seats there are.
        seats: u8,
    },
    /// The seat owes no choice now.
    #[error("{seat} owes no choice now")]
    NotPending {
        /// The seat that tried to act.
        seat: Seat,
    },
    /// No action of the game has this index.
    #[error("action {action} is out of range: indices are below {actions}")]
    OutOfRange {
        /// The index given.
        action: u32,
        /// How many actions the space has.
        actions: u32,
    },
    /// The action exists, but the seat may not choose it now.
    #[error("{seat} may not choose action {action} now")]
    Illegal {
        /// The seat that tried to act.
        seat: Seat,
        /// The index given.
        action: u8,
    },
}

/// Why a game could not be set up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The game is not played by this many.
    #[error("{game} is played by {min} to {max} seats, not {given}")]
    Seats {
        /// The game's id.
        game: &'static str,
        /// Seats asked for.
        given: u32,
        /// Fewest seats.
        min: u8,
        /// Most seats.
        max: u8,
    },
    /// The game has no option of this name.
    #[error("{game} has no option `{name}`: known are {known}")]
    UnknownOption {
        /// The game's id.
        game: &'static str,
        /// The name given.
        name: String,
        /// The names there are, comma-separated.
        known: String,
    },
    /// An option has no such value.
    #[error("option `{name}` is {expected}, not `{value}`")]
    OptionValue {
        /// The option's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// A catalogue cannot be what it claims.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

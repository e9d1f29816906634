//! The contract every Boardwire game fulfils.
//!
//! A [`Game`] is the rules of one table: catalogue, seat count and options fixed, immutable, shared. Its
//! state is a plain value that [`apply`] alone changes; chance is a parameter. What a seat may know leaves
//! the rules only as a [view](Game::view) or a [text](Game::text), and a bot only ever sees a position
//! whose hidden part was [drawn anew](Game::resample) for its seat.
//!
//! This crate is not for playing over a network, keeping time or storing matches: it does no input or
//! output, reads no clock or environment, starts no thread and knows no float.
#![deny(clippy::float_arithmetic)]

mod action;
mod chance;
mod digest;
mod episode;
mod error;
mod game;
mod options;
mod outcome;
mod seat;
mod set;
#[cfg(feature = "testkit")]
pub mod testkit;
mod view;

pub use action::{ActionLabels, ActionSet, MAX_ACTIONS};
pub use chance::{BOT_STREAM, Chance, Fault, Key, RESAMPLE_STREAM, RngStream, SUBSTITUTE_STREAM};
pub use digest::Digest;
pub use episode::{Episode, Knowledge};
pub use error::{CatalogueError, Rejection, SetupError};
pub use game::{Game, GameInfo, GameType, Provenance, apply, set_up};
pub use options::{Loaded, OptionKind, OptionSpec, Options};
pub use outcome::{Outcome, ScoreLine};
pub use seat::{MAX_SEATS, Seat, SeatSet};
pub use set::{BitSet, Members};
pub use view::{Field, Meaning, Table, ViewLayout, ViewWriter};

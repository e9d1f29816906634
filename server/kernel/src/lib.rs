//! The contract every Boardwire game fulfils.
//!
//! A [`Game`] is the rules of one table: catalogue, seat count and options fixed, immutable, shared. Its
//! state is a plain value that [`apply`] alone changes; chance is a parameter. What a seat may know leaves
//! the rules only as a [view](Views::view) or a [text](Texts::text), and a bot only ever sees a position
//! whose hidden part was [sampled](Hidden::resample) for its seat.
//!
//! This crate is not for playing over a network, keeping time or storing matches: it does no input or
//! output, reads no clock or environment, starts no thread and knows no float.
#![deny(clippy::float_arithmetic)]

mod action;
mod audit;
pub mod catalogue;
mod chance;
mod digest;
mod episode;
mod error;
mod game;
mod id;
mod multiset;
mod options;
mod outcome;
mod rng;
mod seat;
mod set;
mod table;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod view;
mod viewer;

pub use action::{ActionRange, ActionSet, ActionSpace, ActionSpec, MAX_ACTIONS};
pub use audit::{Audit, Conserved, ensure};
pub use catalogue::{CatalogueError, Components, Loaded, Provenance};
pub use chance::{Chance, Fault};
pub use digest::Digest;
pub use episode::{Episode, Knowledge};
pub use error::{Rejection, SetupError};
pub use game::{
    Audits, Choices, Estimate, Game, GameInfo, GameType, Hidden, Legal, Scoring, Setup, Texts, Turns, Views,
    apply, set_up,
};
pub use multiset::Multiset;
pub use options::{OptionKind, OptionSpec, Options};
pub use outcome::{Outcome, ScoreLine};
pub use rng::{ADVICE_STREAM, BOT_STREAM, Key, RESAMPLE_STREAM, RngStream, SUBSTITUTE_STREAM, WORLD_STREAM};
pub use seat::{BySeat, MAX_SEATS, Seat, SeatSet};
pub use set::{BitSet, Members};
pub use table::{Column, ColumnKind, Table, TableBuilder};
pub use view::{
    Axis, AxisOrder, Field, FieldKind, FieldSink, FieldSpec, FieldWriter, LayoutBuilder, ViewLayout,
    ViewWriter,
};
pub use viewer::{Around, Viewer};

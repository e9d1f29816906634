//! The interface that every Boardwire game implements.
//!
//! A [`Game`] holds the rules of one table, with fixed catalogue, seat count and options. It is immutable and shared.
//! Its state is a plain value that only [`apply`] changes. Randomness is a parameter. What a seat may know leaves
//! the rules only as a [view](Views::view) or a [text](Texts::text). A bot sees only positions whose hidden part
//! was [sampled](Hidden::resample) for its seat.
//!
//! ```
//! # #[cfg(feature = "testkit")]
//! # {
//! use boardwire_kernel::testkit::{table, toy::Toy};
//! use boardwire_kernel::{Choices, Episode};
//!
//! let mut episode = Episode::seeded(table::<Toy>(2, &[]), 7);
//! while let Some(seat) = episode.pending().lowest() {
//!     let action = episode.game().legal(episode.state(), seat).lowest().expect("a legal action");
//!     episode.apply(seat, action.into()).expect("it is legal");
//! }
//! assert_eq!(episode.outcome().expect("the game is over").scores().len(), 2);
//! # }
//! ```
//!
//! With the feature `testkit`, [`testkit`] tests a game by laws that hold for every game. The guide "Your own game" and
//! the examples `kuhn` and `liars_dice` in the repository show a whole game.
//!
//! Versions: before 1.0, a new minor version may change traits, views, random draws and snapshots; a patch version changes
//! none of them. The crates of Boardwire have one version, and need each other in the same minor version.
//!
//! Networking, clocks and storage of matches are not part of this crate. It does no input or output, reads no clock
//! or environment variable, starts no thread and uses no floats.
#![deny(clippy::float_arithmetic)]

mod action;
mod audit;
pub mod catalogue;
mod digest;
mod episode;
mod error;
mod game;
mod id;
mod limits;
mod multiset;
mod options;
mod outcome;
mod random_source;
mod rng;
mod seat;
mod set;
mod table;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod view;
mod viewer;

pub use action::{ActionRange, ActionSet, ActionSpace, ActionSpec, MAX_ACTIONS};
pub use audit::{CheckResult, ComponentTally, ensure};
pub use catalogue::{CatalogueError, Components, LoadedCatalogue, Provenance};
pub use digest::Digest;
pub use episode::{Episode, Knowledge};
pub use error::{Rejection, SetupError};
pub use game::{
    Audits, Choices, Estimate, Game, GameInfo, GameType, Hidden, LegalChoice, NameGroup, Scoring, Setup,
    Texts, Turns, Views, apply, set_up,
};
pub use limits::{MAX_STATE_BYTES, check_limits, check_state_size};
pub use multiset::Multiset;
pub use options::{OptionKind, OptionSpec, Options};
pub use outcome::{Outcome, ScoreLine};
pub use random_source::{RandomSource, ScriptError};
pub use rng::{
    ADVICE_STREAM, BOT_STREAM, DETERMINIZATION_STREAM, Key, LABEL_STREAM, PLAYOUT_STREAM, RESAMPLE_STREAM,
    RngStream, SUBSTITUTE_STREAM,
};
pub use seat::{BySeat, MAX_SEATS, Seat, SeatSet};
pub use set::{BitSet, BitSetIter};
pub use table::{Column, ColumnKind, Table, TableBuilder};
pub use view::{
    Axis, AxisOrder, Field, FieldKind, FieldSink, FieldSpec, FieldWriter, LayoutBuilder, ViewLayout,
    ViewWriter,
};
pub use viewer::{SeatOrder, Viewer};

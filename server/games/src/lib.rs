//! The games Boardwire serves.
//!
//! Each game is a folder that fulfils [`boardwire_kernel::Game`] and [`ReplayFormat`], a catalogue under
//! `catalogues/`, and the two lines below: its `mod` and its row.
#![deny(clippy::float_arithmetic)]

pub mod faraway;
pub mod golden_compass;
pub mod rauha;
mod record;
mod registry;

pub use record::{Difference, LineError, ReplayFormat, Replayed, Scorer};
pub use registry::Visitor;

registry::games! {
    faraway: Faraway,
    rauha: Rauha,
    golden_compass: GoldenCompass,
}

//! The games Boardwire serves.
//!
//! Each game is a folder that fulfils [`boardwire_kernel::Game`] and [`boardwire_kernel::Estimate`], a catalogue under
//! `catalogues/`, and the two lines below: its `mod` and its row. All have the same files with the same roles, which
//! CONTRIBUTING.md walks through.
#![deny(clippy::float_arithmetic)]

pub mod faraway;
pub mod golden_compass;
pub mod rauha;
mod registry;

pub use registry::Visitor;

registry::games! {
    faraway: Faraway,
    rauha: Rauha,
    golden_compass: GoldenCompass,
}

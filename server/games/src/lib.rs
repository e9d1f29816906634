//! The games Boardwire serves.
//!
//! Each game is a folder that fulfils [`boardwire_kernel::Game`] and [`boardwire_kernel::Estimate`], a catalogue under
//! `catalogues/`, and three lines below: its `mod`, its id and its arm. All have the same files with the same roles, which
//! CONTRIBUTING.md walks through.
#![deny(clippy::float_arithmetic)]

pub mod faraway;
pub mod golden_compass;
pub mod rauha;

use boardwire_kernel::Estimate;

/// The ids of the games, in the order in which they are listed.
pub const IDS: [&str; 3] = ["faraway", "rauha", "golden_compass"];

/// Generic code that wants the type of a game.
pub trait Visitor {
    /// What comes of the visit.
    type Output;

    /// Is called with the game's type.
    fn visit<G: Estimate>(self) -> Self::Output;
}

/// Hands the type of the game `id` to `visitor`; none for an unknown id.
pub fn visit<V: Visitor>(id: &str, visitor: V) -> Option<V::Output> {
    Some(match id {
        "faraway" => visitor.visit::<faraway::Faraway>(),
        "rauha" => visitor.visit::<rauha::Rauha>(),
        "golden_compass" => visitor.visit::<golden_compass::GoldenCompass>(),
        _ => return None,
    })
}

//! The games that Boardwire serves.
//!
//! Each game is a folder that implements [`boardwire_kernel::Game`] and [`boardwire_kernel::Estimate`]. It also has a
//! catalogue in `catalogues/` and three lines below: its `mod`, its id and its match arm. All games have the same files
//! with the same roles; CONTRIBUTING.md describes them.
#![deny(clippy::float_arithmetic)]

pub mod faraway;
pub mod golden_compass;
pub mod rauha;

use boardwire_kernel::Estimate;

/// The ids of the games, in listing order.
pub const IDS: [&str; 3] = ["faraway", "rauha", "golden_compass"];

/// Generic code to run with the type of a game.
pub trait Visitor {
    /// The result of the visit.
    type Output;

    /// Runs the code for the game type `G`.
    fn visit<G: Estimate>(self) -> Self::Output;
}

/// Calls `visitor` with the type of the game `id`. Returns `None` for an unknown id.
pub fn visit<V: Visitor>(id: &str, visitor: V) -> Option<V::Output> {
    Some(match id {
        "faraway" => visitor.visit::<faraway::Faraway>(),
        "rauha" => visitor.visit::<rauha::Rauha>(),
        "golden_compass" => visitor.visit::<golden_compass::GoldenCompass>(),
        _ => return None,
    })
}

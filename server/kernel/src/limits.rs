//! Limits of games, which are checked at compile time.

use crate::{MAX_SEATS, Setup};

/// The maximum size of a state in bytes.
pub const MAX_STATE_BYTES: usize = 2048;

/// Checks the limits of a game at compile time: `const { check_limits::<MyGame>() }`.
///
/// # Panics
/// The game has a state of more than [`MAX_STATE_BYTES`], no seats or more than [`MAX_SEATS`], or more than 256 random
/// streams.
pub const fn check_limits<G: Setup>() {
    check_state_size::<G::State>();
    let (min, max) = (*G::TYPE.seats.start(), *G::TYPE.seats.end());
    assert!(min >= 1 && min <= max && max as usize <= MAX_SEATS, "a game has 1 to 8 seats (MAX_SEATS)");
    assert!(G::TYPE.streams.len() <= 256, "a game has at most 256 random streams");
}

/// Checks the size of a state at compile time.
///
/// ```compile_fail
/// const { boardwire_kernel::check_state_size::<[u8; 2049]>() };
/// ```
///
/// # Panics
/// It exceeds [`MAX_STATE_BYTES`].
pub const fn check_state_size<S>() {
    assert!(size_of::<S>() <= MAX_STATE_BYTES, "a state takes at most 2048 bytes (MAX_STATE_BYTES)");
}

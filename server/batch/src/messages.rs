//! Requests of `boardwire.v1` as what is asked for here, and what is answered as messages.

mod batch;
mod catalog;
mod player;
mod search;

use std::collections::BTreeMap;

use boardwire_kernel::GameInfo;

pub use batch::{actions, batch, plan, reset, step};
pub use catalog::{game, game_spec, spec};
#[cfg(any(test, feature = "testkit"))]
pub use player::players;
pub use player::{bot, bot_to, player, player_name, player_to};
pub use search::{moves, playouts, rewards, search, search_opening};

use boardwire_api::Error;

/// Counts on the wire are 32 bits wide; none of ours comes near.
#[must_use]
pub fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The options of a table, by their names.
#[must_use]
pub fn options(info: &GameInfo) -> BTreeMap<String, String> {
    info.options.all().iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// The value of an enumeration in a request; the first one, if the field is unspecified.
///
/// # Errors
/// There is no such value.
pub fn known<E: TryFrom<i32>>(field: &'static str, value: i32) -> Result<E, Error> {
    let name = std::any::type_name::<E>().rsplit("::").next().unwrap_or_default();
    E::try_from(value.max(1)).map_err(|_| Error::field(field, value, format!("a value of {name}")))
}

/// What is said of a message that a request has to have.
#[must_use]
pub fn missing(field: &'static str, expected: &str) -> Error {
    Error::field(field, "nothing", expected)
}

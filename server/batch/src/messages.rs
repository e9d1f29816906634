//! Requests of `boardwire.v1` as what is asked for here, and what is answered as messages.

mod batch;
mod catalog;
mod player;
mod search;

use std::collections::BTreeMap;

use boardwire_api::v1;
use boardwire_kernel::GameInfo;

pub use batch::{actions, batch, plan, reset, step};
pub use catalog::{game, game_spec, spec};
#[cfg(any(test, feature = "testkit"))]
pub use player::players;
pub use player::{bot, bot_to, player, player_name, player_to};
pub use search::{moves, playouts, rewards, search, search_opening, world_step};

use crate::players::IllegalActions;
use crate::reward::RewardKind;
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

/// What a request wants seats to be rewarded for.
///
/// # Errors
/// There is no such value.
pub fn reward(value: i32) -> Result<RewardKind, Error> {
    match v1::RewardKind::try_from(value) {
        Ok(v1::RewardKind::Unspecified | v1::RewardKind::Rank) => Ok(RewardKind::Rank),
        Ok(v1::RewardKind::Win) => Ok(RewardKind::Win),
        Ok(v1::RewardKind::Margin) => Ok(RewardKind::Margin),
        Ok(v1::RewardKind::Score) => Ok(RewardKind::Score),
        Err(_) => Err(bad_enum("reward", value, "a RewardKind")),
    }
}

/// The same as a message says it.
#[must_use]
pub fn reward_to(kind: RewardKind) -> v1::RewardKind {
    match kind {
        RewardKind::Rank => v1::RewardKind::Rank,
        RewardKind::Win => v1::RewardKind::Win,
        RewardKind::Margin => v1::RewardKind::Margin,
        RewardKind::Score => v1::RewardKind::Score,
    }
}

/// What a request wants to happen to illegal actions.
///
/// # Errors
/// There is no such value.
pub fn illegal(value: i32) -> Result<IllegalActions, Error> {
    use v1::IllegalActionPolicy as Policy;
    match Policy::try_from(value) {
        Ok(Policy::Unspecified | Policy::Reject) => Ok(IllegalActions::Reject),
        Ok(Policy::FirstLegal) => Ok(IllegalActions::FirstLegal),
        Ok(Policy::SeededLegal) => Ok(IllegalActions::SeededLegal),
        Ok(Policy::Forfeit) => Ok(IllegalActions::Forfeit),
        Err(_) => Err(bad_enum("illegal_actions", value, "an IllegalActionPolicy")),
    }
}

/// The same as a message says it.
#[must_use]
pub fn illegal_to(policy: IllegalActions) -> v1::IllegalActionPolicy {
    match policy {
        IllegalActions::Reject => v1::IllegalActionPolicy::Reject,
        IllegalActions::FirstLegal => v1::IllegalActionPolicy::FirstLegal,
        IllegalActions::SeededLegal => v1::IllegalActionPolicy::SeededLegal,
        IllegalActions::Forfeit => v1::IllegalActionPolicy::Forfeit,
    }
}

/// What is said of a message that a request has to have.
#[must_use]
pub fn missing(field: &'static str, expected: &str) -> Error {
    Error::field(field, "nothing", expected)
}

fn bad_enum(field: &'static str, value: i32, expected: &str) -> Error {
    Error::field(field, value, expected)
}

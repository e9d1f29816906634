//! From domain values to messages, and from messages to domain values.

mod batch;
mod catalog;
mod clock;
mod match_;
mod replay;
mod search;

use std::collections::BTreeMap;

use std::time::Duration;

use boardwire_api::v1;
use boardwire_batch::reward::RewardKind;
use boardwire_batch::{IllegalActions, Refused};
use boardwire_kernel::{GameInfo, SeatSet};

pub(crate) use batch::{LEARNER, autoreset, batch, columns, step};
pub(crate) use catalog::{game, server, spec};
pub(crate) use clock::clocks;
pub(crate) use match_::{extras, match_, match_state, observation};
pub(crate) use replay::{frame, replay};
pub(crate) use search::{rollout, search, world_step};

/// Counts on the wire are 32 bits wide; none of ours comes near.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A time of up to `most`; none is no time at all.
pub(crate) fn duration(
    field: &'static str,
    given: Option<prost_types::Duration>,
    most: Duration,
) -> Result<Duration, Refused> {
    let Some(given) = given else { return Ok(Duration::ZERO) };
    let time = Duration::try_from(given).ok().filter(|time| *time <= most);
    time.ok_or_else(|| {
        let expected = format!("from 0 to {} seconds", most.as_secs());
        Refused::BadField { field, value: given.to_string(), expected }
    })
}

/// A time as a message; nothing for no time at all.
fn time(time: Duration) -> Option<prost_types::Duration> {
    if time.is_zero() { None } else { time.try_into().ok() }
}

fn bits(seats: SeatSet) -> u32 {
    seats.iter().fold(0, |bits, seat| bits | 1 << seat.number())
}

fn options(info: &GameInfo) -> BTreeMap<String, String> {
    info.options.all().iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

pub(crate) fn reward(value: i32) -> Result<RewardKind, Refused> {
    match v1::RewardKind::try_from(value) {
        Ok(v1::RewardKind::Unspecified | v1::RewardKind::Rank) => Ok(RewardKind::Rank),
        Ok(v1::RewardKind::Win) => Ok(RewardKind::Win),
        Ok(v1::RewardKind::Margin) => Ok(RewardKind::Margin),
        Ok(v1::RewardKind::Score) => Ok(RewardKind::Score),
        Err(_) => Err(bad_enum("reward", value, "a RewardKind")),
    }
}

fn reward_to(kind: RewardKind) -> v1::RewardKind {
    match kind {
        RewardKind::Rank => v1::RewardKind::Rank,
        RewardKind::Win => v1::RewardKind::Win,
        RewardKind::Margin => v1::RewardKind::Margin,
        RewardKind::Score => v1::RewardKind::Score,
    }
}

pub(crate) fn illegal(value: i32) -> Result<IllegalActions, Refused> {
    use v1::IllegalActionPolicy as Policy;
    match Policy::try_from(value) {
        Ok(Policy::Unspecified | Policy::Reject) => Ok(IllegalActions::Reject),
        Ok(Policy::FirstLegal) => Ok(IllegalActions::FirstLegal),
        Ok(Policy::SeededLegal) => Ok(IllegalActions::SeededLegal),
        Ok(Policy::Forfeit) => Ok(IllegalActions::Forfeit),
        Err(_) => Err(bad_enum("illegal_actions", value, "an IllegalActionPolicy")),
    }
}

fn illegal_to(policy: IllegalActions) -> v1::IllegalActionPolicy {
    match policy {
        IllegalActions::Reject => v1::IllegalActionPolicy::Reject,
        IllegalActions::FirstLegal => v1::IllegalActionPolicy::FirstLegal,
        IllegalActions::SeededLegal => v1::IllegalActionPolicy::SeededLegal,
        IllegalActions::Forfeit => v1::IllegalActionPolicy::Forfeit,
    }
}

fn bad_enum(field: &'static str, value: i32, expected: &str) -> Refused {
    Refused::BadField { field, value: value.to_string(), expected: expected.to_owned() }
}

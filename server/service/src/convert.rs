//! From domain values to messages, and from messages to domain values.

mod clock;
mod match_;
mod replay;
mod server;

use std::time::Duration;

use boardwire_batch::Refused;
use boardwire_kernel::SeatSet;

pub(crate) use clock::clocks;
pub(crate) use match_::{extras, match_, match_state, observation};
pub(crate) use replay::{depiction, frame, replay};
pub(crate) use server::server;

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

//! Converts times and seats to messages, and back.

use std::time::{Duration, SystemTime};

use boardwire_api::Error;
use boardwire_kernel::SeatSet;

/// Reads a duration of up to `max`. Returns zero if none is given.
pub(crate) fn duration(
    field: &'static str,
    given: Option<prost_types::Duration>,
    max: Duration,
) -> Result<Duration, Error> {
    let Some(given) = given else { return Ok(Duration::ZERO) };
    non_negative_duration(given).filter(|time| *time <= max).ok_or_else(|| {
        let value = format!("{} seconds and {} nanoseconds", given.seconds, given.nanos);
        let expected = format!("from 0 to {} seconds", max.as_secs());
        Error::field(field, value, expected)
    })
}

/// Reads a duration. Returns `None` if it is negative, since the library cannot convert and print every negative one.
pub(crate) fn non_negative_duration(given: prost_types::Duration) -> Option<Duration> {
    if given.seconds < 0 || given.nanos < 0 { None } else { given.try_into().ok() }
}

/// Converts a duration to a message. Returns `None` for zero.
pub(crate) fn duration_message(time: Duration) -> Option<prost_types::Duration> {
    if time.is_zero() { None } else { time.try_into().ok() }
}

/// Converts a time to a message, in whole seconds. A fraction would show how long a bot thought, or that it had no choice.
pub(crate) fn whole_seconds(at: SystemTime) -> prost_types::Timestamp {
    prost_types::Timestamp { nanos: 0, ..at.into() }
}

/// Returns the numbers of seats, as in messages.
pub(crate) fn seat_numbers(seats: SeatSet) -> Vec<u32> {
    seats.iter().map(|seat| seat.number().into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_read_or_refused() {
        let given = |seconds, nanos| Some(prost_types::Duration { seconds, nanos });
        let day = Duration::from_hours(24);
        assert_eq!(duration("clock", None, day), Ok(Duration::ZERO));
        assert_eq!(duration("clock", given(1, 500_000_000), day), Ok(Duration::from_millis(1500)));
        for (seconds, nanos) in
            [(-1, 0), (0, -1), (i64::MIN, 0), (i64::MIN, i32::MIN), (i64::MAX, i32::MAX), (86_401, 0)]
        {
            let refused = duration("clock", given(seconds, nanos), day).expect_err("too short or too long");
            assert!(refused.to_string().contains(&format!("{seconds} seconds")), "{refused}");
        }
    }
}

//! Times and seats as messages.

use std::time::{Duration, SystemTime};

use boardwire_api::Error;
use boardwire_kernel::SeatSet;

/// A time of up to `most`; none is no time at all.
pub(crate) fn duration(
    field: &'static str,
    given: Option<prost_types::Duration>,
    most: Duration,
) -> Result<Duration, Error> {
    let Some(given) = given else { return Ok(Duration::ZERO) };
    elapsed(given).filter(|time| *time <= most).ok_or_else(|| {
        let value = format!("{} seconds and {} nanoseconds", given.seconds, given.nanos);
        let expected = format!("from 0 to {} seconds", most.as_secs());
        Error::field(field, value, expected)
    })
}

/// A time that has passed; none if it is negative, of which the library cannot convert and print all.
pub(crate) fn elapsed(given: prost_types::Duration) -> Option<Duration> {
    if given.seconds < 0 || given.nanos < 0 { None } else { given.try_into().ok() }
}

/// A time as a message; nothing for no time at all.
pub(crate) fn time(time: Duration) -> Option<prost_types::Duration> {
    if time.is_zero() { None } else { time.try_into().ok() }
}

/// When something happened. How long a bot has thought, or that it had no choice, would show in less than a second.
pub(crate) fn to_the_second(at: SystemTime) -> prost_types::Timestamp {
    prost_types::Timestamp { nanos: 0, ..at.into() }
}

/// The numbers of seats.
pub(crate) fn numbers(seats: SeatSet) -> Vec<u32> {
    seats.iter().map(|seat| seat.number().into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_any_length_are_read_or_refused() {
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

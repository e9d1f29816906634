//! Measures the time of present decisions, and applies timeouts.
//!
//! The journal does not store these times: after a restart the clocks of present decisions start at zero.

use std::sync::Arc;
use std::time::Duration;

use boardwire_api::{Error, v1};
use boardwire_kernel::{Seat, SeatSet};
use tokio::time::Instant;

use super::clock::Clock;
use super::event::EventKind;
use super::state::State;
use super::{Arbiter, CloseReason, Inner, Settings};
use crate::record::DecisionTime;
use crate::stall;

/// How long after the creation of a match its clocks wait for agents that have not joined.
const JOIN_TIMEOUT: Duration = Duration::from_mins(1);
/// The minimum sleep of a task; the operating system does not wake it sooner.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// Measures how long the present decision of a seat takes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stopwatch {
    /// The time measured before the last stop.
    before: Duration,
    /// The time of the last start, and the stalled time by then. `None` while the stopwatch is stopped.
    started: Option<(Instant, Duration)>,
}

impl Stopwatch {
    /// Returns the time up to `now`, without the stalled time.
    fn elapsed(&self, now: Instant) -> Duration {
        self.before
            + self.started.map_or(Duration::ZERO, |(started_at, stalled_before)| {
                let all = now.saturating_duration_since(started_at);
                all.saturating_sub(stall::stalled_time().saturating_sub(stalled_before))
            })
    }

    /// Starts or stops the stopwatch.
    fn set_running(&mut self, running: bool, now: Instant) {
        if running == self.started.is_some() {
            return;
        }
        *self = if running {
            Self { started: Some((now, stall::stalled_time())), ..*self }
        } else {
            Self { before: self.elapsed(now), started: None }
        };
    }
}

/// All clocks of a match.
pub(super) struct Clocks {
    by_seat: Vec<Stopwatch>,
    /// The latest start of the clocks, even if an agent has not joined.
    start: Instant,
    /// Whether the clocks have started. After that, they do not stop when the host gives a seat to another agent.
    has_started: bool,
    /// Measures how long agents take to open their secrets for the first deal.
    opening_stopwatch: Stopwatch,
    opening_timeout: Duration,
}

impl Clocks {
    /// Creates the clocks of a match that was created `age` ago.
    pub(super) fn new(settings: &Settings, age: Duration) -> Self {
        Self {
            by_seat: vec![Stopwatch::default(); settings.players.len()],
            start: Instant::now() + JOIN_TIMEOUT.saturating_sub(age),
            has_started: false,
            opening_stopwatch: Stopwatch::default(),
            opening_timeout: settings.opening_timeout,
        }
    }

    pub(super) fn restart(&mut self, seat: Seat) {
        self.by_seat[seat.index()] = Stopwatch::default();
    }

    pub(super) fn restart_all(&mut self) {
        self.by_seat.fill(Stopwatch::default());
    }

    /// Updates which clocks run: those of the seats that must decide now.
    pub(super) fn update(&mut self, state: &State, bots_think: bool) {
        let now = Instant::now();
        self.opening_stopwatch.set_running(state.waits_for_secrets(), now);
        self.has_started |= state.all_have_joined() || now >= self.start;
        let is_running = self.has_started && !bots_think && state.closed.is_none();
        let deciding_seats = if is_running { state.deciding_seats() } else { SeatSet::EMPTY };
        for (seat, stopwatch) in (0..).map(Seat::new).zip(&mut self.by_seat) {
            stopwatch.set_running(deciding_seats.contains(seat), now);
        }
    }

    /// Returns the time of a decision that arrived at `now`. `thinking_time` is the one that the agent claims. `None` if
    /// the seat's time has run out.
    pub(super) fn time_taken(
        &self,
        clock: &Clock,
        state: &State,
        seat: Seat,
        now: Instant,
        thinking_time: Option<Duration>,
    ) -> Option<DecisionTime> {
        let bank = &state.by_seat[seat.index()].time;
        let elapsed = micros(self.by_seat[seat.index()].elapsed(now));
        let network = thinking_time
            .map_or(Duration::ZERO, |thinking_time| elapsed.saturating_sub(micros(thinking_time)));
        let time = DecisionTime { elapsed, network: network.min(bank.network_quota) };
        (time.counted() <= bank.available(clock)).then_some(time)
    }

    /// Returns when the timekeeping task must check the clocks again; `None` if no time is running.
    pub(super) fn next(&self, state: &State) -> Option<Instant> {
        let now = Instant::now();
        let left = if state.is_before_first_deal() {
            let left = self.opening_timeout.saturating_sub(self.opening_stopwatch.elapsed(now));
            state.waits_for_secrets().then_some(left)
        } else if self.has_started {
            state.deciding_seats().iter().filter_map(|seat| self.left(state, seat, now)).min()
        } else {
            return Some(self.start);
        };
        left.map(|left| now + left.max(SHORTEST_SLEEP))
    }

    /// Returns the time until a seat's timeout. It includes the network quota (an allowance for network delay),
    /// because the decision may still be on the network. Returns `None` while the seat's clock is stopped.
    fn left(&self, state: &State, seat: Seat, now: Instant) -> Option<Duration> {
        let (stopwatch, bank) = (&self.by_seat[seat.index()], &state.by_seat[seat.index()].time);
        stopwatch.started?;
        let all = bank.available(state.clock(seat)?) + bank.network_quota;
        Some(all.saturating_sub(stopwatch.elapsed(now)))
    }

    /// Returns the readings of the clocks; empty if no seat has a clock.
    pub(super) fn readings(&self, state: &State) -> Vec<v1::ClockReading> {
        if state.clocks.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let reading = |(seat, stopwatch): (Seat, &Stopwatch)| {
            let Some(clock) = state.clock(seat) else { return v1::ClockReading::default() };
            let bank = &state.by_seat[seat.index()].time;
            let left = micros(bank.available(clock).saturating_sub(stopwatch.elapsed(now)));
            v1::ClockReading {
                left: left.try_into().ok(),
                bank: bank.bank.min(left).try_into().ok(),
                running: stopwatch.started.is_some(),
                strikes: bank.strikes,
            }
        };
        (0..).map(Seat::new).zip(&self.by_seat).map(reading).collect()
    }
}

/// Rounds a time down to whole microseconds, as the journal stores it.
pub(super) fn micros(time: Duration) -> Duration {
    Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

impl State {
    fn clock(&self, seat: Seat) -> Option<&Clock> {
        self.clocks.get(seat.index())?.as_ref()
    }

    /// Returns whether an agent has joined at every agent's seat.
    fn all_have_joined(&self) -> bool {
        self.agents.iter().all(|seat| self.holders[seat.index()].is_some())
    }

    /// Returns the seats with clocks that must decide now.
    fn deciding_seats(&self) -> SeatSet {
        let must_decide =
            |seat: &Seat| self.clock(*seat).is_some() && !self.by_seat[seat.index()].has_timed_out;
        self.pending().iter().filter(must_decide).collect()
    }
}

impl Arbiter {
    /// Applies the timeouts of a match until the match is closed.
    pub(super) async fn keep_time(self: Arc<Self>) {
        loop {
            let mut changed = std::pin::pin!(self.change_notify.notified());
            changed.as_mut().enable();
            let checked = self.update(|inner| {
                let is_open = inner.state.closed.is_none();
                is_open.then(|| (self.check_clocks(inner), inner.clocks.next(&inner.state)))
            });
            match checked {
                None => return,
                Some((true, _)) => {}
                Some((false, None)) => changed.await,
                Some((false, Some(next))) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(next) => stall::wait_for_pending_tasks().await,
                },
            }
        }
    }

    /// Applies the timeouts that are due. Returns whether there were any.
    fn check_clocks(&self, inner: &mut Inner) -> bool {
        inner.clocks.update(&inner.state, self.bots_think());
        let now = Instant::now();
        let (clocks, state) = (&inner.clocks, &inner.state);
        let seats = state.seats_to_join_or_open();
        if state.waits_for_secrets()
            && !seats.is_empty()
            && clocks.opening_stopwatch.elapsed(now) >= clocks.opening_timeout
        {
            self.close_with(inner, CloseReason::Withheld { seats });
            return true;
        }
        let has_timed_out = |seat: &Seat| clocks.left(state, *seat, now).is_some_and(|left| left.is_zero());
        let timed_out_seats: SeatSet = state.deciding_seats().iter().filter(has_timed_out).collect();
        let mut any_timed_out = false;
        for seat in timed_out_seats.iter() {
            // While the journal cannot be written, no seat times out.
            any_timed_out |= self.time_out(inner, seat).is_ok();
        }
        if any_timed_out {
            self.play_automatic_steps(inner);
        }
        any_timed_out
    }

    /// Records the timeout of a seat's present decision.
    pub(super) fn time_out(&self, inner: &mut Inner, seat: Seat) -> Result<(), Error> {
        self.commit(inner, [EventKind::TimedOut { seat }])?;
        inner.clocks.restart(seat);
        Ok(())
    }
}

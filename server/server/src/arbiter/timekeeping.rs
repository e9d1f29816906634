//! How long the present decisions have been taking, and what happens when that is too long.
//!
//! The journal keeps none of this: after a restart all clocks of present decisions start at zero.

use std::sync::Arc;
use std::time::Duration;

use boardwire_api::{Error, v1};
use boardwire_kernel::{Seat, SeatSet};
use tokio::time::Instant;

use super::clock::Clock;
use super::event::EventKind;
use super::state::State;
use super::{Arbiter, CloseReason, Inner, Settings};
use crate::convert::time;
use crate::held_up;
use crate::record::DecisionTime;

/// How long clocks wait, after a match was created, for agents that have not joined.
const JOIN_TIMEOUT: Duration = Duration::from_mins(1);

/// How long the present decision of a seat has been taking.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stopwatch {
    /// Before the clock was stopped.
    before: Duration,
    /// Since when it runs, and how long the server had been held up by then.
    since: Option<(Instant, Duration)>,
}

impl Stopwatch {
    /// How long it has been taking at `now`, but for the time in which the server was held up.
    fn elapsed(&self, now: Instant) -> Duration {
        self.before
            + self.since.map_or(Duration::ZERO, |(since, held_up)| {
                let all = now.saturating_duration_since(since);
                all.saturating_sub(held_up::so_far().saturating_sub(held_up))
            })
    }

    /// Starts or stops the clock.
    fn run(&mut self, runs: bool, now: Instant) {
        if runs == self.since.is_some() {
            return;
        }
        *self = if runs {
            Self { since: Some((now, held_up::so_far())), ..*self }
        } else {
            Self { before: self.elapsed(now), since: None }
        };
    }
}

/// All clocks of a match.
pub(super) struct Clocks {
    running: Vec<Stopwatch>,
    /// When they run at the latest, even if an agent has not joined.
    start: Instant,
    /// Whether they have begun: once they have, a seat that gets another agent does not stop them.
    begun: bool,
    /// How long agents have been taking to open what they contribute to the first deal.
    opening: Stopwatch,
    /// How long they may.
    most_opening: Duration,
}

impl Clocks {
    /// Those of a match that was created so long ago.
    pub(super) fn new(settings: &Settings, age: Duration) -> Self {
        let start = Instant::now() + JOIN_TIMEOUT.saturating_sub(age);
        let running = vec![Stopwatch::default(); settings.players.len()];
        Self { running, start, begun: false, opening: Stopwatch::default(), most_opening: settings.opening }
    }

    /// Restarts the clock of a seat.
    pub(super) fn restart(&mut self, seat: Seat) {
        self.running[seat.index()] = Stopwatch::default();
    }

    /// The same for all seats.
    pub(super) fn restart_all(&mut self) {
        self.running.fill(Stopwatch::default());
    }

    /// Lets the clocks run of those seats that are to choose now, and of no other.
    pub(super) fn run(&mut self, state: &State, bots_think: bool) {
        let now = Instant::now();
        self.opening.run(state.is_opening(), now);
        self.begun |= state.have_joined() || now >= self.start;
        let chooses = if self.begun && !bots_think && state.closed.is_none() {
            state.to_choose()
        } else {
            SeatSet::EMPTY
        };
        for (seat, running) in state.seats().zip(&mut self.running) {
            running.run(chooses.contains(seat), now);
        }
    }

    /// How long the present decision of a seat has taken at `now`, when its agent says that it has thought for so long;
    /// nothing, if time has run out.
    pub(super) fn took(
        &self,
        state: &State,
        seat: Seat,
        now: Instant,
        thought: Option<Duration>,
    ) -> Option<DecisionTime> {
        let Some(clock) = state.clock(seat) else { return Some(DecisionTime::default()) };
        let time = &state.by_seat[seat.index()].time;
        let all = micros(self.running[seat.index()].elapsed(now));
        let on_the_wire = thought.map_or(Duration::ZERO, |thought| all.saturating_sub(micros(thought)));
        let took = DecisionTime { all, refund: on_the_wire.min(time.quota) };
        (took.charged() <= time.for_one(clock)).then_some(took)
    }

    /// The seats whose time has run out at `now`, whatever may be on the wire.
    pub(super) fn run_out(&self, state: &State, now: Instant) -> SeatSet {
        let out = |seat: &Seat| self.left(state, *seat, now).is_some_and(|left| left.is_zero());
        state.to_choose().iter().filter(out).collect()
    }

    /// When it should be looked again whether somebody's time has run out.
    pub(super) fn next(&self, state: &State) -> Option<Instant> {
        let now = Instant::now();
        if state.is_gathering() {
            let left = self.most_opening.saturating_sub(self.opening.elapsed(now));
            return state.is_opening().then_some(now + left.max(Duration::from_millis(1)));
        }
        if !self.begun {
            return Some(self.start);
        }
        let left = state.to_choose().iter().filter_map(|seat| self.left(state, seat, now));
        // Never sooner than the operating system could tell.
        left.min().map(|left| now + left.max(Duration::from_millis(1)))
    }

    /// The seats that have not opened what they contribute to the first deal, when they had time enough.
    fn withheld(&self, state: &State, now: Instant) -> SeatSet {
        let is_late = state.is_opening() && self.opening.elapsed(now) >= self.most_opening;
        if is_late { state.missing() } else { SeatSet::EMPTY }
    }

    /// How long it is until the time of a seat runs out, whatever may be on the wire; nothing, if its clock stands.
    fn left(&self, state: &State, seat: Seat, now: Instant) -> Option<Duration> {
        let (running, time) = (&self.running[seat.index()], &state.by_seat[seat.index()].time);
        running.since?;
        let all = time.for_one(state.clock(seat)?) + time.quota;
        Some(all.saturating_sub(running.elapsed(now)))
    }

    /// What the clocks show; nothing, if there are none.
    pub(super) fn readings(&self, state: &State) -> Vec<v1::ClockReading> {
        if state.clocks.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let reading = |(seat, running): (Seat, &Stopwatch)| {
            let Some(clock) = state.clock(seat) else { return v1::ClockReading::default() };
            let own = &state.by_seat[seat.index()].time;
            let left = micros(own.for_one(clock).saturating_sub(running.elapsed(now)));
            v1::ClockReading {
                left: time(left),
                bank: time(own.bank.min(left)),
                running: running.since.is_some(),
                strikes: own.strikes,
            }
        };
        state.seats().zip(&self.running).map(reading).collect()
    }
}

/// As exactly as it is written.
fn micros(time: Duration) -> Duration {
    Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

impl State {
    /// All seats, ascending.
    fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        Seat::all(u8::try_from(self.by_seat.len()).expect("few"))
    }

    /// The clock of a seat, if it has one.
    pub(super) fn clock(&self, seat: Seat) -> Option<&Clock> {
        self.clocks.get(seat.index())?.as_ref()
    }

    /// Whether every seat that an agent plays at has been taken.
    fn have_joined(&self) -> bool {
        self.agents.iter().all(|seat| self.holders[seat.index()].is_some())
    }

    /// The seats of agents with clocks that are to choose now.
    fn to_choose(&self) -> SeatSet {
        let chooses = |seat: &Seat| self.clock(*seat).is_some() && !self.by_seat[seat.index()].lapsed;
        self.pending().iter().filter(chooses).collect()
    }
}

impl Inner {
    /// Lets the clocks run of those seats that are to choose now.
    pub(super) fn run_clocks(&mut self, bots_think: bool) {
        self.clocks.run(&self.state, bots_think);
    }
}

impl Arbiter {
    /// Keeps the time of a match, until it has ended for good.
    pub(super) async fn keep_time(self: Arc<Self>) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let (commit, next) = {
                let mut inner = self.change();
                if inner.state.closed.is_some() {
                    return;
                }
                (self.look_at_clocks(&mut inner), inner.clocks.next(&inner.state))
            };
            if commit {
                continue;
            }
            match next {
                None => changed.await,
                Some(next) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(next) => held_up::settle().await,
                },
            }
        }
    }

    /// Lets time run out for those seats that have none left; whether it has for any.
    fn look_at_clocks(&self, inner: &mut Inner) -> bool {
        inner.run_clocks(self.bots_think());
        let seats = inner.clocks.withheld(&inner.state, Instant::now());
        if !seats.is_empty() {
            self.end(inner, CloseReason::Withheld { seats });
            return true;
        }
        let out = inner.clocks.run_out(&inner.state, Instant::now());
        let mut commit = false;
        for seat in out.iter() {
            // A journal that fails holds everybody up: nobody's time passes.
            commit |= self.time_runs_out(inner, seat).is_ok();
        }
        if commit {
            self.settle(inner);
        }
        commit
    }

    /// Lets the time of a seat run out.
    pub(super) fn time_runs_out(&self, inner: &mut Inner, seat: Seat) -> Result<(), Error> {
        self.commit(inner, [EventKind::RanOut { seat }])?;
        inner.clocks.restart(seat);
        Ok(())
    }
}

//! How long seats may think.
//!
//! What a clock says is a fold over events: each decision carries how long it took, a clock that has run out is an event
//! of its own. How long the present decision has been taking is not: it begins anew when the server does.

use std::sync::Arc;
use std::time::Duration;

use boardwire_bots::Bot;
use boardwire_kernel::{Seat, SeatSet};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::event::What;
use super::standing::Standing;
use super::thinking::Thinking;
use super::{Arbiter, CloseReason, Inner, Settings};
use crate::error::ServiceError;
use crate::held_up;

/// The longest that a part of a clock may be.
pub(crate) const LONGEST: Duration = Duration::from_hours(24);
/// The most times that a clock may forgive.
const MOST_STRIKES: u32 = 100;
/// For how many decisions' time on the wire a seat begins with, and how many it can save up.
const FIRST_GAINS: u32 = 3;
const MOST_GAINS: u32 = 7;
/// How long clocks wait, after a match was created, for agents that have not joined.
const JOINING: Duration = Duration::from_mins(1);

/// How long a seat may think, and what happens when its time has run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// For every decision, before the bank is drawn on.
    pub limit: Duration,
    /// For the whole episode: what decisions take beyond the limit.
    pub bank: Duration,
    /// What is put into the bank after every decision that was made in time.
    pub increment: Duration,
    /// How often in an episode it is forgiven that time has run out: the decision then begins anew.
    pub strikes: u32,
    /// What happens when it is not forgiven.
    pub on_timeout: OnTimeout,
}

/// What happens when a seat's time has run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// The episode ends; the seat is last.
    Forfeit,
    /// The legal action with the lowest index is played for it.
    FirstLegal,
    /// A legal action drawn from the episode's seed is played for it.
    SeededLegal,
    /// A bot makes the decision from what the seat knows.
    Bot(Bot),
}

/// How long a decision took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Took {
    /// From when the seat could have been shown it, until its answer came.
    pub all: Duration,
    /// How much of that was on the wire, and is given back.
    pub refund: Duration,
}

/// What a seat's clock has left, beside the time of the present decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Time {
    bank: Duration,
    /// What can still be given back for time on the wire.
    quota: Duration,
    strikes: u32,
}

/// What a seat's clock shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// How long the seat may still think about the present decision, or the next one.
    pub left: Duration,
    /// How much of that is in the bank.
    pub bank: Duration,
    /// Whether time passes.
    pub running: bool,
    /// How often it is still forgiven that time runs out.
    pub strikes: u32,
}

impl Clock {
    /// Refuses times that cannot be.
    ///
    /// # Errors
    /// Parts that are too long, too many strikes, no time at all.
    pub fn check(&self) -> Result<(), ServiceError> {
        let refuse = |value: String, expected: String| {
            Err(ServiceError::BadField { field: "clocks", value, expected })
        };
        let Self { limit, bank, increment, strikes, .. } = self;
        if let Some(long) = [limit, bank, increment].into_iter().find(|time| **time > LONGEST) {
            return refuse(
                format!("{} s", long.as_secs()),
                format!("times of at most {} s", LONGEST.as_secs()),
            );
        }
        if (*limit + *bank).is_zero() {
            return refuse("no limit and no bank".to_owned(), "some time to think".to_owned());
        }
        if *strikes > MOST_STRIKES {
            return refuse(format!("{strikes} strikes"), format!("at most {MOST_STRIKES} strikes"));
        }
        Ok(())
    }

    /// What a seat may be given back for the time that a decision is on the wire, unless it has saved some up: as lichess has
    /// it, less for machines.
    fn gain(&self) -> Duration {
        let expected = self.bank + 40 * (self.limit + self.increment);
        (Duration::from_millis(50) + expected / 250).min(Duration::from_secs(1))
    }
}

impl Time {
    /// At the beginning of an episode.
    pub(super) fn new(clock: Option<&Clock>) -> Self {
        clock.map_or_else(Self::default, |clock| Self {
            bank: clock.bank,
            quota: FIRST_GAINS * clock.gain(),
            strikes: clock.strikes,
        })
    }

    /// After a decision that was made in time.
    pub(super) fn charge(&mut self, clock: &Clock, took: Took) {
        let beyond = took.charged().saturating_sub(clock.limit);
        self.bank = (self.bank.saturating_sub(beyond) + clock.increment).min(LONGEST);
        self.quota = (self.quota.saturating_sub(took.refund) + clock.gain()).min(MOST_GAINS * clock.gain());
    }

    /// After time has run out; whether that was forgiven.
    pub(super) fn run_out(&mut self) -> bool {
        let forgiven = self.strikes > 0;
        if forgiven {
            self.strikes -= 1;
        } else {
            self.bank = Duration::ZERO;
        }
        forgiven
    }

    /// What the seat has for a decision.
    fn for_one(&self, clock: &Clock) -> Duration {
        clock.limit + self.bank
    }
}

impl Took {
    /// What the seat's clock is charged.
    #[must_use]
    pub fn charged(self) -> Duration {
        self.all.saturating_sub(self.refund)
    }
}

/// How long the present decision of a seat has been taking.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Running {
    /// Before the clock was stopped.
    before: Duration,
    /// Since when it runs, and how long the server had been held up by then.
    since: Option<(Instant, Duration)>,
}

impl Running {
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
    running: Vec<Running>,
    /// When they run at the latest, whoever has not joined.
    start: Instant,
    /// Whether they have begun: once they have, no seat that is given away anew stops them.
    begun: bool,
    /// How long agents have been taking to open what they contribute to the first deal.
    opening: Running,
    /// How long they may.
    most_opening: Duration,
}

impl Clocks {
    /// Those of a match that was created so long ago.
    pub(super) fn new(settings: &Settings, age: Duration) -> Self {
        let start = Instant::now() + JOINING.saturating_sub(age);
        let running = vec![Running::default(); settings.players.len()];
        Self { running, start, begun: false, opening: Running::default(), most_opening: settings.opening }
    }

    /// Lets the clock of a seat begin anew.
    pub(super) fn begin_anew(&mut self, seat: Seat) {
        self.running[seat.index()] = Running::default();
    }

    /// The same for all seats.
    pub(super) fn all_begin_anew(&mut self) {
        self.running.fill(Running::default());
    }

    /// Lets the clocks run of those seats that are to choose now, and of no other.
    pub(super) fn run(&mut self, standing: &Standing, bots_think: bool) {
        let now = Instant::now();
        self.opening.run(standing.is_opening(), now);
        self.begun |= standing.have_joined() || now >= self.start;
        let chooses = if self.begun && !bots_think && standing.closed.is_none() {
            standing.to_choose()
        } else {
            SeatSet::EMPTY
        };
        for (seat, running) in standing.seats().zip(&mut self.running) {
            running.run(chooses.contains(seat), now);
        }
    }

    /// How long the present decision of a seat has taken at `now`, when its agent says that it has thought for so long;
    /// nothing, if time has run out.
    pub(super) fn took(
        &self,
        standing: &Standing,
        seat: Seat,
        now: Instant,
        thought: Option<Duration>,
    ) -> Option<Took> {
        let Some(clock) = standing.clock(seat) else { return Some(Took::default()) };
        let time = &standing.places[seat.index()].time;
        let all = micros(self.running[seat.index()].elapsed(now));
        let on_the_wire = thought.map_or(Duration::ZERO, |thought| all.saturating_sub(micros(thought)));
        let took = Took { all, refund: on_the_wire.min(time.quota) };
        (took.charged() <= time.for_one(clock)).then_some(took)
    }

    /// The seats whose time has run out at `now`, whatever may be on the wire.
    pub(super) fn run_out(&self, standing: &Standing, now: Instant) -> SeatSet {
        let out = |seat: &Seat| self.left(standing, *seat, now).is_some_and(|left| left.is_zero());
        standing.to_choose().iter().filter(out).collect()
    }

    /// When it should be looked again whether somebody's time has run out.
    pub(super) fn next(&self, standing: &Standing) -> Option<Instant> {
        let now = Instant::now();
        if standing.is_gathering() {
            let left = self.most_opening.saturating_sub(self.opening.elapsed(now));
            return standing.is_opening().then_some(now + left.max(Duration::from_millis(1)));
        }
        if !self.begun {
            return Some(self.start);
        }
        let left = standing.to_choose().iter().filter_map(|seat| self.left(standing, seat, now));
        // Never sooner than the operating system could tell.
        left.min().map(|left| now + left.max(Duration::from_millis(1)))
    }

    /// The seats that have not opened what they contribute to the first deal, when they had time enough.
    fn withheld(&self, standing: &Standing, now: Instant) -> SeatSet {
        let is_late = standing.is_opening() && self.opening.elapsed(now) >= self.most_opening;
        if is_late { standing.missing() } else { SeatSet::EMPTY }
    }

    /// How long it is until the time of a seat runs out, whatever may be on the wire; nothing, if its clock stands.
    fn left(&self, standing: &Standing, seat: Seat, now: Instant) -> Option<Duration> {
        let (running, time) = (&self.running[seat.index()], &standing.places[seat.index()].time);
        running.since?;
        let all = time.for_one(standing.clock(seat)?) + time.quota;
        Some(all.saturating_sub(running.elapsed(now)))
    }

    /// What the clocks show; nothing, if there are none.
    pub(super) fn readings(&self, standing: &Standing) -> Vec<Option<Reading>> {
        let now = Instant::now();
        let reading = |(seat, running): (Seat, &Running)| {
            let (clock, time) = (standing.clock(seat)?, &standing.places[seat.index()].time);
            let left = micros(time.for_one(clock).saturating_sub(running.elapsed(now)));
            let bank = time.bank.min(left);
            Some(Reading { left, bank, running: running.since.is_some(), strikes: time.strikes })
        };
        standing.seats().zip(&self.running).map(reading).collect()
    }
}

/// As exactly as it is written.
fn micros(time: Duration) -> Duration {
    Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

impl Standing {
    /// All seats, ascending.
    fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        Seat::all(u8::try_from(self.places.len()).expect("few"))
    }

    /// The clock of a seat, if it has one.
    pub(super) fn clock(&self, seat: Seat) -> Option<&Clock> {
        self.clocks.get(seat.index())?.as_ref()
    }

    /// Whether every seat that an agent plays at has been taken.
    fn have_joined(&self) -> bool {
        self.remote.iter().all(|seat| self.holders[seat.index()].is_some())
    }

    /// The seats of agents with clocks that are to choose now.
    fn to_choose(&self) -> SeatSet {
        let chooses = |seat: &Seat| self.clock(*seat).is_some() && !self.places[seat.index()].lapsed;
        self.pending().iter().filter(chooses).collect()
    }
}

impl Inner {
    /// Lets the clocks run of those seats that are to choose now.
    pub(super) fn run_clocks(&mut self, bots_think: bool) {
        self.clocks.run(&self.standing, bots_think);
    }
}

impl Arbiter {
    /// Keeps the time of a match, until it has ended for good.
    pub(super) async fn keep_time(self: Arc<Self>) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let ((happened, round), next) = {
                let mut inner = self.lock();
                if inner.standing.closed.is_some() {
                    return;
                }
                let round = self.look_at_clocks(&mut inner);
                (round, inner.clocks.next(&inner.standing))
            };
            if happened {
                self.carry_on(round);
                continue;
            }
            match next {
                None => changed.await,
                Some(next) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(next) => {}
                },
            }
        }
    }

    /// Lets time run out for those seats that have none left; whether it has for any, and what is to be carried on.
    fn look_at_clocks(self: &Arc<Self>, inner: &mut Inner) -> (bool, Option<Thinking>) {
        inner.run_clocks(self.bots_think());
        let seats = inner.clocks.withheld(&inner.standing, Instant::now());
        if !seats.is_empty() {
            self.end(inner, CloseReason::Withheld { seats });
            return (true, None);
        }
        let out = inner.clocks.run_out(&inner.standing, Instant::now());
        let mut happened = false;
        for seat in out.iter() {
            // A journal that fails holds everybody up: nobody's time passes.
            happened |= self.time_runs_out(inner, seat).is_ok();
        }
        (happened, if happened { self.settle(inner) } else { None })
    }

    /// Lets the time of a seat run out.
    pub(super) fn time_runs_out(&self, inner: &mut Inner, seat: Seat) -> Result<(), ServiceError> {
        self.happened(inner, [What::RanOut { seat }])?;
        inner.clocks.begin_anew(seat);
        Ok(())
    }
}

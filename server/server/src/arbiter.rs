//! The arbiter of one match: it keeps the state, accepts decisions, and responds to the seats.
//!
//! The events of a match determine its state. `decide` turns a request into events or refuses it; it changes no state.
//! `state` applies events; it draws no random values and reads no clock. The arbiter connects both modules to callers,
//! clocks, bots and the journal.
//!
//! One `std::sync::Mutex` protects all state of a match. No task holds it across an await. Slow bots run on the thread pool,
//! with a copy of what their seat knows. Every change wakes the waiting calls, and they check again.

mod clock;
mod commit;
mod decide;
mod episodes;
mod event;
mod fair;
mod match_journal;
mod replay;
mod seat_access;
mod settings;
mod state;
mod summary;
mod timekeeping;
mod waiting;
mod watching;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use boardwire_batch::Player;
use boardwire_batch::play::{BotDecisions, InformationSet};
use boardwire_batch::pool::WorkQueue;
use boardwire_batch::tables::Table;
use boardwire_kernel::Seat;
use tokio::sync::Notify;

pub use boardwire_api::v1::{Extras, Forfeit, Frame, Observation};
pub use clock::{Clock, OnTimeout};
pub use episodes::{CloseReason, Reset};
pub use fair::OPENING_TIMEOUT;
pub use seat_access::Role;
pub use settings::{MAX_TIMEOUT, Settings};
pub use summary::{Phase, Position};
pub use waiting::Auth;
pub use watching::{Audience, Watcher};

use crate::record::fair::DealSecret;
use crate::secret;
pub use crate::secret::{EpisodeKey, SeedSource};
use boardwire_api::Error;
use commit::BotRound;
#[cfg(test)]
use event::Event;
use event::EventKind;
use fair::Deals;
use match_journal::MatchJournal;
use seat_access::SeatAccess;
use state::State;
use timekeeping::Clocks;

/// A decision as a seat sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The number of the decision's episode.
    pub episode: u32,
    /// The number of the seat's decision in the episode, from 0.
    pub number: u32,
    /// The chosen action.
    pub action: u32,
}

/// A decision, its arrival time, and the options for the response.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    /// The decision.
    pub decision: Decision,
    /// When the decision arrived at the server.
    pub arrived: tokio::time::Instant,
    /// The thinking time that the agent reports. The server treats the rest of the time as network delay. Up to a quota, the
    /// seat's clock does not count this delay.
    pub thinking_time: Option<Duration>,
    /// Whether the call waits until the seat owes its next decision, or the episode is over.
    pub wait: bool,
    /// The optional parts of the observation to return.
    pub extras: Extras,
}

impl From<Decision> for Act {
    fn from(decision: Decision) -> Self {
        let (arrived, extras) = (tokio::time::Instant::now(), Extras::default());
        Self { decision, arrived, thinking_time: None, wait: false, extras }
    }
}

/// A match: its fixed settings, its state behind a lock, and its bots' work.
pub struct Arbiter {
    identity: Identity,
    table: Arc<Table>,
    settings: Settings,
    inner: Mutex<Inner>,
    change_notify: Notify,
    /// The owner of the bots' work in the thread pool.
    work_queue: WorkQueue,
    /// The number of the bot round that bots think about; 0 if no bot thinks.
    current_bot_round: AtomicU64,
    /// The maximum number of waiting calls of one seat.
    max_waiting_calls: usize,
}

/// The id and the secrets of a match. They never change.
struct Identity {
    id: String,
    host: secret::Secret,
    /// The token with which spectators can watch a private match.
    spectator: secret::Secret,
    created: SystemTime,
}

struct Inner {
    state: State,
    seat_access: Vec<SeatAccess>,
    clocks: Clocks,
    /// `None` if the server has no journal.
    journal: Option<MatchJournal>,
    /// The number of bot rounds that have started.
    bot_round_count: u64,
    /// The bot round that goes to the thread pool when the lock is released.
    pending_bot_round: Option<Box<dyn BotDecisions>>,
    /// Whether the match has changed since the lock was taken.
    has_changed: bool,
    last_used: Instant,
    /// The key of the first episode and the source of later seeds. `events` has all events so far.
    #[cfg(test)]
    first: (EpisodeKey, secret::Seeds),
    #[cfg(test)]
    events: Vec<Event>,
}

impl Arbiter {
    /// Creates a match. Deals its first episode unless deals are fair. [`Self::start`] starts it. Its bots
    /// run in `work_queue`.
    #[must_use]
    pub fn new(
        table: Arc<Table>,
        settings: Settings,
        work_queue: WorkQueue,
        max_waiting_calls: usize,
    ) -> Self {
        let [host, spectator] = [(); 2].map(|()| secret::Secret::random());
        let identity = Identity { id: secret::random_hex(), host, spectator, created: match_journal::now() };
        let (deals, key, seeds) = Deals::first(&settings);
        let state = State::new(&table, &settings, &identity.id, key, seeds, deals, identity.created);
        let invitation = |player: &Player| (*player == Player::Agent).then(secret::Secret::random);
        let seat_access = settings.players.iter().map(invitation).map(SeatAccess::new).collect();
        Self::assemble(identity, table, settings, work_queue, max_waiting_calls, state, seat_access)
    }

    fn assemble(
        identity: Identity,
        table: Arc<Table>,
        settings: Settings,
        work_queue: WorkQueue,
        max_waiting_calls: usize,
        state: State,
        seat_access: Vec<SeatAccess>,
    ) -> Self {
        let age = SystemTime::now().duration_since(identity.created).unwrap_or_default();
        let inner = Inner {
            clocks: Clocks::new(&settings, age),
            #[cfg(test)]
            first: (state.present.key, state.seeds.clone()),
            #[cfg(test)]
            events: Vec::new(),
            state,
            seat_access,
            journal: None,
            bot_round_count: 0,
            pending_bot_round: None,
            has_changed: false,
            last_used: Instant::now(),
        };
        let (inner, change_notify, current_bot_round) = (Mutex::new(inner), Notify::new(), AtomicU64::new(0));
        Self {
            identity,
            table,
            settings,
            inner,
            change_notify,
            work_queue,
            current_bot_round,
            max_waiting_calls,
        }
    }

    /// Returns the match's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.identity.id
    }

    /// Returns the table of the match.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the settings that the match was created with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the match was last used. `None` while a call waits or bots think.
    #[must_use]
    pub fn idle_since(&self) -> Option<Instant> {
        let inner = self.lock();
        let in_use = self.bots_think() || inner.seat_access.iter().any(|access| access.waiting_calls > 0);
        (!in_use).then_some(inner.last_used)
    }

    /// Locks the match and applies a change. Then starts a new round of bots, if there is one, and wakes the waiting calls.
    fn update<T>(self: &Arc<Self>, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let result = change(&mut inner);
        let (round, number) = (inner.pending_bot_round.take(), inner.bot_round_count);
        let has_changed = std::mem::take(&mut inner.has_changed);
        // Unlock first: the pool may drop other work immediately, and dropping that work takes the lock.
        drop(inner);
        if let Some(round) = round {
            self.work_queue.spawn(BotRound::new(self, number, round));
        }
        if has_changed {
            self.change_notify.notify_waiters();
        }
        result
    }

    /// Returns a seat's observation. With `wait` the call first waits until no bot thinks and the seat owes a decision, or
    /// until the episode is over.
    ///
    /// # Errors
    /// The token belongs to no seat; the match is closed; the seat has too many waiting calls.
    pub async fn observe(
        self: &Arc<Self>,
        auth: impl Into<Auth>,
        wait: bool,
        extras: Extras,
    ) -> Result<Observation, Error> {
        let try_respond =
            |inner: &mut Inner, role| self.observe_if_ready(inner, self.seat_of(role)?, wait, extras);
        self.respond_when(auth, false, try_respond).await
    }

    /// Returns a seat's observation, or `None` if the call has to wait.
    fn observe_if_ready(
        &self,
        inner: &Inner,
        seat: Seat,
        wait: bool,
        extras: Extras,
    ) -> Result<Option<Observation>, Error> {
        let state = &inner.state;
        if !wait {
            state.require_dealt()?;
        }
        // A call that waits also waits for bots. Otherwise the observation would depend on how fast they think.
        let due = state.pending().contains(seat) && !self.bots_think();
        let ready = !wait || state.is_over() || due;
        Ok(ready.then(|| Observation {
            clocks: inner.clocks.readings(state),
            ..state.observe(&self.table, &self.settings, seat, extras)
        }))
    }

    /// Waits until no bot thinks. Returns the information set of a seat that owes a decision.
    ///
    /// # Errors
    /// The token belongs to no seat; the seat owes no decision; the episode is over; the match is closed; the seat has too
    /// many waiting calls.
    pub async fn information_set(
        self: &Arc<Self>,
        auth: impl Into<Auth>,
    ) -> Result<Box<dyn InformationSet>, Error> {
        let try_respond = |inner: &mut Inner, role| {
            let seat = self.seat_of(role)?;
            if self.bots_think() { Ok(None) } else { inner.state.information_set(seat).map(Some) }
        };
        self.respond_when(auth, false, try_respond).await
    }

    /// Applies a seat's decision once no bot thinks, and returns the seat's next observation. Idempotent: a repeated
    /// decision with the same action changes nothing.
    ///
    /// # Errors
    /// The token belongs to no seat; the decision is not due or is late; the action is not legal; the match is closed; the
    /// seat has too many waiting calls.
    pub async fn act(
        self: &Arc<Self>,
        auth: impl Into<Auth>,
        act: impl Into<Act>,
    ) -> Result<Observation, Error> {
        let (act, mut is_made) = (act.into(), false);
        let try_respond = |inner: &mut Inner, role| {
            let seat = self.seat_of(role)?;
            tracing::Span::current().record("seat", seat.number());
            if !is_made {
                if self.bots_think() {
                    return Ok(None);
                }
                self.make_decision(inner, seat, &act)?;
                is_made = true;
            }
            self.observe_if_ready(inner, seat, act.wait, act.extras)
        };
        self.respond_when(auth, act.wait, try_respond).await
    }

    fn make_decision(&self, inner: &mut Inner, seat: Seat, act: &Act) -> Result<(), Error> {
        let event_of_decision =
            |state: &State| state.event_of_decision(&self.table, &self.settings, seat, act.decision);
        let Some(mut event) = event_of_decision(&inner.state)? else { return Ok(()) };
        if let (EventKind::Played { decision_time, .. }, Some(clock)) =
            (&mut event, self.settings.clock(seat))
        {
            let time = inner.clocks.time_taken(clock, &inner.state, seat, act.arrived, act.thinking_time);
            if time.is_none() {
                self.time_out(inner, seat)?;
                if inner.state.by_seat[seat.index()].has_timed_out {
                    self.play_automatic_steps(inner);
                    // A repeated request gets the same error.
                    let Decision { episode, number: decision, .. } = act.decision;
                    let late = Error::DecisionLate { episode, decision };
                    return Err(event_of_decision(&inner.state).err().unwrap_or(late));
                }
            }
            *decision_time = Some(time.unwrap_or_default());
        }
        self.commit(inner, [event])?;
        inner.clocks.restart(seat);
        self.play_automatic_steps(inner);
        Ok(())
    }

    /// Receives the secret that a seat has committed to for fair deals. The call waits until all agents have joined. After
    /// the last seat's secret the server deals the first episode. Idempotent: a repeated call changes nothing.
    ///
    /// # Errors
    /// The token belongs to no seat; the match has no fair deals; the secret does not match the seat's commitment; the match
    /// is closed; the seat has too many waiting calls.
    pub async fn open_deal(self: &Arc<Self>, auth: impl Into<Auth>, secret: DealSecret) -> Result<(), Error> {
        let try_respond = |inner: &mut Inner, role| {
            let Some(events) = inner.state.open_events(self.seat_of(role)?, secret)? else { return Ok(None) };
            // A repeated call must not restart the bots' thinking.
            if !events.is_empty() {
                self.commit(inner, events)?;
                self.play_automatic_steps(inner);
            }
            Ok(Some(()))
        };
        self.respond_when(auth, false, try_respond).await
    }

    /// Starts the match: makes all decisions that need no agent, and starts the clocks.
    pub fn start(self: &Arc<Self>) {
        let is_before_first_deal = self.update(|inner| {
            self.play_automatic_steps(inner);
            inner.state.is_before_first_deal()
        });
        if is_before_first_deal || !self.settings.clocks.is_empty() {
            tokio::spawn(Arc::clone(self).keep_time());
        }
    }

    fn bots_think(&self) -> bool {
        self.current_bot_round.load(Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests;

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
mod log;
mod replay;
mod settings;
mod state;
mod summary;
mod tickets;
mod timekeeping;
mod waiting;
mod watching;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use boardwire_batch::Player;
use boardwire_batch::play::{Insight, Round};
use boardwire_batch::pool::Owner;
use boardwire_batch::tables::Table;
use boardwire_kernel::Seat;
use tokio::sync::Notify;

pub use boardwire_api::v1::{Extras, Forfeit, Frame, Observation};
pub use clock::{Clock, OnTimeout};
pub use episodes::{CloseReason, Reset};
pub use fair::OPENING_TIMEOUT;
pub use settings::{MAX_TIMEOUT, Settings};
pub use summary::{Phase, Position};
pub use tickets::Role;
pub use waiting::Auth;
pub use watching::{Audience, Watcher};

use crate::record::fair::Contribution;
use crate::secret;
pub use crate::secret::{EpisodeKey, SeedSource};
use boardwire_api::Error;
use commit::BotRound;
#[cfg(test)]
use event::Event;
use event::EventKind;
use fair::Deals;
use log::Log;
use state::State;
use tickets::Ticket;
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
    pub thought: Option<Duration>,
    /// Whether the call waits until the seat owes its next decision, or the episode is over.
    pub wait: bool,
    /// The optional parts of the observation to return.
    pub extras: Extras,
}

impl From<Decision> for Act {
    fn from(decision: Decision) -> Self {
        let (arrived, extras) = (tokio::time::Instant::now(), Extras::default());
        Self { decision, arrived, thought: None, wait: false, extras }
    }
}

/// A match: its fixed settings, its state behind a lock, and its bots' work.
pub struct Arbiter {
    identity: Identity,
    table: Arc<Table>,
    settings: Settings,
    inner: Mutex<Inner>,
    changed: Notify,
    /// The owner of the bots' work in the thread pool.
    owner: Owner,
    /// The number of the round that bots think about; 0 if no bot thinks.
    round: AtomicU64,
    /// The maximum number of waiting calls of one seat.
    waiting_limit: usize,
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
    tickets: Vec<Ticket>,
    clocks: Clocks,
    /// `None` if the server has no journal.
    log: Option<Log>,
    /// The number of rounds of bots that have started.
    rounds: u64,
    /// The round that goes to the thread pool when the lock is released.
    new_round: Option<Box<dyn Round>>,
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
    /// Creates a match. Deals its first episode unless deals are fair. [`Self::begin`] starts it. Its bots work for `owner`.
    #[must_use]
    pub fn new(table: Arc<Table>, settings: Settings, owner: Owner, waiting_limit: usize) -> Self {
        let [host, spectator] = [(); 2].map(|()| secret::Secret::fresh());
        let identity = Identity { id: secret::word(), host, spectator, created: log::now() };
        let (deals, key, seeds) = Deals::first(&settings);
        let state = State::new(&table, &settings, &identity.id, key, seeds, deals, identity.created);
        let invitation = |player: &Player| (*player == Player::Agent).then(secret::Secret::fresh);
        let tickets = settings.players.iter().map(invitation).map(Ticket::new).collect();
        Self::assemble(identity, table, settings, owner, waiting_limit, state, tickets)
    }

    fn assemble(
        identity: Identity,
        table: Arc<Table>,
        settings: Settings,
        owner: Owner,
        waiting_limit: usize,
        state: State,
        tickets: Vec<Ticket>,
    ) -> Self {
        let age = SystemTime::now().duration_since(identity.created).unwrap_or_default();
        let inner = Inner {
            clocks: Clocks::new(&settings, age),
            #[cfg(test)]
            first: (state.present.key, state.seeds.clone()),
            #[cfg(test)]
            events: Vec::new(),
            state,
            tickets,
            log: None,
            rounds: 0,
            new_round: None,
            has_changed: false,
            last_used: Instant::now(),
        };
        let (inner, changed, round) = (Mutex::new(inner), Notify::new(), AtomicU64::new(0));
        Self { identity, table, settings, inner, changed, owner, round, waiting_limit }
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
        let in_use = self.bots_think() || inner.tickets.iter().any(|ticket| ticket.waiting > 0);
        (!in_use).then_some(inner.last_used)
    }

    /// Locks the match and applies a change. Then starts a new round of bots, if there is one, and wakes the waiting calls.
    fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let result = change(&mut inner);
        let (round, number) = (inner.new_round.take(), inner.rounds);
        let has_changed = std::mem::take(&mut inner.has_changed);
        // Unlock first: the pool may drop other work at once, and dropping that work takes the lock.
        drop(inner);
        if let Some(round) = round {
            self.owner.spawn(BotRound::new(self, number, round));
        }
        if has_changed {
            self.changed.notify_waiters();
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
        let ready = |inner: &mut Inner, role| self.observe_if_ready(inner, self.seat_of(role)?, wait, extras);
        self.respond_when(auth, false, ready).await
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
            state.check_dealt()?;
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
    pub async fn insight(self: &Arc<Self>, auth: impl Into<Auth>) -> Result<Box<dyn Insight>, Error> {
        let ready = |inner: &mut Inner, role| {
            let seat = self.seat_of(role)?;
            if self.bots_think() { Ok(None) } else { inner.state.insight(seat).map(Some) }
        };
        self.respond_when(auth, false, ready).await
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
        let ready = |inner: &mut Inner, role| {
            let seat = self.seat_of(role)?;
            tracing::Span::current().record("seat", seat.number());
            if !is_made {
                if self.bots_think() {
                    return Ok(None);
                }
                self.decide(inner, seat, &act)?;
                is_made = true;
            }
            self.observe_if_ready(inner, seat, act.wait, act.extras)
        };
        self.respond_when(auth, act.wait, ready).await
    }

    fn decide(&self, inner: &mut Inner, seat: Seat, act: &Act) -> Result<(), Error> {
        let decide = |state: &State| state.act(&self.table, &self.settings, seat, act.decision);
        let Some(mut event) = decide(&inner.state)? else { return Ok(()) };
        if let (EventKind::Played { took, .. }, Some(clock)) = (&mut event, self.settings.clock(seat)) {
            let time = inner.clocks.time_taken(clock, &inner.state, seat, act.arrived, act.thought);
            if time.is_none() {
                self.expire(inner, seat)?;
                if inner.state.by_seat[seat.index()].is_expired {
                    self.settle(inner);
                    // A repeated request gets the same error.
                    let Decision { episode, number: decision, .. } = act.decision;
                    let late = Error::DecisionLate { episode, decision };
                    return Err(decide(&inner.state).err().unwrap_or(late));
                }
            }
            *took = Some(time.unwrap_or_default());
        }
        self.commit(inner, [event])?;
        inner.clocks.restart(seat);
        self.settle(inner);
        Ok(())
    }

    /// Receives the secret that a seat has committed to for fair deals. The call waits until all agents have joined. After
    /// the last seat's secret the server deals the first episode. Idempotent: a repeated call changes nothing.
    ///
    /// # Errors
    /// The token belongs to no seat; the match has no fair deals; the secret does not match the seat's commitment; the match
    /// is closed; the seat has too many waiting calls.
    pub async fn open(self: &Arc<Self>, auth: impl Into<Auth>, part: Contribution) -> Result<(), Error> {
        let ready = |inner: &mut Inner, role| {
            let Some(events) = inner.state.open(self.seat_of(role)?, part)? else { return Ok(None) };
            // A repeated call must not restart the bots' thinking.
            if !events.is_empty() {
                self.commit(inner, events)?;
                self.settle(inner);
            }
            Ok(Some(()))
        };
        self.respond_when(auth, false, ready).await
    }

    /// Starts the match: makes all decisions that need no agent, and starts the clocks.
    pub fn begin(self: &Arc<Self>) {
        let is_gathering = self.change(|inner| {
            self.settle(inner);
            inner.state.is_gathering()
        });
        if is_gathering || !self.settings.clocks.is_empty() {
            tokio::spawn(Arc::clone(self).keep_time());
        }
    }

    fn bots_think(&self) -> bool {
        self.round.load(Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests;

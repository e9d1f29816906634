//! The arbiter of one match: it keeps the state, accepts decisions, and answers the seats.
//!
//! The state of a match follows from its events. `decide` turns a request into events or refuses it, and changes nothing.
//! `state` applies events: it draws no random values, and reads no clock. The arbiter connects both to callers, clocks, bots
//! and the journal.
//!
//! One plain lock protects all state of a match. It is never held across an await. Slow bots think on the thread pool, from a
//! copy of what their seat knows. Every change wakes the waiting calls, and they check again.

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
    /// The episode it belongs to.
    pub episode: u32,
    /// The number of the seat's decision in the episode, from 0.
    pub number: u32,
    /// The action chosen.
    pub action: u32,
}

/// A decision with its arrival time, and what the response must contain.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    /// The decision.
    pub decision: Decision,
    /// When it arrived.
    pub arrived: tokio::time::Instant,
    /// How long the agent says that it thought. Within bounds, the seat's clock does not count the rest of the time: it was
    /// spent on the network.
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

/// One match.
pub struct Arbiter {
    identity: Identity,
    table: Arc<Table>,
    settings: Settings,
    inner: Mutex<Inner>,
    changed: Notify,
    /// The owner of the bots' work in the thread pool.
    owner: Owner,
    /// The number of the round that bots think about; 0 for none.
    round: AtomicU64,
    /// The most waiting calls of a seat.
    waiting_limit: usize,
}

/// The id and the secrets of a match, which never change.
struct Identity {
    id: String,
    host: secret::Secret,
    /// Lets spectators watch a private match.
    spectator: secret::Secret,
    created: SystemTime,
}

struct Inner {
    state: State,
    tickets: Vec<Ticket>,
    clocks: Clocks,
    /// None without a journal.
    log: Option<Log>,
    /// How many rounds of bots have started.
    rounds: u64,
    /// The round to hand to the thread pool when the lock is released.
    new_round: Option<Box<dyn Round>>,
    /// Whether the match has changed since the lock was taken.
    has_changed: bool,
    last_used: Instant,
    /// The key of the first episode, the seeds after it, and all events so far.
    #[cfg(test)]
    first: (EpisodeKey, secret::Seeds),
    #[cfg(test)]
    events: Vec<Event>,
}

impl Arbiter {
    /// Creates a match and deals its first episode; [`begin`](Self::begin) starts it. Its bots think on behalf of `owner`.
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

    /// The match's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.identity.id
    }

    /// The table of the match.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The settings that the match was created with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the match was last used; none while a call waits or bots think.
    #[must_use]
    pub fn idle_since(&self) -> Option<Instant> {
        let inner = self.lock();
        let in_use = self.bots_think() || inner.tickets.iter().any(|ticket| ticket.waiting > 0);
        (!in_use).then_some(inner.last_used)
    }

    /// Locks the match for a change. Afterwards a new round of bots starts and waiting calls wake up.
    fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let result = change(&mut inner);
        let (round, number) = (inner.new_round.take(), inner.rounds);
        let has_changed = std::mem::take(&mut inner.has_changed);
        // Unlock first: the pool may drop other work at once, and that work takes the lock.
        drop(inner);
        if let Some(round) = round {
            self.owner.spawn(BotRound::new(self, number, round));
        }
        if has_changed {
            self.changed.notify_waiters();
        }
        result
    }

    /// The observation of a seat. With `wait` the call first waits until no bot thinks and the seat owes a decision, or until
    /// the episode is over.
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

    /// The observation of a seat; none if the call has to wait.
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
        // A call that waits also waits for bots: otherwise the observation would depend on how fast they think.
        let due = state.pending().contains(seat) && !self.bots_think();
        let ready = !wait || state.is_over() || due;
        Ok(ready.then(|| Observation {
            clocks: inner.clocks.readings(state),
            ..state.observe(&self.table, &self.settings, seat, extras)
        }))
    }

    /// What a seat that owes a decision knows, when no bot thinks.
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

    /// Makes the decision of a seat when no bot thinks, and returns the seat's next observation. A repeated decision with the
    /// same action changes nothing.
    ///
    /// # Errors
    /// The token belongs to no seat; the decision is not due or too late; the action is not legal; the match is closed; the
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

    /// Opens a seat's secret for the deals. The call waits until all agents have joined. After the last seat's secret the
    /// first episode is dealt. A repeated call changes nothing.
    ///
    /// # Errors
    /// The token belongs to no seat; the server deals alone; the secret does not match the seat's commitment; the match is
    /// closed; the seat has too many waiting calls.
    pub async fn open(self: &Arc<Self>, auth: impl Into<Auth>, part: Contribution) -> Result<(), Error> {
        let ready = |inner: &mut Inner, role| {
            let Some(events) = inner.state.open(self.seat_of(role)?, part)? else { return Ok(None) };
            // A repeated call must not restart bots that think.
            if !events.is_empty() {
                self.commit(inner, events)?;
                self.settle(inner);
            }
            Ok(Some(()))
        };
        self.respond_when(auth, false, ready).await
    }

    /// Starts the match: plays what needs no agent, and starts the clocks.
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

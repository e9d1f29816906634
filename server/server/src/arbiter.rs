//! The arbiter of one match: its episode, its seats, and what each of them is told.
//!
//! A match is a fold over events: `decide` tells what follows upon what somebody asks for, or refuses it, and
//! changes nothing; `state` takes what has happened and draws nothing, asks no clock and no bot. The arbiter
//! stands between the two and the world.
//!
//! All of a match's state lies behind one plain lock that is never held across an await. Bots that think do so
//! in the pool, from a copy of what their seat knows. Waiting calls are woken after every change and look again.

pub(crate) mod clock;
mod closing;
mod commit;
mod decide;
mod episodes;
mod event;
mod fair;
mod log;
mod observation;
mod replay;
mod settings;
mod state;
mod summary;
mod thinking;
mod tickets;
mod timekeeping;
mod waiting;
mod watching;

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use boardwire_batch::play::{Insight, Round};
use boardwire_batch::pool::Owner;
use boardwire_batch::tables::Table;
use boardwire_kernel::Seat;
use tokio::sync::Notify;

pub use boardwire_api::v1::{Extras, Forfeit, Frame, Observation};
pub use clock::{Clock, OnTimeout};
pub use closing::CloseReason;
pub use episodes::Reset;
pub use fair::OPENING_TIMEOUT;
pub use settings::{MAX_TIMEOUT, Settings};
pub use summary::{Phase, Position};
pub use tickets::Role;
pub use waiting::By;
pub use watching::{Audience, Watcher};

use crate::record::fair::Contribution;
use crate::secret;
pub use crate::secret::{EpisodeKey, SeedSource};
use boardwire_api::Error;
#[cfg(test)]
use event::Event;
use event::EventKind;
use fair::Deals;
use log::Log;
use state::State;
use thinking::Thinking;
use tickets::Ticket;
use timekeeping::Clocks;

/// A decision as a seat sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The episode it belongs to.
    pub episode: u32,
    /// Which of the seat's decisions it is.
    pub number: u32,
    /// The action chosen.
    pub action: u32,
}

/// A decision as it arrived, and how it is answered.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    /// The decision.
    pub decision: Decision,
    /// When it arrived.
    pub arrived: tokio::time::Instant,
    /// How long the agent says that it thought. The rest of the time was on the wire, and within bounds the seat's clock does not
    /// count it.
    pub thought: Option<Duration>,
    /// Whether the answer waits until the seat is due again, or the episode over.
    pub wait: bool,
    /// Which parts of the observation are asked for.
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
    name: Name,
    table: Arc<Table>,
    settings: Settings,
    inner: Mutex<Inner>,
    changed: Notify,
    /// On whose behalf bots think.
    owner: Owner,
    /// The number of the round that bots think about; 0 for none.
    round: AtomicU64,
    /// The most calls a seat may have waiting.
    most_waiting: usize,
}

/// What a match is known by, from its beginning on.
struct Name {
    id: String,
    host: secret::Secret,
    /// What lets spectators look at a private match.
    spectator: secret::Secret,
    created: SystemTime,
}

struct Inner {
    state: State,
    tickets: Vec<Ticket>,
    clocks: Clocks,
    /// Where what happens is written, if it is kept.
    log: Option<Log>,
    /// How many rounds of bots have begun.
    rounds: u64,
    /// The round that has just begun, until a thread of the pool is given it.
    round: Option<Box<dyn Round>>,
    /// Whether anything has changed since the lock was taken.
    has_changed: bool,
    /// When the match was last used.
    used: Instant,
    /// What the first episode followed from, and all that has happened since.
    #[cfg(test)]
    first: (EpisodeKey, secret::Seeds),
    #[cfg(test)]
    events: Vec<Event>,
}

impl Inner {
    fn new(state: State, settings: &Settings, age: Duration, tickets: Vec<Ticket>) -> Self {
        #[cfg(test)]
        let first = (state.present.opened, state.seeds.clone());
        Self {
            clocks: Clocks::new(settings, age),
            state,
            tickets,
            log: None,
            rounds: 0,
            round: None,
            has_changed: false,
            used: Instant::now(),
            #[cfg(test)]
            first,
            #[cfg(test)]
            events: Vec::new(),
        }
    }
}

impl Arbiter {
    /// Deals the first episode of a match, in which bots think on behalf of `owner` and each seat may have so many
    /// calls waiting. [`begin`](Self::begin) lets it begin.
    #[must_use]
    pub fn new(table: Arc<Table>, settings: Settings, owner: Owner, most_waiting: usize) -> Self {
        let [host, spectator] = [(); 2].map(|()| secret::Secret::fresh());
        let name = Name { id: secret::word(), host, spectator, created: log::now() };
        let (deals, opened, seeds) = Deals::first(&settings);
        let state = State::new(&table, &settings, &name.id, opened, seeds, deals, name.created);
        let tickets = settings.players.iter().map(Ticket::of).collect();
        let inner = Inner::new(state, &settings, Duration::ZERO, tickets);
        Self::over(name, table, settings, inner, owner, most_waiting)
    }

    fn over(
        name: Name,
        table: Arc<Table>,
        settings: Settings,
        inner: Inner,
        owner: Owner,
        most_waiting: usize,
    ) -> Self {
        Self {
            name,
            table,
            settings,
            inner: Mutex::new(inner),
            changed: Notify::new(),
            owner,
            round: AtomicU64::new(0),
            most_waiting,
        }
    }

    /// The match's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.name.id
    }

    /// The table it is played at.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// What it was created with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when nobody has used the match; none while somebody waits or bots think.
    #[must_use]
    pub fn idle_since(&self) -> Option<Instant> {
        let inner = self.lock();
        let used = self.bots_think() || inner.tickets.iter().any(|ticket| ticket.waiting > 0);
        (!used).then_some(inner.used)
    }

    /// The match under the lock, to be changed. When the lock is released, bots that have to think begin, and waiting calls look
    /// again.
    fn change(self: &Arc<Self>) -> Change<'_> {
        Change { arbiter: self, inner: Some(self.lock()) }
    }

    /// The observation of a seat: at once, or when it is due and no bot thinks, or when the episode is over.
    ///
    /// # Errors
    /// A token of no seat, a match that has ended for good; more waiting calls than a seat may have.
    pub async fn observe(
        self: &Arc<Self>,
        by: impl Into<By>,
        wait: bool,
        extras: Extras,
    ) -> Result<Observation, Error> {
        self.answered(by, false, |inner, role| self.observed(inner, self.seat_of(role)?, wait, extras)).await
    }

    /// The observation of a seat, if it need not wait.
    fn observed(
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
        // A call that waits also waits for the bots: else the observation would depend on how fast they think.
        let due = state.pending().contains(seat) && !self.bots_think();
        let ready = !wait || state.is_over() || due;
        Ok(ready.then(|| Observation {
            clocks: inner.clocks.readings(state),
            ..state.observe(&self.table, &self.settings, seat, extras)
        }))
    }

    /// What a seat knows, which must owe a decision, once no bot thinks.
    ///
    /// # Errors
    /// A token of no seat, a seat that owes no decision, an episode that is over, a match that has ended for good; more waiting
    /// calls than a seat may have.
    pub async fn insight(self: &Arc<Self>, by: impl Into<By>) -> Result<Box<dyn Insight>, Error> {
        let ready = |inner: &mut Inner, role| {
            let seat = self.seat_of(role)?;
            if self.bots_think() { Ok(None) } else { inner.state.insight(seat).map(Some) }
        };
        self.answered(by, false, ready).await
    }

    /// Makes the decision of a seat, once no bot thinks, and gives its next observation. A decision that was made already with the
    /// same action changes nothing.
    ///
    /// # Errors
    /// A token of no seat, a decision that is not due or too late, an action that is not legal, a match that has ended for good;
    /// more waiting calls than a seat may have.
    pub async fn act(self: &Arc<Self>, by: impl Into<By>, act: impl Into<Act>) -> Result<Observation, Error> {
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
            self.observed(inner, seat, act.wait, act.extras)
        };
        self.answered(by, act.wait, ready).await
    }

    fn decide(&self, inner: &mut Inner, seat: Seat, act: &Act) -> Result<(), Error> {
        let Decision { episode, number: decision, .. } = act.decision;
        let mut decided = inner.state.act(&self.table, &self.settings, seat, act.decision)?;
        if let Some(EventKind::Played { took: place, .. }) = &mut decided
            && self.settings.clock(seat).is_some()
        {
            let took = inner.clocks.took(&inner.state, seat, act.arrived, act.thought);
            if took.is_none() {
                self.time_runs_out(inner, seat)?;
                if inner.state.by_seat[seat.index()].lapsed {
                    self.settle(inner);
                    // What a repetition would be told.
                    let again = inner.state.act(&self.table, &self.settings, seat, act.decision);
                    return Err(again.err().unwrap_or(Error::DecisionLate { episode, decision }));
                }
            }
            *place = Some(took.unwrap_or_default());
        }
        if decided.is_some() {
            self.commit(inner, decided)?;
            inner.clocks.restart(seat);
            self.settle(inner);
        }
        Ok(())
    }

    /// Opens what a seat contributes to the deals, once all seats are bound to what they do; the last that does so has the
    /// first episode dealt. Repeated it changes nothing.
    ///
    /// # Errors
    /// A token of no seat, a match whose deals are the server's, another part than the seat is bound to, a match that has ended
    /// for good; more waiting calls than a seat may have.
    pub async fn open(self: &Arc<Self>, by: impl Into<By>, part: Contribution) -> Result<(), Error> {
        let ready = |inner: &mut Inner, role| {
            let Some(opened) = inner.state.open(self.seat_of(role)?, part)? else { return Ok(None) };
            // Nothing new happens when it is repeated: bots that think go on thinking.
            if !opened.is_empty() {
                self.commit(inner, opened)?;
                self.settle(inner);
            }
            Ok(Some(()))
        };
        self.answered(by, false, ready).await
    }

    /// Plays what needs no agent at the beginning of a match.
    pub fn begin(self: &Arc<Self>) {
        let gathers = {
            let mut inner = self.change();
            self.settle(&mut inner);
            inner.state.is_gathering()
        };
        if gathers || !self.settings.clocks.is_empty() {
            tokio::spawn(Arc::clone(self).keep_time());
        }
    }

    fn bots_think(&self) -> bool {
        self.round.load(Ordering::Relaxed) != 0
    }
}

/// A match under the lock, see [`Arbiter::change`].
struct Change<'a> {
    arbiter: &'a Arc<Arbiter>,
    /// Absent once the lock is released.
    inner: Option<MutexGuard<'a, Inner>>,
}

impl Deref for Change<'_> {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        self.inner.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut Inner {
        self.inner.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        let Some(mut inner) = self.inner.take() else { return };
        let (round, number) = (inner.round.take(), inner.rounds);
        let has_changed = std::mem::take(&mut inner.has_changed);
        // The pool may drop other work at once, which takes the lock.
        drop(inner);
        if let Some(round) = round {
            self.arbiter.owner.spawn(Thinking::new(self.arbiter, number, round));
        }
        if has_changed {
            self.arbiter.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;

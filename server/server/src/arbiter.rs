//! The arbiter of one match: its episode, its seats, and what each of them is told.
//!
//! A match is a fold over events: `decide` tells what follows upon what somebody asks for, or refuses it, and
//! changes nothing; `standing` takes what has happened and draws nothing, asks no clock and no bot. The arbiter
//! stands between the two and the world.
//!
//! All of a match's state lies behind one plain lock that is never held across an await. Bots that think do so
//! in the pool, from a copy of what their seat knows. Whoever waits is woken after every change and looks again.

pub(crate) mod clock;
mod closing;
mod decide;
mod episodes;
mod event;
mod fair;
mod happen;
mod log;
mod observation;
mod record;
mod settings;
mod standing;
mod summary;
mod thinking;
mod tickets;
mod timekeeping;
mod verify;
mod waiting;
mod watching;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use boardwire_batch::play::Insight;
use boardwire_batch::pool::Owner;
use boardwire_batch::tables::Table;
use boardwire_kernel::Seat;
use tokio::sync::Notify;

pub use clock::{Clock, OnTimeout, Reading, Took};
pub use closing::CloseReason;
pub use event::{Cause, Forfeit, Forfeited};
pub use fair::{FairDeal, OPENING, Part, binds, is_bound, key as fair_key};
pub use observation::{Ending, Extras, Observation};
pub use record::{Depiction, Frame, Move, Replay};
pub(crate) use settings::MOST_WATCH_DELAY;
pub use settings::{LONGEST, Settings};
pub use summary::{Phase, Position, Summary};
pub use tickets::Role;
pub use verify::{Mismatch, Verified, verify};
pub use watching::{Looker, Watcher};

use crate::secret;
pub use crate::secret::{Opened, SeedSource};
use boardwire_api::Error;
#[cfg(test)]
use event::Event;
use event::What;
use fair::Root;
use log::Log;
use standing::Standing;
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
    host: secret::Found,
    /// What lets spectators look at a private match.
    spectator: secret::Found,
    created: SystemTime,
}

struct Inner {
    standing: Standing,
    tickets: Vec<Ticket>,
    clocks: Clocks,
    /// Where what happens is written, if it is kept.
    log: Option<Log>,
    /// How many rounds of bots have begun.
    rounds: u64,
    /// When the match was last used.
    used: Instant,
    /// What the first episode followed from, and all that has happened since.
    #[cfg(test)]
    first: (Opened, secret::Seeds),
    #[cfg(test)]
    events: Vec<Event>,
}

impl Inner {
    fn new(standing: Standing, settings: &Settings, age: Duration, tickets: Vec<Ticket>) -> Self {
        #[cfg(test)]
        let first = (standing.present.opened, standing.seeds.clone());
        Self {
            clocks: Clocks::new(settings, age),
            standing,
            tickets,
            log: None,
            rounds: 0,
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
        let [host, spectator] = [(); 2].map(|()| secret::Found::fresh());
        let name = Name { id: secret::word(), host, spectator, created: log::now() };
        let (opened, seeds) = decide::first(&settings);
        let fair = settings.fair_deals.then(Root::fresh);
        let standing = Standing::new(&table, &settings, &name.id, opened, seeds, fair, name.created);
        let tickets = settings.players.iter().map(Ticket::of).collect();
        let inner = Inner::new(standing, &settings, Duration::ZERO, tickets);
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

    /// Shows `seat` its observation: at once, or when it is pending and no bot is, or the episode over.
    ///
    /// # Errors
    /// A match that has ended for good; more calls that wait than a seat may have.
    pub async fn observe(&self, seat: Seat, wait: bool, extras: Extras) -> Result<Observation, Error> {
        self.until(Role::Seat(seat), |inner| {
            let standing = &inner.standing;
            if !wait {
                standing.check_dealt()?;
            }
            // Whoever waits also waits for the bots: else what it sees would depend on how fast they think.
            let due = standing.pending().contains(seat) && !self.bots_think();
            let ready = !wait || standing.is_over() || due;
            Ok(ready.then(|| {
                let seen = standing.observe(&self.table, &self.settings, seat, extras);
                let clocks =
                    if self.settings.clocks.is_empty() { vec![] } else { inner.clocks.readings(standing) };
                Observation { clocks, ..seen }
            }))
        })
        .await
    }

    /// What `seat` knows, which must owe a decision, once no bot thinks.
    ///
    /// # Errors
    /// A seat that owes none, an episode that is over, a match that has ended for good; more calls that wait than a seat
    /// may have.
    pub async fn insight(&self, seat: Seat) -> Result<Box<dyn Insight>, Error> {
        let when = |inner: &mut Inner| {
            if self.bots_think() { Ok(None) } else { inner.standing.insight(seat).map(Some) }
        };
        self.until(Role::Seat(seat), when).await
    }

    /// Makes the decision of `seat`, once no bot thinks; one that has been made already with the same action changes
    /// nothing.
    ///
    /// # Errors
    /// A decision that is not due, an action that may not be chosen, a match that has ended for good; more calls that
    /// wait than a seat may have.
    pub async fn act(self: &Arc<Self>, seat: Seat, decision: Decision) -> Result<(), Error> {
        self.act_after(seat, decision, tokio::time::Instant::now(), None).await
    }

    /// The same for a decision that arrived at a time. If the agent says for how long it has `thought`, the rest of the time was on
    /// the wire, and within bounds the seat's clock does not count it.
    ///
    /// # Errors
    /// As [`act`](Self::act), and a decision that has come too late.
    pub async fn act_after(
        self: &Arc<Self>,
        seat: Seat,
        decision: Decision,
        arrived: tokio::time::Instant,
        thought: Option<Duration>,
    ) -> Result<(), Error> {
        let late = || Error::DecisionLate { episode: decision.episode, decision: decision.number };
        let played = self.until_changed(Role::Seat(seat), |inner| {
            if self.bots_think() {
                return Ok(None);
            }
            let mut decided = inner.standing.act(&self.table, &self.settings, seat, decision)?;
            if let Some(What::Played { took: place, .. }) = &mut decided
                && self.settings.clock(seat).is_some()
            {
                let took = inner.clocks.took(&inner.standing, seat, arrived, thought);
                if took.is_none() {
                    self.time_runs_out(inner, seat)?;
                    if inner.standing.places[seat.index()].lapsed {
                        let round = self.settle(inner);
                        // What a repetition would be told.
                        let refused = inner.standing.act(&self.table, &self.settings, seat, decision).err();
                        return Ok(Some((round, Err(refused.unwrap_or_else(late)))));
                    }
                }
                *place = Some(took.unwrap_or_default());
            }
            let is_new = decided.is_some();
            self.happened(inner, decided)?;
            if is_new {
                inner.clocks.begin_anew(seat);
            }
            Ok(Some((self.settle(inner), Ok(()))))
        });
        played.await?
    }

    /// Opens what `seat` contributes to the deals, once all seats are bound to what they do; the last that does so has the
    /// first episode dealt. Repeated it changes nothing.
    ///
    /// # Errors
    /// A match whose deals are the server's, another part than the seat is bound to, a match that has ended for good; more
    /// calls that wait than a seat may have.
    pub async fn open(self: &Arc<Self>, seat: Seat, part: Part) -> Result<(), Error> {
        let opened = self.until_changed(Role::Seat(seat), |inner| {
            let Some(opened) = inner.standing.open(seat, part)? else { return Ok(None) };
            // Bots that think already go on: to begin anew would be to stop them for as long as somebody repeats this.
            let is_new = !opened.is_empty();
            self.happened(inner, opened)?;
            Ok(Some((if is_new { self.settle(inner) } else { None }, ())))
        });
        opened.await
    }

    /// Lets bots think, and wakes whoever waits. The lock is free, since work may be dropped in between.
    fn carry_on(&self, round: Option<Thinking>) {
        if let Some(thinking) = round {
            self.owner.spawn(thinking);
        }
        self.changed.notify_waiters();
    }

    /// Plays what needs no agent at the beginning of a match.
    pub fn begin(self: &Arc<Self>) {
        let round = self.settle(&mut self.lock());
        self.carry_on(round);
        if self.settings.fair_deals || !self.settings.clocks.is_empty() {
            tokio::spawn(Arc::clone(self).keep_time());
        }
    }

    fn bots_think(&self) -> bool {
        self.round.load(Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests;

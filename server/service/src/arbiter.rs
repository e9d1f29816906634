//! The arbiter of one match: its episode, its seats, and what each of them is told.
//!
//! All of a match's state lies behind one plain lock that is never held across an await. Bots that think
//! do so on the blocking pool, from a copy of what their seat knows. Whoever waits is woken after every
//! change and looks again.

mod episode;
mod observation;
mod settings;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_kernel::{Seat, SeatSet};
use tokio::sync::Notify;

pub use observation::{Ending, Extras, Observation};
pub use settings::{IllegalActions, Player, Settings};

use crate::error::ServiceError;
use crate::secret;
use crate::tables::Table;
use episode::{Standing, Thinking};

/// Who a token belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Whoever created the match.
    Host,
    /// An agent at a seat.
    Seat(Seat),
}

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

/// How a seat is taken.
#[derive(Debug, Default)]
struct Ticket {
    invitation: String,
    token: Option<String>,
    request: String,
}

/// What everybody may know of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The seats that are bots or have been joined.
    pub joined: SeatSet,
    /// Whether the present episode is over.
    pub over: bool,
    /// Whether the match has been closed.
    pub closed: bool,
    /// The present episode.
    pub episode: u32,
    /// How many actions have been applied in it.
    pub ply: u32,
    /// The commitment to its seed.
    pub commitment: [u8; 32],
    /// The seed and its salt, once they may be known.
    pub seed: Option<(u64, [u8; 16])>,
}

/// One match.
pub struct Arbiter {
    id: String,
    table: Arc<Table>,
    settings: Settings,
    host: String,
    inner: Mutex<Inner>,
    changed: Notify,
}

struct Inner {
    standing: Standing,
    tickets: Vec<Ticket>,
    votes: SeatSet,
    ended: Option<ServiceError>,
    bots_think: bool,
}

impl Arbiter {
    /// Deals the first episode of a match.
    #[must_use]
    pub fn new(table: Arc<Table>, settings: Settings) -> Self {
        let invite = |player: &Player| match player {
            Player::Remote => Ticket { invitation: secret::word(), ..Ticket::default() },
            Player::Bot(_) => Ticket::default(),
        };
        let inner = Inner {
            standing: Standing::new(&table, &settings),
            tickets: settings.players.iter().map(invite).collect(),
            votes: SeatSet::EMPTY,
            ended: None,
            bots_think: false,
        };
        Self {
            id: secret::word(),
            table,
            settings,
            host: secret::word(),
            inner: Mutex::new(inner),
            changed: Notify::new(),
        }
    }

    /// The match's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The table it is played at.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What it was created with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The host's token.
    #[must_use]
    pub fn host_token(&self) -> &str {
        &self.host
    }

    /// The invitation of every remote seat.
    #[must_use]
    pub fn invitations(&self) -> Vec<(Seat, String)> {
        let inner = self.lock();
        self.settings
            .remote()
            .iter()
            .map(|seat| (seat, inner.tickets[seat.index()].invitation.clone()))
            .collect()
    }

    /// What everybody may know.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let inner = self.lock();
        let closed = inner.ended.is_some();
        let joined = |(seat, ticket): (Seat, &Ticket)| {
            (ticket.invitation.is_empty() || ticket.token.is_some()).then_some(seat)
        };
        let standing = &inner.standing;
        Summary {
            joined: self.settings.seats().zip(&inner.tickets).filter_map(joined).collect(),
            over: standing.is_over(),
            closed,
            episode: standing.episode(),
            ply: standing.ply(),
            commitment: standing.commitment(),
            seed: standing.seed(closed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the token of `seat` to whoever holds its invitation.
    ///
    /// # Errors
    /// A seat that has been joined already, unless by the same, non-empty `request`; a closed match.
    pub fn join(&self, seat: Seat, request: &str) -> Result<String, ServiceError> {
        let mut inner = self.lock();
        inner.open()?;
        let ticket = &mut inner.tickets[seat.index()];
        match &ticket.token {
            Some(token) if !request.is_empty() && ticket.request == request => Ok(token.clone()),
            Some(_) => Err(ServiceError::InvitationUsed { id: self.id.clone(), seat }),
            None => {
                request.clone_into(&mut ticket.request);
                Ok(ticket.token.insert(secret::word()).clone())
            }
        }
    }

    /// Who the holder of `token` is.
    ///
    /// # Errors
    /// No token, or one that is none of this match's.
    pub fn role(&self, token: Option<&str>) -> Result<Role, ServiceError> {
        let token = token.ok_or(ServiceError::MissingToken)?;
        if secret::same(token, &self.host) {
            return Ok(Role::Host);
        }
        let inner = self.lock();
        let mut seats = self.settings.seats().zip(&inner.tickets);
        seats
            .find(|(_, ticket)| ticket.token.as_deref().is_some_and(|secret| secret::same(token, secret)))
            .map(|(seat, _)| Role::Seat(seat))
            .ok_or_else(|| ServiceError::WrongToken { id: self.id.clone() })
    }

    /// The seat the holder of `token` plays at.
    ///
    /// # Errors
    /// As [`role`](Self::role), and for the host.
    pub fn seat(&self, token: Option<&str>) -> Result<Seat, ServiceError> {
        match self.role(token)? {
            Role::Seat(seat) => Ok(seat),
            Role::Host => Err(ServiceError::SeatOnly { id: self.id.clone() }),
        }
    }

    /// Shows `seat` its observation: at once, or when it is pending and no bot is, or the episode over.
    ///
    /// # Errors
    /// A match that has ended for good.
    pub async fn observe(&self, seat: Seat, wait: bool, extras: Extras) -> Result<Observation, ServiceError> {
        self.until(|inner| {
            inner.open()?;
            let standing = &inner.standing;
            // Whoever waits also waits for the bots: else what it sees would depend on how fast they think.
            let due = standing.pending().contains(seat) && !inner.bots_think;
            let ready = !wait || standing.is_over() || due;
            Ok(ready.then(|| standing.observe(&self.table, &self.settings, seat, extras)))
        })
        .await
    }

    /// Makes the decision of `seat`; one that has been made already with the same action changes nothing.
    ///
    /// # Errors
    /// A decision that is not due, an action that may not be chosen, a match that has ended for good.
    pub fn act(self: &Arc<Self>, seat: Seat, decision: Decision) -> Result<(), ServiceError> {
        let mut inner = self.lock();
        inner.open()?;
        inner.standing.act(&self.table, &self.settings, seat, decision)?;
        self.carry_on(inner);
        Ok(())
    }

    /// Begins the next episode: at once for the host and for an agent that plays against bots alone, else
    /// when every remote seat has asked for it.
    ///
    /// # Errors
    /// A seed from a seat among several, an episode that is not over or has not come, a closed match.
    pub async fn reset(
        self: &Arc<Self>,
        role: Role,
        seed: Option<u64>,
        leave: Option<u32>,
    ) -> Result<(), ServiceError> {
        let left = {
            let mut inner = self.lock();
            inner.open()?;
            let present = inner.standing.episode();
            match leave {
                Some(episode) if episode < present => return Ok(()),
                Some(episode) if episode > present => {
                    let (expected, value) = (format!("{present} or less"), episode.to_string());
                    return Err(ServiceError::BadField { field: "episode", value, expected });
                }
                _ => {}
            }
            if self.may_begin(&mut inner, role, seed)? {
                inner.votes = SeatSet::EMPTY;
                inner.standing.begin(&self.table, &self.settings, seed);
                self.carry_on(inner);
                return Ok(());
            }
            present
        };
        self.until(|inner| {
            inner.open()?;
            Ok((inner.standing.episode() > left).then_some(()))
        })
        .await
    }

    /// Counts the vote of `role` for the next episode; whether it may begin now.
    fn may_begin(&self, inner: &mut Inner, role: Role, seed: Option<u64>) -> Result<bool, ServiceError> {
        let remote = self.settings.remote();
        let Role::Seat(seat) = role else { return Ok(true) };
        if remote.len() == 1 {
            return Ok(true);
        }
        if seed.is_some() {
            return Err(ServiceError::HostOnly { id: self.id.clone() });
        }
        if !inner.standing.is_over() {
            return Err(ServiceError::EpisodeNotOver { episode: inner.standing.episode() });
        }
        inner.votes.insert(seat);
        Ok(inner.votes == remote)
    }

    /// Ends the match for good; whoever waits is told.
    pub fn end(&self, reason: ServiceError) {
        self.lock().ended.get_or_insert(reason);
        self.changed.notify_waiters();
    }

    /// Ends the match because its host says so.
    pub fn close(&self) {
        self.end(ServiceError::MatchClosed { id: self.id.clone() });
    }

    /// Waits until `ready` gives an answer or refuses.
    async fn until<T>(
        &self,
        mut ready: impl FnMut(&mut Inner) -> Result<Option<T>, ServiceError>,
    ) -> Result<T, ServiceError> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let answer = ready(&mut self.lock())?;
            if let Some(answer) = answer {
                return Ok(answer);
            }
            changed.await;
        }
    }

    /// Sets the bots to think that are due, and wakes whoever waits.
    fn carry_on(self: &Arc<Self>, mut inner: MutexGuard<'_, Inner>) {
        if !inner.bots_think
            && let Some(thinking) = inner.standing.thinking(&self.settings)
        {
            inner.bots_think = true;
            tokio::spawn(Arc::clone(self).think(thinking));
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    /// Sets the bots to think that are due at the beginning of a match.
    pub fn begin(self: &Arc<Self>) {
        self.carry_on(self.lock());
    }

    /// Lets bots think one after the other until no bot is due.
    async fn think(self: Arc<Self>, first: Thinking) {
        let mut next = Some(first);
        while let Some(Thinking { episode, seat, thought }) = next.take() {
            let chosen = tokio::task::spawn_blocking(thought).await;
            let mut inner = self.lock();
            let played = chosen.map_err(|error| error.to_string()).and_then(|(action, dice)| {
                inner.standing.act_for_bot(&self.settings, episode, seat, action, dice)
            });
            if let Err(what) = played {
                tracing::error!(match_id = self.id, seat = seat.number(), what, "a bot failed");
                inner.ended.get_or_insert(ServiceError::Internal { place: self.id.clone(), what });
            }
            next = if inner.ended.is_none() { inner.standing.thinking(&self.settings) } else { None };
            inner.bots_think = next.is_some();
            drop(inner);
            self.changed.notify_waiters();
        }
    }
}

impl Inner {
    /// Refuses when the match has ended for good.
    fn open(&self) -> Result<(), ServiceError> {
        self.ended.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;

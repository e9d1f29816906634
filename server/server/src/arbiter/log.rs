//! A match in the journal: line 0 has its creation, each further line has an event. The server restores the match from them.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use boardwire_api::Error;
use boardwire_api::v1::MatchConfig;
use boardwire_batch::Player;
use boardwire_batch::pool::Owner;
use boardwire_batch::tables::{Table, Tables};
use prost::Message as _;
use serde::{Deserialize, Serialize};
use tracing::Instrument as _;

use super::event::{Event, EventKind};
use super::fair::{Deals, Root};
use super::state::State;
use super::timekeeping::micros;
use super::{Arbiter, CloseReason, EpisodeKey, Identity, Inner, Settings, Ticket};
use crate::forms;
use crate::hex;
use crate::journal::{Entry, Journal, SavedMatch, chained};
use crate::record::InvalidEvent;
use crate::secret::{Secret, Seeds};

/// The first line of a match.
#[derive(Debug, Serialize, Deserialize)]
struct Created {
    #[serde(with = "forms::time")]
    at: SystemTime,
    /// The encoded `MatchConfig`.
    #[serde(with = "forms::hex")]
    config: Vec<u8>,
    /// How long agents may take to open their secrets for the deals.
    opening: Duration,
    /// The spec digest of the table.
    #[serde(with = "forms::hex")]
    spec: [u8; 32],
    /// The digest of the host's token.
    #[serde(with = "forms::hex")]
    host: [u8; 32],
    /// The digest of the spectators' token.
    #[serde(with = "forms::hex")]
    spectator: [u8; 32],
    /// The digest of the invitation to each agent's seat, ordered by seat.
    invitations: Vec<Invitation>,
    opened: EpisodeKey,
    seeds: Seeds,
    /// The server's root secret, if deals are fair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fair: Option<Root>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Invitation(#[serde(with = "forms::hex")] [u8; 32]);

/// The line of an event.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    event: Event,
    /// The digest of the position after the event, if the event changes the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// Sends the lines of a match to the journal.
pub(super) struct Log {
    journal: Arc<Journal>,
    id: Arc<str>,
    /// The number of lines so far.
    lines: u32,
    /// The head of the hash chain of these lines.
    head: [u8; 32],
    /// Lines that the journal has not received yet. It must receive them together.
    waiting: Vec<Entry>,
    /// The mark of the last line sent: how many lines of all matches the journal had received then.
    mark: u64,
}

/// The journal, and the mark up to which it must write before a caller may see the state. `None` without a journal.
pub(super) type Mark = Option<(Arc<Journal>, u64)>;

impl Log {
    /// Creates a log that continues after `lines`, which the journal has already written.
    fn new(journal: &Arc<Journal>, id: &str, lines: &[String]) -> Self {
        let head = lines.iter().fold([0; 32], |head, line| chained(&head, line));
        let lines = u32::try_from(lines.len()).expect("the journal numbers lines in 32 bits");
        Self { journal: Arc::clone(journal), id: id.into(), lines, head, waiting: vec![], mark: 0 }
    }

    fn write(&mut self, line: &impl Serialize, open: bool) {
        let line = serde_json::to_string(line).expect("every event has a JSON form");
        self.head = chained(&self.head, &line);
        let entry = Entry { id: Arc::clone(&self.id), number: self.lines, line, head: self.head, open };
        self.lines += 1;
        self.waiting.push(entry);
    }

    /// Sends the waiting lines. The journal writes all of them or none.
    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.mark = self.journal.submit(std::mem::take(&mut self.waiting));
        }
    }
}

impl Inner {
    /// Adds an applied event to the log. A shutdown is not logged, because the match continues after it.
    pub(super) fn log_event(&mut self, event: &Event) {
        let Some(log) = &mut self.log else { return };
        let has_moved = matches!(event.what, EventKind::Dealt { .. } | EventKind::Played { .. });
        let digest = has_moved.then(|| self.state.play.digest().to_string());
        match &event.what {
            EventKind::Closed(CloseReason::ShuttingDown) => {}
            what => {
                let is_open = !matches!(what, EventKind::Closed(_));
                log.write(&Line { event: event.clone(), digest }, is_open);
            }
        }
    }

    pub(super) fn flush(&mut self) {
        if let Some(log) = &mut self.log {
            log.flush();
        }
    }

    /// Returns an error while the journal cannot be written.
    pub(super) fn check_journal(&self) -> Result<(), Error> {
        self.log.as_ref().map_or(Ok(()), |log| log.journal.check())
    }

    /// Returns the mark up to which the journal must write before a caller may see the present state.
    pub(super) fn mark(&self) -> Mark {
        self.log.as_ref().map(|log| (Arc::clone(&log.journal), log.mark))
    }
}

/// Waits until the journal has written up to a mark.
pub(super) async fn written(mark: Mark) -> Result<(), Error> {
    match mark {
        Some((journal, mark)) => journal.written(mark).instrument(tracing::debug_span!("journal")).await,
        None => Ok(()),
    }
}

/// Returns the present time in whole microseconds, as the journal stores it.
pub(super) fn now() -> SystemTime {
    UNIX_EPOCH + micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

impl Arbiter {
    /// Makes a new match write its creation and all its events to a journal.
    #[must_use]
    pub fn kept_in(self, journal: &Arc<Journal>) -> Self {
        let mut log = Log::new(journal, &self.identity.id, &[]);
        {
            let inner = &mut *self.lock();
            let created = Created {
                at: self.identity.created,
                config: self.settings.config(&self.table).encode_to_vec(),
                opening: self.settings.opening,
                spec: *self.table.digest.as_bytes(),
                host: self.identity.host.digest,
                spectator: self.identity.spectator.digest,
                invitations: inner.tickets.iter().filter_map(Ticket::invited).map(Invitation).collect(),
                opened: inner.state.present.key,
                seeds: inner.state.seeds.clone(),
                fair: inner.state.deals.root(),
            };
            log.write(&created, true);
            log.flush();
            inner.log = Some(log);
        }
        self
    }

    /// Restores a match from its lines; [`begin`](Self::begin) starts it. Without a `journal`, it only checks the match.
    ///
    /// # Errors
    /// A line is wrong, or this server cannot play the match.
    pub fn restored(
        saved: &SavedMatch,
        tables: &Tables,
        owner: Owner,
        waiting_limit: usize,
        journal: Option<&Arc<Journal>>,
    ) -> Result<Self, String> {
        let [first, events @ ..] = &saved.lines[..] else { return Err("it has no line".to_owned()) };
        let created: Created = serde_json::from_str(first).map_err(|error| format!("line 0: {error}"))?;
        let (table, settings) = created.set_up(tables)?;
        let Created { at, host, spectator, invitations, opened, seeds, fair, .. } = created;
        let deals = Deals::restored(fair, settings.players.len());
        let mut state = State::new(&table, &settings, &saved.id, opened, seeds, deals, at);
        for (line, number) in events.iter().zip(1..) {
            state.follow(&table, line).map_err(|problem| format!("line {number}: {problem}"))?;
        }
        let mut invitations = invitations.into_iter();
        let ticket = |(player, newer): (&Player, &Option<[u8; 32]>)| match player {
            Player::Agent => {
                let Invitation(first) = invitations.next().ok_or("an invitation is missing")?;
                Ok::<_, String>(Ticket::new(Some(Secret::by(newer.unwrap_or(first)))))
            }
            Player::Bot(_) => Ok(Ticket::new(None)),
        };
        let tickets = settings.players.iter().zip(&state.invited).map(ticket).collect::<Result<_, _>>()?;
        let [host, spectator] = [host, spectator].map(Secret::by);
        let identity = Identity { id: saved.id.clone(), host, spectator, created: at };
        let arbiter = Self::assemble(identity, table, settings, owner, waiting_limit, state, tickets);
        arbiter.lock().log = journal.map(|journal| Log::new(journal, &saved.id, &saved.lines));
        Ok(arbiter)
    }

    /// Waits until the journal has written the present state.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn kept(&self) -> Result<(), Error> {
        let mark = self.lock().mark();
        written(mark).await
    }
}

impl Created {
    fn set_up(&self, tables: &Tables) -> Result<(Arc<Table>, Settings), String> {
        let config = MatchConfig::decode(&self.config[..]).map_err(|error| format!("line 0: {error}"))?;
        let refused = |error: Error| format!("line 0: {error}");
        let (table, settings) = Settings::read(&config, tables).map_err(refused)?;
        if *table.digest.as_bytes() != self.spec {
            let spec = hex::hex(&self.spec);
            return Err(format!("it is played by other rules or components: {spec}, not {}", table.digest));
        }
        let settings = Settings { opening: self.opening, ..settings };
        settings.check().map_err(refused)?;
        Ok((table, settings))
    }
}

impl State {
    /// Applies the event of a line, and checks that the position then has the digest that the line records.
    fn follow(&mut self, table: &Table, line: &str) -> Result<(), String> {
        let Line { event, digest } = serde_json::from_str(line).map_err(|error| error.to_string())?;
        self.apply(table, &event).map_err(|InvalidEvent(problem)| problem)?;
        match digest {
            Some(digest) if digest != self.play.digest().to_string() => {
                Err("the position has another digest than in the journal".to_owned())
            }
            _ => Ok(()),
        }
    }
}

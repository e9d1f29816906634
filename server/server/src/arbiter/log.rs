//! A match in the journal: what it was created with, a line for each event, and the way back.

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
use super::{Arbiter, CloseReason, EpisodeKey, Inner, Name, Settings, Ticket};
use crate::journal::{Entry, Journal, SavedMatch, chained};
use crate::record::InvalidEvent;
use crate::secret::{self, Seeds};
use crate::{forms, hex};

/// What a match was created with.
#[derive(Debug, Serialize, Deserialize)]
struct Created {
    #[serde(with = "forms::time")]
    at: SystemTime,
    /// The `MatchConfig`, encoded.
    #[serde(with = "forms::hex")]
    config: Vec<u8>,
    /// How long agents may take to open what they contribute to deals.
    opening: Duration,
    /// The digest of the table's facts.
    #[serde(with = "forms::hex")]
    spec: [u8; 32],
    /// What the host's token is found by.
    #[serde(with = "forms::hex")]
    host: [u8; 32],
    /// The same of the spectators' token.
    #[serde(with = "forms::hex")]
    spectator: [u8; 32],
    /// The same of the invitation to each agent's seat, ascending.
    invitations: Vec<Invited>,
    opened: EpisodeKey,
    seeds: Seeds,
    /// What the server contributes to deals, if they are fair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fair: Option<Root>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Invited(#[serde(with = "forms::hex")] [u8; 32]);

/// An event as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    event: Event,
    /// The digest of the position after it, if it has changed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Line {
    fn of(event: &Event, state: &State) -> Self {
        let moved = matches!(event.what, EventKind::Dealt { .. } | EventKind::Played { .. });
        Self { event: event.clone(), digest: moved.then(|| state.play.digest().to_string()) }
    }
}

/// Where the events of a match are written.
pub(super) struct Log {
    journal: Arc<Journal>,
    id: Arc<str>,
    /// How many lines there are.
    lines: u32,
    head: [u8; 32],
    /// Lines that are to be handed over together.
    waiting: Vec<Entry>,
    /// How many lines the journal had been given with the last of them.
    mark: u64,
}

/// What has to be written before somebody is told how the match stands.
pub(super) type Mark = Option<(Arc<Journal>, u64)>;

impl Log {
    fn new(journal: &Arc<Journal>, id: &str) -> Self {
        Self {
            journal: Arc::clone(journal),
            id: id.into(),
            lines: 0,
            head: [0; 32],
            waiting: vec![],
            mark: 0,
        }
    }

    /// Goes on after the lines that have been written.
    fn after(journal: &Arc<Journal>, kept: &SavedMatch) -> Self {
        let head = kept.lines.iter().fold([0; 32], |head, line| chained(&head, line));
        let lines = u32::try_from(kept.lines.len()).expect("they were counted so");
        Self { lines, head, ..Self::new(journal, &kept.id) }
    }

    /// Adds a line to those that are handed over next.
    fn write(&mut self, line: &impl Serialize, open: bool) {
        let line = serde_json::to_string(line).expect("what happens can be written");
        self.head = chained(&self.head, &line);
        let entry = Entry { id: Arc::clone(&self.id), number: self.lines, line, head: self.head, open };
        self.lines += 1;
        self.waiting.push(entry);
    }

    /// Hands over what waits: the journal has all of it or nothing.
    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.mark = self.journal.submit(std::mem::take(&mut self.waiting));
        }
    }
}

impl Inner {
    /// Notes an event that has been applied. That the server stops is none: the match goes on after it.
    pub(super) fn note(&mut self, event: &Event) {
        let Some(log) = &mut self.log else { return };
        match &event.what {
            EventKind::Closed(CloseReason::ShuttingDown) => {}
            what => log.write(&Line::of(event, &self.state), !matches!(what, EventKind::Closed(_))),
        }
    }

    /// Hands over what has been noted.
    pub(super) fn flush(&mut self) {
        if let Some(log) = &mut self.log {
            log.flush();
        }
    }

    /// Refuses while nothing that happens could be kept.
    pub(super) fn check_journal(&self) -> Result<(), Error> {
        self.log.as_ref().map_or(Ok(()), |log| log.journal.check())
    }

    /// What has to be written before somebody is told how the match stands now.
    pub(super) fn mark(&self) -> Mark {
        self.log.as_ref().map(|log| (Arc::clone(&log.journal), log.mark))
    }
}

/// Waits until what somebody is told has been written.
pub(super) async fn written(mark: Mark) -> Result<(), Error> {
    match mark {
        Some((journal, mark)) => journal.written(mark).instrument(tracing::debug_span!("journal")).await,
        None => Ok(()),
    }
}

/// Now, as exactly as it is written.
pub(super) fn now() -> SystemTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

impl Arbiter {
    /// The same match, kept in a journal from its beginning.
    #[must_use]
    pub fn kept_in(self, journal: &Arc<Journal>) -> Self {
        let mut log = Log::new(journal, &self.name.id);
        log.write(&self.created(), true);
        log.flush();
        self.lock().log = Some(log);
        self
    }

    fn created(&self) -> Created {
        let inner = self.lock();
        let state = &inner.state;
        Created {
            at: self.name.created,
            config: self.settings.config(&self.table).encode_to_vec(),
            opening: self.settings.opening,
            spec: *self.table.digest.as_bytes(),
            host: self.name.host.digest,
            spectator: self.name.spectator.digest,
            invitations: inner.tickets.iter().filter_map(Ticket::invited).map(Invited).collect(),
            opened: state.present.opened,
            seeds: state.seeds.clone(),
            fair: state.deals.root(),
        }
    }

    /// The match that a journal has kept, as it stood; [`begin`](Self::begin) lets it go on. Without the journal it is
    /// only there to be looked at.
    ///
    /// # Errors
    /// What is wrong with its lines, or why it cannot be played on here.
    pub fn restored(
        kept: &SavedMatch,
        tables: &Tables,
        owner: Owner,
        most_waiting: usize,
        journal: Option<&Arc<Journal>>,
    ) -> Result<Self, String> {
        let mut lines = kept.lines.iter().zip(0..);
        let created = lines.next().ok_or("it has no line")?.0;
        let created: Created = serde_json::from_str(created).map_err(|error| format!("line 0: {error}"))?;
        let (table, settings) = created.set_up(tables)?;
        let Created { at, host, spectator, invitations, opened, seeds, fair, .. } = created;
        let deals = Deals::restored(fair, settings.players.len());
        let mut state = State::new(&table, &settings, &kept.id, opened, seeds, deals, at);
        for (line, number) in lines {
            state.follow(&table, line).map_err(|problem| format!("line {number}: {problem}"))?;
        }
        let mut invited = invitations.into_iter();
        let ticket = |(player, newer): (&Player, &Option<[u8; 32]>)| match player {
            Player::Agent => {
                let Invited(first) = invited.next().ok_or("an invitation is missing")?;
                Ok::<_, String>(Ticket::restored(newer.unwrap_or(first)))
            }
            Player::Bot(_) => Ok(Ticket::default()),
        };
        let tickets = settings.players.iter().zip(&state.invited).map(ticket).collect::<Result<_, _>>()?;
        let log = journal.map(|journal| Log::after(journal, kept));
        let age = SystemTime::now().duration_since(at).unwrap_or_default();
        let inner = Inner { log, ..Inner::new(state, &settings, age, tickets) };
        let [host, spectator] = [host, spectator].map(secret::Secret::by);
        let name = Name { id: kept.id.clone(), host, spectator, created: at };
        Ok(Self::over(name, table, settings, inner, owner, most_waiting))
    }

    /// Waits until all is written of how the match stands now.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub async fn kept(&self) -> Result<(), Error> {
        let mark = self.lock().mark();
        written(mark).await
    }
}

impl Created {
    /// The table and the settings.
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
    /// Applies an event that has been written, and looks whether it has led where it did.
    fn follow(&mut self, table: &Table, line: &str) -> Result<(), String> {
        let Line { event, digest } = serde_json::from_str(line).map_err(|error| error.to_string())?;
        self.apply(table, &event).map_err(|InvalidEvent(problem)| problem)?;
        match digest {
            Some(digest) if digest != self.play.digest().to_string() => {
                Err("the position is another than it was".to_owned())
            }
            _ => Ok(()),
        }
    }
}

//! A match in the journal: line 0 has its creation, each further line has an event. The server restores the match from them.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use boardwire_api::Error;
use boardwire_api::v1::MatchConfig;
use boardwire_batch::Player;
use boardwire_batch::pool::WorkQueue;
use boardwire_batch::tables::{Table, Tables};
use prost::Message as _;
use serde::{Deserialize, Serialize};
use tracing::Instrument as _;

use super::event::{Event, EventKind};
use super::fair::{Deals, ServerSecretRoot};
use super::state::State;
use super::timekeeping::micros;
use super::{Arbiter, CloseReason, EpisodeKey, Identity, Inner, SeatAccess, Settings};
use crate::hex;
use crate::journal::{Entry, Journal, SavedMatch, chained};
use crate::record::InvalidEvent;
use crate::secret::{Secret, Seeds};
use crate::serde_formats;

/// The first line of a match.
#[derive(Debug, Serialize, Deserialize)]
struct Created {
    #[serde(with = "serde_formats::time")]
    at: SystemTime,
    /// The encoded `MatchConfig`.
    #[serde(with = "serde_formats::hex")]
    config: Vec<u8>,
    /// How long agents may take to open their secrets for the deals.
    #[serde(rename = "opening")]
    opening_timeout: Duration,
    /// The spec digest of the table.
    #[serde(with = "serde_formats::hex")]
    spec: [u8; 32],
    /// The digest of the host's token.
    #[serde(with = "serde_formats::hex")]
    host: [u8; 32],
    /// The digest of the spectators' token.
    #[serde(with = "serde_formats::hex")]
    spectator: [u8; 32],
    /// The digest of the invitation to each agent's seat, ordered by seat.
    invitations: Vec<Invitation>,
    #[serde(rename = "opened")]
    key: EpisodeKey,
    seeds: Seeds,
    /// The server's root secret, if deals are fair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fair: Option<ServerSecretRoot>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Invitation(#[serde(with = "serde_formats::hex")] [u8; 32]);

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
pub(super) struct MatchJournal {
    journal: Arc<Journal>,
    id: Arc<str>,
    /// The number of lines so far.
    lines: u32,
    /// The head of the hash chain of these lines.
    head: [u8; 32],
    /// Lines that the journal has not received yet. It must receive them together.
    waiting: Vec<Entry>,
    /// The position of the last line sent: how many lines of all matches the journal had received then.
    position: u64,
}

/// The journal, and the position up to which it must write before a caller may see the state. `None` without a journal.
pub(super) type JournalPosition = Option<(Arc<Journal>, u64)>;

impl MatchJournal {
    /// Creates a match journal that continues after `lines`, which the journal has already written.
    fn new(journal: &Arc<Journal>, id: &str, lines: &[String]) -> Self {
        let head = lines.iter().fold([0; 32], |head, line| chained(&head, line));
        let lines = u32::try_from(lines.len()).expect("the journal numbers lines in 32 bits");
        Self { journal: Arc::clone(journal), id: id.into(), lines, head, waiting: vec![], position: 0 }
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
            self.position = self.journal.submit(std::mem::take(&mut self.waiting));
        }
    }
}

impl Inner {
    /// Adds an applied event to the journal. A shutdown is not added, because the match continues after it.
    pub(super) fn journal_event(&mut self, event: &Event) {
        let Some(journal) = &mut self.journal else { return };
        let has_moved = matches!(event.kind, EventKind::Dealt { .. } | EventKind::Played { .. });
        let digest = has_moved.then(|| self.state.play.digest().to_string());
        match &event.kind {
            EventKind::Closed(CloseReason::ShuttingDown) => {}
            kind => {
                let is_open = !matches!(kind, EventKind::Closed(_));
                journal.write(&Line { event: event.clone(), digest }, is_open);
            }
        }
    }

    pub(super) fn flush(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.flush();
        }
    }

    /// Returns an error while the journal cannot be written.
    pub(super) fn check_journal(&self) -> Result<(), Error> {
        self.journal.as_ref().map_or(Ok(()), |own| own.journal.check())
    }

    /// Returns the position up to which the journal must write before a caller may see the present state.
    pub(super) fn journal_position(&self) -> JournalPosition {
        self.journal.as_ref().map(|own| (Arc::clone(&own.journal), own.position))
    }
}

/// Waits until the journal has written up to a position.
pub(super) async fn wait_until_written(position: JournalPosition) -> Result<(), Error> {
    match position {
        Some((journal, position)) => {
            journal.wait_until_written(position).instrument(tracing::debug_span!("journal")).await
        }
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
    pub fn with_journal(self, journal: &Arc<Journal>) -> Self {
        let mut match_journal = MatchJournal::new(journal, &self.identity.id, &[]);
        {
            let inner = &mut *self.lock();
            let created = Created {
                at: self.identity.created,
                config: self.settings.config(&self.table).encode_to_vec(),
                opening_timeout: self.settings.opening_timeout,
                spec: *self.table.digest.as_bytes(),
                host: self.identity.host.digest,
                spectator: self.identity.spectator.digest,
                invitations: inner
                    .seat_access
                    .iter()
                    .filter_map(SeatAccess::invitation_digest)
                    .map(Invitation)
                    .collect(),
                key: inner.state.present.key,
                seeds: inner.state.seeds.clone(),
                fair: inner.state.deals.root(),
            };
            match_journal.write(&created, true);
            match_journal.flush();
            inner.journal = Some(match_journal);
        }
        self
    }

    /// Restores a match from its lines; [`start`](Self::start) starts it. Without a `journal`, it only checks the match.
    ///
    /// # Errors
    /// A line is wrong, or this server cannot play the match.
    pub fn restore(
        saved: &SavedMatch,
        tables: &Tables,
        work_queue: WorkQueue,
        max_waiting_calls: usize,
        journal: Option<&Arc<Journal>>,
    ) -> Result<Self, String> {
        let [first, events @ ..] = &saved.lines[..] else {
            return Err("the journal has no line of this match".to_owned());
        };
        let created: Created = serde_json::from_str(first).map_err(|error| format!("line 0: {error}"))?;
        let (table, settings) = created.read_settings(tables)?;
        let Created { at, host, spectator, invitations, key, seeds, fair, .. } = created;
        let deals = Deals::restore(fair, settings.players.len());
        let mut state = State::new(&table, &settings, &saved.id, key, seeds, deals, at);
        for (line, number) in events.iter().zip(1..) {
            state.replay_line(&table, line).map_err(|problem| format!("line {number}: {problem}"))?;
        }
        let mut invitations = invitations.into_iter();
        let access = |(player, newer): (&Player, &Option<[u8; 32]>)| match player {
            Player::Agent => {
                let Invitation(first) = invitations
                    .next()
                    .ok_or("line 0: `invitations` must have one entry for each agent's seat")?;
                Ok::<_, String>(SeatAccess::new(Some(Secret::from_digest(newer.unwrap_or(first)))))
            }
            Player::Bot(_) => Ok(SeatAccess::new(None)),
        };
        let seat_access =
            settings.players.iter().zip(&state.invited).map(access).collect::<Result<_, _>>()?;
        let [host, spectator] = [host, spectator].map(Secret::from_digest);
        let identity = Identity { id: saved.id.clone(), host, spectator, created: at };
        let arbiter =
            Self::assemble(identity, table, settings, work_queue, max_waiting_calls, state, seat_access);
        arbiter.lock().journal = journal.map(|journal| MatchJournal::new(journal, &saved.id, &saved.lines));
        Ok(arbiter)
    }

    /// Waits until the journal has written the present state.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn wait_until_written(&self) -> Result<(), Error> {
        let position = self.lock().journal_position();
        wait_until_written(position).await
    }
}

impl Created {
    fn read_settings(&self, tables: &Tables) -> Result<(Arc<Table>, Settings), String> {
        let config = MatchConfig::decode(&self.config[..]).map_err(|error| format!("line 0: {error}"))?;
        let refused = |error: Error| format!("line 0: {error}");
        let (table, settings) = Settings::read(&config, tables).map_err(refused)?;
        if *table.digest.as_bytes() != self.spec {
            let spec = hex::hex(&self.spec);
            return Err(format!(
                "the match needs spec {spec}, but this server has {}: use the Boardwire release that created it",
                table.digest
            ));
        }
        let settings = Settings { opening_timeout: self.opening_timeout, ..settings };
        settings.check().map_err(refused)?;
        Ok((table, settings))
    }
}

impl State {
    /// Applies the event of a line, and checks that the position then has the digest that the line records.
    fn replay_line(&mut self, table: &Table, line: &str) -> Result<(), String> {
        let Line { event, digest } = serde_json::from_str(line).map_err(|error| error.to_string())?;
        self.apply(table, &event).map_err(|InvalidEvent(problem)| problem)?;
        let Some(digest) = digest else { return Ok(()) };
        let actual = self.play.digest().to_string();
        if digest == actual {
            return Ok(());
        }
        Err(format!("the digest of the position is {actual}; the journal has {digest}"))
    }
}

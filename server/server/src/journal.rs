//! The journal: a file that records every event of every match, so that matches survive a crash of the server.
//!
//! A match submits one line for each event and continues. One thread writes all waiting lines together, so that many
//! matches share one wait for the disk. A response waits until the lines that it depends on are written. While the disk
//! fails or does not respond, calls get an error, the server refuses decisions, and the thread retries until it
//! succeeds.

mod store;
mod tail;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use boardwire_api::Error;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub use store::JournalReader;
use writer::Writer;

/// The time between two runs of [`Writer::maintain`], and between two attempts of a failed write.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);
/// Clocks stop when one write has lasted this many ticks (2 s). Mere load must not cause that: a machine with two cores
/// writes [`MAX_WAITING_LINES`] in less than a second.
const SLOW_TICKS: u32 = 40;
/// The journal fails when one write has lasted this many ticks (5 s).
const STUCK_TICKS: u32 = 100;
const NO_RESPONSE: &str = "the disk does not respond";
/// The server refuses decisions while this many lines wait.
const MAX_WAITING_LINES: usize = 1 << 16;

/// When written lines survive a power failure. If only the server crashes, it loses no line that a response has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Before the server sends a response that shows them.
    #[default]
    Always,
    /// Within one second.
    Interval,
}

/// The durability of the journal, and how long it keeps matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// When written lines survive a power failure.
    pub sync: Sync,
    /// How long the journal keeps ended matches. `None`: forever.
    pub ended: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { sync: Sync::default(), ended: Some(Duration::from_hours(30 * 24)) }
    }
}

/// An open match, as the journal has recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedMatch {
    /// The match's id.
    pub id: String,
    /// The settings and secrets that the match was created with, then its events.
    pub lines: Vec<String>,
}

/// A loss of data that the journal has detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The damaged match; empty if it is unknown.
    pub id: String,
    /// The problem, as text.
    pub problem: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.id.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "match {}: {}", self.id, self.problem)
        }
    }
}

/// A line for the journal.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The match's id.
    pub(crate) id: Arc<str>,
    /// The number of the line in the match, from 0.
    pub(crate) number: u32,
    /// The text of the line.
    pub(crate) line: String,
    /// The hash over all lines of the match up to and including this one.
    pub(crate) head: [u8; 32],
    /// Whether the match is still open after this line.
    pub(crate) open: bool,
}

/// Extends a hash chain by a line. The chain begins with 32 zero bytes.
pub(crate) fn chained(head: &[u8; 32], line: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head).update(line.as_bytes());
    *hasher.finalize().as_bytes()
}

/// A journal that accepts lines, and its writer's thread.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    /// Upgrades only while the writer's thread runs.
    progress_sender: Weak<watch::Sender<Progress>>,
    progress: watch::Receiver<Progress>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The state that callers and the writer's thread share.
#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Wakes the writer's thread.
    queue_changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    /// The number of entries submitted so far.
    submitted: u64,
    closing: bool,
    /// The number of ticks that the current write has lasted. `None` between writes.
    ticks: Option<u32>,
}

/// The progress of the writer's thread.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// The number of written entries.
    entries: u64,
    /// The error, if the last write failed or the disk does not respond.
    problem: Option<String>,
}

impl Progress {
    fn check(&self) -> Result<(), Error> {
        self.problem.clone().map_or(Ok(()), |problem| Err(Error::JournalFailed { problem }))
    }
}

impl JournalReader {
    /// Marks the damaged matches as lost, then starts the thread that writes the journal.
    ///
    /// # Errors
    /// The file cannot be written, or the thread cannot be started.
    pub fn start_writer(mut self, damaged: &[Damage]) -> anyhow::Result<Arc<Journal>> {
        if !damaged.is_empty() {
            self.mark_lost(damaged)?;
        }
        let shared = Arc::<Shared>::default();
        let (sender, progress) = watch::channel(Progress::default());
        let sender = Arc::new(sender);
        let progress_sender = Arc::downgrade(&sender);
        let writer = self.into_writer()?;
        let writing = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("journal".to_owned());
        let writer = thread.spawn(move || writing.write(writer, &sender))?;
        Ok(Arc::new(Journal { shared, progress_sender, progress, writer: Mutex::new(Some(writer)) }))
    }
}

impl Journal {
    /// Submits entries. The thread writes all of them or none. Returns the number of entries submitted so far.
    pub(crate) fn submit(&self, entries: Vec<Entry>) -> u64 {
        let mut queue = self.shared.lock();
        queue.submitted += entries.len() as u64;
        queue.entries.extend(entries);
        self.shared.queue_changed.notify_one();
        queue.submitted
    }

    /// Returns the number of entries submitted so far.
    pub(crate) fn submitted(&self) -> u64 {
        self.shared.lock().submitted
    }

    /// Returns the number of entries that wait to be written.
    pub(crate) fn queued(&self) -> usize {
        let written = self.progress.borrow().entries;
        usize::try_from(self.submitted().saturating_sub(written)).unwrap_or(usize::MAX)
    }

    /// Checks that the journal accepts lines now.
    ///
    /// # Errors
    /// The disk fails or does not respond, too many lines wait, or the writer's thread has ended.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.progress.borrow().check()?;
        if self.progress_sender.strong_count() == 0 {
            return Err(self.ended());
        }
        if self.shared.lock().entries.len() >= MAX_WAITING_LINES {
            let problem = format!("{MAX_WAITING_LINES} lines wait for the disk");
            return Err(Error::JournalFailed { problem });
        }
        Ok(())
    }

    /// Counts a tick of the current write. Call it every 50 ms. Returns whether the write is so slow that clocks stop.
    pub(crate) fn tick(&self) -> bool {
        let mut queue = self.shared.lock();
        let lines = queue.entries.len();
        let Some(ticks) = &mut queue.ticks else { return false };
        *ticks += 1;
        let ticks = *ticks;
        // Under the lock: the writer clears the problem only after this write, for which it must lock the queue.
        let sender = self.progress_sender.upgrade().filter(|_| ticks == STUCK_TICKS);
        if let Some(sender) = &sender {
            sender.send_modify(|progress| progress.problem = Some(NO_RESPONSE.to_owned()));
        }
        drop(queue);
        if sender.is_some() {
            tracing::error!(problem = NO_RESPONSE, lines, "the journal cannot be written");
        }
        ticks >= SLOW_TICKS
    }

    /// Waits until `entries` entries are written.
    ///
    /// # Errors
    /// The disk fails or does not respond, or the writer's thread has ended.
    pub(crate) async fn wait_until_written(&self, entries: u64) -> Result<(), Error> {
        let mut progress = self.progress.clone();
        let is_ready = |progress: &Progress| progress.entries >= entries || progress.problem.is_some();
        let Ok(progress) = progress.wait_for(is_ready).await else { return Err(self.ended()) };
        if progress.entries >= entries { Ok(()) } else { progress.check() }
    }

    /// Returns the error when the writer's thread has ended.
    fn ended(&self) -> Error {
        if self.shared.lock().closing {
            return Error::ShuttingDown;
        }
        Error::JournalFailed { problem: "the journal thread has ended; restart the server".to_owned() }
    }

    /// Writes all submitted entries and ends the thread.
    pub fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.queue_changed.notify_one();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the journal's thread panicked");
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `wakes` returns true, at most for [`MAINTENANCE_INTERVAL`].
    fn wait(&self, wakes: impl Fn(&Queue) -> bool) -> MutexGuard<'_, Queue> {
        let waited =
            self.queue_changed.wait_timeout_while(self.lock(), MAINTENANCE_INTERVAL, |queue| !wakes(queue));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Runs the writer's thread: writes until the journal is closed.
    fn write(&self, mut writer: Writer, progress: &watch::Sender<Progress>) {
        let mut maintained_at = Instant::now();
        loop {
            let (entries, submitted, closing) = {
                let mut queue = self.wait(|queue| queue.closing || !queue.entries.is_empty());
                (std::mem::take(&mut queue.entries), queue.submitted, queue.closing)
            };
            let is_due = closing || maintained_at.elapsed() >= MAINTENANCE_INTERVAL;
            let mut is_written = entries.is_empty();
            loop {
                self.lock().ticks = Some(0);
                let result = (|| {
                    if !is_written {
                        writer.write(&entries)?;
                        is_written = true;
                    }
                    if is_due { writer.maintain() } else { Ok(()) }
                })();
                self.lock().ticks = None;
                let Err(error) = result else { break };
                let problem = error.to_string();
                tracing::error!(problem, lines = entries.len(), "the journal cannot be written");
                progress.send_modify(|progress| progress.problem = Some(problem));
                if self.wait(|queue| queue.closing).closing {
                    return;
                }
            }
            progress.send_modify(|progress| *progress = Progress { entries: submitted, problem: None });
            if is_due {
                maintained_at = Instant::now();
            }
            if closing && self.lock().entries.is_empty() {
                break;
            }
        }
        if let Err(error) = writer.close() {
            tracing::error!(%error, "the journal was not closed cleanly: FILE-wal and FILE-tail remain");
        }
    }
}

//! The journal: a file that records every event of every match, so that matches survive a crash of the server.
//!
//! A match submits one line for each event and continues. One thread writes all waiting lines at once, so that many matches
//! share one wait for the disk. The server answers a call only when all lines behind the answer are written. While the disk
//! fails or does not answer, calls get an error, decisions are refused, and the thread retries until it succeeds.

mod store;
mod tail;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use boardwire_api::Error;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub use store::JournalReader;
use store::Writer;

/// The time between two runs of [`Writer::tend`], and between two attempts of a failed write.
const TEND_INTERVAL: Duration = Duration::from_secs(1);
/// Clocks stop when one write has lasted this many ticks, 2 s. Load alone must not cause that: a machine with two cores
/// writes [`MAX_WAITING_LINES`] in less than a second.
const SLOW_TICKS: u32 = 40;
/// The journal fails when one write has lasted this many ticks, 5 s.
const STUCK_TICKS: u32 = 100;
const NO_ANSWER: &str = "the disk does not answer";
/// Decisions are refused while this many lines wait.
const MAX_WAITING_LINES: usize = 1 << 16;

/// When written lines survive a loss of power. A crash of the server never loses a line that it has answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Before the server answers with them.
    #[default]
    Always,
    /// Within a second.
    Interval,
}

/// How safely and how long matches are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// When written lines survive a loss of power.
    pub sync: Sync,
    /// How long ended matches are kept; without it for ever.
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
    /// Its id.
    pub id: String,
    /// What it was created with, then its events.
    pub lines: Vec<String>,
}

/// A loss of data that the journal has detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The damaged match; empty if it is unknown.
    pub id: String,
    /// What is wrong.
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

/// A line to be written.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its match.
    pub(crate) id: Arc<str>,
    /// Its number in the match, from 0.
    pub(crate) number: u32,
    /// Its text.
    pub(crate) line: String,
    /// The hash over all lines of the match up to and including this one.
    pub(crate) head: [u8; 32],
    /// Whether the match continues after it.
    pub(crate) open: bool,
}

/// Extends a hash chain by a line. The chain begins with 32 zero bytes.
pub(crate) fn chained(head: &[u8; 32], line: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head).update(line.as_bytes());
    *hasher.finalize().as_bytes()
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    /// Dead when the writer's thread has ended.
    progress_sender: Weak<watch::Sender<Progress>>,
    progress: watch::Receiver<Progress>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What the callers and the writer's thread share.
#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Wakes the writer's thread.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    /// How many entries were ever submitted.
    submitted: u64,
    closing: bool,
    /// How many ticks the current write has lasted; none between writes.
    ticks: Option<u32>,
}

/// How far the writer's thread is.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// How many entries are written.
    entries: u64,
    /// The error of the last write, if it failed.
    problem: Option<String>,
}

impl Progress {
    fn check(&self) -> Result<(), Error> {
        self.problem.clone().map_or(Ok(()), |problem| Err(Error::JournalFailed { problem }))
    }
}

impl JournalReader {
    /// Drops the damaged matches, then starts the thread that writes the journal.
    ///
    /// # Errors
    /// The file cannot be written, or the thread cannot be started.
    pub fn write(mut self, damaged: &[Damage]) -> anyhow::Result<Arc<Journal>> {
        if !damaged.is_empty() {
            self.give_up(damaged)?;
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
    /// Submits entries, which are written all or none. Returns how many entries were ever submitted.
    pub(crate) fn submit(&self, entries: Vec<Entry>) -> u64 {
        let mut queue = self.shared.lock();
        queue.submitted += entries.len() as u64;
        queue.entries.extend(entries);
        self.shared.changed.notify_one();
        queue.submitted
    }

    /// How many entries were ever submitted.
    pub(crate) fn submitted(&self) -> u64 {
        self.shared.lock().submitted
    }

    /// How many entries wait to be written.
    pub(crate) fn lag(&self) -> usize {
        let written = self.progress.borrow().entries;
        usize::try_from(self.submitted().saturating_sub(written)).unwrap_or(usize::MAX)
    }

    /// Checks that the journal takes lines now.
    ///
    /// # Errors
    /// The disk fails or does not answer, too many lines wait, or the writer's thread has ended.
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

    /// Counts a tick of the current write; to be called every 50 ms. Returns whether the write is so slow that clocks stop.
    pub(crate) fn tick(&self) -> bool {
        let mut queue = self.shared.lock();
        let lines = queue.entries.len();
        let Some(ticks) = &mut queue.ticks else { return false };
        *ticks += 1;
        let ticks = *ticks;
        // Under the lock: the writer clears the problem only after this write, when it can lock the queue.
        let sender = self.progress_sender.upgrade().filter(|_| ticks == STUCK_TICKS);
        if let Some(sender) = &sender {
            sender.send_modify(|progress| progress.problem = Some(NO_ANSWER.to_owned()));
        }
        drop(queue);
        if sender.is_some() {
            tracing::error!(problem = NO_ANSWER, lines, "the journal cannot be written");
        }
        ticks >= SLOW_TICKS
    }

    /// Waits until this many entries are written.
    ///
    /// # Errors
    /// The disk fails or does not answer, or the writer's thread has ended.
    pub(crate) async fn written(&self, entries: u64) -> Result<(), Error> {
        let mut progress = self.progress.clone();
        let is_ready = |progress: &Progress| progress.entries >= entries || progress.problem.is_some();
        let Ok(progress) = progress.wait_for(is_ready).await else { return Err(self.ended()) };
        if progress.entries >= entries { Ok(()) } else { progress.check() }
    }

    /// The error when the writer's thread has ended.
    fn ended(&self) -> Error {
        if self.shared.lock().closing {
            return Error::ShuttingDown;
        }
        Error::JournalFailed { problem: "its thread has ended; start the server again".to_owned() }
    }

    /// Writes all submitted entries and ends the thread.
    pub fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_one();
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

    /// Waits until `wakes`, at most for [`TEND_INTERVAL`].
    fn wait(&self, wakes: impl Fn(&Queue) -> bool) -> MutexGuard<'_, Queue> {
        let waited = self.changed.wait_timeout_while(self.lock(), TEND_INTERVAL, |queue| !wakes(queue));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Writes until the journal is closed.
    fn write(&self, mut writer: Writer, progress: &watch::Sender<Progress>) {
        let mut tended = Instant::now();
        loop {
            let (entries, submitted, closing) = {
                let mut queue = self.wait(|queue| queue.closing || !queue.entries.is_empty());
                (std::mem::take(&mut queue.entries), queue.submitted, queue.closing)
            };
            let is_due = closing || tended.elapsed() >= TEND_INTERVAL;
            let mut is_written = entries.is_empty();
            loop {
                self.lock().ticks = Some(0);
                let result = (|| {
                    if !is_written {
                        writer.write(&entries)?;
                        is_written = true;
                    }
                    if is_due { writer.tend() } else { Ok(()) }
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
                tended = Instant::now();
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

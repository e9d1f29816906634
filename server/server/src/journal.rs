//! What keeps matches through crashes: everything that happens in them, written before anybody is told of it.
//!
//! A match hands over a line for each of its events, in their order, as it happens, and continues. One thread writes the
//! lines that have come since its last write, all at once, so that many matches share one wait for the disk. A caller is
//! answered when all that the answer shows is written. While the disk fails, or does not answer, callers are told so and
//! decisions are refused; the thread tries again until it succeeds.

mod store;
mod tail;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use boardwire_api::Error;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use store::{Store, Writer};

/// How often what was written is made safe from a loss of power, matches that ended long ago are forgotten, and a write
/// that failed is tried again.
const TEND_INTERVAL: Duration = Duration::from_secs(1);
/// After so many looks at one unfinished write, in 2 s, clocks stand. Load must not cause that: the most lines that may wait
/// take less than a second on a machine with two cores.
const SLOW_LOOKS: u32 = 40;
/// After so many looks at one unfinished write the disk counts as not answering.
const MOST_LOOKS: u32 = 100;
const NO_ANSWER: &str = "the disk does not answer";
/// With so many lines waiting to be written, decisions are refused.
const MOST_LINES: usize = 1 << 16;

/// When what is written is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// From a loss of power, before anybody is told of it.
    #[default]
    Always,
    /// From a crash of the server before anybody is told of it, from a loss of power within a second.
    Interval,
}

/// How matches are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// When what is written is safe.
    pub sync: Sync,
    /// For how long matches are kept that have ended; for ever, if nothing is said.
    pub ended: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { sync: Sync::default(), ended: Some(Duration::from_hours(30 * 24)) }
    }
}

/// A match that has not ended, with all that has happened in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedMatch {
    /// Its id.
    pub id: String,
    /// What it was created with, then its events.
    pub lines: Vec<String>,
}

/// What is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Of which match; empty where that is not known.
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

/// A line on its way.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Of which match.
    pub(crate) id: Arc<str>,
    /// Which of its lines, from 0.
    pub(crate) number: u32,
    /// The line.
    pub(crate) line: String,
    /// The hash that the lines chain up to.
    pub(crate) head: [u8; 32],
    /// Whether the match goes on.
    pub(crate) open: bool,
}

/// The hash that a line chains up to, from that of those before it; 32 zero bytes before the first.
pub(crate) fn chained(head: &[u8; 32], line: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head).update(line.as_bytes());
    *hasher.finalize().as_bytes()
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    /// The writer's end, which it drops when it ends.
    tell: Weak<watch::Sender<Written>>,
    written: watch::Receiver<Written>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    /// How many there have been.
    submitted: u64,
    closing: bool,
    /// How often the present write has been looked at, if there is one.
    looks: Option<u32>,
}

/// How far it has come.
#[derive(Debug, Clone, Default)]
struct Written {
    /// How many entries have been written.
    entries: u64,
    /// Why no more are, if the disk has failed.
    problem: Option<String>,
}

/// A journal that is read before anything is written.
#[derive(Debug)]
pub struct JournalReader {
    store: Store,
}

impl JournalReader {
    /// Opens the journal in a file, which is made if there is none.
    ///
    /// # Errors
    /// A file that cannot be read and written, or is no journal; another server that has it open.
    pub fn open(path: &Path, keeping: Retention) -> Result<Self, String> {
        Ok(Self { store: Store::open(path, keeping)? })
    }

    /// Lets the file become so many pages long at most, as if the disk were full then.
    #[cfg(test)]
    pub(crate) fn limit(&self, pages: u32) {
        self.store.limit(pages);
    }

    /// The matches that have not ended, and what is lost.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(&self) -> Result<(Vec<SavedMatch>, Vec<Damage>), String> {
        self.store.read().map_err(|error| error.to_string())
    }

    /// Begins to write, when the damage has been given up that was found.
    ///
    /// # Errors
    /// A file that cannot be written, a thread that does not start.
    pub fn write(mut self, damaged: &[Damage]) -> Result<Arc<Journal>, String> {
        if !damaged.is_empty() {
            self.store.give_up(damaged).map_err(|error| error.to_string())?;
        }
        let shared = Arc::new(Shared { queue: Mutex::default(), more: Condvar::new() });
        let (tell, written) = watch::channel(Written::default());
        let tell = Arc::new(tell);
        let writer = self.store.write_from_now().map_err(|error| error.to_string())?;
        let (writing, told) = (Arc::clone(&shared), Arc::downgrade(&tell));
        let thread = std::thread::Builder::new().name("journal".to_owned());
        let writer = thread.spawn(move || writing.write(writer, &tell)).map_err(|error| error.to_string())?;
        Ok(Arc::new(Journal { shared, tell: told, written, writer: Mutex::new(Some(writer)) }))
    }
}

impl Journal {
    /// Takes lines to be written, all or none; gives the number of the last among all of them.
    pub(crate) fn submit(&self, entries: Vec<Entry>) -> u64 {
        let mut queue = self.shared.lock();
        queue.submitted += entries.len() as u64;
        queue.entries.extend(entries);
        self.shared.more.notify_one();
        queue.submitted
    }

    /// How many lines there have been.
    pub(crate) fn submitted(&self) -> u64 {
        self.shared.lock().submitted
    }

    /// How many lines are still to be written.
    pub(crate) fn lag(&self) -> usize {
        let written = self.written.borrow().entries;
        usize::try_from(self.submitted().saturating_sub(written)).unwrap_or(usize::MAX)
    }

    /// Refuses while lines could not be written.
    ///
    /// # Errors
    /// A disk that fails or does not answer, too many lines that wait for it, a writer that has ended.
    pub(crate) fn check(&self) -> Result<(), Error> {
        refused(&self.written.borrow())?;
        if self.tell.strong_count() == 0 {
            return Err(self.ended());
        }
        if self.shared.lock().entries.len() >= MOST_LINES {
            return Err(Error::JournalFailed { problem: format!("{MOST_LINES} lines wait for the disk") });
        }
        Ok(())
    }

    /// Looks, every 50 ms, at the write that is under way; returns whether it has taken so long that clocks stand. A write that
    /// is found 100 times is one of a disk that does not answer.
    pub(crate) fn look(&self) -> bool {
        let mut queue = self.shared.lock();
        let lines = queue.entries.len();
        let Some(looks) = &mut queue.looks else { return false };
        *looks += 1;
        let looks = *looks;
        // The writer takes it back after the write, when the queue is free again.
        let tell = self.tell.upgrade().filter(|_| looks == MOST_LOOKS);
        if let Some(tell) = &tell {
            tell.send_modify(|written| written.problem = Some(NO_ANSWER.to_owned()));
        }
        drop(queue);
        if tell.is_some() {
            tracing::error!(problem = NO_ANSWER, lines, "the journal cannot be written");
        }
        looks >= SLOW_LOOKS
    }

    /// Waits until so many lines have been written.
    ///
    /// # Errors
    /// A disk that fails or does not answer, a journal that is closed.
    pub(crate) async fn written(&self, lines: u64) -> Result<(), Error> {
        let mut written = self.written.clone();
        let ready = written.wait_for(|written| written.entries >= lines || written.problem.is_some()).await;
        let Ok(ready) = ready else { return Err(self.ended()) };
        if ready.entries >= lines { Ok(()) } else { refused(&ready) }
    }

    /// Why no more lines are written, when the writer has ended.
    fn ended(&self) -> Error {
        if self.shared.lock().closing {
            return Error::ShuttingDown;
        }
        Error::JournalFailed { problem: "its thread has ended; start the server again".to_owned() }
    }

    /// Writes what has been submitted, and ends.
    pub fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.more.notify_one();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            tracing::error!("the journal's thread panicked");
        }
    }
}

fn refused(written: &Written) -> Result<(), Error> {
    match &written.problem {
        None => Ok(()),
        Some(problem) => Err(Error::JournalFailed { problem: problem.clone() }),
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for lines, but no longer than a while; gives them with their number, and whether these are the last.
    fn next(&self) -> (Vec<Entry>, u64, bool) {
        let queue = self.lock();
        let idle = |queue: &mut Queue| queue.entries.is_empty() && !queue.closing;
        let (mut queue, _) =
            self.more.wait_timeout_while(queue, TEND_INTERVAL, idle).unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut queue.entries), queue.submitted, queue.closing)
    }

    /// Waits for a while; whether the journal has been closed.
    fn is_closed_within(&self, time: Duration) -> bool {
        let goes_on = |queue: &mut Queue| !queue.closing;
        let waited = self.more.wait_timeout_while(self.lock(), time, goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).0.closing
    }

    /// Writes until the journal is closed.
    fn write(&self, mut writer: Writer, tell: &watch::Sender<Written>) {
        let mut tended = Instant::now();
        loop {
            let (entries, submitted, last) = self.next();
            let due = last || tended.elapsed() >= TEND_INTERVAL;
            let mut is_written = entries.is_empty();
            let mut keep = || {
                if !is_written {
                    writer.write(&entries)?;
                    is_written = true;
                }
                if due { writer.tend() } else { Ok(()) }
            };
            while let Err(error) = self.watched(&mut keep) {
                let problem = error.to_string();
                tracing::error!(problem, lines = entries.len(), "the journal cannot be written");
                tell.send_modify(|written| written.problem = Some(problem));
                if self.is_closed_within(TEND_INTERVAL) {
                    return;
                }
            }
            tell.send_modify(|written| *written = Written { entries: submitted, problem: None });
            if due {
                tended = Instant::now();
            }
            if last && self.lock().entries.is_empty() {
                break;
            }
        }
        if let Err(error) = writer.close() {
            tracing::error!(%error, "the journal was not closed cleanly: FILE-wal and FILE-tail remain");
        }
    }

    /// Does something with the disk while [`look`](Journal::look) watches it.
    fn watched<T>(&self, with_disk: impl FnOnce() -> T) -> T {
        self.lock().looks = Some(0);
        let done = with_disk();
        self.lock().looks = None;
        done
    }
}

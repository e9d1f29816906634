//! Writes lines to the journal's file, deletes old matches, and makes checkpoints of the write-ahead log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use fail::fail_point;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::tail::Tail;
use super::{Entry, Retention, Sync};

/// The maximum number of matches that one transaction deletes, so that no write waits long for it.
const MAX_DELETED_PER_TRANSACTION: u32 = 100;

/// Selects matches that ended before a time. The index omits open matches, so a write to one does not change the index.
const ENDED: &str =
    "SELECT key, last, state = 'lost' FROM matches WHERE state <> 'open' AND changed < ? LIMIT ?";

/// Inserts a match, or updates it if it exists.
const UPSERT: &str = "
    INSERT INTO matches VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    events = excluded.events, last = excluded.last, head = excluded.head, state = excluded.state, changed = excluded.changed
";

/// With more bytes than this in the tail, the server moves the write-ahead log into the database (a checkpoint).
const MAX_TAIL_BYTES: u64 = 64 << 10;

/// A journal that can be written.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) retention: Retention,
    pub(super) tail: Tail,
    /// The open matches by id.
    pub(super) open: HashMap<Arc<str>, FirstAndLast>,
    /// The `at` of the next line.
    pub(super) next: i64,
}

/// The positions (`at`) of a match's first and last line in the log.
pub(super) type FirstAndLast = (i64, i64);

impl Writer {
    /// Writes all entries or none. After a failure it is unknown whether they were written. A retry with the same entries is
    /// idempotent, since they get the same numbers.
    pub(super) fn write(&mut self, entries: &[Entry]) -> anyhow::Result<()> {
        fail_point!("journal::begin", |_| Err(injected_error().into()));
        let transaction = self.connection.transaction()?;
        let (mut changed, mut new) = (BTreeMap::<_, (FirstAndLast, &Entry)>::new(), 0);
        {
            let mut line = transaction
                .prepare_cached("INSERT INTO events VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")?;
            for (entry, at) in entries.iter().zip(self.next..) {
                fail_point!("journal::line", |_| Err(injected_error().into()));
                let first_and_last = changed
                    .get(&entry.id)
                    .map(|(first_and_last, _)| first_and_last)
                    .or_else(|| self.open.get(&entry.id));
                let (key, previous) = first_and_last.map_or((at, None), |(key, last)| (*key, Some(*last)));
                let written = line.execute(params![at, key, entry.number, previous, entry.line])?;
                new += i64::from(entry.number == 0 && written > 0);
                changed.insert(&entry.id, ((key, at), entry));
            }
            let mut row = transaction.prepare_cached(UPSERT)?;
            for (id, ((key, last), entry)) in &changed {
                let state = if entry.open { "open" } else { "closed" };
                fail_point!("journal::match", |_| Err(injected_error().into()));
                row.execute(params![key, &***id, entry.number + 1, last, entry.head, state, now()])?;
            }
        }
        if new > 0 {
            transaction.prepare_cached("UPDATE about SET matches = matches + ?")?.execute([new])?;
        }
        fail_point!("journal::commit", |_| Err(injected_error().into()));
        transaction.commit()?;
        fail_point!("journal::committed", |_| Err(injected_error().into()));
        self.tail.add(entries)?;
        self.next += i64::try_from(entries.len())?;
        for (id, (first_and_last, entry)) in changed {
            if entry.open {
                self.open.insert(Arc::clone(id), first_and_last);
            } else {
                self.open.remove(id);
            }
        }
        Ok(())
    }

    /// Deletes old matches, and makes a checkpoint of the write-ahead log if it is due.
    pub(super) fn maintain(&mut self) -> anyhow::Result<()> {
        if let Some(ended) = self.retention.ended {
            self.delete_old_matches(
                now().saturating_sub(i64::try_from(ended.as_secs()).unwrap_or(i64::MAX)),
            )?;
        }
        // With `Interval`, lines survive a loss of power only after this checkpoint.
        if self.retention.sync == Sync::Interval || self.tail.bytes > MAX_TAIL_BYTES {
            fail_point!("journal::sync", |_| Err(injected_error().into()));
            checkpoint(&self.connection)?;
            self.tail.clear()?;
        }
        Ok(())
    }

    /// Makes a last checkpoint of the write-ahead log, and removes the tail.
    pub(super) fn close(self) -> anyhow::Result<()> {
        checkpoint(&self.connection)?;
        Ok(self.tail.remove()?)
    }

    /// Deletes some of the matches that ended or were lost before a time in seconds since 1970.
    fn delete_old_matches(&mut self, before: i64) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let old: Vec<(i64, i64, bool)> = transaction
            .prepare_cached(ENDED)?
            .query_map(params![before, MAX_DELETED_PER_TRANSACTION], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        if old.iter().any(|(.., is_lost)| *is_lost) {
            // A missing line may break the chain of `previous`. One query searches all lines, however many matches are lost.
            let lost = "SELECT key FROM matches WHERE state = 'lost' AND changed < ?";
            transaction.execute(&format!("DELETE FROM events WHERE match IN ({lost})"), [before])?;
        }
        for (key, last, _) in old {
            fail_point!("journal::forget", |_| Err(injected_error()));
            let mut line = transaction
                .prepare_cached("DELETE FROM events WHERE at = ? AND match = ? RETURNING previous")?;
            let mut next = Some(last);
            while let Some(at) = next {
                next = line.query_row([at, key], |row| row.get(0)).optional()?.flatten();
            }
            transaction.prepare_cached("DELETE FROM matches WHERE key = ?")?.execute([key])?;
            transaction.prepare_cached("UPDATE about SET matches = matches - 1")?.execute([])?;
        }
        transaction.commit()
    }
}

/// Moves the write-ahead log into the database. After that its lines survive a loss of power.
pub(super) fn checkpoint(connection: &Connection) -> anyhow::Result<()> {
    let counts = |row: &Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let (frames, moved) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], counts)?;
    anyhow::ensure!(frames == moved, "{moved} of {frames} pages were moved into the database");
    Ok(())
}

/// Returns the current time in seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Returns a disk error, which a test injects.
#[allow(dead_code, reason = "fail points exist only in tests")]
fn injected_error() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::JournalReader;

    #[test]
    fn ended_matches_are_found_by_an_index_without_open_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let reader = JournalReader::open(&path, Retention::default()).expect("a new file");
        let writer = reader.into_writer().expect("the file is writable");
        let plan = format!("EXPLAIN QUERY PLAN {ENDED}");
        let detail = writer.connection.query_row(&plan, params![0, 1], |row| row.get::<_, String>("detail"));
        assert_eq!(detail.expect("a plan"), "SEARCH matches USING INDEX ended (changed<?)");
    }
}

//! The journal's file: an `SQLite` database that anybody can open.
//!
//! `events` has the lines of every match, `matches` how many there are, the hash that they chain up to, and
//! when the last was written, `about` how many matches there are. A line that is missing, changed or torn is found by that.

use std::collections::BTreeMap;
use std::fs::{OpenOptions, Permissions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use boardwire_batch::release::Release;
use fail::fail_point;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Transaction, params};
use rustix::fs::OFlags;

use super::tail::{self, Tail};
use super::{Damage, Entry, JournalError, Keeping, Kept, Sync, chained};

/// What the file is told to be by: `BWjl`.
const APPLICATION: i32 = 0x4257_6a6c;

/// How many matches are deleted at a time, so that nobody waits for it.
const FORGOTTEN_AT_ONCE: u32 = 100;

/// Those that had ended before a time, at most so many. The index has no open match, so that a write of one leaves it alone.
const ENDED: &str = "SELECT id FROM matches WHERE state IN ('closed', 'lost') AND changed < ? LIMIT ?";

const TABLES: &str = "
    CREATE TABLE about (matches INTEGER NOT NULL);
    INSERT INTO about VALUES (0);
    CREATE TABLE matches (
        id TEXT PRIMARY KEY, events INTEGER NOT NULL, head BLOB NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'lost')), changed INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX ended ON matches (changed) WHERE state IN ('closed', 'lost');
    CREATE TABLE events (
        match TEXT NOT NULL, number INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (match, number)
    ) WITHOUT ROWID;
";

/// With so many bytes in the file of the lines that stand only in the write-ahead log, these are moved into the database.
const MOST_TAIL_BYTES: u64 = 64 << 10;

/// A file that can be read, and is not written before [`write_from_now`](Self::write_from_now).
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    keeping: Keeping,
    path: PathBuf,
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    keeping: Keeping,
    tail: Tail,
}

/// The path of a regular file, which is created if there is none. `SQLite` would take `:memory:` and `file:` for more than a path.
fn regular(path: &Path) -> std::io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    // The keys of open matches are in it: only its owner may read them. A FIFO is not waited for.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    options.create(true).truncate(false).read(true).write(true).mode(0o600).custom_flags(flags);
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    path.canonicalize()
}

impl Store {
    /// Opens a file, which is created if there is none; no other process may have it open.
    pub(super) fn open(path: &Path, keeping: Keeping) -> Result<Self, JournalError> {
        let failed = |problem: String| JournalError::Unusable { path: path.to_owned(), problem };
        let path = &regular(path).map_err(|error| failed(error.to_string()))?;
        Self::set_up(path, keeping).map_err(|error| match error {
            Problem::Damage(damage) => failed(format!(
                "it is damaged ({damage}): put a backup in its place; or write what can still be read to a new file, \
                 `sqlite3 '{}' '.recover --ignore-freelist' | sqlite3 NEW`, and start with that and --journal-give-up",
                path.display()
            )),
            Problem::Other(problem) => failed(problem),
        })
    }

    fn set_up(path: &Path, keeping: Keeping) -> Result<Self, Problem> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        // Where something is lost, the log stays as it is, to be looked at.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive)?;
        let number = |pragma| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        match (tables, number("application_id")?, number("user_version")?) {
            (0, ..) => {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", Release::OWN.number())?;
            }
            (_, APPLICATION, version) => {
                Release::of(u16::try_from(version).unwrap_or(0)).check().map_err(Problem::Other)?;
            }
            _ => return Err(Problem::Other("it is a database, but no journal".to_owned())),
        }
        transaction.commit()?;
        // It is known to be ours by now.
        close_to_others(path);
        // This mode stays in the file.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        let synchronous = match keeping.sync {
            Sync::Always => "FULL",
            Sync::Interval => "NORMAL",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if sound != "ok" {
            // It begins with a heading.
            return Err(Problem::Damage(sound.lines().last().unwrap_or(&sound).to_owned()));
        }
        Ok(Self { connection, keeping, path: path.to_owned() })
    }

    /// All matches that have not ended, and what is wrong with those whose lines do not hold together.
    pub(super) fn read(&self) -> anyhow::Result<(Vec<Kept>, Vec<Damage>)> {
        let (mut kept, mut damaged) = (Vec::new(), Vec::new());
        let mut claims = tail::claims(&self.path)?;
        let mut matches =
            self.connection.prepare("SELECT id, events, head, state FROM matches ORDER BY id")?;
        let mut lines =
            self.connection.prepare("SELECT number, line FROM events WHERE match = ? ORDER BY number")?;
        let mut rows = matches.query([])?;
        let (mut found, mut counted) = (0, 0);
        while let Some(row) = rows.next()? {
            found += 1;
            let (id, events, head, state): (String, i64, Vec<u8>, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let own = lines.query_map([&id], |row| Ok((row.get(0)?, text(row)?)))?;
            let own: Vec<(i64, String)> = own.collect::<Result<_, _>>()?;
            counted += own.len();
            let written = claims.remove(&id).map_or(events, |claim| claim.lines.max(events));
            let intact = check(&own, written, &head);
            match (state.as_str(), intact) {
                ("lost", _) | ("closed", Ok(())) => {}
                (_, Err(problem)) => damaged.push(Damage { id, problem }),
                (_, Ok(())) => {
                    kept.push(Kept { id, lines: own.into_iter().map(|(_, line)| line).collect() });
                }
            }
        }
        // A match that had ended may have been forgotten since.
        for (id, claim) in claims.into_iter().filter(|(_, claim)| claim.open) {
            damaged.push(Damage { id, problem: format!("of {} lines 0 are there", claim.lines) });
        }
        let count = |sql| self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let known: Option<i64> =
            self.connection.query_row("SELECT max(matches) FROM about", [], |row| row.get(0))?;
        if known != Some(found) {
            let known =
                known.map_or_else(|| "it is not known how many".to_owned(), |known| known.to_string());
            let problem = format!("{known} matches were kept, {found} are there");
            damaged.push(Damage { id: String::new(), problem });
        }
        let all = count("SELECT count(*) FROM events")?;
        if usize::try_from(all) != Ok(counted) {
            let problem = format!("{} lines are of no match", all - i64::try_from(counted).unwrap_or(0));
            damaged.push(Damage { id: String::new(), problem });
        }
        Ok((kept, damaged))
    }

    /// Lets it be written. All that stands in the write-ahead log is moved into the database.
    pub(super) fn write_from_now(self) -> anyhow::Result<Writer> {
        let Self { connection, keeping, path } = self;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        checkpoint(&connection)?;
        let tail = Tail::create(&path, keeping.sync)?;
        Ok(Writer { connection, keeping, tail })
    }

    /// Gives up what is damaged: it is not looked at again, and kept for as long as what ends now.
    pub(super) fn give_up(&mut self, damaged: &[Damage]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for Damage { id, .. } in damaged {
            let lost = "UPDATE matches SET state = 'lost', changed = ? WHERE id = ?";
            transaction.execute(lost, params![now(), id])?;
        }
        transaction.execute("DELETE FROM about", [])?;
        transaction.execute("INSERT INTO about SELECT count(*) FROM matches", [])?;
        transaction.execute("DELETE FROM events WHERE match NOT IN (SELECT id FROM matches)", [])?;
        transaction.commit()
    }

    /// Lets the file have so many pages at most, as if the disk were full then.
    #[cfg(test)]
    pub(super) fn limit(&self, pages: u32) {
        self.connection.pragma_update(None, "max_page_count", pages).expect("it is limited");
    }
}

impl Writer {
    /// Writes entries, all or none. Whether it has written them before it failed is not always known: so to write them once
    /// more changes nothing.
    pub(super) fn write(&mut self, entries: &[Entry]) -> anyhow::Result<()> {
        fail_point!("journal::begin", |_| Err(broken().into()));
        let transaction = self.connection.transaction()?;
        enter(&transaction, entries)?;
        fail_point!("journal::commit", |_| Err(broken().into()));
        transaction.commit()?;
        fail_point!("journal::committed", |_| Err(broken().into()));
        Ok(self.tail.add(entries)?)
    }

    /// Does what is to be done every now and then.
    pub(super) fn tend(&mut self) -> anyhow::Result<()> {
        if let Some(ended) = self.keeping.ended {
            self.forget(now().saturating_sub(i64::try_from(ended.as_secs()).unwrap_or(i64::MAX)))?;
        }
        let is_due = match self.keeping.sync {
            Sync::Always => self.tail.bytes() > MOST_TAIL_BYTES,
            // This makes what has been written safe from a loss of power.
            Sync::Interval => true,
        };
        if is_due {
            fail_point!("journal::sync", |_| Err(broken().into()));
            checkpoint(&self.connection)?;
            self.tail.clear()?;
        }
        Ok(())
    }

    /// Moves all into the database, and ends.
    pub(super) fn close(self) -> anyhow::Result<()> {
        checkpoint(&self.connection)?;
        Ok(self.tail.remove()?)
    }

    /// Deletes a few of the matches that had ended, or were lost, before a time in seconds since 1970.
    fn forget(&mut self, before: i64) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let old: Vec<String> = transaction
            .prepare_cached(ENDED)?
            .query_map(params![before, FORGOTTEN_AT_ONCE], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for id in &old {
            fail_point!("journal::forget", |_| Err(broken()));
            transaction.prepare_cached("DELETE FROM events WHERE match = ?")?.execute([id])?;
            transaction.prepare_cached("DELETE FROM matches WHERE id = ?")?.execute([id])?;
            transaction.prepare_cached("UPDATE about SET matches = matches - 1")?.execute([])?;
        }
        transaction.commit()
    }
}

/// Moves all that stands in the write-ahead log into the database, safe from a loss of power.
fn checkpoint(connection: &Connection) -> anyhow::Result<()> {
    let row = |row: &Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let (frames, moved) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], row)?;
    anyhow::ensure!(frames == moved, "{moved} of {frames} pages were moved into the database");
    Ok(())
}

fn enter(transaction: &Transaction<'_>, entries: &[Entry]) -> rusqlite::Result<()> {
    let mut line =
        transaction.prepare_cached("INSERT INTO events VALUES (?, ?, ?) ON CONFLICT DO NOTHING")?;
    let (mut last, mut new) = (BTreeMap::new(), 0);
    for entry in entries {
        fail_point!("journal::line", |_| Err(broken()));
        let written = line.execute(params![&*entry.id, entry.number, entry.line])?;
        new += usize::from(entry.number == 0 && written > 0);
        last.insert(&*entry.id, entry);
    }
    let mut state = transaction.prepare_cached(
        "INSERT INTO matches VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         events = excluded.events, head = excluded.head, state = excluded.state, changed = excluded.changed",
    )?;
    for (id, entry) in last {
        let word = if entry.open { "open" } else { "closed" };
        fail_point!("journal::match", |_| Err(broken()));
        state.execute(params![id, entry.number + 1, entry.head, word, now()])?;
    }
    let new = i64::try_from(new).unwrap_or(i64::MAX);
    transaction.prepare_cached("UPDATE about SET matches = matches + ?")?.execute([new])?;
    Ok(())
}

/// Lets nobody but its owner read the file and its log: copies that were put in their place may let others.
fn close_to_others(path: &Path) {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    for path in [path, Path::new(&log)] {
        let mode = path.metadata().map_or(0, |about| about.permissions().mode() & 0o777);
        let others = mode & 0o077;
        if others == 0 {
            continue;
        }
        let closed = std::fs::set_permissions(path, Permissions::from_mode(mode & 0o700));
        let (path, mode) = (path.display(), format!("{mode:o}"));
        match closed {
            Ok(()) => tracing::warn!(%path, mode, "others could open the journal: now its owner alone can"),
            Err(error) => {
                tracing::warn!(%path, mode, %error, "others can open the journal, which tells every hidden card");
            }
        }
    }
}

/// Now, in seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// What a disk says that is made to fail.
#[allow(dead_code, reason = "it is made to fail in tests alone")]
fn broken() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), None)
}

/// The line of a row. Bytes that are no text are a line that was changed: the match is lost by it, and no other.
fn text(row: &Row<'_>) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(1)?.as_bytes()?).into_owned())
}

/// Looks whether the lines of a match are all there, and as they were written.
fn check(lines: &[(i64, String)], events: i64, head: &[u8]) -> Result<(), String> {
    let mut chain = [0; 32];
    for ((number, line), due) in lines.iter().zip(0..) {
        if *number != due {
            return Err(format!("line {due} is missing"));
        }
        chain = chained(&chain, line);
    }
    match i64::try_from(lines.len()) {
        Ok(found) if found < events => Err(format!("of {events} lines {found} are there")),
        Ok(found) if found > events => Err(format!("there are {found} lines, {} too many", found - events)),
        _ if chain != head => Err("a line was changed".to_owned()),
        _ => Ok(()),
    }
}

enum Problem {
    /// The file cannot be read as it is.
    Damage(String),
    Other(String),
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        let is_damage = error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt);
        if is_damage { Self::Damage(error.to_string()) } else { Self::Other(error.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_that_have_ended_are_found_by_an_index_without_open_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("journal"), Keeping::default()).expect("a new file");
        let plan = format!("EXPLAIN QUERY PLAN {ENDED}");
        let found = store.connection.query_row(&plan, params![0, 1], |row| row.get::<_, String>("detail"));
        assert_eq!(found.expect("a plan"), "SEARCH matches USING INDEX ended (changed<?)");
    }
}

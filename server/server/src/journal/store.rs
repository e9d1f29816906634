//! The journal's file: an `SQLite` database that anybody can open.
//!
//! `events` has the lines of all matches in the order in which they were written, so that lines which are written together share
//! pages. `matches` says how many lines a match has, which is the last, the hash that they chain up to, and when the last was written,
//! `about` how many matches there are. A line that is missing, changed or torn is found by that.

use std::collections::{BTreeMap, HashMap};
use std::fs::{OpenOptions, Permissions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use boardwire_batch::release::Release;
use fail::fail_point;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, Transaction, params};
use rustix::fs::OFlags;

use super::tail::{self, Tail};
use super::{Damage, Entry, Retention, SavedMatch, Sync, chained};

/// What the file is told to be by: `BWjl`.
const APPLICATION: i32 = 0x4257_6a6c;

/// How many matches are deleted at a time, so that nobody waits for it.
const FORGOTTEN_AT_ONCE: u32 = 100;

/// Those that had ended before a time, at most so many. The index has no open match, so that a write of one leaves it alone.
const ENDED: &str =
    "SELECT key, last, state = 'lost' FROM matches WHERE state <> 'open' AND changed < ? LIMIT ?";

/// `at` numbers the lines of all matches. A match's `key` is the `at` of its first line. `previous` is the line of the match before
/// this one: by it a match that is forgotten is found without an index, which every line would have to be entered in. For `IN` with a
/// list `SQLite` makes a table with every row that is written.
const TABLES: &str = "
    CREATE TABLE about (matches INTEGER NOT NULL);
    INSERT INTO about VALUES (0);
    CREATE TABLE matches (
        key INTEGER PRIMARY KEY, id TEXT NOT NULL, events INTEGER NOT NULL, last INTEGER NOT NULL, head BLOB NOT NULL,
        state TEXT NOT NULL CHECK (state = 'open' OR state = 'closed' OR state = 'lost'), changed INTEGER NOT NULL
    );
    CREATE INDEX ended ON matches (changed) WHERE state <> 'open';
    CREATE TABLE events (
        at INTEGER PRIMARY KEY, match INTEGER NOT NULL, number INTEGER NOT NULL, previous INTEGER, line TEXT NOT NULL
    );
";

/// With so many bytes in the file of the lines that stand only in the write-ahead log, these are moved into the database.
const MOST_TAIL_BYTES: u64 = 64 << 10;

/// A file that can be read, and is not written before [`write_from_now`](Self::write_from_now).
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    keeping: Retention,
    path: PathBuf,
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    keeping: Retention,
    tail: Tail,
    /// The open matches by their ids: the key, and the last line.
    open: HashMap<Arc<str>, (i64, i64)>,
    /// The number of the next line.
    next: i64,
}

/// The lines of a match, as they are read one after the other.
struct Lines {
    id: String,
    events: i64,
    head: Vec<u8>,
    state: String,
    /// Which is the last, as the match says, and as it was found.
    last: i64,
    at: Option<i64>,
    /// How many there are.
    found: i64,
    /// What they chain up to.
    chain: [u8; 32],
    /// The first that is missing between others.
    missing: Option<i64>,
    /// Whether each names the one before it.
    linked: bool,
    /// The lines, if the match has not ended.
    kept: Vec<String>,
}

impl Lines {
    fn add(&mut self, at: i64, number: i64, previous: Option<i64>, line: String) {
        let due = self.found;
        self.linked &= previous == self.at;
        self.at = Some(at);
        self.missing = self.missing.or((number != due).then_some(due));
        self.found += 1;
        self.chain = chained(&self.chain, &line);
        if self.state == "open" {
            self.kept.push(line);
        }
    }

    /// Looks whether they are all there, `events` of them, and as they were written.
    fn check(&self, events: i64) -> Result<(), String> {
        let found = self.found;
        match self.missing {
            Some(missing) => Err(format!("line {missing} is missing")),
            None if found < events => Err(format!("of {events} lines {found} are there")),
            None if found > events => Err(format!("there are {found} lines, {} too many", found - events)),
            None if self.chain[..] != self.head || !self.linked || self.at != Some(self.last) => {
                Err("a line was changed".to_owned())
            }
            None => Ok(()),
        }
    }
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
    pub(super) fn open(path: &Path, keeping: Retention) -> Result<Self, String> {
        let path = &regular(path).map_err(|error| error.to_string())?;
        Self::set_up(path, keeping).map_err(|error| match error {
            Problem::Damage(damage) => format!(
                "it is damaged ({damage}): put a backup in its place; or write what can still be read to a new file, \
                 `sqlite3 '{}' '.recover --ignore-freelist' | sqlite3 NEW`, and start with that and --journal-give-up",
                path.display()
            ),
            Problem::Other(problem) => problem,
        })
    }

    fn set_up(path: &Path, keeping: Retention) -> Result<Self, Problem> {
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
    pub(super) fn read(&self) -> anyhow::Result<(Vec<SavedMatch>, Vec<Damage>)> {
        let mut claims = tail::claims(&self.path)?;
        let mut matches = self.matches()?;
        let mut orphans = 0;
        let mut events =
            self.connection.prepare("SELECT match, at, number, previous, line FROM events ORDER BY at")?;
        let mut rows = events.query([])?;
        while let Some(row) = rows.next()? {
            match matches.get_mut(&row.get::<_, i64>(0)?) {
                Some(own) => own.add(row.get(1)?, row.get(2)?, row.get(3)?, text(row, 4)?),
                None => orphans += 1,
            }
        }
        let (found, mut kept, mut damaged) = (i64::try_from(matches.len())?, Vec::new(), Vec::new());
        let mut by_id: Vec<_> = matches.into_values().collect();
        by_id.sort_by(|one, other| one.id.cmp(&other.id));
        for own in by_id {
            let written = claims.remove(&own.id).map_or(own.events, |claim| claim.lines.max(own.events));
            match (own.state.as_str(), own.check(written)) {
                ("lost", _) | ("closed", Ok(())) => {}
                (_, Err(problem)) => damaged.push(Damage { id: own.id, problem }),
                (_, Ok(())) => kept.push(SavedMatch { id: own.id, lines: own.kept }),
            }
        }
        // A match that had ended may have been forgotten since.
        for (id, claim) in claims.into_iter().filter(|(_, claim)| claim.open) {
            damaged.push(Damage { id, problem: format!("of {} lines 0 are there", claim.lines) });
        }
        let all = |problem| Damage { id: String::new(), problem };
        let known: Option<i64> =
            self.connection.query_row("SELECT max(matches) FROM about", [], |row| row.get(0))?;
        if known != Some(found) {
            let known =
                known.map_or_else(|| "it is not known how many".to_owned(), |known| known.to_string());
            damaged.push(all(format!("{known} matches were kept, {found} are there")));
        }
        if orphans > 0 {
            damaged.push(all(format!("{orphans} lines are of no match")));
        }
        Ok((kept, damaged))
    }

    /// The matches by their keys, without their lines.
    fn matches(&self) -> rusqlite::Result<HashMap<i64, Lines>> {
        let mut matches =
            self.connection.prepare("SELECT key, id, events, last, head, state FROM matches")?;
        let row = |row: &Row<'_>| {
            let own = Lines {
                id: row.get(1)?,
                events: row.get(2)?,
                last: row.get(3)?,
                head: row.get(4)?,
                state: row.get(5)?,
                at: None,
                found: 0,
                chain: [0; 32],
                missing: None,
                linked: true,
                kept: Vec::new(),
            };
            Ok((row.get(0)?, own))
        };
        matches.query_map([], row)?.collect()
    }

    /// Lets it be written. All that stands in the write-ahead log is moved into the database.
    pub(super) fn write_from_now(self) -> anyhow::Result<Writer> {
        let Self { connection, keeping, path } = self;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        checkpoint(&connection)?;
        let tail = Tail::create(&path, keeping.sync)?;
        // Of a match that has lost lines the numbers stay taken: its key is one of them.
        let next = "SELECT 1 + max(coalesce((SELECT max(at) FROM events), 0), coalesce((SELECT max(last) FROM matches), 0))";
        let next = connection.query_row(next, [], |row| row.get(0))?;
        let open = {
            let mut open = connection.prepare("SELECT id, key, last FROM matches WHERE state = 'open'")?;
            let row = |row: &Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
            open.query_map([], row)?.collect::<Result<_, _>>()?
        };
        Ok(Writer { connection, keeping, tail, open, next })
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
        transaction.execute("DELETE FROM events WHERE match NOT IN (SELECT key FROM matches)", [])?;
        transaction.commit()
    }

    /// Lets the file have so many pages at most, as if the disk were full then.
    #[cfg(test)]
    pub(super) fn limit(&self, pages: u32) {
        self.connection.pragma_update(None, "max_page_count", pages).expect("it is limited");
    }
}

impl Writer {
    /// Writes entries, all or none. Whether it has written them before it failed is not always known: they are numbered as then, and
    /// to write them once more changes nothing.
    pub(super) fn write(&mut self, entries: &[Entry]) -> anyhow::Result<()> {
        fail_point!("journal::begin", |_| Err(broken().into()));
        let transaction = self.connection.transaction()?;
        let changed = enter(&transaction, entries, &self.open, self.next)?;
        fail_point!("journal::commit", |_| Err(broken().into()));
        transaction.commit()?;
        fail_point!("journal::committed", |_| Err(broken().into()));
        self.tail.add(entries)?;
        self.next += i64::try_from(entries.len())?;
        for (id, Changed { key, last, entry }) in changed {
            if entry.open {
                self.open.insert(Arc::clone(id), (key, last));
            } else {
                self.open.remove(id);
            }
        }
        Ok(())
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
        let old: Vec<(i64, i64, bool)> = transaction
            .prepare_cached(ENDED)?
            .query_map(params![before, FORGOTTEN_AT_ONCE], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        if old.iter().any(|(.., is_lost)| *is_lost) {
            // What is lost may be the way to other lines. They are looked for once, however many matches were lost.
            let lost = "SELECT key FROM matches WHERE state = 'lost' AND changed < ?";
            transaction.execute(&format!("DELETE FROM events WHERE match IN ({lost})"), [before])?;
        }
        for (key, last, _) in old {
            fail_point!("journal::forget", |_| Err(broken()));
            let mut line = transaction
                .prepare_cached("DELETE FROM events WHERE at = ? AND match = ? RETURNING previous")?;
            let mut at = Some(last);
            while let Some(own) = at {
                at = line.query_row([own, key], |row| row.get(0)).optional()?.flatten();
            }
            transaction.prepare_cached("DELETE FROM matches WHERE key = ?")?.execute([key])?;
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

/// A match that entries have changed.
struct Changed<'a> {
    key: i64,
    /// The number of its last line.
    last: i64,
    entry: &'a Entry,
}

/// Enters lines, numbered from `next`, with the matches that are `open` before; gives those that have changed.
fn enter<'a>(
    transaction: &Transaction<'_>,
    entries: &'a [Entry],
    open: &HashMap<Arc<str>, (i64, i64)>,
    next: i64,
) -> rusqlite::Result<BTreeMap<&'a Arc<str>, Changed<'a>>> {
    let mut line =
        transaction.prepare_cached("INSERT INTO events VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")?;
    let (mut changed, mut new) = (BTreeMap::<_, Changed<'_>>::new(), 0);
    for (entry, at) in entries.iter().zip(next..) {
        fail_point!("journal::line", |_| Err(broken()));
        let before = changed.get(&entry.id).map(|own| (own.key, own.last));
        let before = before.or_else(|| open.get(&entry.id).copied());
        let (key, previous) = before.map_or((at, None), |(key, last)| (key, Some(last)));
        let written = line.execute(params![at, key, entry.number, previous, entry.line])?;
        new += i64::from(entry.number == 0 && written > 0);
        changed.insert(&entry.id, Changed { key, last: at, entry });
    }
    let mut state = transaction.prepare_cached(
        "INSERT INTO matches VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
         events = excluded.events, last = excluded.last, head = excluded.head, state = excluded.state,
         changed = excluded.changed",
    )?;
    for (id, Changed { key, last, entry }) in &changed {
        let word = if entry.open { "open" } else { "closed" };
        fail_point!("journal::match", |_| Err(broken()));
        state.execute(params![key, &***id, entry.number + 1, last, entry.head, word, now()])?;
    }
    if new > 0 {
        transaction.prepare_cached("UPDATE about SET matches = matches + ?")?.execute([new])?;
    }
    Ok(changed)
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
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
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
        let store = Store::open(&folder.path().join("journal"), Retention::default()).expect("a new file");
        let plan = format!("EXPLAIN QUERY PLAN {ENDED}");
        let found = store.connection.query_row(&plan, params![0, 1], |row| row.get::<_, String>("detail"));
        assert_eq!(found.expect("a plan"), "SEARCH matches USING INDEX ended (changed<?)");
    }
}

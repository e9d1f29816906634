//! The journal's file: an `SQLite` database.
//!
//! Table `events` has the lines of all matches in write order, so that lines written together share pages. Table `matches`
//! has a row for each match: line count, last line, head of the hash chain and time of the last write. Table `about` has the
//! number of matches. Together they detect every missing or changed line.

use std::collections::HashMap;
use std::fs::{OpenOptions, Permissions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use boardwire_batch::release::Release;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};
use rustix::fs::OFlags;

use super::tail::{self, Tail};
use super::writer::{Writer, checkpoint, now};
use super::{Damage, Retention, SavedMatch, Sync, chained};

/// The `SQLite` application id of a journal: `BWjl`.
const APPLICATION: i32 = 0x4257_6a6c;

/// `at` is the position of a line in the log of all matches. A match's `key` is the position of its first line.
/// `previous` is the position of the match's previous line. The server finds lines by `previous`, so no write updates
/// an index of lines. The check of `state` avoids `IN`, because `SQLite` builds a table for it at every row that it
/// writes.
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

/// An open journal that can be read. The server writes to it only after [`start_writer`](Self::start_writer).
#[derive(Debug)]
pub struct JournalReader {
    connection: Connection,
    retention: Retention,
    path: PathBuf,
}

/// A row of `matches`, and the lines of the match that were read.
#[derive(Default)]
struct StoredMatch {
    id: String,
    /// The number of lines.
    line_count: i64,
    /// The `at` of the last line.
    last_at: i64,
    /// The head of the hash chain.
    chain_head: Vec<u8>,
    state: String,
    /// The `at` of the last line that was read.
    last_read: Option<i64>,
    /// How many lines were read.
    read: i64,
    /// The hash chain of the lines that were read.
    chain: [u8; 32],
    /// The number of the first missing line.
    missing: Option<i64>,
    /// Whether the `previous` of any line is wrong.
    has_wrong_previous: bool,
    /// The lines, if the match is open.
    lines: Vec<String>,
}

impl StoredMatch {
    fn add(&mut self, at: i64, number: i64, previous: Option<i64>, line: String) {
        let expected = self.read;
        self.has_wrong_previous |= previous != self.last_read;
        self.last_read = Some(at);
        self.missing = self.missing.or((number != expected).then_some(expected));
        self.read += 1;
        self.chain = chained(&self.chain, &line);
        if self.state == "open" {
            self.lines.push(line);
        }
    }

    /// Checks that the match has all lines that its row and the tail list, unchanged.
    fn check(&self, tail_lines: i64) -> Result<(), String> {
        let expected = self.line_count.max(tail_lines);
        match self.missing {
            Some(missing) => Err(format!("line {missing} is missing")),
            None if self.read != expected => Err(wrong_line_count(self.read, expected)),
            None if self.chain[..] != self.chain_head
                || self.has_wrong_previous
                || self.last_read != Some(self.last_at) =>
            {
                Err("a line was changed".to_owned())
            }
            None => Ok(()),
        }
    }
}

fn wrong_line_count(lines: i64, expected: i64) -> String {
    format!("{lines} of {expected} lines found")
}

/// Returns the absolute path of a regular file: `SQLite` never takes it for `:memory:` or `file:`. Creates a missing file.
fn create_regular_file(path: &Path) -> std::io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    // Only its owner may read the file, since it has the keys of open matches. The server must not block on a FIFO.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    options.create(true).truncate(false).read(true).write(true).mode(0o600).custom_flags(flags);
    if !options.open(path)?.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    path.canonicalize()
}

impl JournalReader {
    /// Opens the journal in a file. Creates the file if it does not exist.
    ///
    /// # Errors
    /// The file cannot be read and written, is not a journal, or another process has it open.
    pub fn open(path: &Path, retention: Retention) -> anyhow::Result<Self> {
        let path = create_regular_file(path)?;
        Self::open_database(&path, retention).map_err(|error| {
            let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
            if code != Some(ErrorCode::DatabaseCorrupt) {
                return error;
            }
            anyhow::anyhow!(
                "it is damaged ({error}): restore a backup; or write the readable rest to a new file with \
                 `sqlite3 '{}' '.recover --ignore-freelist' | sqlite3 NEW`, and start with NEW and --journal-give-up",
                path.display()
            )
        })
    }

    fn open_database(path: &Path, retention: Retention) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        // If lines are lost, the operator can examine the unchanged log.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive)?;
        let number = |pragma| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = transaction.query_row(tables, [], |row| row.get(0))?;
        match (tables, number("application_id")?, number("user_version")?) {
            (0, ..) => {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", Release::OWN.number())?;
            }
            (_, APPLICATION, version) => {
                Release::of(u16::try_from(version).unwrap_or(0)).check().map_err(anyhow::Error::msg)?;
            }
            _ => anyhow::bail!(
                "it is a SQLite database of another program (its application_id is not that of a Boardwire journal)"
            ),
        }
        transaction.commit()?;
        // After the checks above, so that the file of another program stays unchanged.
        restrict_permissions(path);
        // The file stays in this mode.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        let synchronous = match retention.sync {
            Sync::Always => "FULL",
            Sync::Interval => "NORMAL",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        let report: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if report != "ok" {
            // The first line is a heading.
            let problem = report.lines().last().unwrap_or(&report).to_owned();
            let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            return Err(rusqlite::Error::SqliteFailure(corrupt, Some(problem)).into());
        }
        Ok(Self { connection, retention, path: path.to_owned() })
    }

    /// Reads the open matches and the damage.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self) -> anyhow::Result<(Vec<SavedMatch>, Vec<Damage>)> {
        let mut tail_counts = tail::tail_counts(&self.path)?;
        let mut matches = self.matches()?;
        let mut orphans = 0;
        let mut events =
            self.connection.prepare("SELECT match, at, number, previous, line FROM events ORDER BY at")?;
        let mut rows = events.query([])?;
        while let Some(row) = rows.next()? {
            match matches.get_mut(&row.get::<_, i64>(0)?) {
                Some(stored) => {
                    // Bytes that are not UTF-8 damage only this match.
                    let line = String::from_utf8_lossy(row.get_ref(4)?.as_bytes()?).into_owned();
                    stored.add(row.get(1)?, row.get(2)?, row.get(3)?, line);
                }
                None => orphans += 1,
            }
        }
        let (count, mut open, mut damaged) = (i64::try_from(matches.len())?, Vec::new(), Vec::new());
        let mut by_id: Vec<_> = matches.into_values().collect();
        by_id.sort_by(|one, other| one.id.cmp(&other.id));
        for stored in by_id {
            let tail_lines = tail_counts.remove(&stored.id).map_or(0, |count| count.lines);
            match (stored.state.as_str(), stored.check(tail_lines)) {
                ("lost", _) | ("closed", Ok(())) => {}
                (_, Err(problem)) => damaged.push(Damage { id: stored.id, problem }),
                (_, Ok(())) => open.push(SavedMatch { id: stored.id, lines: stored.lines }),
            }
        }
        // The server may have deleted a closed match after it wrote the tail.
        for (id, count) in tail_counts.into_iter().filter(|(_, count)| count.open) {
            damaged.push(Damage { id, problem: wrong_line_count(0, count.lines) });
        }
        let expected: Option<i64> =
            self.connection.query_row("SELECT max(matches) FROM about", [], |row| row.get(0))?;
        if expected != Some(count) {
            let expected = expected.map_or_else(|| "an unknown number".to_owned(), |count| count.to_string());
            let problem = format!("the journal has {count} matches instead of {expected}");
            damaged.push(Damage { id: String::new(), problem });
        }
        if orphans > 0 {
            let problem = format!("{orphans} rows of `events` have no row in `matches`");
            damaged.push(Damage { id: String::new(), problem });
        }
        Ok((open, damaged))
    }

    /// Reads the matches by key, without lines.
    fn matches(&self) -> rusqlite::Result<HashMap<i64, StoredMatch>> {
        let mut matches =
            self.connection.prepare("SELECT key, id, events, last, head, state FROM matches")?;
        let read = |row: &Row<'_>| {
            let stored = StoredMatch {
                id: row.get(1)?,
                line_count: row.get(2)?,
                last_at: row.get(3)?,
                chain_head: row.get(4)?,
                state: row.get(5)?,
                ..StoredMatch::default()
            };
            Ok((row.get(0)?, stored))
        };
        matches.query_map([], read)?.collect()
    }

    /// Makes a checkpoint of the write-ahead log, and makes the journal writable.
    pub(super) fn into_writer(self) -> anyhow::Result<Writer> {
        let Self { connection, retention, path } = self;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        checkpoint(&connection)?;
        let tail = Tail::create(&path, retention.sync)?;
        // The numbers of lost lines stay reserved, because the key of a match is one of them.
        let next = "SELECT 1 + max(coalesce((SELECT max(at) FROM events), 0), coalesce((SELECT max(last) FROM matches), 0))";
        let next = connection.query_row(next, [], |row| row.get(0))?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
        let open = "SELECT id, key, last FROM matches WHERE state = 'open'";
        let open = connection.prepare(open)?.query_map([], read)?.collect::<Result<_, _>>()?;
        Ok(Writer { connection, retention, tail, open, next })
    }

    /// Marks damaged matches as lost. The server does not read them again, and keeps them as long as matches that end now.
    pub(super) fn mark_lost(&mut self, damaged: &[Damage]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for Damage { id, .. } in damaged {
            let lost = "UPDATE matches SET state = 'lost', changed = ? WHERE id = ?";
            transaction.execute(lost, params![now(), id])?;
        }
        transaction.execute_batch(
            "DELETE FROM about;
             INSERT INTO about SELECT count(*) FROM matches;
             DELETE FROM events WHERE match NOT IN (SELECT key FROM matches);",
        )?;
        transaction.commit()
    }

    /// Makes the disk seem full when the file has this many pages.
    #[cfg(test)]
    pub(crate) fn limit(&self, pages: u32) {
        self.connection.pragma_update(None, "max_page_count", pages).expect("max_page_count can be set");
    }
}

/// Lets only the owner access the file and its log. A copy made by the operator may have other permissions.
fn restrict_permissions(path: &Path) {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    for path in [path, Path::new(&log)] {
        let mode = path.metadata().map_or(0, |metadata| metadata.permissions().mode() & 0o777);
        let owner_mode = mode & 0o700;
        if mode == owner_mode {
            continue;
        }
        let changed = std::fs::set_permissions(path, Permissions::from_mode(owner_mode));
        let (path, mode) = (path.display(), format!("{mode:o}"));
        match changed {
            Ok(()) => tracing::warn!(%path, mode, "removed other users' permissions from the journal"),
            Err(error) => {
                tracing::warn!(%path, mode, %error, "other users have access to the journal, which reveals every hidden card");
            }
        }
    }
}

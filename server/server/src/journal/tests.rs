//! Tests of the journal: what it keeps, which damage it detects, and which files it refuses.

mod lost_lines;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::*;

fn entry(id: &str, number: u32, lines: &[&str], open: bool) -> Entry {
    let line = lines[number as usize].to_owned();
    let head = lines[..=number as usize].iter().fold([0; 32], |head, line| chained(&head, line));
    Entry { id: id.into(), number, line, head, open }
}

struct JournalFile(tempfile::TempDir);

impl JournalFile {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("journal")
    }

    fn open(&self) -> anyhow::Result<JournalReader> {
        JournalReader::open(&self.path(), Retention::default())
    }

    fn read(&self) -> (Vec<SavedMatch>, Vec<Damage>) {
        self.open().expect("the journal opens").read().expect("the journal is read")
    }

    /// Changes the file without a server.
    fn execute_sql(&self, sql: &str) {
        Connection::open(self.path())
            .expect("the journal opens")
            .execute_batch(sql)
            .expect("the SQL is valid");
    }
}

/// Creates a journal with two open matches and a closed one.
async fn three_matches() -> JournalFile {
    let file = JournalFile::new();
    let journal = file.open().expect("the journal opens").start_writer(&[]).expect("the journal is writable");
    for (id, open) in [("a", true), ("b", true), ("c", false)] {
        let lines = ["created", "one", "two"];
        for number in 0..3 {
            journal.submit(vec![entry(id, number, &lines, open || number < 2)]);
        }
    }
    journal.wait_until_written(9).await.expect("the lines are written");
    assert_eq!(journal.submitted(), 9);
    journal.close();
    file
}

fn saved(id: &str) -> SavedMatch {
    SavedMatch { id: id.to_owned(), lines: ["created", "one", "two"].map(str::to_owned).to_vec() }
}

#[tokio::test]
async fn open_matches_are_read_as_they_were_written() {
    let file = three_matches().await;
    assert_eq!(file.read(), (vec![saved("a"), saved("b")], vec![]));
    let mode = std::fs::metadata(file.path()).expect("the file exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it reveals every hidden card");
}

#[tokio::test]
async fn only_matches_that_ended_long_ago_are_deleted() {
    let file = three_matches().await;
    let states = |file: &JournalFile| -> Vec<String> {
        let connection = Connection::open(file.path()).expect("the journal opens");
        let mut all =
            connection.prepare("SELECT id || state FROM matches ORDER BY id").expect("the query is valid");
        let rows = all.query_map([], |row| row.get(0)).expect("the journal is read");
        rows.collect::<Result<_, _>>().expect("the rows are text")
    };
    let run_maintenance = |ended| {
        let reader = JournalReader::open(&file.path(), Retention { ended, ..Retention::default() });
        reader.expect("the journal opens").start_writer(&[]).expect("the journal is writable").close();
    };
    file.execute_sql("UPDATE matches SET changed = changed - 100");
    run_maintenance(None);
    run_maintenance(Some(Duration::from_mins(2)));
    assert_eq!(states(&file), ["aopen", "bopen", "cclosed"]);
    run_maintenance(Some(Duration::from_secs(99)));
    assert_eq!(states(&file), ["aopen", "bopen"], "open matches are never deleted");
    assert_eq!(file.read(), (vec![saved("a"), saved("b")], vec![]), "nothing is missing");
}

#[tokio::test]
async fn every_change_to_the_file_is_detected() {
    for (sql, id, problem) in [
        ("UPDATE events SET line = 'on' WHERE match = 1 AND number = 1", "a", "a line was changed"),
        ("UPDATE events SET line = 'on' WHERE match = 7 AND number = 1", "c", "a line was changed"),
        (
            "UPDATE events SET line = CAST(x'ff' AS TEXT) WHERE match = 1 AND number = 1",
            "a",
            "a line was changed",
        ),
        ("UPDATE matches SET head = x'00' WHERE id = 'a'", "a", "a line was changed"),
        ("UPDATE matches SET last = 2 WHERE id = 'a'", "a", "a line was changed"),
        ("UPDATE events SET previous = 4 WHERE at = 3", "a", "a line was changed"),
        ("DELETE FROM events WHERE match = 1 AND number = 1", "a", "line 1 is missing"),
        ("DELETE FROM events WHERE match = 1 AND number = 2", "a", "2 of 3 lines found"),
        ("INSERT INTO events VALUES (10, 1, 3, 3, 'three')", "a", "4 of 3 lines found"),
        ("DELETE FROM events WHERE match = 1", "a", "0 of 3 lines found"),
        (
            "INSERT INTO events VALUES (10, 10, 0, NULL, 'created')",
            "",
            "1 rows of `events` have no row in `matches`",
        ),
        ("DELETE FROM about", "", "the journal has 3 matches instead of an unknown number"),
        (
            "DELETE FROM events WHERE match = 1; DELETE FROM matches WHERE id = 'a'",
            "",
            "the journal has 2 matches instead of 3",
        ),
    ] {
        let file = three_matches().await;
        file.execute_sql(sql);
        let (open, damaged) = file.read();
        assert_eq!(damaged, [Damage { id: id.to_owned(), problem: problem.to_owned() }], "{sql}");
        assert!(open.contains(&saved("b")), "{sql}");
        // A match that was given up is not reported again.
        file.open()
            .expect("the journal opens")
            .start_writer(&damaged)
            .expect("the journal is writable")
            .close();
        assert_eq!(file.read(), (open, vec![]), "{sql}");
    }
}

#[tokio::test]
async fn a_lost_match_is_kept_from_the_time_when_it_is_given_up() {
    let file = three_matches().await;
    file.execute_sql(
        "UPDATE matches SET changed = changed - 100; UPDATE events SET line = 'on' WHERE match = 1",
    );
    let (_, damaged) = file.read();
    assert_eq!(damaged.len(), 1);
    let retention = Retention { ended: Some(Duration::from_secs(99)), ..Retention::default() };
    let reader = JournalReader::open(&file.path(), retention).expect("the journal opens");
    reader.start_writer(&damaged).expect("the journal is writable").close();
    let connection = Connection::open(file.path()).expect("the journal opens");
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, u32>(0)).expect("the query succeeds");
    assert_eq!(count("SELECT count(*) FROM events WHERE match = 1"), 3, "the operator may examine them");
    assert_eq!(count("SELECT count(*) FROM matches WHERE id = 'c'"), 0, "the closed match is deleted");
}

/// Otherwise a new match would get the key of the lost one.
#[tokio::test]
async fn the_key_of_a_match_without_lines_is_not_reused() {
    let file = three_matches().await;
    file.execute_sql("DELETE FROM events WHERE match = 7; UPDATE matches SET state = 'open' WHERE id = 'c'");
    let (_, damaged) = file.read();
    let journal =
        file.open().expect("the journal opens").start_writer(&damaged).expect("the journal is writable");
    journal.submit(vec![entry("d", 0, &["created"], true)]);
    journal.wait_until_written(1).await.expect("the lines are written");
    journal.close();
    let (open, damaged) = file.read();
    assert_eq!(damaged, []);
    let new = SavedMatch { id: "d".to_owned(), lines: vec!["created".to_owned()] };
    assert_eq!(open, [saved("a"), saved("b"), new]);
}

#[tokio::test]
async fn a_file_that_is_damaged_or_not_a_journal_is_refused() {
    let refused = |file: &JournalFile| file.open().expect_err("the file is refused").to_string();
    let file = JournalFile::new();
    std::fs::write(file.path(), "not a database, but as long as one".repeat(90))
        .expect("the file is written");
    assert!(refused(&file).ends_with("file is not a database"), "{}", refused(&file));
    let file = JournalFile::new();
    file.execute_sql("CREATE TABLE mine (x)");
    let before = std::fs::read(file.path()).expect("the file exists");
    assert!(refused(&file).contains("it is a SQLite database of another program"));
    assert_eq!(std::fs::read(file.path()).expect("the file exists"), before, "another program's file");
    let file = three_matches().await;
    file.execute_sql("PRAGMA user_version = 1");
    assert!(refused(&file).contains("Boardwire 0.2.0 or earlier saved it, and only that release reads it"));
    let missing = JournalReader::open(Path::new("/nowhere/journal"), Retention::default())
        .expect_err("the folder does not exist")
        .to_string();
    assert!(missing.starts_with("No such file"), "{missing}");
    let file = three_matches().await;
    let mut bytes = std::fs::read(file.path()).expect("the file exists");
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xa5);
    std::fs::write(file.path(), bytes).expect("the file is written");
    let read = file.open().and_then(|reader| reader.read());
    assert!(read.is_err() || read.is_ok_and(|(_, damaged)| !damaged.is_empty()));
    let file = three_matches().await;
    let _reader = file.open().expect("the journal opens");
    assert!(refused(&file).ends_with("database is locked"), "{}", refused(&file));
}

/// `--journal-give-up` does not help here; the error names the commands that do.
#[tokio::test]
async fn the_error_for_a_damaged_page_says_how_to_recover() {
    const PAGE: usize = 4096;
    let file = three_matches().await;
    let mut bytes = std::fs::read(file.path()).expect("the file exists");
    let last = bytes.len() - PAGE;
    bytes[last..].fill(0xa5);
    std::fs::write(file.path(), bytes).expect("the file is written");
    let refused = file.open().expect_err("the journal is damaged").to_string();
    let path = file.path();
    for part in [
        "it is damaged (",
        "returns error code 11): restore a backup",
        &format!("`sqlite3 '{}' '.recover --ignore-freelist' | sqlite3 NEW`", path.display()),
        "--journal-give-up",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}

#[tokio::test]
async fn other_users_cannot_read_an_open_journal_even_if_it_was_copied() {
    let file = three_matches().await;
    let (path, log) = (file.path(), file.0.path().join("journal-wal"));
    let mode = |path: &Path| std::fs::metadata(path).expect("the file exists").permissions().mode() & 0o777;
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the file is written");
    };
    set_mode(&path, 0o644);
    let reader = file.open().expect("the journal opens");
    assert_eq!((mode(&path), mode(&log)), (0o600, 0o600));
    let copies = JournalFile::new();
    for (from, to) in [(&path, "journal"), (&log, "journal-wal")] {
        let to = copies.0.path().join(to);
        std::fs::copy(from, &to).expect("the file is copied");
        set_mode(&to, 0o664);
    }
    drop(reader);
    let _reader = copies.open().expect("the journal opens");
    assert_eq!((mode(&copies.path()), mode(&copies.0.path().join("journal-wal"))), (0o600, 0o600));
    // The file of another program stays unchanged.
    let other = JournalFile::new();
    other.execute_sql("CREATE TABLE mine (x)");
    set_mode(&other.path(), 0o644);
    other.open().expect_err("the file is not a journal");
    assert_eq!(mode(&other.path()), 0o644);
}

#[test]
fn only_regular_files_are_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str| {
        let opened = JournalReader::open(&folder.path().join(name), Retention::default());
        opened.expect_err("the path is not a regular file").to_string()
    };
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
    assert!(made.success());
    assert!(refused("fifo").ends_with("it is not a regular file"), "{}", refused("fifo"));
    assert!(refused("").contains("directory"), "{}", refused(""));
    for name in [":memory:", "file:journal?mode=memory"] {
        JournalReader::open(&folder.path().join(name), Retention::default()).expect("the name is a path");
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    let null =
        JournalReader::open(Path::new("/dev/null"), Retention::default()).expect_err("the path is a device");
    assert!(null.to_string().ends_with("it is not a regular file"), "{null}");
}

/// Backpressure: a slow disk must not fill the memory.
#[test]
fn decisions_are_refused_while_too_many_lines_wait() {
    let (sender, progress) = watch::channel(Progress::default());
    let sender = Arc::new(sender);
    let progress_sender = Arc::downgrade(&sender);
    let journal = Journal { shared: Arc::default(), progress_sender, progress, writer: Mutex::new(None) };
    let line = entry("a", 0, &["created"], true);
    journal.submit(vec![line.clone(); MAX_WAITING_LINES - 1]);
    assert_eq!(journal.check(), Ok(()));
    journal.submit(vec![line]);
    let problem = "65536 lines wait for the disk".to_owned();
    assert_eq!(journal.check(), Err(Error::JournalFailed { problem }));
}

#[tokio::test]
async fn calls_fail_while_the_disk_is_full() {
    let file = JournalFile::new();
    let reader = file.open().expect("the journal opens");
    reader.limit(12);
    let journal = reader.start_writer(&[]).expect("the journal is writable");
    let lines = ["created".to_owned(), "x".repeat(1 << 16)];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let first = journal.submit(vec![entry("a", 0, &lines, true)]);
    journal.wait_until_written(first).await.expect("there is room");
    journal.check().expect("the disk works");
    let short = ["created"];
    let second = journal.submit(vec![entry("b", 0, &short, true), entry("a", 1, &lines, true)]);
    let refused = journal.wait_until_written(second).await.expect_err("there is no room");
    assert_eq!(refused, Error::JournalFailed { problem: "database or disk is full".to_owned() });
    assert_eq!(journal.check(), Err(refused));
    journal.wait_until_written(first).await.expect("the lines were written before");
    journal.close();
    let (open, damaged) = file.read();
    assert_eq!((open.len(), open[0].lines.len(), damaged), (1, 1, vec![]), "the failed lines are all absent");
}

//! The file: what it keeps, what is found when it was damaged, and what is said of other files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rusqlite::Connection;

use super::*;

fn entry(id: &str, number: u32, lines: &[&str], open: bool) -> Entry {
    let line = lines[number as usize].to_owned();
    let head = lines[..=number as usize].iter().fold([0; 32], |head, line| chained(&head, line));
    Entry { id: id.into(), number, line, head, open }
}

struct File(tempfile::TempDir);

impl File {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("journal")
    }

    fn open(&self) -> Result<JournalReader, String> {
        JournalReader::open(&self.path(), Retention::default())
    }

    /// What it has kept, and what is damaged.
    fn read(&self) -> (Vec<SavedMatch>, Vec<Damage>) {
        self.open().expect("it opens").read().expect("it is read")
    }

    /// Changes it behind the server's back.
    fn alter(&self, sql: &str) {
        Connection::open(self.path()).expect("it opens").execute_batch(sql).expect("it is altered");
    }
}

/// Two matches that go on and one that has ended.
async fn three_matches() -> File {
    let file = File::new();
    let journal = file.open().expect("it opens").write(&[]).expect("it is written");
    for (id, open) in [("a", true), ("b", true), ("c", false)] {
        let lines = ["created", "one", "two"];
        for number in 0..3 {
            journal.submit(vec![entry(id, number, &lines, open || number < 2)]);
        }
    }
    journal.written(9).await.expect("it is written");
    assert_eq!(journal.submitted(), 9);
    journal.close();
    file
}

fn kept(id: &str) -> SavedMatch {
    SavedMatch { id: id.to_owned(), lines: ["created", "one", "two"].map(str::to_owned).to_vec() }
}

#[tokio::test]
async fn what_is_written_is_there_again() {
    let file = three_matches().await;
    assert_eq!(file.read(), (vec![kept("a"), kept("b")], vec![]));
    let mode = std::fs::metadata(file.path()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it tells every hidden card");
}

#[tokio::test]
async fn matches_that_ended_long_ago_are_forgotten() {
    let file = three_matches().await;
    let states = |file: &File| -> Vec<String> {
        let connection = Connection::open(file.path()).expect("it opens");
        let mut all = connection.prepare("SELECT id || state FROM matches ORDER BY id").expect("it is asked");
        let rows = all.query_map([], |row| row.get(0)).expect("it is read");
        rows.collect::<Result<_, _>>().expect("they are words")
    };
    let tend = |ended| {
        let reading = JournalReader::open(&file.path(), Retention { ended, ..Retention::default() });
        reading.expect("it opens").write(&[]).expect("it is written").close();
    };
    file.alter("UPDATE matches SET changed = changed - 100");
    tend(None);
    tend(Some(Duration::from_mins(2)));
    assert_eq!(states(&file), ["aopen", "bopen", "cclosed"]);
    tend(Some(Duration::from_secs(99)));
    assert_eq!(states(&file), ["aopen", "bopen"], "what goes on is not forgotten, however old");
    assert_eq!(file.read(), (vec![kept("a"), kept("b")], vec![]), "nothing is missing");
}

#[tokio::test]
async fn whatever_was_altered_is_found() {
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
        ("DELETE FROM events WHERE match = 1 AND number = 2", "a", "of 3 lines 2 are there"),
        ("INSERT INTO events VALUES (10, 1, 3, 3, 'three')", "a", "there are 4 lines, 1 too many"),
        ("DELETE FROM events WHERE match = 1", "a", "of 3 lines 0 are there"),
        ("INSERT INTO events VALUES (10, 10, 0, NULL, 'created')", "", "1 lines are of no match"),
        ("DELETE FROM about", "", "it is not known how many matches were kept, 3 are there"),
        (
            "DELETE FROM events WHERE match = 1; DELETE FROM matches WHERE id = 'a'",
            "",
            "3 matches were kept, 2 are there",
        ),
    ] {
        let file = three_matches().await;
        file.alter(sql);
        let (left, damaged) = file.read();
        assert_eq!(damaged, [Damage { id: id.to_owned(), problem: problem.to_owned() }], "{sql}");
        assert!(left.contains(&kept("b")), "{sql}");
        // Given up, it is not spoken of again.
        file.open().expect("it opens").write(&damaged).expect("it is written").close();
        assert_eq!(file.read(), (left, vec![]), "{sql}");
    }
}

#[tokio::test]
async fn what_is_given_up_is_kept_from_then_on() {
    let file = three_matches().await;
    file.alter("UPDATE matches SET changed = changed - 100; UPDATE events SET line = 'on' WHERE match = 1");
    let (_, damaged) = file.read();
    assert_eq!(damaged.len(), 1);
    let keeping = Retention { ended: Some(Duration::from_secs(99)), ..Retention::default() };
    let reading = JournalReader::open(&file.path(), keeping).expect("it opens");
    reading.write(&damaged).expect("it is written").close();
    let connection = Connection::open(file.path()).expect("it opens");
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, u32>(0)).expect("it is counted");
    assert_eq!(count("SELECT count(*) FROM events WHERE match = 1"), 3, "the operator may look at them");
    assert_eq!(count("SELECT count(*) FROM matches WHERE id = 'c'"), 0, "what has ended is forgotten");
}

/// Its key stays taken, or the next match would be entered as the lost one.
#[tokio::test]
async fn a_match_that_lost_all_its_lines_gives_its_number_to_no_other() {
    let file = three_matches().await;
    file.alter("DELETE FROM events WHERE match = 7; UPDATE matches SET state = 'open' WHERE id = 'c'");
    let (_, damaged) = file.read();
    let journal = file.open().expect("it opens").write(&damaged).expect("it is written");
    journal.submit(vec![entry("d", 0, &["created"], true)]);
    journal.written(1).await.expect("it is written");
    journal.close();
    let (kept_now, damaged) = file.read();
    assert_eq!(damaged, []);
    let new = SavedMatch { id: "d".to_owned(), lines: vec!["created".to_owned()] };
    assert_eq!(kept_now, [kept("a"), kept("b"), new]);
}

#[tokio::test]
async fn a_file_that_is_torn_or_no_journal_is_refused() {
    let refused = |file: &File| file.open().err().unwrap_or_default();
    let file = File::new();
    std::fs::write(file.path(), "not a database, but long enough to be taken for one".repeat(90))
        .expect("written");
    assert!(refused(&file).ends_with("file is not a database"), "{}", refused(&file));
    let file = File::new();
    file.alter("CREATE TABLE mine (x)");
    let before = std::fs::read(file.path()).expect("it is there");
    assert!(refused(&file).ends_with("it is a database, but no journal"));
    assert_eq!(std::fs::read(file.path()).expect("it is there"), before, "another program's file");
    let file = three_matches().await;
    file.alter("PRAGMA user_version = 1");
    assert!(refused(&file).contains("Boardwire 0.2.0 or an earlier one saved it and alone reads it"));
    let missing = JournalReader::open(Path::new("/nowhere/journal"), Retention::default())
        .expect_err("there is no such folder");
    assert!(missing.starts_with("No such file"), "{missing}");
    let file = three_matches().await;
    let mut bytes = std::fs::read(file.path()).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xa5);
    std::fs::write(file.path(), bytes).expect("it is torn");
    let read = file.open().and_then(|reading| reading.read());
    assert!(read.is_err() || read.is_ok_and(|(_, damaged)| !damaged.is_empty()));
    let file = three_matches().await;
    let _held = file.open().expect("it opens");
    assert!(refused(&file).ends_with("database is locked"), "{}", refused(&file));
}

/// A page that was overwritten: the flag does not help, and what does is said.
#[tokio::test]
async fn a_file_with_a_damaged_page_says_how_to_go_on() {
    const PAGE: usize = 4096;
    let file = three_matches().await;
    let mut bytes = std::fs::read(file.path()).expect("it is there");
    let last = bytes.len() - PAGE;
    bytes[last..].fill(0xa5);
    std::fs::write(file.path(), bytes).expect("it is damaged");
    let refused = file.open().expect_err("it is damaged");
    let path = file.path();
    for said in [
        "it is damaged (",
        "returns error code 11): put a backup in its place",
        &format!("`sqlite3 '{}' '.recover --ignore-freelist' | sqlite3 NEW`", path.display()),
        "--journal-give-up",
    ] {
        assert!(refused.contains(said), "{refused}");
    }
}

/// A copy that was put in its place, with a mode that a copy has.
#[tokio::test]
async fn others_cannot_read_a_file_that_is_open() {
    let file = three_matches().await;
    let (path, log) = (file.path(), file.0.path().join("journal-wal"));
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let let_others = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let_others(&path, 0o644);
    let held = file.open().expect("it opens");
    assert_eq!((mode(&path), mode(&log)), (0o600, 0o600));
    let copies = File::new();
    for (from, to) in [(&path, "journal"), (&log, "journal-wal")] {
        let to = copies.0.path().join(to);
        std::fs::copy(from, &to).expect("it is copied");
        let_others(&to, 0o664);
    }
    drop(held);
    let _held = copies.open().expect("it opens");
    assert_eq!((mode(&copies.path()), mode(&copies.0.path().join("journal-wal"))), (0o600, 0o600));
    // What is another program's stays as it is.
    let other = File::new();
    other.alter("CREATE TABLE mine (x)");
    let_others(&other.path(), 0o644);
    other.open().expect_err("it is no journal");
    assert_eq!(mode(&other.path()), 0o644);
}

/// The files of a journal that is open, copied as a server leaves them that is killed.
fn killed(file: &File) -> File {
    let copies = File::new();
    for name in ["journal", "journal-wal", "journal-tail"] {
        std::fs::copy(file.0.path().join(name), copies.0.path().join(name)).expect("it is copied");
    }
    copies
}

/// Matches `a` to `h`, each with three lines, of which the last server had moved none into the database.
async fn eight_matches() -> (File, File) {
    let file = File::new();
    let journal = file.open().expect("it opens").write(&[]).expect("it is written");
    let mut submitted = 0;
    for number in 0..3 {
        for id in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            submitted = journal.submit(vec![entry(id, number, &["created", "one", "two"], true)]);
            journal.written(submitted).await.expect("it is written");
        }
    }
    let killed = killed(&file);
    journal.close();
    assert_eq!(submitted, 24);
    (file, killed)
}

/// `SQLite` leaves out what follows a damaged frame of its log, and says nothing.
#[tokio::test]
async fn lines_that_a_damaged_log_has_lost_are_named() {
    let (_, killed_file) = eight_matches().await;
    let log = killed_file.0.path().join("journal-wal");
    let whole = std::fs::read(&log).expect("it is there");
    assert_eq!(killed_file.read().0.len(), 8);
    // The header, the first frame, frames in the middle, the last one.
    for at in (0..whole.len()).step_by(whole.len() / 40).chain([whole.len() - 1]) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        let copy = killed(&killed_file);
        std::fs::write(copy.0.path().join("journal-wal"), &flipped).expect("it is written");
        let (kept, damaged) = copy.read();
        assert!(!damaged.is_empty(), "a bit of byte {at} of {}", whole.len());
        let named = |id: &str| damaged.iter().any(|damage| damage.id == id);
        let whole = kept.iter().filter(|kept| kept.lines.len() == 3).count();
        assert_eq!(whole, ["a", "b", "c", "d", "e", "f", "g", "h"].iter().filter(|id| !named(id)).count());
        assert_eq!(kept.len(), whole, "none goes on that has lost a line: {damaged:?}");
        // What is left of the log can still be looked at.
        assert!(std::fs::read(copy.0.path().join("journal-wal")).expect("it is there") == flipped);
        copy.open().expect("it opens").write(&damaged).expect("it is written").close();
        assert_eq!(copy.read(), (kept, vec![]), "they were given up");
    }
}

#[tokio::test]
async fn a_log_that_is_gone_or_cut_short_is_noticed() {
    let (clean, killed_file) = eight_matches().await;
    assert!(!clean.0.path().join("journal-tail").exists(), "it was closed");
    assert_eq!(clean.read().0.len(), 8);
    for length in [None, Some(0), Some(4096 * 20)] {
        let copy = killed(&killed_file);
        let log = copy.0.path().join("journal-wal");
        match length {
            None => std::fs::remove_file(log).expect("it is ours"),
            Some(length) => {
                let whole = std::fs::read(&log).expect("it is there");
                std::fs::write(log, &whole[..length]).expect("it is ours");
            }
        }
        let (_, damaged) = copy.read();
        let all = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let found = all.into_iter().filter(|id| damaged.iter().any(|damage| damage.id == *id)).count();
        assert!(
            found == 8 || length.is_some_and(|length| length > 0 && found > 0),
            "{length:?}: {damaged:?}"
        );
    }
}

/// After a loss of power lines may be missing that no caller was told to be safe.
#[tokio::test]
async fn a_loss_of_power_is_no_damage() {
    // The last transaction is torn, of which no caller had been told.
    let (_, copy) = eight_matches().await;
    let log = copy.0.path().join("journal-wal");
    let mut torn = std::fs::read(&log).expect("it is there");
    torn.extend_from_within(torn.len() - 3 * 4120..torn.len() - 2000);
    std::fs::write(&log, torn).expect("it is ours");
    let (kept, damaged) = copy.read();
    assert_eq!((kept.len(), damaged), (8, vec![]));
    // With `interval` the lines of the last second may be gone, if the system has been started since.
    let tail = copy.0.path().join("journal-tail");
    let names = std::fs::read_to_string(&tail).expect("it is there");
    assert!(names.starts_with("always\na 0 open\n"), "{names}");
    std::fs::write(copy.0.path().join("journal-wal"), "").expect("it is ours");
    for (header, lost) in [(tail::header(Sync::Interval), 8), ("boot 0\n".to_owned(), 0)] {
        std::fs::write(&tail, names.replace("always\n", &header)).expect("it is ours");
        let (kept, damaged) = copy.read();
        assert_eq!((kept.len(), damaged.len()), (0, lost), "{header}");
    }
}

/// Matches that have ended may have been forgotten since.
#[tokio::test]
async fn an_ended_match_is_not_missed() {
    let file = three_matches().await;
    std::fs::write(file.0.path().join("journal-tail"), "always\nx 1 closed\ny 4 open\nz 2 op")
        .expect("it is ours");
    let lost = Damage { id: "y".to_owned(), problem: "of 5 lines 0 are there".to_owned() };
    assert_eq!(file.read().1, [lost]);
}

/// Only files on a disk are journals.
#[test]
fn nothing_but_a_regular_file_is_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str| {
        let opened = JournalReader::open(&folder.path().join(name), Retention::default());
        opened.expect_err("it is no file")
    };
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("it is there");
    assert!(made.success());
    assert!(refused("fifo").ends_with("it is no regular file"), "{}", refused("fifo"));
    assert!(refused("").contains("directory"), "{}", refused(""));
    for name in [":memory:", "file:journal?mode=memory"] {
        JournalReader::open(&folder.path().join(name), Retention::default()).expect("it is a path");
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    let null =
        JournalReader::open(Path::new("/dev/null"), Retention::default()).expect_err("it keeps nothing");
    assert!(null.ends_with("it is no regular file"), "{null}");
}

/// More lines than the disk takes: what is decided waits, and takes no more memory.
#[test]
fn decisions_are_refused_while_too_many_lines_wait() {
    let (tell, written) = watch::channel(Written::default());
    let tell = Arc::new(tell);
    let shared = Arc::new(Shared { queue: Mutex::default(), more: Condvar::new() });
    let journal = Journal { shared, tell: Arc::downgrade(&tell), written, writer: Mutex::new(None) };
    let line = entry("a", 0, &["created"], true);
    journal.submit(vec![line.clone(); MOST_LINES - 1]);
    assert_eq!(journal.check(), Ok(()));
    journal.submit(vec![line]);
    let problem = "65536 lines wait for the disk".to_owned();
    assert_eq!(journal.check(), Err(Error::JournalFailed { problem }));
}

/// A disk that fails: waiting calls fail, no match continues, and all is written when there is room again.
#[tokio::test]
async fn a_disk_that_is_full_loses_nothing() {
    let file = File::new();
    let reading = file.open().expect("it opens");
    reading.limit(12);
    let journal = reading.write(&[]).expect("it is written");
    let lines = ["created".to_owned(), "x".repeat(1 << 16)];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let first = journal.submit(vec![entry("a", 0, &lines, true)]);
    journal.written(first).await.expect("there is room");
    journal.check().expect("it goes well");
    let short = ["created"];
    let second = journal.submit(vec![entry("b", 0, &short, true), entry("a", 1, &lines, true)]);
    let refused = journal.written(second).await.expect_err("there is no room");
    assert_eq!(refused, Error::JournalFailed { problem: "database or disk is full".to_owned() });
    assert_eq!(journal.check(), Err(refused));
    journal.written(first).await.expect("this was written before");
    journal.close();
    // What nobody was told of is not there.
    let (left, damaged) = file.read();
    assert_eq!((left.len(), left[0].lines.len(), damaged), (1, 1, vec![]), "of what came together nothing");
}

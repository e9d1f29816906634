//! Tests of lines that the write-ahead log has lost.

use super::*;

/// Copies the files of an open journal, as a killed server leaves them.
fn copy_as_if_killed(file: &JournalFile) -> JournalFile {
    let copies = JournalFile::new();
    for name in ["journal", "journal-wal", "journal-tail"] {
        std::fs::copy(file.0.path().join(name), copies.0.path().join(name)).expect("the file is copied");
    }
    copies
}

/// Creates two journals of eight matches with three lines each: closed cleanly, and killed with all lines in the log.
async fn eight_matches() -> (JournalFile, JournalFile) {
    let file = JournalFile::new();
    let journal = file.open().expect("the journal opens").start_writer(&[]).expect("the journal is writable");
    let mut submitted = 0;
    for number in 0..3 {
        for id in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            submitted = journal.submit(vec![entry(id, number, &["created", "one", "two"], true)]);
            journal.wait_until_written(submitted).await.expect("the lines are written");
        }
    }
    let killed = copy_as_if_killed(&file);
    journal.close();
    assert_eq!(submitted, 24);
    (file, killed)
}

/// `SQLite` silently drops all frames of its log after a damaged frame.
#[tokio::test]
async fn matches_that_lost_lines_in_a_damaged_log_are_named() {
    let (_, killed_file) = eight_matches().await;
    let log = killed_file.0.path().join("journal-wal");
    let whole = std::fs::read(&log).expect("the file exists");
    assert_eq!(killed_file.read().0.len(), 8);
    // Flips a bit in the header, or in one of the first, middle or last frames.
    for at in (0..whole.len()).step_by(whole.len() / 40).chain([whole.len() - 1]) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        let copy = copy_as_if_killed(&killed_file);
        std::fs::write(copy.0.path().join("journal-wal"), &flipped).expect("the file is written");
        let (open, damaged) = copy.read();
        assert!(!damaged.is_empty(), "a bit of byte {at} of {}", whole.len());
        let named = |id: &str| damaged.iter().any(|damage| damage.id == id);
        let complete = open.iter().filter(|saved| saved.lines.len() == 3).count();
        assert_eq!(complete, ["a", "b", "c", "d", "e", "f", "g", "h"].iter().filter(|id| !named(id)).count());
        assert_eq!(open.len(), complete, "no match with a lost line continues: {damaged:?}");
        // The operator can still examine the log.
        assert!(std::fs::read(copy.0.path().join("journal-wal")).expect("the file exists") == flipped);
        copy.open()
            .expect("the journal opens")
            .start_writer(&damaged)
            .expect("the journal is writable")
            .close();
        assert_eq!(copy.read(), (open, vec![]), "they are lost now");
    }
}

#[tokio::test]
async fn a_missing_or_truncated_log_is_detected() {
    let (clean, killed_file) = eight_matches().await;
    assert!(!clean.0.path().join("journal-tail").exists(), "it was closed");
    assert_eq!(clean.read().0.len(), 8);
    for length in [None, Some(0), Some(4096 * 20)] {
        let copy = copy_as_if_killed(&killed_file);
        let log = copy.0.path().join("journal-wal");
        match length {
            None => std::fs::remove_file(log).expect("the file is written"),
            Some(length) => {
                let whole = std::fs::read(&log).expect("the file exists");
                std::fs::write(log, &whole[..length]).expect("the file is written");
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

/// After a loss of power, lines may be missing for which the server sent no response.
#[tokio::test]
async fn a_loss_of_power_is_not_damage() {
    // The last transaction is incomplete.
    let (_, copy) = eight_matches().await;
    let log = copy.0.path().join("journal-wal");
    let mut torn = std::fs::read(&log).expect("the file exists");
    torn.extend_from_within(torn.len() - 3 * 4120..torn.len() - 2000);
    std::fs::write(&log, torn).expect("the file is written");
    let (open, damaged) = copy.read();
    assert_eq!((open.len(), damaged), (8, vec![]));
    // With `interval`, lines of the last second may be missing after a restart of the system.
    let tail = copy.0.path().join("journal-tail");
    let names = std::fs::read_to_string(&tail).expect("the file exists");
    assert!(names.starts_with("always\na 0 open\n"), "{names}");
    std::fs::write(copy.0.path().join("journal-wal"), "").expect("the file is written");
    for (header, lost) in [(tail::header(Sync::Interval), 8), ("boot 0\n".to_owned(), 0)] {
        std::fs::write(&tail, names.replace("always\n", &header)).expect("the file is written");
        let (open, damaged) = copy.read();
        assert_eq!((open.len(), damaged.len()), (0, lost), "{header}");
    }
}

/// The server may have deleted the match after it wrote the tail.
#[tokio::test]
async fn a_closed_match_of_the_tail_may_be_missing() {
    let file = three_matches().await;
    std::fs::write(file.0.path().join("journal-tail"), "always\nx 1 closed\ny 4 open\nz 2 op")
        .expect("the file is written");
    let lost = Damage { id: "y".to_owned(), problem: "0 of 5 lines found".to_owned() };
    assert_eq!(file.read().1, [lost]);
}

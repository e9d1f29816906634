//! Tests that save, alter and load environments.

use super::super::snapshot::{SavedEnvironment, seal, unseal};
use super::*;

fn key() -> SnapshotKey {
    SnapshotKey::derive(b"a secret of this test")
}

fn save(batch: &Arc<Batch>, mask: &[u8]) -> Bytes {
    wait(batch.save(&key(), mask)).expect("it is saved")
}

fn load(batch: &Arc<Batch>, snapshot: &Bytes, mask: &[u8]) -> Result<Step, Error> {
    wait(batch.load(&key(), snapshot.clone(), mask))
}

/// Continues to step from `shown`; returns the digests of every row.
fn continue_from(batch: &Arc<Batch>, mut rows: Step, steps: u64) -> Vec<Vec<Digest>> {
    let digests = |rows: &Step| (0..rows.seat().len()).map(|index| row_digest(rows, index)).collect();
    let next = |salt| {
        rows = step(batch, choices(&rows, 0, salt)).expect("legal");
        digests(&rows)
    };
    (0..steps).map(next).collect()
}

#[test]
fn a_loaded_batch_continues_like_the_saved_one() {
    for names in [["agent", "random"], ["greedy:1", "agent"]] {
        let table = table("faraway", 2);
        let config = config(&names);
        let batch = open(&table, &config, 70, 0, 2);
        let mut rows = reset(&batch);
        for salt in 0..9 {
            rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
        }
        let snapshot = save(&batch, &[]);
        let once = continue_from(&batch, rows.clone(), 40);
        let again = load(&batch, &snapshot, &[]).expect("the snapshot is valid");
        assert_eq!(continue_from(&batch, again, 40), once);
        // This batch has other environment numbers and another seed. Later episodes still follow from the saved seed.
        let options = BatchOptions { seed: 99, ..options(&config, 70, 1000) };
        let other = wait(Batch::open(String::new(), table, options, &pool(1).new_group())).expect("it opens");
        let there = load(&other, &snapshot, &[]).expect("it is of the same kind");
        assert_eq!(continue_from(&other, there, 40), once);
    }
}

#[test]
fn some_environments_are_saved_and_replace_others() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 12, 0, 1);
    let rows = reset(&batch);
    let snapshot = save(&batch, &[0b0000_0110, 0b1000]);
    step(&batch, choices(&rows, 0, 0)).expect("legal");
    let loaded = load(&batch, &snapshot, &[0b1000_0001, 1]).expect("as many places");
    let pairs = [(1, 0), (2, 7), (11, 8)];
    for (from, to) in pairs {
        assert_eq!(row_digest(&rows, from), row_digest(&loaded, to));
    }
    load(&batch, &snapshot, &[0b1000_0001, 0]).expect_err("three do not take two places");
}

type Change = fn(&mut SavedEnvironment);

#[test]
fn a_forged_snapshot_with_the_right_key_is_refused() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 2, 0, 1);
    reset(&batch);
    let snapshot = save(&batch, &[]);
    let changes: [(Change, &str); 6] = [
        (|saved| saved.rng[0] = u64::MAX, "of a random stream exceeds"),
        (|saved| saved.substitute_words_used[7] = u64::MAX, "of a random stream exceeds"),
        (|saved| saved.rng.clear(), "it must have random streams of 1 bots; got 0"),
        (|saved| saved.episode_index = u32::MAX, "its episode must be below 4294967295"),
        (|saved| saved.forfeited = Some(2), "its forfeit must be by seat 0 to 1; got seat 2"),
        (|saved| saved.episode.truncate(9), ""),
    ];
    for (index, (change, problem)) in changes.into_iter().enumerate() {
        let mut saved = unseal(&key(), &batch.snapshot_kind, &snapshot).expect("the snapshot is valid");
        change(&mut saved[1]);
        let forged =
            seal(&key(), &batch.snapshot_kind, saved.into_iter(), usize::MAX).expect("it fits").into();
        match load(&batch, &forged, &[]) {
            Err(Error::SnapshotInvalid { problem: text }) => assert!(text.contains(problem), "{text}"),
            other => panic!("change {index}: {other:?}"),
        }
        assert_eq!(snapshot, save(&batch, &[]), "nothing of it was loaded");
    }
}

#[test]
fn an_altered_snapshot_is_refused_and_changes_nothing() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 3, 0, 1);
    reset(&batch);
    let snapshot = save(&batch, &[]);
    let refused = |batch: &Arc<Batch>, bytes: Vec<u8>| match load(batch, &bytes.into(), &[]) {
        Err(Error::SnapshotInvalid { problem }) => problem,
        other => panic!("{other:?}"),
    };
    let mut rng = RngStream::new(3, 0);
    let length = u32::try_from(snapshot.len()).expect("the length fits u32");
    let places: Vec<u32> = (0..40).chain((0..200).map(|_| rng.below(length))).collect();
    for index in places {
        let mut bytes = snapshot.to_vec();
        bytes[index as usize] ^= 1 << rng.below(8);
        refused(&batch, bytes);
    }
    for length in [0, 1, 32, 33, 34, snapshot.len() - 1] {
        refused(&batch, snapshot[..length].to_vec());
    }
    assert_eq!(snapshot, save(&batch, &[]));
    let other_key = wait(batch.load(&SnapshotKey::derive(b"another"), snapshot.clone(), &[]));
    assert!(other_key.is_err());
    let other = open(&table("faraway", 2), &config(&["agent", "greedy"]), 3, 0, 1);
    assert!(
        refused(&other, snapshot.to_vec()).contains("its players must be agent, greedy; got agent, random")
    );
    let other = open(&table("faraway", 3), &config(&["agent", "random", "random"]), 3, 0, 1);
    assert!(refused(&other, snapshot.to_vec()).contains("another table"));
}

#[test]
fn a_snapshot_stops_at_the_first_environment_that_does_not_fit() {
    let (table, config) = (table("faraway", 2), config(&["agent", "random"]));
    let batch = open(&table, &config, 20, 0, 1);
    reset(&batch);
    let twelve = [0xFF, 0x0F, 0];
    let (whole, some) = (save(&batch, &[]), save(&batch, &twelve));
    let message_bytes = MAX_MESSAGE_OVERHEAD_BYTES + some.len();
    let narrow = BatchOptions { message_bytes, ..options(&config, 20, 0) };
    let narrow = wait(Batch::open(String::new(), table, narrow, &pool(1).new_group())).expect("it opens");
    reset(&narrow);
    assert_eq!(save(&narrow, &twelve), some);
    let refused = wait(narrow.save(&key(), &[])).expect_err("it takes more");
    let expected = format!(
        "`mask` must be at most the first 12 environments, which fit a message of {message_bytes} bytes; got \
         `20 environments`"
    );
    assert_eq!(refused.to_string(), expected);

    let all = || unseal(&key(), &batch.snapshot_kind, &whole).expect("the snapshot is valid").into_iter();
    let mut saved = 0;
    let counted = all().inspect(|_| saved += 1);
    assert_eq!(seal(&key(), &batch.snapshot_kind, counted, some.len()), Err(12));
    assert_eq!(saved, 13, "later environments are not saved");
    let sealed = seal(&key(), &batch.snapshot_kind, all().take(12), some.len()).expect("they fit");
    assert_eq!(sealed.capacity(), some.len(), "no more room is taken than they need");
    assert_eq!(sealed, some);
}

#[test]
fn no_snapshot_is_larger_than_snapshot_bytes() {
    for game in boardwire_games::IDS {
        for seats in 2..=6 {
            let Some(table) = try_table(game, seats) else { continue };
            let batch = open(&table, &config(&vec!["agent"; seats as usize]), 4, 0, 1);
            let mut rows = reset(&batch);
            for salt in 0..150 {
                for mask in [&[][..], &[0b100]] {
                    let (saved, max) = (save(&batch, mask).len(), batch.snapshot_bytes(mask));
                    assert!(saved <= max, "{game} for {seats}: {saved} bytes, at most {max}");
                }
                rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
            }
        }
    }
}

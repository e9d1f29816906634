//! Tests of line-ups that differ between environments.

use super::*;

/// Returns a configuration with two line-ups: the agent plays seat 0 or seat 1, against a bot.
fn alternating_config(duplicate_deals: bool) -> EnvironmentConfig {
    let one = |names: &[&str]| config(names).line_ups.remove(0);
    let line_ups = vec![one(&["agent", "random"]), one(&["random", "agent"])];
    EnvironmentConfig { line_ups, duplicate_deals, ..config(&["agent", "random"]) }
}

/// Returns the digests of every environment's rows. Every decision chooses the lowest legal action.
fn play_lowest(batch: &Arc<Batch>) -> Vec<Vec<Digest>> {
    let mut rows = reset(batch);
    let count = rows.seat().len();
    let mut all = vec![vec![]; count];
    for _ in 0..60 {
        (0..count).for_each(|index| all[index].push(row_digest(&rows, index)));
        let first = |index| legal(&rows, index).first().copied().unwrap_or(0);
        let actions = (0..count).map(first).collect();
        rows = step(batch, actions).expect("legal");
    }
    all
}

/// Returns a configuration with only the line-up of this environment.
fn single_config(number: u64) -> EnvironmentConfig {
    config(if number.is_multiple_of(2) { &["agent", "random"] } else { &["random", "agent"] })
}

#[test]
fn each_environment_plays_as_if_its_line_up_were_the_only_one() {
    for game in boardwire_games::IDS {
        let table = table(game, 2);
        let mixed = play_lowest(&open(&table, &alternating_config(false), 6, 10, 2));
        for (number, rows) in (10..).zip(mixed) {
            let alone = play_lowest(&open(&table, &single_config(number), 1, number, 1)).remove(0);
            assert_eq!(rows, alone, "{game}: environment {number}");
        }
    }
}

/// Environments 2k and 2k + 1 play the episodes that environment k plays without duplicate deals.
#[test]
fn duplicate_deals_are_the_same_episodes_for_every_line_up() {
    for game in boardwire_games::IDS {
        let table = table(game, 2);
        let pairs = play_lowest(&open(&table, &alternating_config(true), 6, 11, 2));
        for (number, rows) in (11..).zip(pairs) {
            let alone = play_lowest(&open(&table, &single_config(number), 1, number / 2, 1)).remove(0);
            assert_eq!(rows, alone, "{game}: environment {number}");
        }
    }
}

#[test]
fn final_views_have_a_row_for_each_agent_of_the_fullest_line_up() {
    let line_up = |names: &[&str]| config(names).line_ups.remove(0);
    let line_ups = vec![line_up(&["agent", "random"]), line_up(&["agent", "agent"])];
    let batch = open(&table("faraway", 2), &EnvironmentConfig { line_ups, ..config(&["agent"; 2]) }, 2, 0, 1);
    let mut rows = reset(&batch);
    let bytes = rows.view().len() / 2;
    let mut has_ended = [false; 2];
    for salt in 0.. {
        rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
        for (k, ended) in rows.ended().chunks(4).enumerate() {
            let index = usize::from(ended[0]);
            assert_eq!(
                row(rows.final_view(), 2 * k, bytes),
                row(rows.view(), index, bytes),
                "the first agent"
            );
            let second = row(rows.final_view(), 2 * k + 1, bytes);
            assert_eq!(
                second.iter().all(|byte| *byte == 0),
                index == 0,
                "environment {index} has {} agents",
                index + 1
            );
            has_ended[index] = true;
        }
        if has_ended == [true; 2] {
            return;
        }
    }
}

#[test]
fn saved_environments_replace_only_environments_of_their_line_up() {
    let batch = open(&table("rauha", 2), &alternating_config(false), 4, 0, 1);
    let rows = reset(&batch);
    let key = SnapshotKey::derive(b"a secret of sixteen bytes");
    let snapshot = wait(batch.save(&key, &[0b0001])).expect("it is saved");
    step(&batch, choices(&rows, 0, 0)).expect("legal");
    let refused = wait(batch.load(&key, snapshot.clone(), &[0b1000])).expect_err("another line-up");
    let Error::SnapshotInvalid { problem } = refused else { panic!("{refused:?}") };
    assert_eq!(problem, "its players must be random, agent; got agent, random");
    let loaded = wait(batch.load(&key, snapshot, &[0b0100])).expect("the same line-up");
    let bytes = rows.view().len() / 4;
    assert_eq!(row(loaded.view(), 2, bytes), row(rows.view(), 0, bytes));
}

//! Tests of line-ups that differ between environments.

use super::*;

/// Returns a plan with two line-ups: the agent plays seat 0 or seat 1, against a bot.
fn turns(duplicate_deals: bool) -> Plan {
    let one = |names: &[&str]| plan(names).line_ups.remove(0);
    let line_ups = vec![one(&["agent", "random"]), one(&["random", "agent"])];
    Plan { line_ups, duplicate_deals, ..plan(&["agent", "random"]) }
}

/// Returns the digests of every environment's rows. Every decision chooses the lowest legal action.
fn lowest(batch: &Arc<Batch>) -> Vec<Vec<Digest>> {
    let mut shown = reset(batch);
    let rows = shown.seat().len();
    let mut all = vec![vec![]; rows];
    for _ in 0..60 {
        (0..rows).for_each(|at| all[at].push(row_digest(&shown, at)));
        let first = |at| legal(&shown, at).first().copied().unwrap_or(0);
        let actions = (0..rows).map(first).collect();
        shown = step(batch, actions).expect("legal");
    }
    all
}

/// Returns a plan with only the line-up of this environment.
fn only(number: u64) -> Plan {
    plan(if number.is_multiple_of(2) { &["agent", "random"] } else { &["random", "agent"] })
}

#[test]
fn each_environment_plays_as_if_its_line_up_were_the_only_one() {
    for game in boardwire_games::IDS {
        let table = table(game, 2);
        let mixed = lowest(&open(&table, &turns(false), 6, 10, 2));
        for (number, shown) in (10..).zip(mixed) {
            let alone = lowest(&open(&table, &only(number), 1, number, 1)).remove(0);
            assert_eq!(shown, alone, "{game}: environment {number}");
        }
    }
}

/// Environments 2k and 2k + 1 play the episodes that environment k plays without duplicate deals.
#[test]
fn duplicate_deals_are_the_same_episodes_for_every_line_up() {
    for game in boardwire_games::IDS {
        let table = table(game, 2);
        let pairs = lowest(&open(&table, &turns(true), 6, 11, 2));
        for (number, shown) in (11..).zip(pairs) {
            let alone = lowest(&open(&table, &only(number), 1, number / 2, 1)).remove(0);
            assert_eq!(shown, alone, "{game}: environment {number}");
        }
    }
}

#[test]
fn final_views_have_a_row_for_each_agent_of_the_fullest_line_up() {
    let line_up = |names: &[&str]| plan(names).line_ups.remove(0);
    let line_ups = vec![line_up(&["agent", "random"]), line_up(&["agent", "agent"])];
    let batch = open(&table("faraway", 2), &Plan { line_ups, ..plan(&["agent"; 2]) }, 2, 0, 1);
    let mut shown = reset(&batch);
    let bytes = shown.view().len() / 2;
    let mut has_ended = [false; 2];
    for salt in 0.. {
        shown = step(&batch, choices(&shown, 0, salt)).expect("legal");
        for (k, ended) in shown.ended().chunks(4).enumerate() {
            let at = usize::from(ended[0]);
            assert_eq!(
                row(shown.final_view(), 2 * k, bytes),
                row(shown.view(), at, bytes),
                "the first agent"
            );
            let second = row(shown.final_view(), 2 * k + 1, bytes);
            assert_eq!(
                second.iter().all(|byte| *byte == 0),
                at == 0,
                "environment {at} has {} agents",
                at + 1
            );
            has_ended[at] = true;
        }
        if has_ended == [true; 2] {
            return;
        }
    }
}

#[test]
fn saved_environments_replace_only_environments_of_their_line_up() {
    let batch = open(&table("rauha", 2), &turns(false), 4, 0, 1);
    let shown = reset(&batch);
    let key = SnapshotKey::derive(b"a secret of sixteen bytes");
    let snapshot = wait(batch.save(&key, &[0b0001])).expect("it is saved");
    step(&batch, choices(&shown, 0, 0)).expect("legal");
    let refused = wait(batch.load(&key, snapshot.clone(), &[0b1000])).expect_err("another line-up");
    let Error::SnapshotInvalid { problem } = refused else { panic!("{refused:?}") };
    assert_eq!(problem, "its players are agent, random, not random, agent");
    let loaded = wait(batch.load(&key, snapshot, &[0b0100])).expect("the same line-up");
    let bytes = shown.view().len() / 4;
    assert_eq!(row(loaded.view(), 2, bytes), row(shown.view(), 0, bytes));
}

//! Tests of the contract of a batch. A rule that does not depend on the game is tested for every game of the registry.

mod advice;
mod decisions;
mod foreign_game;
mod line_ups;
mod masks;
mod modes;
mod oracle;
mod policies;
mod sequence;
mod snapshots;

use std::sync::{Arc, LazyLock};
use std::task::Poll;

use crate::registry::Registry;
use boardwire_api::v1::Step as Message;
use boardwire_kernel::{RngStream, Seat};

use super::*;
use crate::messages::step as message;
use crate::players::Player;
use crate::pool::Pool;
use crate::tables::Tables;

const MAX_MESSAGE_BYTES: usize = 64 << 20;

fn table(game: &str, seats: u32) -> Arc<Table> {
    try_table(game, seats).expect("a table")
}

/// Returns a table of a game, if the game allows this many seats.
fn try_table(game: &str, seats: u32) -> Option<Arc<Table>> {
    let tables = Tables::new(Registry::standard());
    tables.table(game, seats, []).ok()
}

/// Returns a pool of one or two threads.
fn pool(threads: usize) -> &'static Pool {
    static POOLS: LazyLock<[Pool; 2]> =
        LazyLock::new(|| [1, 2].map(|n| Pool::new(n).expect("threads start")));
    &POOLS[threads - 1]
}

/// Returns a configuration for players with these names: `agent` or a bot.
fn config(names: &[&str]) -> EnvironmentConfig {
    let player = |name: &&str| match *name {
        "agent" => Player::Agent,
        bot => Player::Bot(bot.parse().expect("a bot")),
    };
    let columns = Columns { scores: true, final_views: true, episodes: true, ..Columns::default() };
    let line_up = LineUp::of(names.iter().map(player).collect()).expect("an agent");
    EnvironmentConfig { columns, ..EnvironmentConfig::of(vec![line_up]) }
}

fn options(config: &EnvironmentConfig, environments: usize, first: u64) -> BatchOptions {
    BatchOptions { config: config.clone(), environments, first, seed: 7, message_bytes: MAX_MESSAGE_BYTES }
}

fn open(
    table: &Arc<Table>,
    config: &EnvironmentConfig,
    environments: usize,
    first: u64,
    threads: usize,
) -> Arc<Batch> {
    let options = options(config, environments, first);
    wait(Batch::open("b".to_owned(), Arc::clone(table), options, &pool(threads).new_group()))
        .expect("it opens")
}

/// Awaits a future that needs no reactor.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// Awaits a call in a stepped pool for at most this many slices. If the call needs more, drops it and returns `None`.
fn run_for_slices<T>(pool: &Pool, slices: usize, call: impl Future<Output = T>) -> Option<T> {
    let ended = wait(async {
        let mut call = std::pin::pin!(call);
        for left in (0..=slices).rev() {
            if let Poll::Ready(ended) = futures_util::poll!(call.as_mut()) {
                return Some(ended);
            }
            assert!(left == 0 || pool.advance(), "the call waits, but not for the pool");
        }
        None
    });
    // The pool drops the work of a dropped call.
    while pool.advance() {}
    ended
}

fn reset(batch: &Arc<Batch>) -> Step {
    wait(batch.reset(Reset::default(), None)).expect("it is reset")
}

fn step(batch: &Arc<Batch>, actions: Vec<u8>) -> Result<Step, Error> {
    wait(batch.step(0, 0, Actions::of_all(actions.into()), None))
}

/// Returns row `index` of a column; `bytes` is the size of a row.
fn row(column: &[u8], index: usize, bytes: usize) -> &[u8] {
    &column[index * bytes..(index + 1) * bytes]
}

fn mask_bytes(step: &Step) -> usize {
    step.mask().len() / step.seat().len()
}

fn legal(step: &Step, index: usize) -> Vec<u8> {
    let mask = row(step.mask(), index, mask_bytes(step));
    (0..=255)
        .filter(|&action| mask.get(usize::from(action / 8)).is_some_and(|byte| byte >> (action % 8) & 1 == 1))
        .collect()
}

/// Returns a legal action for every row; 0 for rows without one. It depends only on `salt` and the environment's number.
fn choices(step: &Step, first: u64, salt: u64) -> Vec<u8> {
    let choose = |index: usize| {
        let legal = legal(step, index);
        let pick = RngStream::new(salt, first + u64::from(step.first) + index as u64).next_seed();
        legal
            .get(usize::try_from(pick % legal.len().max(1) as u64).expect("the number fits usize"))
            .copied()
            .unwrap_or(0)
    };
    (0..step.seat().len()).map(choose).collect()
}

/// Returns the columns that have one row for each environment.
fn columns(step: &Step) -> [&[u8]; 12] {
    [
        step.seat(),
        step.flags(),
        step.ply(),
        step.reward(),
        step.mask(),
        step.episode(),
        step.advice(),
        step.advice_shares(),
        step.estimates(),
        step.oracle(),
        step.oracle_mask(),
        step.view(),
    ]
}

/// Returns a digest of a row in all columns, without the row number.
fn row_digest(step: &Step, index: usize) -> Digest {
    let n = step.seat().len();
    let row: Vec<&[u8]> =
        columns(step).into_iter().map(|column| row(column, index, column.len() / n)).collect();
    Digest::of(&row)
}

/// Returns the current rows of all environments, by a reset of none.
fn current_rows(batch: &Arc<Batch>) -> Step {
    let mask = vec![0; batch.options().environments.div_ceil(8)];
    wait(batch.reset(Reset { mask: mask.into(), ..Reset::default() }, None)).expect("it resets none")
}

/// Returns the digests of every environment's rows over `steps` steps.
fn history(batch: &Arc<Batch>, steps: u64) -> Vec<Vec<Digest>> {
    let first = batch.options().first;
    let mut rows = reset(batch);
    let mut digests = vec![Vec::new(); rows.seat().len()];
    for salt in 0..steps {
        rows = step(batch, choices(&rows, first, salt)).expect("the actions are legal");
        digests.iter_mut().enumerate().for_each(|(index, digests)| digests.push(row_digest(&rows, index)));
    }
    digests
}

#[test]
fn environments_do_not_depend_on_batch_size_or_threads() {
    for game in boardwire_games::IDS {
        let table = table(game, 2);
        let config = config(&["agent", "random"]);
        let whole = history(&open(&table, &config, 1024, 5, 1), 60);
        assert_eq!(whole, history(&open(&table, &config, 1024, 5, 2), 60), "{game}: two threads");
        let quarters: Vec<_> =
            (0..4).flat_map(|part| history(&open(&table, &config, 256, 5 + 256 * part, 2), 60)).collect();
        assert_eq!(whole, quarters, "{game}: four batches of 256");
        let one = |number: u64| history(&open(&table, &config, 1, 5 + number, 1), 60).remove(0);
        assert_eq!(whole, (0..1024).map(one).collect::<Vec<_>>(), "{game}: 1024 batches of one");
        assert_ne!(whole[0], whole[1]);
    }
}

#[test]
fn stepping_parts_equals_stepping_all() {
    let table = table("faraway", 3);
    let config = config(&["random", "agent", "agent"]);
    let mut rng = RngStream::new(1, 0);
    for environments in [1, 2, 63, 64, 65, 128, 512, 513, 600] {
        let (whole, parted) =
            (open(&table, &config, environments, 0, 2), open(&table, &config, environments, 0, 2));
        let (mut rows, first) = (reset(&whole), reset(&parted));
        assert_eq!(rows, first);
        for salt in 0..30 {
            let actions = choices(&rows, 0, salt);
            rows = step(&whole, actions.clone()).expect("legal");
            let mut cuts = vec![0, environments];
            cuts.extend(
                (0..3).map(|_| rng.below(u32::try_from(environments).expect("the number fits u32")) as usize),
            );
            cuts.sort_unstable();
            let mut ranges: Vec<_> =
                cuts.windows(2).map(|cut| cut[0]..cut[1]).filter(|range| !range.is_empty()).collect();
            ranges.reverse();
            for range in ranges {
                let (first, count) = (
                    u32::try_from(range.start).expect("the number fits u32"),
                    u32::try_from(range.len()).expect("the number fits u32"),
                );
                let actions = Actions::of_all(Bytes::copy_from_slice(&actions[range.clone()]));
                let part = wait(parted.step(first, count, actions, None)).expect("legal");
                for index in range.clone() {
                    assert_eq!(row_digest(&part, index - range.start), row_digest(&rows, index));
                }
            }
        }
    }
}

#[test]
fn a_refusal_changes_nothing() {
    let table = table("faraway", 2);
    let batch = open(&table, &config(&["agent", "random"]), 200, 0, 2);
    let rows = reset(&batch);
    let key = SnapshotKey::derive(b"a secret");
    let before = wait(batch.save(&key, &[])).expect("it is saved");
    let good = choices(&rows, 0, 0);
    let with = |action: u8| {
        let mut actions = good.clone();
        (actions[150], actions[199]) = (action, action);
        step(&batch, actions).expect_err("it is refused")
    };
    let illegal = (0..113).find(|action| !legal(&rows, 150).contains(action)).expect("not all are legal");
    let refused = with(illegal);
    assert!(matches!(refused, Error::BatchActionIllegal { environment: 150, .. }), "{refused}");
    let refused = with(255);
    assert!(matches!(refused, Error::BatchActionOutOfRange { environment: 150, .. }), "{refused}");
    for wrong in [0, 1, 199, 201] {
        step(&batch, vec![0; wrong]).expect_err("it does not fit");
    }
    for (first, count) in [(200, 0), (199, 2), (0, 201), (u32::MAX, 1)] {
        let one = Actions::of_all(Bytes::from_static(&[0]));
        wait(batch.step(first, count, one, None)).expect_err("there is no such range");
    }
    for mask in [vec![1; 24], vec![1; 26]] {
        let some = Actions { indices: good.clone().into(), mask: mask.into() };
        wait(batch.step(0, 0, some, None)).expect_err("the mask does not fit");
    }
    for mask in [vec![1; 24], vec![1; 26]] {
        wait(batch.reset(Reset { mask: mask.into(), ..Reset::default() }, None))
            .expect_err("the mask does not fit");
    }
    wait(batch.reset(Reset { seeds: vec![1], ..Reset::default() }, None)).expect_err("200 seeds or none");
    assert_eq!(before, wait(batch.save(&key, &[])).expect("it is saved"));
}

#[test]
fn calls_wait_only_for_calls_of_the_same_environments() {
    let table = table("faraway", 2);
    let batch = open(&table, &config(&["agent", "random"]), 256, 0, 2);
    let rows = reset(&batch);
    let actions = choices(&rows, 0, 0);
    wait(async {
        let checkout = batch.check_out(0..128).await.expect("it is idle");
        let second_half =
            batch.step(128, 128, Actions::of_all(Bytes::copy_from_slice(&actions[128..])), None);
        second_half.await.expect("no call has them");
        let mut first_half =
            Box::pin(batch.step(0, 128, Actions::of_all(Bytes::copy_from_slice(&actions[..128])), None));
        let early =
            tokio::select! { biased; _ = &mut first_half => true, () = std::future::ready(()) => false };
        assert!(!early, "it waits");
        drop(checkout);
        first_half.await.expect("they are free now");
    });
}

/// A call for many environments gets them, even if other calls keep stepping some of them.
#[test]
fn a_waiting_call_is_not_overtaken() {
    let table = table("faraway", 2);
    let batch = open(&table, &config(&["agent", "random"]), 256, 0, 2);
    let actions = choices(&reset(&batch), 0, 0);
    let first = Actions::of_all(Bytes::copy_from_slice(&actions[..128]));
    let second = Actions::of_all(Bytes::copy_from_slice(&actions[128..]));
    let key = SnapshotKey::derive(b"a secret");
    wait(async {
        let checkout = batch.check_out(0..128).await.expect("it is idle");
        let mut save = Box::pin(batch.save(&key, &[]));
        assert!(futures_util::poll!(&mut save).is_pending(), "half of the blocks are checked out");
        let mut late = Box::pin(batch.step(128, 128, second.clone(), None));
        assert!(futures_util::poll!(&mut late).is_pending(), "it is queued behind the save");
        assert!(batch.step_at_once(128, 128, second.clone()).is_err(), "it would wait, too");
        drop(checkout);
        let mut again = Box::pin(batch.step(0, 128, first.clone(), None));
        assert!(futures_util::poll!(&mut again).is_pending(), "it is queued behind the save");
        save.await.expect("it is saved");
        late.await.expect("it is stepped");
        again.await.expect("it is stepped");
        // No call waits for a dropped call. Calls for other blocks do not wait.
        let checkout = batch.check_out(0..128).await.expect("it is idle");
        let mut dropped = Box::pin(batch.save(&key, &[]));
        assert!(futures_util::poll!(&mut dropped).is_pending(), "half of the blocks are checked out");
        drop(dropped);
        let mask: Vec<u8> = (0..32).map(|byte| u8::from(byte == 31)).collect();
        batch.save(&key, &mask).await.expect("the other half is idle");
        drop(checkout);
    });
}

#[test]
fn steps_at_once_are_the_same_steps_and_never_wait() {
    let table = table("rauha", 2);
    let plain = config(&["agent", "random"]);
    for environments in [1, 3, BLOCK_SIZE + 1, CALLER_LIMIT] {
        let [stepped, at_once] = [(); 2].map(|()| open(&table, &plain, environments, 0, 1));
        let (mut first, mut second) = (reset(&stepped), reset(&at_once));
        for salt in 0..40 {
            assert_eq!(first, second);
            let actions = Actions::of_all(choices(&first, 0, salt).into());
            first = wait(stepped.step(0, 0, actions.clone(), None)).expect("it is stepped");
            second = at_once.step_at_once(0, 0, actions).expect("no call has it").expect("it is stepped");
        }
        let short = Actions::of_all(Bytes::from(vec![0; environments + 1]));
        let refused = at_once.step_at_once(0, 0, short.clone()).expect("no call has it");
        assert_eq!(refused, wait(stepped.step(0, 0, short, None)));
        let actions = Actions::of_all(choices(&second, 0, 40).into());
        let checkout = wait(at_once.check_out(0..1)).expect("it is idle");
        assert_eq!(at_once.step_at_once(0, 0, actions.clone()), Err(actions.clone()), "another call has it");
        drop(checkout);
        assert!(at_once.step_at_once(0, 0, actions).is_ok_and(|step| step.is_ok()));
    }
    for (config, environments) in [(&plain, CALLER_LIMIT + 1), (&config(&["agent", "greedy:2"]), 1)] {
        let batch = open(&table, config, environments, 0, 1);
        let actions = Actions::of_all(choices(&reset(&batch), 0, 1).into());
        assert_eq!(batch.step_at_once(0, 0, actions.clone()), Err(actions), "there is more to do");
    }
}

#[test]
fn a_batch_that_has_ended_refuses_waiting_calls() {
    let table = table("faraway", 2);
    let batch = open(&table, &config(&["agent", "random"]), 4, 0, 1);
    wait(async {
        let checkout = batch.check_out(0..4).await.expect("it is idle");
        let mut waiting = Box::pin(batch.reset(Reset::default(), None));
        tokio::select! { biased; _ = &mut waiting => panic!("it must wait"), () = std::future::ready(()) => {} }
        batch.end(Error::ShuttingDown);
        assert_eq!(waiting.await, Err(Error::ShuttingDown));
        drop(checkout);
    });
}

#[test]
fn a_cancelled_call_while_bots_think_changes_nothing() {
    let table = table("faraway", 2);
    let batch = open(&table, &config(&["agent", "greedy:1024"]), 200, 0, 1);
    let rows = reset(&batch);
    let key = SnapshotKey::derive(b"a secret");
    let before = wait(batch.save(&key, &[])).expect("it is saved");
    let actions = Actions::of_all(choices(&rows, 0, 0).into());
    wait(async {
        let mut step = Box::pin(batch.step(0, 0, actions.clone(), None));
        assert!(futures_util::poll!(&mut step).is_pending(), "the pool has it");
    });
    assert_eq!(wait(batch.save(&key, &[])).expect("it is saved"), before);
    let other = open(&table, &config(&["agent", "greedy:1024"]), 200, 0, 2);
    reset(&other);
    let stepped = wait(batch.step(0, 0, actions.clone(), None)).expect("legal");
    assert_eq!(stepped, wait(other.step(0, 0, actions, None)).expect("legal"));
}

#[test]
fn a_call_fails_if_its_batch_ends_while_bots_think() {
    let table = table("faraway", 2);
    let batch = open(&table, &config(&["agent", "greedy:1024"]), 200, 0, 1);
    let actions = Actions::of_all(choices(&reset(&batch), 0, 0).into());
    wait(async {
        let mut step = Box::pin(batch.step(0, 0, actions, None));
        assert!(futures_util::poll!(&mut step).is_pending(), "the pool has it");
        batch.end(Error::ShuttingDown);
        assert_eq!(step.await, Err(Error::ShuttingDown));
    });
}

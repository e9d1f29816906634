use std::collections::BTreeSet;

use boardwire_kernel::{ActionSet, RESAMPLE_STREAM};

use super::world::world_seed;
use super::*;
use crate::pool::{Once, Pool};
use crate::registry::Registry;
use crate::tables::Tables;

fn table(game: &str, seats: u32) -> Arc<Table> {
    let tables = Tables::new(Registry::standard());
    tables.table(game, seats, []).expect("a table")
}

fn opening(worlds: usize, places: usize) -> Opening {
    let (reward, skip_forced, message_bytes) = (RewardKind::Margin, false, 4 << 20);
    Opening { worlds, places, seed: 5, reward, skip_forced, message_bytes }
}

/// Returns an episode after this many random plies.
fn middle(table: &Table, seed: u64, plies: usize) -> Box<dyn Play> {
    let mut play = Arc::clone(&table.rules).deal(seed.into());
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    for _ in 0..plies {
        let Some(seat) = play.pending().lowest() else { break };
        let action = rng.draw(&mut play.legal(seat));
        play.apply(seat, action.into()).expect("a legal action");
    }
    play
}

async fn search(table: &Arc<Table>, play: &dyn Play, opening: Opening) -> (Arc<Search>, v1::Step) {
    let pool = Pool::new(2).expect("threads start");
    let seat = play.pending().lowest().expect("a seat owes a decision");
    let insights = vec![play.insight(seat)];
    let opened = Search::open("x".to_owned(), Arc::clone(table), opening, insights, &pool.alone()).await;
    // The threads must run as long as the test.
    std::mem::forget(pool);
    let search = opened.expect("the worlds are sampled");
    let step = search.first_rows().await.expect("the search has not ended");
    (search, step)
}

/// A search with the seed of a batch must not reveal the future of the batch's episodes.
#[test]
fn no_world_has_the_seed_of_an_episode_of_a_batch_with_the_same_seed() {
    let first_episodes: BTreeSet<u64> = (0..1_000).map(|stream| RngStream::new(7, stream).seed()).collect();
    let worlds: BTreeSet<u64> = (0..1_000).map(|number| world_seed(7, number)).collect();
    assert_eq!((first_episodes.len(), worlds.len()), (1_000, 1_000));
    assert!(first_episodes.is_disjoint(&worlds));
}

/// Returns a random legal action for each row. Leaves out the rows of finished determinizations (worlds).
fn random_moves(step: &v1::Step, worlds: &[u32], rng: &mut RngStream) -> Moves {
    let bytes = step.mask.len() / step.seat.len();
    let mut moves = Moves { worlds: vec![], actions: Bytes::new(), into: vec![] };
    let mut actions = vec![];
    for (mask, &world) in step.mask.chunks(bytes).zip(worlds) {
        let bits = (0..=u8::MAX).take(8 * bytes).filter(|&at| mask[usize::from(at / 8)] >> (at % 8) & 1 == 1);
        let mut legal: ActionSet = bits.collect();
        if !legal.is_empty() {
            moves.worlds.push(world);
            actions.push(rng.draw(&mut legal));
        }
    }
    moves.actions = actions.into();
    moves
}

/// Returns all responses of a search. It plays the worlds to their end with random actions.
async fn responses(table: &Arc<Table>, play: &dyn Play) -> Vec<String> {
    let (search, mut step) = search(table, play, opening(6, 12)).await;
    let mut rng = RngStream::new(3, 0);
    let mut worlds: Vec<u32> = (0..6).collect();
    let mut all = vec![format!("{step:?}")];
    for estimate in [Rollout::Estimate, Rollout::Random] {
        let ends = search.roll_out(&worlds, 2, estimate, 9).await.expect("the worlds exist");
        all.push(format!("{ends:?}"));
    }
    loop {
        let moves = random_moves(&step, &worlds, &mut rng);
        if moves.worlds.is_empty() {
            return all;
        }
        worlds.clone_from(&moves.worlds);
        step = search.advance(moves).await.expect("legal actions");
        all.push(format!("{step:?}"));
    }
}

#[tokio::test]
async fn no_response_depends_on_what_the_seat_cannot_know() {
    for (game, seats) in [("faraway", 2), ("faraway", 6), ("rauha", 3), ("golden_compass", 3)] {
        let table = table(game, seats);
        let mut differ = 0;
        for seed in 0..6u64 {
            let play = middle(&table, seed, 9 * usize::try_from(seed).expect("it fits"));
            let Some(seat) = play.pending().lowest() else { continue };
            let other = play.determinized(seat, &mut RngStream::new(seed, RESAMPLE_STREAM));
            differ += u32::from(play.digest() != other.digest());
            assert!(
                responses(&table, &*play).await == responses(&table, &*other).await,
                "{game}, {seats}, {seed}"
            );
        }
        assert!(differ > 3, "{game}: {differ} pairs");
    }
}

#[tokio::test]
async fn worlds_start_with_the_decision_and_view_of_their_seat() {
    let table = table("rauha", 2);
    let play = middle(&table, 2, 5);
    let seat = play.pending().lowest().expect("a seat owes a decision");
    let (_, step) = search(&table, &*play, opening(3, 3)).await;
    let mut view = vec![0; table.rules.info().layout.bytes()];
    play.view(seat.into(), &mut view);
    assert_eq!(step.view, [&view[..]; 3].concat());
    let mut mask = vec![0; table.rules.info().actions.mask_bytes()];
    play.legal(seat).write_bits(&mut mask);
    assert_eq!(step.mask, [&mask[..]; 3].concat());
    assert_eq!(
        (step.seat, step.flags, step.ply),
        (vec![seat.number(); 3].into(), vec![0; 3].into(), vec![0; 12].into())
    );
}

#[tokio::test]
async fn copies_are_independent_and_equal_actions_lead_to_equal_states() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*middle(&table, 1, 8), opening(2, 8)).await;
    let moves = random_moves(&first, &[0, 1], &mut RngStream::new(1, 0));
    let into = |worlds: &[u32], into: &[u32]| Moves {
        worlds: worlds.to_vec(),
        actions: worlds.iter().map(|&world| moves.actions[world as usize]).collect(),
        into: into.to_vec(),
    };
    let copies = search.advance(into(&[0, 1, 0], &[4, 5, 6])).await.expect("places are free");
    let again = search.advance(into(&[0, 1], &[2, 3])).await.expect("the worlds are unchanged");
    let themselves = search.advance(into(&[0, 1], &[])).await.expect("the actions are legal");
    assert_eq!(again, themselves);
    assert_eq!(copies.ply[..], [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let bytes = first.view.len() / 2;
    assert_eq!(copies.view[..2 * bytes], again.view[..]);
    assert_eq!(copies.view[..bytes], copies.view[2 * bytes..], "equal worlds, actions and chance events");
    // A copy may replace a world that the same call copies.
    let next = random_moves(&themselves, &[0, 1], &mut RngStream::new(2, 0));
    let swapped = Moves { into: vec![1, 0], ..next.clone() };
    let swapped = search.advance(swapped).await.expect("all places are read before one is written");
    assert_eq!(swapped.ply[..], [2, 0, 0, 0, 2, 0, 0, 0]);
}

#[tokio::test]
async fn a_refused_call_changes_nothing() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*middle(&table, 1, 8), opening(2, 4)).await;
    let good = random_moves(&first, &[0, 1], &mut RngStream::new(1, 0));
    let (actions, message) = (&good.actions, |moves| async {
        let error: Error = search.advance(moves).await.expect_err("it is refused");
        (error.report().reason, error.to_string())
    });
    let moves = |worlds: &[u32], into: &[u32], actions: &[u8]| Moves {
        worlds: worlds.to_vec(),
        actions: Bytes::copy_from_slice(actions),
        into: into.to_vec(),
    };
    let illegal = (0..45).find(|&action| first.mask[action / 8] >> (action % 8) & 1 == 0).expect("one");
    let illegal = u8::try_from(illegal).expect("few actions");
    for (moves, reason, start) in [
        (moves(&[0, 4], &[], actions), "FIELD_INVALID", "`worlds` must be below 4; got `4`"),
        (
            moves(&[0, 3], &[2, 3], actions),
            "FIELD_INVALID",
            "`worlds` must be a place that holds a world; got `3`",
        ),
        (
            moves(&[0, 0], &[], actions),
            "FIELD_INVALID",
            "`worlds` must be places that are each named once; got `0`",
        ),
        (
            moves(&[0, 1], &[2, 2], actions),
            "FIELD_INVALID",
            "`into` must be places that are each named once; got `2`",
        ),
        (moves(&[0, 1], &[2, 9], actions), "FIELD_INVALID", "`into` must be below 4; got `9`"),
        (moves(&[0, 1], &[2], actions), "FIELD_INVALID", "`into` must be 2 rows"),
        (moves(&[0, 1], &[], &actions[..1]), "FIELD_INVALID", "`actions` must be 2 rows"),
        (moves(&[], &[], &[]), "FIELD_INVALID", "`worlds` must be from 1 to"),
        (moves(&[1, 0], &[], &[actions[1], illegal]), "WORLD_ACTION_ILLEGAL", "row 1, world 0: seat"),
        (moves(&[1, 0], &[], &[actions[1], 250]), "WORLD_ACTION_OUT_OF_RANGE", "row 1, world 0: there is no"),
    ] {
        let (actual, text) = message(moves).await;
        assert_eq!(actual, reason, "{text}");
        assert!(text.starts_with(start), "{text}");
    }
    for playouts in [0, MOST_PLAYOUTS] {
        let refused = search.roll_out(&[0, 1], playouts, Rollout::Random, 1).await;
        let error = refused.expect_err("too few or too many").to_string();
        assert!(error.starts_with("`playouts` must be 1 to "), "{error}");
    }
    assert_eq!(search.advance(good).await.expect("nothing has changed").ply[..], [1, 0, 0, 0, 1, 0, 0, 0]);
}

#[tokio::test]
async fn a_finished_world_has_rewards_and_refuses_moves() {
    let table = table("faraway", 2);
    let (search, mut step) = search(&table, &*middle(&table, 4, 30), opening(1, 1)).await;
    let mut rng = RngStream::new(1, 0);
    while step.seat[..] != [255] {
        assert_eq!((&step.flags[..], &step.reward[..]), (&[0][..], &[0; 8][..]));
        step = search.advance(random_moves(&step, &[0], &mut rng)).await.expect("a legal action");
    }
    let [one, other] = [0, 4].map(|at| f32::from_le_bytes(step.reward[at..at + 4].try_into().expect("four")));
    assert!((one + other).abs() < f32::EPSILON && step.flags[..] == [1], "margins of two: {one}, {other}");
    let again = Moves { worlds: vec![0], actions: Bytes::from_static(&[0]), into: vec![] };
    assert_eq!(search.advance(again).await, Err(Error::WorldOver { row: 0, world: 0 }));
    let ends = search.roll_out(&[0], 3, Rollout::Estimate, 1).await.expect("the world exists");
    assert_eq!(ends, [one, other]);
}

#[tokio::test]
async fn forced_decisions_are_skipped_on_request() {
    let table = table("rauha", 2);
    let play = middle(&table, 3, 0);
    let skipping = Opening { skip_forced: true, ..opening(4, 4) };
    let (search, mut step) = search(&table, &*play, skipping).await;
    let (mut worlds, mut rng): (Vec<u32>, _) = ((0..4).collect(), RngStream::new(1, 0));
    loop {
        let bytes = step.mask.len() / step.seat.len();
        for (mask, &seat) in step.mask.chunks(bytes).zip(&step.seat) {
            let count: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
            assert!(seat == 255 || count > 1, "{count} choices");
        }
        let moves = random_moves(&step, &worlds, &mut rng);
        if moves.worlds.is_empty() {
            break;
        }
        worlds.clone_from(&moves.worlds);
        step = search.advance(moves).await.expect("legal actions");
    }
}

#[tokio::test]
async fn rewards_are_means_of_playouts_and_rows_share_their_seeds() {
    let table = table("golden_compass", 2);
    let (search, _) = search(&table, &*middle(&table, 1, 20), opening(2, 2)).await;
    let both = search.roll_out(&[0, 1, 0], 3, Rollout::Random, 7).await.expect("the worlds exist");
    assert_eq!(both[..2], both[4..], "the same world and the same seeds");
    let one = search.roll_out(&[1], 3, Rollout::Random, 7).await.expect("the world exists");
    assert_eq!(both[2..4], one[..]);
    let single = search.roll_out(&[1], 1, Rollout::Random, 7).await.expect("the world exists");
    assert_ne!(one, single, "each playout has another seed");
    assert!((one[0] + one[1]).abs() < 1e-3, "margins of two");
}

async fn addresses(search: &Search) -> Vec<*const ()> {
    let worlds = search.worlds.lock().await;
    worlds.iter().flatten().map(|world| Arc::as_ptr(&world.play).cast()).collect()
}

#[tokio::test]
async fn rollouts_share_worlds_and_only_a_move_in_a_shared_world_copies_it() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*middle(&table, 1, 8), opening(2, 3)).await;
    let before = addresses(&search).await;
    let Shared { plays, _permits } = search.share(&[0; 1000]).await.expect("there is a world");
    assert_eq!(Arc::strong_count(&plays[0]), 1001, "the rows of the rollout, and the place");
    let (digest, moves) = (plays[0].digest(), random_moves(&first, &[0, 1], &mut RngStream::new(1, 0)));
    let step = search.advance(moves).await.expect("legal actions");
    assert_eq!(step.ply[..], [1, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!((plays[0].digest(), plays[0].ply()), (digest, 0), "the rollout sees the old state");
    assert_eq!(Arc::strong_count(&plays[0]), 1000, "its place has a copy");
    let after = addresses(&search).await;
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1], after[1], "no rollout shares the other world");
}

#[tokio::test]
async fn a_rollout_waits_while_other_rollouts_hold_all_permits() {
    let table = table("faraway", 2);
    let (search, _) = search(&table, &*middle(&table, 1, 8), opening(1, 3)).await;
    let held = search.share(&[0, 0]).await.expect("there is a world");
    drop(search.share(&[0]).await.expect("three are the limit"));
    let mut waiting = Box::pin(search.roll_out(&[0, 0], 1, Rollout::Random, 1));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    drop(held);
    assert_eq!(waiting.await.expect("the world exists").len(), 4);
    let refused = search.roll_out(&[0, 2], 1, Rollout::Random, 1).await;
    refused.expect_err("the place is empty");
    assert_eq!(
        search.share(&[0; 9]).await.map(|shared| shared.plays.len()),
        Ok(9),
        "a refused rollout returns its permits"
    );
}

#[tokio::test]
async fn a_move_during_a_rollout_does_not_change_its_result() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*middle(&table, 1, 8), opening(1, 1)).await;
    let ends = || search.roll_out(&[0, 0], 20, Rollout::Random, 7);
    let before = ends().await.expect("the world exists");
    let moves = random_moves(&first, &[0], &mut RngStream::new(1, 0));
    let (meanwhile, step) = tokio::join!(ends(), search.advance(moves));
    assert_eq!(
        (meanwhile, step.expect("a legal action").ply),
        (Ok(before.clone()), Bytes::from_static(&[1, 0, 0, 0]))
    );
    assert_ne!(ends().await, Ok(before), "the world has changed");
}

#[tokio::test]
async fn the_pool_plays_calls_with_many_rows() {
    let table = table("faraway", 2);
    let count = MOST_INLINE_ROWS + 50;
    let (search, step) = search(&table, &*middle(&table, 1, 8), opening(count, count)).await;
    let worlds: Vec<u32> = (0..u32::try_from(count).expect("it fits")).collect();
    let moves = random_moves(&step, &worlds, &mut RngStream::new(1, 0));
    let played = search.advance(moves).await.expect("legal actions");
    assert_eq!(played.seat.len(), count);
}

#[test]
fn opening_checks_the_places_and_the_size_of_a_message() {
    let info = table("faraway", 2);
    let error = |opening: &Opening, seats| {
        opening.check(info.rules.info(), seats).err().map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(error(&opening(3, 6), 2), "");
    assert_eq!(error(&opening(3, 5), 2), "`places` must be at least 6, one for each sampled world; got `5`");
    assert!(error(&opening(100_000, 100_000), 1).starts_with("`worlds` must be so many that 1 to "));
    assert!(error(&opening(3, 3), 0).contains("1 to"), "a batch of no environment");
    let least = MESSAGE_HEAD + row_bytes(info.rules.info());
    let narrow = |message_bytes| Opening { message_bytes, ..opening(1, 1) };
    let expected =
        format!("`max_message_bytes` must be at least {least}, for one world; got `{}`", least - 1);
    assert_eq!((error(&narrow(least - 1), 1), error(&narrow(least), 1)), (expected, String::new()));
}

#[tokio::test]
async fn predicted_sizes_stop_at_the_limits_of_a_call() {
    let table = table("faraway", 2);
    let (search, _) = search(&table, &*middle(&table, 1, 8), opening(1, 1)).await;
    let row = row_bytes(table.rules.info());
    assert_eq!([1, 100].map(|rows| search.step_bytes(rows)), [row, 100 * row]);
    assert!(search.step_bytes(1 << 20) <= search.opening().message_bytes);
    // Two floats for each row, twice, in addition to the sums of blocks.
    let sums = size_of::<Option<Rewards>>();
    assert_eq!([1, 100].map(|rows| search.reward_bytes(rows) - sums * (rows + MOST_BLOCKS)), [16, 1_600]);
    assert_eq!(search.reward_bytes(1 << 20), search.reward_bytes(MOST_PLAYOUTS));
}

/// Covers work that is queued when the search ends, and later calls.
#[tokio::test]
async fn calls_to_a_search_that_ended_return_the_reason() {
    let table = table("faraway", 2);
    let count = MOST_INLINE_ROWS + 50;
    let (search, step) = search(&table, &*middle(&table, 1, 8), opening(count, count)).await;
    let worlds: Vec<u32> = (0..u32::try_from(count).expect("it fits")).collect();
    let moves = random_moves(&step, &worlds, &mut RngStream::new(1, 0));
    // Blocks both threads.
    let gates = [(); 2].map(|()| {
        let (gate, closed) = std::sync::mpsc::channel::<()>();
        search.owner.spawn(Once::new(move || {
            let _ = closed.recv();
        }));
        gate
    });
    let mut rollout = Box::pin(search.roll_out(&[0], 1, Rollout::Random, 1));
    assert!(futures_util::poll!(&mut rollout).is_pending());
    let mut advance = Box::pin(search.advance(moves.clone()));
    assert!(futures_util::poll!(&mut advance).is_pending());
    search.end(Error::ShuttingDown);
    search.end(Error::SearchUnknown { search_id: "x".to_owned() });
    assert_eq!(rollout.await, Err(Error::ShuttingDown));
    assert_eq!(advance.await, Err(Error::ShuttingDown));
    drop(gates);
    assert_eq!(search.roll_out(&[0], 1, Rollout::Random, 1).await, Err(Error::ShuttingDown));
    assert_eq!(search.advance(moves).await, Err(Error::ShuttingDown));
}

#[tokio::test]
async fn a_search_whose_work_panics_ends_with_an_internal_error() {
    let (two, three) = (table("faraway", 2), table("faraway", 3));
    let (mut search, _) = search(&two, &*middle(&two, 1, 8), opening(1, 1)).await;
    // The rollout computes the reward of a third seat, which the worlds do not have.
    Arc::get_mut(&mut search).expect("the search is not shared").table = three;
    for _ in 0..2 {
        let refused = search.roll_out(&[0], 1, Rollout::Random, 1).await.expect_err("it panics");
        assert_eq!(refused.report().reason, "INTERNAL", "{refused}");
    }
}

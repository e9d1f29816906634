mod rollouts;

use std::collections::BTreeSet;

use boardwire_kernel::{ActionSet, RESAMPLE_STREAM, RngStream};

use super::world::world_seed;
use super::*;
use crate::play::AnyEpisode;
use crate::pool::{OneShot, Pool};
use crate::registry::Registry;
use crate::tables::Tables;

fn table(game: &str, seats: u32) -> Arc<Table> {
    let tables = Tables::new(Registry::standard());
    tables.table(game, seats, []).expect("a table")
}

fn options(worlds: usize, places: usize) -> SearchOptions {
    let (reward, skip_forced, message_bytes) = (RewardKind::Margin, false, 4 << 20);
    SearchOptions { worlds, places, seed: 5, reward, skip_forced, message_bytes }
}

/// Returns an episode after this many random plies.
fn mid_episode(table: &Table, seed: u64, plies: usize) -> Box<dyn AnyEpisode> {
    let mut episode = Arc::clone(&table.game).deal(seed.into());
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    for _ in 0..plies {
        let Some(seat) = episode.pending().lowest() else { break };
        let action = rng.draw(&mut episode.legal(seat));
        episode.apply(seat, action.into()).expect("a legal action");
    }
    episode
}

async fn search(
    table: &Arc<Table>,
    episode: &dyn AnyEpisode,
    options: SearchOptions,
) -> (Arc<Search>, v1::Step) {
    let pool = Pool::new(2).expect("threads start");
    let seat = episode.pending().lowest().expect("a seat owes a decision");
    let information_sets = vec![episode.information_set(seat)];
    let opened =
        Search::open("x".to_owned(), Arc::clone(table), options, information_sets, &pool.new_group()).await;
    // The threads must run as long as the test.
    std::mem::forget(pool);
    let search = opened.expect("the worlds are sampled");
    let step = search.sampled_rows().await.expect("the search has not ended");
    (search, step)
}

/// A search with the seed of a batch must not reveal the future of the batch's episodes.
#[test]
fn no_world_has_the_seed_of_an_episode_of_a_batch_with_the_same_seed() {
    let first_episodes: BTreeSet<u64> =
        (0..1_000).map(|stream| RngStream::new(7, stream).next_seed()).collect();
    let worlds: BTreeSet<u64> = (0..1_000).map(|number| world_seed(7, number)).collect();
    assert_eq!((first_episodes.len(), worlds.len()), (1_000, 1_000));
    assert!(first_episodes.is_disjoint(&worlds));
}

/// Returns a random legal action for each row. Leaves out the rows of finished determinizations.
fn random_actions(step: &v1::Step, worlds: &[u32], rng: &mut RngStream) -> WorldActions {
    let bytes = step.mask.len() / step.seat.len();
    let mut chosen = WorldActions { worlds: vec![], actions: Bytes::new(), into: vec![] };
    let mut actions = vec![];
    for (mask, &world) in step.mask.chunks(bytes).zip(worlds) {
        let bits = (0..=u8::MAX)
            .take(8 * bytes)
            .filter(|&action| mask[usize::from(action / 8)] >> (action % 8) & 1 == 1);
        let mut legal: ActionSet = bits.collect();
        if !legal.is_empty() {
            chosen.worlds.push(world);
            actions.push(rng.draw(&mut legal));
        }
    }
    chosen.actions = actions.into();
    chosen
}

/// Returns all responses of a search. It plays the worlds to their end with random actions.
async fn responses(table: &Arc<Table>, episode: &dyn AnyEpisode) -> Vec<String> {
    let (search, mut step) = search(table, episode, options(6, 12)).await;
    let mut rng = RngStream::new(3, 0);
    let mut worlds: Vec<u32> = (0..6).collect();
    let mut all = vec![format!("{step:?}")];
    for estimate in [Rollout::Estimate, Rollout::Random] {
        let ends = search.roll_out(&worlds, 2, estimate, 9).await.expect("the worlds exist");
        all.push(format!("{ends:?}"));
    }
    let into = (6..12).collect();
    all.push(format!("{:?}", search.redeterminize(worlds.clone(), into, 4).await.expect("none is over")));
    loop {
        let actions = random_actions(&step, &worlds, &mut rng);
        if actions.worlds.is_empty() {
            return all;
        }
        worlds.clone_from(&actions.worlds);
        step = search.advance(actions).await.expect("legal actions");
        all.push(format!("{step:?}"));
    }
}

#[tokio::test]
async fn no_response_depends_on_what_the_seat_cannot_know() {
    for (game, seats) in [("faraway", 2), ("faraway", 6), ("rauha", 3), ("golden_compass", 3)] {
        let table = table(game, seats);
        let mut differ = 0;
        for seed in 0..6u64 {
            let episode = mid_episode(&table, seed, 9 * usize::try_from(seed).expect("the seed fits usize"));
            let Some(seat) = episode.pending().lowest() else { continue };
            let other = episode.determinized(seat, &mut RngStream::new(seed, RESAMPLE_STREAM));
            differ += u32::from(episode.digest() != other.digest());
            assert!(
                responses(&table, &*episode).await == responses(&table, &*other).await,
                "{game}, {seats}, {seed}"
            );
        }
        assert!(differ > 3, "{game}: {differ} pairs");
    }
}

#[tokio::test]
async fn worlds_start_with_the_decision_and_view_of_their_seat() {
    let table = table("rauha", 2);
    let episode = mid_episode(&table, 2, 5);
    let seat = episode.pending().lowest().expect("a seat owes a decision");
    let (_, step) = search(&table, &*episode, options(3, 3)).await;
    let mut view = vec![0; table.game.info().layout.bytes()];
    episode.view(seat.into(), &mut view);
    assert_eq!(step.view, [&view[..]; 3].concat());
    let mut mask = vec![0; table.game.info().actions.mask_bytes()];
    episode.legal(seat).write_bits(&mut mask);
    assert_eq!(step.mask, [&mask[..]; 3].concat());
    assert_eq!(
        (step.seat, step.flags, step.ply),
        (vec![seat.number(); 3].into(), vec![0; 3].into(), vec![0; 12].into())
    );
}

#[tokio::test]
async fn copies_are_independent_and_equal_actions_lead_to_equal_states() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*mid_episode(&table, 1, 8), options(2, 8)).await;
    let actions = random_actions(&first, &[0, 1], &mut RngStream::new(1, 0));
    let into = |worlds: &[u32], into: &[u32]| WorldActions {
        worlds: worlds.to_vec(),
        actions: worlds.iter().map(|&world| actions.actions[world as usize]).collect(),
        into: into.to_vec(),
    };
    let copies = search.advance(into(&[0, 1, 0], &[4, 5, 6])).await.expect("places are free");
    let again = search.advance(into(&[0, 1], &[2, 3])).await.expect("the worlds are unchanged");
    let in_place = search.advance(into(&[0, 1], &[])).await.expect("the actions are legal");
    assert_eq!(again, in_place);
    assert_eq!(copies.ply[..], [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let bytes = first.view.len() / 2;
    assert_eq!(copies.view[..2 * bytes], again.view[..]);
    assert_eq!(copies.view[..bytes], copies.view[2 * bytes..], "equal worlds, actions and chance events");
    // A copy may replace a world that the same call copies.
    let next = random_actions(&in_place, &[0, 1], &mut RngStream::new(2, 0));
    let swapped = WorldActions { into: vec![1, 0], ..next.clone() };
    let swapped = search.advance(swapped).await.expect("all places are read before one is written");
    assert_eq!(swapped.ply[..], [2, 0, 0, 0, 2, 0, 0, 0]);
}

#[tokio::test]
async fn a_refused_call_changes_nothing() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*mid_episode(&table, 1, 8), options(2, 4)).await;
    let good = random_actions(&first, &[0, 1], &mut RngStream::new(1, 0));
    let (legal, message) = (&good.actions, |actions| async {
        let error: Error = search.advance(actions).await.expect_err("it is refused");
        (error.report().reason, error.to_string())
    });
    let row_actions = |worlds: &[u32], into: &[u32], actions: &[u8]| WorldActions {
        worlds: worlds.to_vec(),
        actions: Bytes::copy_from_slice(actions),
        into: into.to_vec(),
    };
    let illegal = (0..45)
        .find(|&action| first.mask[action / 8] >> (action % 8) & 1 == 0)
        .expect("an action is illegal");
    let illegal = u8::try_from(illegal).expect("the action fits u8");
    for (actions, reason, start) in [
        (row_actions(&[0, 4], &[], legal), "FIELD_INVALID", "`worlds` must be below 4; got `4`"),
        (
            row_actions(&[0, 3], &[2, 3], legal),
            "FIELD_INVALID",
            "`worlds` must be a place that holds a world; got `3`",
        ),
        (
            row_actions(&[0, 0], &[], legal),
            "FIELD_INVALID",
            "`worlds` must be different places; got `0 twice`",
        ),
        (
            row_actions(&[0, 1], &[2, 2], legal),
            "FIELD_INVALID",
            "`into` must be different places; got `2 twice`",
        ),
        (row_actions(&[0, 1], &[2, 9], legal), "FIELD_INVALID", "`into` must be below 4; got `9`"),
        (row_actions(&[0, 1], &[2], legal), "FIELD_INVALID", "`into` must be 2 rows"),
        (row_actions(&[0, 1], &[], &legal[..1]), "FIELD_INVALID", "`actions` must be 2 rows"),
        (row_actions(&[], &[], &[]), "FIELD_INVALID", "`worlds` must be from 1 to"),
        (row_actions(&[1, 0], &[], &[legal[1], illegal]), "WORLD_ACTION_ILLEGAL", "row 1, world 0: seat"),
        (
            row_actions(&[1, 0], &[], &[legal[1], 250]),
            "WORLD_ACTION_OUT_OF_RANGE",
            "row 1, world 0: there is no",
        ),
    ] {
        let (actual, text) = message(actions).await;
        assert_eq!(actual, reason, "{text}");
        assert!(text.starts_with(start), "{text}");
    }
    for playouts in [0, MAX_PLAYOUTS] {
        let refused = search.roll_out(&[0, 1], playouts, Rollout::Random, 1).await;
        let error = refused.expect_err("too few or too many").to_string();
        assert!(error.starts_with("`playouts` must be 1 to "), "{error}");
    }
    assert_eq!(search.advance(good).await.expect("nothing has changed").ply[..], [1, 0, 0, 0, 1, 0, 0, 0]);
}

#[tokio::test]
async fn a_finished_world_has_rewards_and_refuses_actions() {
    let table = table("faraway", 2);
    let (search, mut step) = search(&table, &*mid_episode(&table, 4, 30), options(1, 1)).await;
    let mut rng = RngStream::new(1, 0);
    while step.seat[..] != [255] {
        assert_eq!((&step.flags[..], &step.reward[..]), (&[0][..], &[0; 8][..]));
        step = search.advance(random_actions(&step, &[0], &mut rng)).await.expect("a legal action");
    }
    let [first, second] = [0, 4]
        .map(|offset| f32::from_le_bytes(step.reward[offset..offset + 4].try_into().expect("four bytes")));
    assert!(
        (first + second).abs() < f32::EPSILON && step.flags[..] == [1],
        "margins of two: {first}, {second}"
    );
    let again = WorldActions { worlds: vec![0], actions: Bytes::from_static(&[0]), into: vec![] };
    assert_eq!(search.advance(again).await, Err(Error::WorldOver { row: 0, world: 0 }));
    let ends = search.roll_out(&[0], 3, Rollout::Estimate, 1).await.expect("the world exists");
    assert_eq!(ends, [first, second]);
}

#[tokio::test]
async fn forced_decisions_are_skipped_on_request() {
    let table = table("rauha", 2);
    let episode = mid_episode(&table, 3, 0);
    let skipping = SearchOptions { skip_forced: true, ..options(4, 4) };
    let (search, mut step) = search(&table, &*episode, skipping).await;
    let (mut worlds, mut rng): (Vec<u32>, _) = ((0..4).collect(), RngStream::new(1, 0));
    loop {
        let bytes = step.mask.len() / step.seat.len();
        for (mask, &seat) in step.mask.chunks(bytes).zip(&step.seat) {
            let count: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
            assert!(seat == 255 || count > 1, "{count} choices");
        }
        let actions = random_actions(&step, &worlds, &mut rng);
        if actions.worlds.is_empty() {
            break;
        }
        worlds.clone_from(&actions.worlds);
        step = search.advance(actions).await.expect("legal actions");
    }
}

#[tokio::test]
async fn rewards_are_means_of_playouts_and_rows_share_their_seeds() {
    let table = table("golden_compass", 2);
    let (search, _) = search(&table, &*mid_episode(&table, 1, 20), options(2, 2)).await;
    let both = search.roll_out(&[0, 1, 0], 3, Rollout::Random, 7).await.expect("the worlds exist");
    assert_eq!(both[..2], both[4..], "the same world and the same seeds");
    let one = search.roll_out(&[1], 3, Rollout::Random, 7).await.expect("the world exists");
    assert_eq!(both[2..4], one[..]);
    let single = search.roll_out(&[1], 1, Rollout::Random, 7).await.expect("the world exists");
    assert_ne!(one, single, "each playout has another seed");
    assert!((one[0] + one[1]).abs() < 1e-3, "margins of two");
}

/// The mean over worlds averages chance events too. With equal events in all worlds, 16 worlds would count for 3 to 8.
#[tokio::test]
async fn worlds_have_independent_playouts() {
    for game in ["faraway", "rauha", "golden_compass"] {
        let table = table(game, 2);
        let (search, _) = search(&table, &*mid_episode(&table, 1, 4), options(16, 16)).await;
        let rows: Vec<u32> = (0..16).collect();
        let (mut rewards, mut means) = (vec![Vec::new(); 16], Vec::new());
        for seed in 0..400 {
            let ends = search.roll_out(&rows, 1, Rollout::Random, seed).await.expect("the worlds exist");
            let of_first_seat: Vec<f32> = ends.iter().copied().step_by(2).collect();
            means.push(of_first_seat.iter().sum::<f32>() / 16.0);
            rewards.iter_mut().zip(of_first_seat).for_each(|(world, reward)| world.push(reward));
        }
        let within = rewards.iter().map(|world| variance(world)).sum::<f32>() / 16.0;
        let worlds = within / variance(&means);
        assert!(worlds > 12.0, "in {game} 16 worlds count for {worlds}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred values")]
fn variance(values: &[f32]) -> f32 {
    let count = values.len() as f32;
    let mean = values.iter().sum::<f32>() / count;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / (count - 1.0)
}

/// Different actions in copies of one world meet the same chance events.
#[tokio::test]
async fn copies_of_a_world_share_their_playouts() {
    let table = table("faraway", 2);
    let (search, step) = search(&table, &*mid_episode(&table, 1, 4), options(2, 4)).await;
    let actions = random_actions(&step, &[0, 0], &mut RngStream::new(1, 0));
    let action = actions.actions.slice(..1);
    let twice = [&action[..], &action[..]].concat().into();
    let copies = WorldActions { worlds: vec![0, 0], actions: twice, into: vec![2, 3] };
    search.advance(copies).await.expect("a legal action");
    let ends = search.roll_out(&[2, 3], 3, Rollout::Random, 7).await.expect("the worlds exist");
    assert_eq!(ends[..2], ends[2..]);
}

async fn addresses(search: &Search) -> Vec<*const ()> {
    let worlds = search.worlds.lock().await;
    worlds.iter().flatten().map(|world| Arc::as_ptr(&world.episode).cast()).collect()
}

#[tokio::test]
async fn rollouts_share_worlds_and_only_an_action_in_a_shared_world_copies_it() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*mid_episode(&table, 1, 8), options(2, 3)).await;
    let before = addresses(&search).await;
    let SharedWorlds { worlds: shared, _permits } = search.share(&[0; 1000]).await.expect("there is a world");
    assert_eq!(Arc::strong_count(&shared[0].episode), 1001, "the rows of the rollout, and the place");
    let (digest, actions) =
        (shared[0].episode.digest(), random_actions(&first, &[0, 1], &mut RngStream::new(1, 0)));
    let step = search.advance(actions).await.expect("legal actions");
    assert_eq!(step.ply[..], [1, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(
        (shared[0].episode.digest(), shared[0].episode.ply()),
        (digest, 0),
        "the rollout sees the old state"
    );
    assert_eq!(Arc::strong_count(&shared[0].episode), 1000, "its place has a copy");
    let after = addresses(&search).await;
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1], after[1], "no rollout shares the other world");
}

#[tokio::test]
async fn a_rollout_waits_while_other_rollouts_hold_all_permits() {
    let table = table("faraway", 2);
    let (search, _) = search(&table, &*mid_episode(&table, 1, 8), options(1, 3)).await;
    let shared = search.share(&[0, 0]).await.expect("there is a world");
    drop(search.share(&[0]).await.expect("three are the limit"));
    let mut waiting = Box::pin(search.roll_out(&[0, 0], 1, Rollout::Random, 1));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    drop(shared);
    assert_eq!(waiting.await.expect("the world exists").len(), 4);
    let refused = search.roll_out(&[0, 2], 1, Rollout::Random, 1).await;
    refused.expect_err("the place is empty");
    assert_eq!(
        search.share(&[0; 9]).await.map(|shared| shared.worlds.len()),
        Ok(9),
        "a refused rollout returns its permits"
    );
}

#[tokio::test]
async fn an_action_during_a_rollout_does_not_change_its_result() {
    let table = table("faraway", 2);
    let (search, first) = search(&table, &*mid_episode(&table, 1, 8), options(1, 1)).await;
    let ends = || search.roll_out(&[0, 0], 20, Rollout::Random, 7);
    let before = ends().await.expect("the world exists");
    let actions = random_actions(&first, &[0], &mut RngStream::new(1, 0));
    let (meanwhile, step) = tokio::join!(ends(), search.advance(actions));
    assert_eq!(
        (meanwhile, step.expect("a legal action").ply),
        (Ok(before.clone()), Bytes::from_static(&[1, 0, 0, 0]))
    );
    assert_ne!(ends().await, Ok(before), "the world has changed");
}

#[tokio::test]
async fn the_pool_plays_calls_with_many_rows() {
    let table = table("faraway", 2);
    let count = MAX_INLINE_ROWS + 50;
    let (search, step) = search(&table, &*mid_episode(&table, 1, 8), options(count, count)).await;
    let worlds: Vec<u32> = (0..u32::try_from(count).expect("the count fits u32")).collect();
    let actions = random_actions(&step, &worlds, &mut RngStream::new(1, 0));
    let played = search.advance(actions).await.expect("legal actions");
    assert_eq!(played.seat.len(), count);
}

#[test]
fn options_check_the_places_and_the_size_of_a_message() {
    let info = table("faraway", 2);
    let error = |options: &SearchOptions, seats| {
        options.check(info.game.info(), seats).err().map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(error(&options(3, 6), 2), "");
    assert_eq!(error(&options(3, 5), 2), "`places` must be at least 6, one for each sampled world; got `5`");
    assert_eq!(
        error(&options(3, 3), 0),
        "`mask` must be a mask with at least one environment; got `no environment`"
    );
    let bytes = |rows| MAX_MESSAGE_OVERHEAD_BYTES + rows * row_bytes(info.game.info());
    let narrow = |worlds, message_bytes| SearchOptions { message_bytes, ..options(worlds, 100) };
    for (seats, scope) in [(1, ""), (3, " of each of 3 environments")] {
        let (least, given) = (bytes(seats), bytes(seats) - 1);
        let expected =
            format!("`max_message_bytes` must be at least {least}, for one world{scope}; got `{given}`");
        assert_eq!(
            (error(&narrow(1, given), seats), error(&narrow(1, least), seats)),
            (expected, String::new())
        );
    }
    for (worlds, seats, expected) in [
        (0, 1, "`worlds` must be from 1 to 8 (at most 8 rows fit a message); got `0`"),
        (9, 1, "`worlds` must be from 1 to 8 (at most 8 rows fit a message); got `9`"),
        (
            3,
            3,
            "`worlds` must be from 1 to 2 (at most 8 rows for 3 environments together fit a message); got `3`",
        ),
    ] {
        assert_eq!(error(&narrow(worlds, bytes(8)), seats), expected);
    }
}

#[tokio::test]
async fn predicted_sizes_stop_at_the_limits_of_a_call() {
    let table = table("faraway", 2);
    let (search, _) = search(&table, &*mid_episode(&table, 1, 8), options(1, 1)).await;
    let row = row_bytes(table.game.info());
    assert_eq!([1, 100].map(|rows| search.step_bytes(rows)), [row, 100 * row]);
    assert!(search.step_bytes(1 << 20) <= search.options().message_bytes);
    // Two floats for each row, twice, in addition to the rewards of each playout.
    let rewards = size_of::<Rewards>();
    assert_eq!([1, 100].map(|rows| search.reward_bytes(rows, 3) - 3 * rows * rewards), [16, 1_600]);
    assert_eq!(search.reward_bytes(1 << 20, 3), search.reward_bytes(MAX_PLAYOUTS, 1));
}

/// Covers work that is queued when the search ends, and later calls.
#[tokio::test]
async fn calls_to_a_search_that_ended_return_the_reason() {
    let table = table("faraway", 2);
    let count = MAX_INLINE_ROWS + 50;
    let (search, step) = search(&table, &*mid_episode(&table, 1, 8), options(count, count)).await;
    let worlds: Vec<u32> = (0..u32::try_from(count).expect("the count fits u32")).collect();
    let actions = random_actions(&step, &worlds, &mut RngStream::new(1, 0));
    // Blocks both threads.
    let gates = [(); 2].map(|()| {
        let (gate, closed) = std::sync::mpsc::channel::<()>();
        search.work_queue.spawn(OneShot::new(move || {
            let _ = closed.recv();
        }));
        gate
    });
    let mut rollout = Box::pin(search.roll_out(&[0], 1, Rollout::Random, 1));
    assert!(futures_util::poll!(&mut rollout).is_pending());
    let mut advance = Box::pin(search.advance(actions.clone()));
    assert!(futures_util::poll!(&mut advance).is_pending());
    search.end(Error::ShuttingDown);
    search.end(Error::SearchUnknown { search_id: "x".to_owned() });
    assert_eq!(rollout.await, Err(Error::ShuttingDown));
    assert_eq!(advance.await, Err(Error::ShuttingDown));
    drop(gates);
    assert_eq!(search.roll_out(&[0], 1, Rollout::Random, 1).await, Err(Error::ShuttingDown));
    assert_eq!(search.advance(actions).await, Err(Error::ShuttingDown));
}

#[tokio::test]
async fn a_search_whose_work_panics_ends_with_an_internal_error() {
    let (two, three) = (table("faraway", 2), table("faraway", 3));
    let (mut search, _) = search(&two, &*mid_episode(&two, 1, 8), options(1, 1)).await;
    // The rollout computes the reward of a third seat, which the worlds do not have.
    Arc::get_mut(&mut search).expect("the search is not shared").table = three;
    for _ in 0..2 {
        let refused = search.roll_out(&[0], 1, Rollout::Random, 1).await.expect_err("it panics");
        assert_eq!(refused.report().reason, "INTERNAL", "{refused}");
    }
}

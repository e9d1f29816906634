//! Tests of rollouts that follow a policy, and of worlds that are sampled again.

use std::time::Duration;

use boardwire_bots::{Bot, PolicyPlayer};
use boardwire_policy::{Policies, testkit::Linear};

use super::*;
use crate::messages;

/// Returns tables with the policies `lion`, which has values, and `cat`, which has none; and a table that they read.
fn with_policies(game: &str, seats: u32) -> (Tables, Arc<Table>) {
    let table = table(game, seats);
    let info = table.game.info();
    let network = Linear::new(&table.digest.to_string(), info.layout.bytes(), info.actions.count());
    let network = network.with_random_weights(1);
    let folder = tempfile::tempdir().expect("a folder");
    let files = [("cat", network.clone()), ("lion", network.with_value("30"))].map(|(name, network)| {
        let file = folder.path().join(format!("{name}.onnx"));
        std::fs::write(&file, network.onnx()).expect("a file");
        (name.to_owned(), file)
    });
    let policies = Policies::load(files, Duration::from_mins(1)).expect("they can play");
    (Tables::new(Registry::standard()).with_policies(policies), table)
}

fn player(tables: &Tables, table: &Table, name: &str) -> PolicyPlayer {
    match tables.bot(table, name) {
        Ok(Bot::Policy(player)) => player,
        other => panic!("{other:?}"),
    }
}

/// Returns the value of the view of `seat`.
fn value(player: &PolicyPlayer, episode: &dyn AnyEpisode, table: &Table, seat: Seat) -> f32 {
    let mut view = vec![0; table.game.info().layout.bytes()];
    episode.view(seat.into(), &mut view);
    let mut request = Arc::clone(&player.policy).submit(view, ActionSet::EMPTY);
    loop {
        if let Some(response) = request.advance().expect("it answers") {
            let value = response.value.expect("it has values");
            return playouts::points(value);
        }
    }
}

#[tokio::test]
async fn a_leaf_has_the_values_of_the_seats_views() {
    for (game, seats) in [("faraway", 2), ("golden_compass", 2), ("rauha", 3)] {
        let (tables, table) = with_policies(game, seats);
        let player = player(&tables, &table, "policy:lion");
        let (search, step) = search(&table, &*mid_episode(&table, 1, 7), options(3, 3)).await;
        let at_once = Rollout::Policy { player: player.clone(), plies: Some(0) };
        let ends = search.roll_out(&[0, 1, 2], 2, at_once, 7).await.expect("the worlds exist");
        let worlds = search.worlds.lock().await;
        for (world, ends) in worlds.iter().flatten().zip(ends.chunks(seats as usize)) {
            let pending = world.episode.pending();
            let own = |seat| value(&player, &*world.episode, &table, seat);
            let expected = Seat::all(table.game.info().seats).map(|seat| {
                if seats == 2 && !pending.contains(seat) {
                    -own(pending.lowest().expect("it is not over"))
                } else {
                    own(seat)
                }
            });
            assert_eq!(ends, expected.collect::<Vec<_>>(), "{game}");
        }
        assert_eq!(step.seat.len(), 3);
    }
}

#[tokio::test]
async fn policy_rollouts_do_not_depend_on_other_rows() {
    for game in boardwire_games::IDS {
        let (tables, table) = with_policies(game, 2);
        let (search, _) = search(&table, &*mid_episode(&table, 1, 7), options(40, 40)).await;
        let mut seen = BTreeSet::new();
        for (name, plies) in [
            ("policy:lion", None),
            ("policy:lion:argmax", None),
            ("policy:lion", Some(0)),
            ("policy:lion", Some(5)),
        ] {
            let rollout = Rollout::Policy { player: player(&tables, &table, name), plies };
            let rows: Vec<u32> = (0..40).collect();
            let all = search.roll_out(&rows, 2, rollout.clone(), 7).await.expect("the worlds exist");
            for row in [0, 17, 39] {
                let one = search.roll_out(&[row], 2, rollout.clone(), 7).await.expect("the world exists");
                assert_eq!(one, all[2 * row as usize..][..2], "{game}, {name}");
            }
            assert!(seen.insert(format!("{all:?}")), "{game}, {name}, {plies:?}");
        }
        // With enough plies every playout ends by the rules.
        let lion = |plies| Rollout::Policy { player: player(&tables, &table, "policy:lion"), plies };
        let ends = [None, Some(table.game.info().max_plies)]
            .map(|plies| search.roll_out(&[0, 1], 3, lion(plies), 7));
        let [to_the_end, long] = ends;
        assert_eq!(to_the_end.await, long.await);
    }
}

#[tokio::test]
async fn policy_rollouts_do_not_depend_on_what_the_seat_cannot_know() {
    let (tables, table) = with_policies("faraway", 2);
    let episode = mid_episode(&table, 3, 27);
    let seat = episode.pending().lowest().expect("it is not over");
    let other = episode.determinized(seat, &mut RngStream::new(3, RESAMPLE_STREAM));
    assert_ne!(episode.digest(), other.digest());
    for plies in [None, Some(3)] {
        let lion = Rollout::Policy { player: player(&tables, &table, "policy:lion"), plies };
        let mut ends = Vec::new();
        for episode in [&*episode, &*other] {
            let (search, _) = search(&table, episode, options(6, 6)).await;
            ends.push(search.roll_out(&[0, 1, 2, 3, 4, 5], 2, lion.clone(), 9).await);
        }
        assert!(ends[0].is_ok() && ends[0] == ends[1], "{ends:?}");
    }
}

#[tokio::test]
async fn requests_for_rollouts_name_the_field_that_is_wrong() {
    let (tables, table) = with_policies("faraway", 2);
    let episode = mid_episode(&table, 1, 8);
    let (margins, _) = search(&table, &*episode, options(1, 1)).await;
    let ranks = SearchOptions { reward: RewardKind::Rank, ..options(1, 1) };
    let (ranks, _) = search(&table, &*episode, ranks).await;
    let read = |search: &Search, policy: &str, plies| {
        let request =
            v1::RolloutRequest { policy: policy.to_owned(), plies, ..v1::RolloutRequest::default() };
        messages::playouts(&tables, search, &request).map(|(_, _, rollout)| rollout)
    };
    let policy = |plies| Rollout::Policy { player: player(&tables, &table, "policy:lion"), plies };
    for (name, expected) in [
        ("", Rollout::Estimate),
        ("estimate", Rollout::Estimate),
        ("random", Rollout::Random),
        ("policy:lion", policy(None)),
    ] {
        assert_eq!(read(&ranks, name, None), Ok(expected));
    }
    assert_eq!(read(&margins, "policy:lion", Some(4)), Ok(policy(Some(4))));
    for (search, policy, plies, text) in [
        (
            &ranks,
            "greedy",
            None,
            "`policy` must be estimate, random, policy:NAME, policy:NAME:argmax; got `greedy`",
        ),
        (
            &ranks,
            "search:lion",
            None,
            "`policy` must be estimate, random, policy:NAME, policy:NAME:argmax; got `search:lion`",
        ),
        (
            &ranks,
            "policy:owl",
            None,
            "`policy` must be estimate, random, policy:cat, policy:lion; got `policy:owl`",
        ),
        (&ranks, "policy:lion", Some(4), "`plies` must be absent, or a search with reward margin"),
        (&margins, "random", Some(4), "`plies` must be absent, or a policy that values the leaves"),
        (&margins, "policy:cat", Some(4), "`plies` must be absent: the file of this policy does not state"),
    ] {
        let error = read(search, policy, plies).expect_err("it is refused").to_string();
        assert!(error.starts_with(text), "{error}");
    }
}

#[tokio::test]
async fn a_world_sampled_again_keeps_what_its_seat_knows() {
    for game in boardwire_games::IDS {
        let table = table(game, 3);
        let (search, first) = search(&table, &*mid_episode(&table, 1, 10), options(2, 10)).await;
        // After a choice another seat decides, if not all seats choose simultaneously.
        let actions = random_actions(&first, &[0, 1], &mut RngStream::new(1, 0));
        let before = search.advance(actions).await.expect("legal actions");
        let sample = |seed| search.redeterminize(vec![0, 0, 1], vec![2, 3, 4], seed);
        let [one, same] = [sample(5).await, sample(5).await].map(|step| step.expect("none is over"));
        assert_eq!(one, same);
        let bytes = before.view.len() / 2;
        let [own, other] = [0, bytes].map(|start| &before.view[start..][..bytes]);
        assert_eq!(one.view[..], [own, own, other].concat()[..], "{game}");
        assert_eq!(one.seat[..], [before.seat[0], before.seat[0], before.seat[1]]);
        assert_eq!(one.ply[..], [0; 12]);
        let digests = async || {
            let worlds = search.worlds.lock().await;
            worlds.iter().flatten().map(|world| world.episode.digest()).collect::<Vec<_>>()
        };
        let samples = digests().await;
        assert_eq!(samples.iter().collect::<BTreeSet<_>>().len(), 5, "{game}: each is another sample");
        let replaced = search.redeterminize(vec![1], vec![], 6).await.expect("it is not over");
        assert_eq!(replaced.view[..], *other);
        let after = digests().await;
        assert_eq!((after[0], &after[2..]), (samples[0], &samples[2..]), "{game}");
        assert_ne!(after[1], samples[1], "{game}");
    }
}

#[tokio::test]
async fn a_refused_sample_changes_nothing() {
    let table = table("faraway", 2);
    let (search, mut step) = search(&table, &*mid_episode(&table, 4, 30), options(2, 4)).await;
    for (worlds, into, start) in [
        (vec![], vec![], "`worlds` must be from 1 to"),
        (vec![0, 4], vec![], "`worlds` must be below 4; got `4`"),
        (vec![0, 0], vec![], "`worlds` must be different places; got `0 twice`"),
        (vec![0, 3], vec![2, 3], "`worlds` must be a place that holds a world; got `3`"),
        (vec![0, 1], vec![2], "`into` must be 2 rows"),
    ] {
        let refused = search.redeterminize(worlds, into, 1).await.expect_err("it is refused").to_string();
        assert!(refused.starts_with(start), "{refused}");
    }
    let mut rng = RngStream::new(1, 0);
    while step.seat[0] != 255 {
        let actions = random_actions(&step, &[0], &mut rng);
        step = search.advance(actions).await.expect("a legal action");
    }
    let before = addresses(&search).await;
    let over = search.redeterminize(vec![1, 0], vec![2, 3], 1).await;
    assert_eq!(over, Err(Error::WorldOver { row: 1, world: 0 }));
    assert_eq!(addresses(&search).await, before);
}

use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use boardwire_bots::{Bot, Round};
use boardwire_kernel::{BOT_STREAM, Digest, Episode, GameInfo, Seat, Setup, testkit};
use rten::ThreadPool;

use super::*;
use crate::Policies;
use crate::testkit::Linear;

const SPEC: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Writes a network to a file that exists as long as the returned folder.
fn file(network: &Linear) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("network.onnx");
    std::fs::write(&path, network.onnx()).expect("a file");
    (folder, path)
}

/// Returns the network of this file, or why it is refused.
fn load(network: &Linear, timeout: Duration) -> Result<Arc<Network>, String> {
    let (_folder, path) = file(network);
    Network::new("lion".to_owned(), Model::load(&path)?, Arc::new(Workers::new(timeout)))
}

fn random_network(view_bytes: usize, actions: usize) -> Linear {
    Linear::new(SPEC, view_bytes, actions).with_random_weights(7)
}

/// Returns a different view for each number.
fn view(number: usize, bytes: usize) -> Vec<u8> {
    let mut rng = RngStream::new(9, number as u64);
    (0..bytes).map(|_| u8::try_from(rng.below(200)).expect("a byte")).collect()
}

fn all(actions: u8) -> ActionSet {
    (0..actions).collect()
}

/// Advances a question until it has an answer.
fn finish(mut request: Box<dyn PolicyRequest>) -> Response {
    loop {
        if let Some(weights) = request.advance()? {
            return Ok(weights);
        }
    }
}

#[test]
fn responses_do_not_depend_on_other_requests() {
    const BYTES: usize = 313;
    const ACTIONS: u8 = 37;
    let network = load(&random_network(BYTES, ACTIONS.into()), Duration::from_mins(1)).expect("it can play");
    let submit = |number| Arc::clone(&network).submit(view(number, BYTES), all(ACTIONS));
    let reference: Vec<_> = (0..100).map(|number| finish(submit(number)).expect("an answer")).collect();
    assert!(reference.iter().any(|answer| answer.best != reference[0].best), "all views are alike");
    for together in [2, 16, 17, 100] {
        let mut asked: Vec<_> = (0..together).map(submit).collect();
        // Drop one request: later requests then use its row of the network's batch.
        asked.remove(1);
        let expected = reference[..together].iter().enumerate().filter(|(number, _)| *number != 1);
        for ((number, reference), request) in expected.zip(asked) {
            assert_eq!(finish(request).as_ref(), Ok(reference), "{number} of {together}");
        }
    }
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (reference, submit, barrier) = (&reference, &submit, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for number in (thread..100).step_by(4) {
                    assert_eq!(finish(submit(number)).as_ref(), Ok(&reference[number]), "{number}");
                }
            });
        }
    });
    assert!(network.lock().is_empty());
}

#[test]
fn nan_fails_only_its_own_response() {
    let mut network = Linear::new(SPEC, 2, 3);
    network.weights = vec![0.0, 0.0, 0.0, f32::INFINITY, 0.0, 0.0];
    let network = load(&network, Duration::from_mins(1)).expect("it can play");
    // Infinity times zero is NaN.
    let [bad, good] = [[1, 0], [1, 1]].map(|view| Arc::clone(&network).submit(view.to_vec(), all(3)));
    assert_eq!(finish(bad), Err("policy `lion`: logit of action 0 is NaN".to_owned()));
    assert_eq!(finish(good), Err("policy `lion`: logit of action 0 is inf".to_owned()));
    let without = Arc::clone(&network).submit(vec![1, 0], ActionSet::from_iter([1_u8, 2]));
    assert_eq!(finish(without).map(|answer| answer.best), Ok(1));
}

#[test]
fn values_are_in_points_and_only_if_the_file_states_the_unit() {
    let load = |network: &Linear| load(network, Duration::from_mins(1)).expect("it can play");
    let plain = Linear { has_value: true, ..random_network(40, 5) };
    let [without, one, ten] = [plain.clone(), plain.clone().with_value("1"), plain.with_value("10")];
    let ask = |network: &Linear, number, legal| {
        let network = load(network);
        (network.has_values(), finish(network.submit(view(number, 40), legal)).expect("an answer"))
    };
    let mut values = Vec::new();
    for number in 0..3 {
        let (has_values, answer) = ask(&without, number, all(5));
        assert_eq!((has_values, answer.value), (false, None));
        let (has_values, unit) = ask(&one, number, all(5));
        assert_eq!((has_values, &unit.weights), (true, &answer.weights));
        let (_, only) = ask(&ten, number, ActionSet::EMPTY);
        let [unit, points] = [unit.value, only.value].map(|value| value.expect("it has values"));
        assert!((10 * unit - points).abs() <= 10 && only.weights.is_empty(), "{unit} {points}");
        values.push(points);
    }
    values.dedup();
    assert_eq!(values.len(), 3, "the views have different values");
}

#[test]
fn values_are_limited_to_their_range_and_finite() {
    let given = [1.5, -0.0005, 1e30, f32::NAN, f32::NEG_INFINITY];
    assert_eq!(given.map(thousandths), [Some(1_500), Some(-1), Some(i32::MAX), None, None]);
}

#[test]
fn a_slow_network_fails_until_its_evaluation_ends() {
    let slow = load(&random_network(300, 20), Duration::ZERO);
    assert_eq!(slow.expect_err("no time at all"), "an evaluation takes longer than 0ns");
    let network = load(&random_network(300, 20), Duration::from_mins(1)).expect("it can play");
    let running = Arc::new(());
    network.timed_out.lock().expect("the lock is not poisoned").push(Arc::downgrade(&running));
    let submit = || Arc::clone(&network).submit(view(0, 300), all(20));
    let expected = "policy `lion`: an evaluation takes longer than 60s".to_owned();
    assert_eq!(finish(submit()), Err(expected));
    drop(running);
    finish(submit()).expect("it is asked again");
}

#[test]
fn a_network_with_dependent_rows_is_refused() {
    let dependent = Linear { subtracts_row_mean: true, ..random_network(300, 20) };
    let expected = "`logits` of a row must depend only on its view, not on its position or on other rows";
    assert_eq!(load(&dependent, Duration::from_mins(1)).expect_err("its rows are dependent"), expected);
    load(&random_network(300, 20), Duration::from_mins(1)).expect("the same without that can play");
}

/// The only thread of the pool is busy, so an evaluation that stays in the pool must wait.
#[test]
fn an_evaluation_stays_in_the_pool_that_it_was_given() {
    let (_folder, path) = file(&random_network(300, 20));
    let model = Model::load(&path).expect("it can play");
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let ((done, evaluated), (taken, is_taken), (release, released)) = (channel(), channel(), channel::<()>());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(move || {
                taken.send(()).expect("the test waits for it");
                // Blocks until the test releases it.
                let _ = released.recv();
            });
        });
        is_taken.recv().expect("the pool has a thread");
        scope.spawn(|| done.send(model.evaluate(vec![0; 300], &pool)));
        let early = evaluated.recv_timeout(Duration::from_millis(300));
        drop(release);
        assert_eq!(early, Err(RecvTimeoutError::Timeout), "the evaluation left the pool");
        evaluated.recv().expect("the evaluation ends").expect("it can play");
    });
}

#[test]
fn errors_name_the_problem_of_a_file() {
    let problem = |network: &Linear| load(network, Duration::from_mins(1)).expect_err("it is wrong");
    let good = Linear::new(SPEC, 4, 3);
    for (key, value, expected) in [
        (
            "spec",
            None,
            "its metadata lacks `boardwire.spec`: the spec digest of its table, 64 hexadecimal digits",
        ),
        ("spec", Some("abc"), "`boardwire.spec` must be a spec digest, 64 hexadecimal digits; got `abc`"),
        ("encoding", None, "its metadata lacks `boardwire.encoding`: it must be `bytes`"),
        ("encoding", Some("features"), "`boardwire.encoding` must be `bytes`; got `features`"),
        ("outputs", Some("q"), "`boardwire.outputs` must be `logits`; got `q`"),
        ("value", Some("1"), "it has no output named `value`"),
    ] {
        let mut network = good.clone();
        network.metadata.retain(|(known, _)| known != &format!("boardwire.{key}"));
        let value = value.map(|value| (format!("boardwire.{key}"), value.to_owned()));
        network.metadata.extend(value);
        assert_eq!(problem(&network), expected);
    }
    for points in ["0", "-1", "inf", "many"] {
        let expected =
            "`boardwire.value` must be the points of margin in one unit of `value`, a positive number";
        assert_eq!(problem(&good.clone().with_value(points)), format!("{expected}; got `{points}`"));
    }
    let (_folder, path) = file(&good);
    std::fs::write(&path, b"no network").expect("a file");
    let load = |name: &str, path: PathBuf| {
        Policies::load([(name.to_owned(), path)], Duration::from_mins(1))
            .expect_err("it is wrong")
            .to_string()
    };
    let unreadable = load("lion", path.clone());
    assert!(
        unreadable.contains("policy lion: ") && unreadable.contains("cannot read the network"),
        "{unreadable}"
    );
    assert!(load("lion", path.with_file_name("none.onnx")).contains("No such file"));
    assert!(
        load("li:on", path).ends_with("a name must be 1 to 63 of a-z, 0-9, `_`, `-` and `.`; got `li:on`")
    );
}

/// One file has only a field that claims to be longer than any file. The other takes longer than its timeout.
#[test]
fn reading_a_file_has_a_timeout() {
    let folder = tempfile::tempdir().expect("a folder");
    let endless = folder.path().join("endless.onnx");
    std::fs::write(&endless, [&[0x3a][..], &[0xff; 9], &[1]].concat()).expect("room");
    let (_folder, sound) = file(&random_network(8, 4));
    for (path, timeout) in [(endless, Duration::from_mins(1)), (sound, Duration::ZERO)] {
        let refused = Policies::load([("lion".to_owned(), path)], timeout).expect_err("reading times out");
        assert!(refused.to_string().contains("cannot read the network"), "{refused}");
    }
}

#[test]
fn a_policy_is_found_for_the_table_that_it_reads() {
    let (two, three) = (table(2), table(3));
    let network = |info: &GameInfo, spec: Digest| {
        Linear::new(&spec.to_string(), info.layout.bytes(), info.actions.count())
    };
    let (_a, for_two) = file(&network(two.info(), two.info().digest()));
    let (_b, for_three) = file(&network(three.info(), three.info().digest()));
    let (_c, for_both) = file(&network(two.info(), three.info().digest()));
    let files = |named: &[(&str, &PathBuf)]| {
        let files: Vec<_> = named.iter().map(|(name, file)| ((*name).to_owned(), (*file).clone())).collect();
        Policies::load(files, Duration::from_mins(1))
    };
    let policies = files(&[("lion", &for_two), ("lion", &for_three), ("cat", &for_two), ("odd", &for_both)]);
    let policies = policies.expect("they can play");
    let digits = |digest: &str| digest[..8].to_owned();
    let find = |name: &str, info: &GameInfo| {
        policies.find(name, info, info.digest(), digits).map(|policy| policy.name().to_owned())
    };
    assert_eq!(find("lion", two.info()), Ok("lion".to_owned()));
    assert_eq!(find("lion", three.info()), Ok("lion".to_owned()));
    assert_eq!(find("tiger", two.info()), Err("policy:cat, policy:lion".to_owned()));
    let own = two.info().digest();
    let expected = format!("policies for this table; `policy:cat` is for {}", digits(&own.to_string()));
    assert_eq!(find("cat", three.info()), Err(expected));
    let odd = find("odd", three.info()).expect_err("its shape is wrong");
    assert!(odd.contains("`policy:odd` states the spec digest of this table, but reads"), "{odd}");
    let none = Policies::default().find("lion", two.info(), own, digits).expect_err("there is none");
    assert_eq!(none, "bots without a policy (no policy is registered)");
    let four = table(4);
    let none = find("tiger", four.info()).expect_err("none fits");
    assert_eq!(none, "bots without a policy (no registered policy reads this table)");
    let twice = files(&[("lion", &for_two), ("lion", &for_two)]).expect_err("which of them?").to_string();
    assert!(twice.contains("another file of this name already reads the table"), "{twice}");
}

fn table(seats: u8) -> Arc<boardwire_games::faraway::Faraway> {
    testkit::table::<boardwire_games::faraway::Faraway>(seats, &[])
}

/// Returns the choices of all seats of an episode, and the digest of its end.
fn play(policies: &Policies, name: &str, seats: u8) -> (Vec<(Seat, u8)>, Digest) {
    let game = table(seats);
    let (info, digest) = (game.info().clone(), game.info().digest());
    let bot =
        Bot::named(name, |name| policies.find(name, &info, digest, str::to_owned)).expect("it is registered");
    let mut episode = Episode::seeded(game, 5);
    let mut rng: Vec<RngStream> =
        (0..u64::from(seats)).map(|seat| RngStream::new(5, BOT_STREAM + seat)).collect();
    let mut chosen = Vec::new();
    while !episode.pending().is_empty() {
        let due = episode.pending().iter().map(|seat| (seat, bot.clone(), rng[seat.index()].clone()));
        let mut round = Round::new(&episode, due);
        while !round.advance().expect("it answers") {}
        let mut choices = round.choices();
        choices.sort_by_key(|choice| choice.seat);
        for choice in choices {
            episode.apply(choice.seat, choice.action.into()).expect("a legal action");
            chosen.push((choice.seat, choice.action));
            rng[choice.seat.index()] = choice.rng;
        }
    }
    assert!(episode.outcome().is_some());
    (chosen, episode.digest())
}

#[test]
fn a_policy_repeats_its_game_sampled_argmax_or_searched() {
    let info = table(3).info().clone();
    let mut network = random_network(info.layout.bytes(), info.actions.count());
    network.metadata[0].1 = info.digest().to_string();
    let (_folder, path) = file(&network);
    let load =
        || Policies::load([("lion".to_owned(), path.clone())], Duration::from_mins(1)).expect("it can play");
    let (one, other) = (load(), load());
    let sampled = play(&one, "policy:lion", 3);
    assert_eq!(play(&other, "policy:lion", 3), sampled);
    let best = play(&one, "policy:lion:argmax", 3);
    assert_eq!(play(&other, "policy:lion:argmax", 3), best);
    assert_ne!(sampled, best);
    let searched = play(&one, "search:lion:6", 3);
    assert_eq!(play(&other, "search:lion:6", 3), searched);
    assert!(searched != best && searched != sampled);
}

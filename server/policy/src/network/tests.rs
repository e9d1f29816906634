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
fn load(network: &Linear, patience: Duration) -> Result<Arc<Network>, String> {
    let (_folder, path) = file(network);
    Network::new("lion".to_owned(), Model::load(&path)?, Arc::new(Workers::new(patience)))
}

fn uneven(view_bytes: usize, actions: usize) -> Linear {
    Linear::new(SPEC, view_bytes, actions).uneven(7)
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
fn finish(mut question: Box<dyn Question>) -> Answer {
    loop {
        if let Some(preference) = question.advance()? {
            return Ok(preference);
        }
    }
}

#[test]
fn an_answer_depends_neither_on_who_else_asks_nor_on_when() {
    const BYTES: usize = 313;
    const ACTIONS: u8 = 37;
    let network = load(&uneven(BYTES, ACTIONS.into()), Duration::from_mins(1)).expect("it can play");
    let ask = |number| Arc::clone(&network).ask(view(number, BYTES), all(ACTIONS));
    let alone: Vec<_> = (0..100).map(|number| finish(ask(number)).expect("an answer")).collect();
    assert!(alone.iter().any(|answer| answer.best != alone[0].best), "all views are alike");
    for together in [2, 16, 17, 100] {
        let mut asked: Vec<_> = (0..together).map(ask).collect();
        // Drop one question: other questions then use its row.
        asked.remove(1);
        let expected = alone[..together].iter().enumerate().filter(|(number, _)| *number != 1);
        for ((number, alone), question) in expected.zip(asked) {
            assert_eq!(finish(question).as_ref(), Ok(alone), "{number} of {together}");
        }
    }
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (alone, ask, barrier) = (&alone, &ask, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for number in (thread..100).step_by(4) {
                    assert_eq!(finish(ask(number)).as_ref(), Ok(&alone[number]), "{number}");
                }
            });
        }
    });
    assert!(network.lock().is_empty());
}

#[test]
fn what_is_no_number_spoils_its_own_answer_alone() {
    let mut network = Linear::new(SPEC, 2, 3);
    network.weights = vec![0.0, 0.0, 0.0, f32::INFINITY, 0.0, 0.0];
    let network = load(&network, Duration::from_mins(1)).expect("it can play");
    // Infinity times zero is NaN.
    let [bad, good] = [[1, 0], [1, 1]].map(|view| Arc::clone(&network).ask(view.to_vec(), all(3)));
    assert_eq!(finish(bad), Err("policy `lion`: it gave NaN for action 0".to_owned()));
    assert_eq!(finish(good), Err("policy `lion`: it gave inf for action 0".to_owned()));
    let without = Arc::clone(&network).ask(vec![1, 0], ActionSet::from_iter([1_u8, 2]));
    assert_eq!(finish(without).map(|answer| answer.best), Ok(1));
}

#[test]
fn a_network_that_is_slow_is_given_up_and_asked_again_once_it_has_ended() {
    let slow = load(&uneven(300, 20), Duration::ZERO);
    assert_eq!(slow.expect_err("no time at all"), "an evaluation takes longer than 0ns");
    let network = load(&uneven(300, 20), Duration::from_mins(1)).expect("it can play");
    let running = Arc::new(());
    network.late.lock().expect("nobody else").push(Arc::downgrade(&running));
    let ask = || Arc::clone(&network).ask(view(0, 300), all(20));
    let expected = "policy `lion`: an evaluation takes longer than 60s".to_owned();
    assert_eq!(finish(ask()), Err(expected));
    drop(running);
    finish(ask()).expect("it is asked again");
}

#[test]
fn a_network_whose_rows_look_at_one_another_is_refused() {
    let centred = Linear { centred: true, ..uneven(300, 20) };
    let expected = "`logits` of a row follow from its view alone, not from its place or the rows beside it: rows \
                    must not depend on one another";
    assert_eq!(load(&centred, Duration::from_mins(1)).expect_err("it looks at other rows"), expected);
    load(&uneven(300, 20), Duration::from_mins(1)).expect("the same without that can play");
}

/// The only thread of the pool is busy, so an evaluation that stays in the pool must wait.
#[test]
fn an_evaluation_stays_in_the_pool_that_it_was_given() {
    let (_folder, path) = file(&uneven(300, 20));
    let model = Model::load(&path).expect("it can play");
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let ((done, evaluated), (taken, is_taken), (release, held)) = (channel(), channel(), channel::<()>());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(move || {
                taken.send(()).expect("it is waited for");
                // Blocks until the test releases it.
                let _ = held.recv();
            });
        });
        is_taken.recv().expect("the pool has a thread");
        scope.spawn(|| done.send(model.logits(vec![0; 300], &pool)));
        let early = evaluated.recv_timeout(Duration::from_millis(300));
        drop(release);
        assert_eq!(early, Err(RecvTimeoutError::Timeout), "it went elsewhere");
        evaluated.recv().expect("it goes on").expect("it can play");
    });
}

#[test]
fn a_file_is_told_what_is_wrong_with_it() {
    let problem = |network: &Linear| load(network, Duration::from_mins(1)).expect_err("it is wrong");
    let good = Linear::new(SPEC, 4, 3);
    for (key, value, expected) in [
        (
            "spec",
            None,
            "its metadata lacks `boardwire.spec`: the spec digest of its table, 64 hexadecimal digits",
        ),
        ("spec", Some("abc"), "`boardwire.spec` is a spec digest, 64 hexadecimal digits, not `abc`"),
        ("encoding", None, "its metadata lacks `boardwire.encoding`: it must be `bytes`"),
        ("encoding", Some("features"), "`boardwire.encoding` is `bytes`, not `features`"),
        ("outputs", Some("q"), "`boardwire.outputs` is `logits`, not `q`"),
    ] {
        let mut network = good.clone();
        network.metadata.retain(|(known, _)| known != &format!("boardwire.{key}"));
        let value = value.map(|value| (format!("boardwire.{key}"), value.to_owned()));
        network.metadata.extend(value);
        assert_eq!(problem(&network), expected);
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
        unreadable.contains("policy lion: ") && unreadable.contains("no network can be read"),
        "{unreadable}"
    );
    assert!(load("lion", path.with_file_name("none.onnx")).contains("No such file"));
    assert!(load("li:on", path).ends_with("a name is 1 to 63 of a-z, 0-9, `_`, `-` and `.`, not `li:on`"));
}

/// One file has only a field that claims to be longer than any file. The other takes longer than its timeout.
#[test]
fn a_file_that_cannot_be_read_to_its_end_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let endless = folder.path().join("endless.onnx");
    std::fs::write(&endless, [&[0x3a][..], &[0xff; 9], &[1]].concat()).expect("room");
    let (_folder, sound) = file(&uneven(8, 4));
    for (path, patience) in [(endless, Duration::from_mins(1)), (sound, Duration::ZERO)] {
        let refused = Policies::load([("lion".to_owned(), path)], patience).expect_err("it is given up");
        assert!(refused.to_string().contains("no network can be read"), "{refused}");
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
    let find = |name: &str, info: &GameInfo| {
        policies.find(name, info, info.digest()).map(|policy| policy.name().to_owned())
    };
    assert_eq!(find("lion", two.info()), Ok("lion".to_owned()));
    assert_eq!(find("lion", three.info()), Ok("lion".to_owned()));
    assert_eq!(find("tiger", two.info()), Err("policy:cat, policy:lion".to_owned()));
    let (own, other) = (two.info().digest(), three.info().digest());
    let expected = format!("policies that read spec digest {other}; `policy:cat` reads {own}");
    assert_eq!(find("cat", three.info()), Err(expected));
    let odd = find("odd", three.info()).expect_err("it states what is not so");
    assert!(odd.contains("`policy:odd` states the spec digest of this table, but reads"), "{odd}");
    let none = Policies::default().find("lion", two.info(), own).expect_err("there is none");
    assert_eq!(none, "no policy: none is registered");
    let four = table(4);
    let none = find("tiger", four.info()).expect_err("none fits");
    assert_eq!(none, "no policy: none that is registered reads this table");
    let twice = files(&[("lion", &for_two), ("lion", &for_two)]).expect_err("which of them?").to_string();
    assert!(twice.contains("a file of this name reads the table"), "{twice}");
}

fn table(seats: u8) -> Arc<boardwire_games::faraway::Faraway> {
    testkit::table::<boardwire_games::faraway::Faraway>(seats, &[])
}

/// Returns the choices of all seats of an episode, and the digest of its end.
fn play(policies: &Policies, name: &str, seats: u8) -> (Vec<(Seat, u8)>, Digest) {
    let game = table(seats);
    let (info, digest) = (game.info().clone(), game.info().digest());
    let bot = Bot::named(name, |name| policies.find(name, &info, digest)).expect("it is registered");
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
fn a_policy_plays_the_same_game_again_sampled_or_by_its_best_action() {
    let info = table(3).info().clone();
    let mut network = uneven(info.layout.bytes(), info.actions.count());
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
}

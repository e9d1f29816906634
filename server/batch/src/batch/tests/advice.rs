//! Tests of the advice that bots give to agents.

use boardwire_api::v1::AutoresetMode;
use boardwire_bots::Bot;
use boardwire_kernel::{ADVICE_STREAM, RESAMPLE_STREAM};

use super::policies::{failing, with_policy};
use super::*;
use crate::play::Play;

fn advised(plan: Plan, bot: &str) -> Plan {
    let bot = bot.parse().expect("a bot");
    Plan { adviser: Some(Adviser { bot, shares: true }), ..plan }
}

fn unadvised(step: Step) -> Message {
    Message { advice: Bytes::new(), advice_shares: Bytes::new(), ..message(step) }
}

fn shares(step: &Step, at: usize) -> Vec<f32> {
    let bytes = step.advice_shares().len() / step.seat().len();
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    row(step.advice_shares(), at, bytes).chunks(4).map(number).collect()
}

/// Returns the choice of a bot that plays at `seat` with this stream of random numbers.
fn chosen(play: &dyn Play, seat: Seat, bot: &Bot, rng: RngStream) -> u8 {
    let mut round = play.round(vec![(seat, bot.clone(), rng)]);
    while !round.advance().expect("it chooses") {}
    round.choices()[0].action
}

#[test]
fn advice_is_what_the_bot_would_choose_at_that_seat() {
    let bots = ["random", "greedy:2", "mc:4"];
    for (game, name) in boardwire_games::IDS.iter().flat_map(|&game| bots.map(|name| (game, name))) {
        let table = table(game, 3);
        let plan = advised(plan(&["agent"; 3]), name);
        let bot = name.parse().expect("a bot");
        let batch = open(&table, &plan, 2, 0, 2);
        let seeds = [0, 1].map(|number| RngStream::new(7, number).seed());
        let mut plays = seeds.map(|seed| Arc::clone(&table.rules).deal(seed.into()));
        let mut shown = reset(&batch);
        for salt in 0.. {
            let actions = choices(&shown, 0, salt);
            for (at, (play, seed)) in plays.iter_mut().zip(seeds).enumerate() {
                if row(shown.episode(), at, 4) != [0; 4] {
                    continue;
                }
                let Some(seat) = play.pending().lowest() else {
                    assert_eq!((shown.seat()[at], shown.advice()[at]), (NOBODY, NOBODY));
                    assert!(shares(&shown, at).iter().all(|share| *share == 0.0));
                    continue;
                };
                let words = u64::from(play.ply()) << 32;
                let rng = RngStream::resume(seed.into(), ADVICE_STREAM + u64::from(seat.number()), words);
                let expected = chosen(&**play, seat, &bot, rng);
                assert_eq!(
                    shown.advice()[at],
                    expected,
                    "{game}, {name}: environment {at}, ply {}",
                    play.ply()
                );
                play.apply(seat, actions[at].into()).expect("it is legal");
            }
            if plays.iter().all(|play| play.pending().is_empty()) {
                break;
            }
            shown = step(&batch, actions).expect("legal");
        }
    }
}

#[test]
fn advice_does_not_depend_on_hidden_information() {
    let all =
        boardwire_games::IDS.iter().flat_map(|&game| ["greedy:2", "mc:4", "policy"].map(|bot| (game, bot)));
    for (game, bot) in all {
        let agents = ["agent"; 3];
        let (table, plan) = if bot == "policy" {
            let (table, plan) =
                with_policy(game, &["agent", "agent", "policy:lion"], |lion, _| lion.uneven(1));
            let (_, lion) = plan.line_ups[0].bots[0].clone();
            let adviser = Some(Adviser { bot: lion, shares: true });
            (table, Plan { adviser, ..super::plan(&agents) })
        } else {
            (table(game, 3), advised(super::plan(&agents), bot))
        };
        let batch = open(&table, &plan, 8, 0, 2);
        let mut rng = RngStream::new(3, RESAMPLE_STREAM);
        let mut now = reset(&batch);
        for salt in 0..40 {
            let truth = wait(batch.determinize(&mut rng));
            let resampled = current_rows(&batch);
            wait(batch.put_back(truth));
            assert_eq!(
                (resampled.advice(), resampled.advice_shares()),
                (now.advice(), now.advice_shares()),
                "{game}, {bot}"
            );
            now = step(&batch, choices(&now, 0, salt)).expect("legal");
        }
    }
}

#[test]
fn advice_does_not_depend_on_batch_size_threads_or_other_environments() {
    for (game, bot) in
        boardwire_games::IDS.iter().flat_map(|&game| ["random", "greedy:1", "mc:4"].map(|bot| (game, bot)))
    {
        let table = table(game, 2);
        let plan = advised(plan(&["agent", "random"]), bot);
        let whole = history(&open(&table, &plan, 12, 5, 1), 25);
        assert_eq!(whole, history(&open(&table, &plan, 12, 5, 2), 25), "{game}, {bot}: two threads");
        let one = |number: u64| history(&open(&table, &plan, 1, 5 + number, 1), 25).remove(0);
        assert_eq!(whole, (0..12).map(one).collect::<Vec<_>>(), "{game}, {bot}: batches of one");
    }
}

#[test]
fn episodes_are_the_same_with_and_without_advice() {
    let line_ups = [["agent", "random"], ["greedy:1", "agent"]];
    for (game, names) in boardwire_games::IDS.iter().flat_map(|&game| line_ups.map(|names| (game, names))) {
        for autoreset in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let plan = Plan { autoreset, ..plan(&names) };
            let batches =
                [plan.clone(), advised(plan, "greedy:1")].map(|plan| open(&table(game, 2), &plan, 20, 0, 2));
            let mut shown = batches.each_ref().map(reset);
            for salt in 0..70 {
                let [without, with] = &shown;
                assert_eq!(message(without.clone()), unadvised(with.clone()), "{game}, {names:?}");
                assert!(
                    with.advice()
                        .iter()
                        .zip(with.seat())
                        .all(|(advice, seat)| (*advice == NOBODY) == (*seat == NOBODY))
                );
                assert!(without.advice().is_empty() && without.advice_shares().is_empty());
                let actions = choices(without, 0, salt);
                shown = batches.each_ref().map(|batch| step(batch, actions.clone()).expect("legal"));
            }
        }
    }
}

#[test]
fn shares_sum_to_one_over_legal_actions() {
    let line_up = ["agent", "agent", "policy:lion"];
    for game in boardwire_games::IDS {
        let (table, plan) = with_policy(game, &line_up, |lion, _| lion.uneven(1));
        let (_, lion) = plan.line_ups[0].bots[0].clone();
        for bot in [lion, "mc:16".parse().expect("a bot"), "greedy".parse().expect("a bot")] {
            let adviser = Some(Adviser { bot: bot.clone(), shares: true });
            let batch = open(&table, &Plan { adviser, ..plan.clone() }, 6, 0, 2);
            let (mut shown, mut divided) = (reset(&batch), 0);
            for salt in 0..20 {
                for at in (0..6).filter(|&at| shown.seat()[at] != NOBODY) {
                    let (legal, shares) = (legal(&shown, at), shares(&shown, at));
                    assert_eq!(shares.len(), table.rules.info().actions.count());
                    let sum: f32 = shares.iter().sum();
                    assert!((sum - 1.0).abs() < 1e-5, "{game}, {bot}: {sum}");
                    let positive = (0..=255_u8).zip(&shares).filter(|(_, share)| **share > 0.0);
                    let positive: Vec<u8> = positive.map(|(action, _)| action).collect();
                    assert!(positive.iter().all(|action| legal.contains(action)));
                    assert!(positive.contains(&shown.advice()[at]));
                    divided += u32::from(positive.len() > 1);
                    // No action has had more playouts than the chosen action.
                    let most = shares.iter().copied().fold(0.0, f32::max);
                    let of_choice = shares[usize::from(shown.advice()[at])];
                    assert!(
                        matches!(bot, Bot::Policy(_)) || of_choice.to_bits() == most.to_bits(),
                        "{game}, {bot}"
                    );
                }
                shown = step(&batch, choices(&shown, 0, salt)).expect("legal");
            }
            assert_eq!(divided == 0, matches!(bot, Bot::Greedy { .. }), "{game}, {bot}");
        }
    }
}

#[test]
fn row_bytes_counts_the_bytes_of_a_row() {
    for game in boardwire_games::IDS {
        let (table, plan) = (table(game, 3), plan(&["agent", "random", "agent"]));
        let plan = Plan { columns: Columns { oracle: true, ..plan.columns }, ..advised(plan, "random") };
        let shown = reset(&open(&table, &plan, 5, 0, 1));
        let bytes: usize = columns(&shown).iter().map(|column| column.len()).sum();
        // The end of an episode: environment, scores and ranks of three seats, views of two agents.
        let end = 4 + 3 * 5 + 2 * shown.view().len() / 5;
        assert_eq!(bytes, 5 * (row_bytes(table.rules.info(), &plan) - end), "{game}");
    }
}

#[test]
fn rows_keep_their_advice_unless_they_are_reset_or_loaded() {
    let table = table("rauha", 2);
    let plain = plan(&["agent", "random"]);
    let batch = open(&table, &advised(plain.clone(), "mc:9"), 12, 0, 2);
    let key = SnapshotKey::derive(b"a secret");
    let mut now = reset(&batch);
    for salt in 0..9 {
        now = step(&batch, choices(&now, 0, salt)).expect("legal");
    }
    let snapshot = wait(batch.save(&key, &[])).expect("it is saved");
    let some = Reset { mask: vec![0b0000_0101, 0].into(), ..Reset::default() };
    let partly = wait(batch.reset(some, None)).expect("it is reset");
    for at in 0..12 {
        assert_eq!(row_digest(&partly, at) == row_digest(&now, at), at != 0 && at != 2);
    }
    let expected = step(&batch, choices(&partly, 0, 99)).expect("legal");
    // A snapshot is the same with and without advice. Every batch that loads it gives the same advice.
    let without = open(&table, &plain, 12, 0, 2);
    let loaded = wait(without.load(&key, snapshot.clone(), &[])).expect("it is of the same kind");
    assert_eq!(wait(without.save(&key, &[])).expect("it is saved"), snapshot);
    let with = wait(batch.load(&key, snapshot.clone(), &[])).expect("it is whole");
    for at in 0..12 {
        assert_eq!(row_digest(&with, at), row_digest(&now, at));
    }
    let unnumbered = |step| Message { sequence: 0, ..step };
    assert_eq!(unnumbered(unadvised(with.clone())), unnumbered(message(loaded)));
    let next = step(&batch, choices(&with, 0, 99)).expect("legal");
    for at in (0..12).filter(|&at| at != 0 && at != 2) {
        assert_eq!(row_digest(&next, at), row_digest(&expected, at));
    }
}

/// Returns a batch whose adviser fails in the second round, and the same batch without an adviser.
fn failing_batches() -> [Arc<Batch>; 2] {
    let (table, plan) = with_policy("faraway", &["agent", "policy:lion"], failing);
    let (_, lion) = plan.line_ups[0].bots[0].clone();
    let without = super::plan(&["agent", "random"]);
    let adviser = Some(Adviser { bot: lion, shares: false });
    [Plan { adviser, ..without.clone() }, without].map(|plan| open(&table, &plan, 100, 0, 2))
}

#[test]
fn a_failing_adviser_is_an_error_and_changes_nothing() {
    let [batch, plain] = failing_batches();
    let key = SnapshotKey::derive(b"a secret");
    let save = |batch: &Arc<Batch>| wait(batch.save(&key, &[])).expect("it is saved");
    let check_error = |refused: Error| match refused {
        Error::BotFailed { seat, problem, .. } => {
            assert_eq!(seat, 0);
            assert!(problem.starts_with("as adviser: policy `lion`: it gave inf for action "), "{problem}");
        }
        other => panic!("{other}"),
    };
    let (mut shown, _) = (reset(&batch), reset(&plain));
    let before = loop {
        let (actions, before) = (choices(&shown, 0, 0), save(&batch));
        step(&plain, actions.clone()).expect("it has no adviser");
        match step(&batch, actions) {
            Ok(next) => shown = next,
            Err(refused) => {
                check_error(refused);
                break before;
            }
        }
    };
    assert_eq!(save(&batch), before);
    // The adviser also thinks about loaded environments.
    let later = save(&plain);
    check_error(wait(batch.load(&key, later, &[])).expect_err("it fails there"));
    assert_eq!(save(&batch), before);
    let again = reset(&batch);
    step(&batch, choices(&again, 0, 0)).expect("the first round is still fine");
}

#[test]
fn a_caller_that_goes_away_while_the_adviser_thinks_changes_nothing() {
    let table = table("faraway", 2);
    let plain = plan(&["agent", "random"]);
    let (pool, key) = (Pool::stepped(), SnapshotKey::derive(b"a secret"));
    let opening = opening(&advised(plain.clone(), "mc:20"), 20, 0);
    let batch =
        within(&pool, usize::MAX, Batch::open("b".to_owned(), Arc::clone(&table), opening, &pool.alone()));
    let batch = batch.expect("it ends").expect("it opens");
    let save = || within(&pool, usize::MAX, batch.save(&key, &[])).expect("it ends").expect("it is saved");
    let shown = within(&pool, usize::MAX, batch.reset(Reset::default(), None)).expect("it ends");
    let actions = Actions::of_all(choices(&shown.expect("it is reset"), 0, 0).into());
    let before = save();
    let other = open(&table, &plain, 20, 50, 1);
    reset(&other);
    let snapshot = wait(other.save(&key, &[])).expect("it is saved");
    let slices = || (0..usize::BITS).map(|power| (1 << power) - 1);
    let given_up = |slices: &usize| within(&pool, *slices, batch.step(0, 0, actions.clone(), None)).is_none();
    // The caller cancels after more and more slices, until the call finishes first.
    let times = slices().take_while(given_up).inspect(|_| assert_eq!(save(), before)).count();
    assert!(times > 2, "the adviser thinks in the pool");
    let given_up = |slices: &usize| within(&pool, *slices, batch.load(&key, snapshot.clone(), &[])).is_none();
    let stepped = save();
    let times = slices().take_while(given_up).inspect(|_| assert_eq!(save(), stepped)).count();
    assert!(times > 2, "the adviser thinks in the pool");
}

//! Tests of the advice that bots give to agents.

use boardwire_api::v1::AutoresetMode;
use boardwire_bots::Bot;
use boardwire_kernel::{ADVICE_STREAM, RESAMPLE_STREAM};

use super::policies::{overflowing_network, with_policy};
use super::*;
use crate::play::AnyEpisode;

/// Returns the configuration with this adviser, and with estimates.
fn advised(config: EnvironmentConfig, bot: &str) -> EnvironmentConfig {
    let bot = bot.parse().expect("a bot");
    let columns = Columns { estimates: true, ..config.columns };
    EnvironmentConfig { adviser: Some(Adviser { bot, shares: true }), columns, ..config }
}

fn unadvised(step: Step) -> Message {
    Message { advice: Bytes::new(), advice_shares: Bytes::new(), estimates: Bytes::new(), ..message(step) }
}

fn shares(step: &Step, index: usize) -> Vec<f32> {
    numbers(step, step.advice_shares(), index)
}

/// Returns a row of a column of `float32`.
fn numbers(step: &Step, column: &[u8], index: usize) -> Vec<f32> {
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    row(column, index, column.len() / step.seat().len()).chunks(4).map(number).collect()
}

/// Returns the choice of a bot that plays at `seat` with this stream of random numbers.
fn bot_choice(episode: &dyn AnyEpisode, seat: Seat, bot: &Bot, rng: RngStream) -> u8 {
    let mut decisions = episode.start_bots(vec![(seat, bot.clone(), rng)]);
    while !decisions.advance().expect("it chooses") {}
    decisions.choices()[0].action
}

#[test]
fn advice_is_what_the_bot_would_choose_at_that_seat() {
    let bots = ["random", "greedy:2", "mc:4"];
    for (game, name) in boardwire_games::IDS.iter().flat_map(|&game| bots.map(|name| (game, name))) {
        let table = table(game, 3);
        let config = advised(config(&["agent"; 3]), name);
        let bot = name.parse().expect("a bot");
        let batch = open(&table, &config, 2, 0, 2);
        let seeds = [0, 1].map(|number| RngStream::new(7, number).next_seed());
        let mut episodes = seeds.map(|seed| Arc::clone(&table.game).deal(seed.into()));
        let mut rows = reset(&batch);
        for salt in 0.. {
            let actions = choices(&rows, 0, salt);
            for (index, (episode, seed)) in episodes.iter_mut().zip(seeds).enumerate() {
                if row(rows.episode(), index, 4) != [0; 4] {
                    continue;
                }
                let Some(seat) = episode.pending().lowest() else {
                    assert_eq!((rows.seat()[index], rows.advice()[index]), (NO_VALUE, NO_VALUE));
                    assert!(shares(&rows, index).iter().all(|share| *share == 0.0));
                    continue;
                };
                let words = u64::from(episode.ply()) << 32;
                let rng = RngStream::resume(seed.into(), ADVICE_STREAM + u64::from(seat.number()), words);
                let expected = bot_choice(&**episode, seat, &bot, rng);
                assert_eq!(
                    rows.advice()[index],
                    expected,
                    "{game}, {name}: environment {index}, ply {}",
                    episode.ply()
                );
                episode.apply(seat, actions[index].into()).expect("it is legal");
            }
            if episodes.iter().all(|episode| episode.pending().is_empty()) {
                break;
            }
            rows = step(&batch, actions).expect("legal");
        }
    }
}

#[test]
fn advice_does_not_depend_on_hidden_information() {
    let all = boardwire_games::IDS
        .iter()
        .flat_map(|&game| ["greedy:2", "mc:4", "policy:lion", "search:lion:8"].map(|bot| (game, bot)));
    for (game, bot) in all {
        let agents = ["agent"; 3];
        let (table, config) = if bot.contains("lion") {
            let (table, config) =
                with_policy(game, &["agent", "agent", bot], |lion, _| lion.with_random_weights(1));
            let (_, lion) = config.line_ups[0].bots[0].clone();
            let adviser = Some(Adviser { bot: lion, shares: true });
            (table, EnvironmentConfig { adviser, ..super::config(&agents) })
        } else {
            (table(game, 3), advised(super::config(&agents), bot))
        };
        let batch = open(&table, &config, 8, 0, 2);
        let mut rng = RngStream::new(3, RESAMPLE_STREAM);
        let mut rows = reset(&batch);
        for salt in 0..40 {
            let originals = wait(batch.determinize(&mut rng));
            let resampled = current_rows(&batch);
            wait(batch.restore_blocks(originals));
            let columns = |step: &Step| [step.advice(), step.advice_shares(), step.estimates()].concat();
            assert_eq!(columns(&resampled), columns(&rows), "{game}, {bot}");
            rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
        }
    }
}

#[test]
fn advice_does_not_depend_on_batch_size_threads_or_other_environments() {
    for (game, bot) in
        boardwire_games::IDS.iter().flat_map(|&game| ["random", "greedy:1", "mc:4"].map(|bot| (game, bot)))
    {
        let table = table(game, 2);
        let config = advised(config(&["agent", "random"]), bot);
        let whole = history(&open(&table, &config, 12, 5, 1), 25);
        assert_eq!(whole, history(&open(&table, &config, 12, 5, 2), 25), "{game}, {bot}: two threads");
        let one = |number: u64| history(&open(&table, &config, 1, 5 + number, 1), 25).remove(0);
        assert_eq!(whole, (0..12).map(one).collect::<Vec<_>>(), "{game}, {bot}: batches of one");
    }
}

#[test]
fn episodes_are_the_same_with_and_without_advice() {
    let line_ups = [["agent", "random"], ["greedy:1", "agent"]];
    for (game, names) in boardwire_games::IDS.iter().flat_map(|&game| line_ups.map(|names| (game, names))) {
        for autoreset in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let config = EnvironmentConfig { autoreset, ..config(&names) };
            let batches = [config.clone(), advised(config, "greedy:1")]
                .map(|config| open(&table(game, 2), &config, 20, 0, 2));
            let mut rows = batches.each_ref().map(reset);
            for salt in 0..70 {
                let [without, with] = &rows;
                assert_eq!(message(without.clone()), unadvised(with.clone()), "{game}, {names:?}");
                assert!(
                    with.advice()
                        .iter()
                        .zip(with.seat())
                        .all(|(advice, seat)| (*advice == NO_VALUE) == (*seat == NO_VALUE))
                );
                assert!(without.advice().is_empty() && without.advice_shares().is_empty());
                let actions = choices(without, 0, salt);
                rows = batches.each_ref().map(|batch| step(batch, actions.clone()).expect("legal"));
            }
        }
    }
}

#[test]
fn the_advice_of_greedy_is_the_first_action_with_the_greatest_estimate() {
    let mut forced = 0;
    for game in boardwire_games::IDS {
        let batch = open(&table(game, 3), &advised(config(&["agent", "agent", "random"]), "greedy"), 6, 0, 2);
        let (mut rows, mut ties) = (reset(&batch), 0);
        for salt in 0..60 {
            for index in 0..6 {
                let (legal, estimates) = (legal(&rows, index), numbers(&rows, rows.estimates(), index));
                let known = (0..=255_u8).zip(&estimates).filter(|(_, estimate)| !estimate.is_nan());
                let known: Vec<(u8, f32)> = known.map(|(action, &estimate)| (action, estimate)).collect();
                assert!(known.iter().map(|(action, _)| action).eq(&legal), "{game}: {known:?}, {legal:?}");
                let Some(greatest) = known.iter().map(|known| known.1).reduce(f32::max) else {
                    assert_eq!(rows.seat()[index], NO_VALUE);
                    continue;
                };
                let best: Vec<u8> =
                    known.iter().filter(|known| known.1 >= greatest).map(|known| known.0).collect();
                assert_eq!(rows.advice()[index], best[0], "{game}: {known:?}");
                ties += usize::from(best.len() > 1);
                forced += usize::from(legal.len() == 1);
            }
            rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
        }
        assert!(ties > 0, "{game}");
    }
    assert!(forced > 0, "a forced choice has an estimate, too");
}

#[test]
fn estimates_need_no_adviser() {
    let table = table("faraway", 2);
    let (plain, with) = (config(&["agent", "random"]), advised(config(&["agent", "random"]), "mc:4"));
    let alone = EnvironmentConfig { adviser: None, ..with.clone() };
    assert!(alone.bots_think() && !plain.bots_think());
    let [with, alone] = [with, alone].map(|config| open(&table, &config, 6, 0, 2));
    let mut rows = [reset(&with), reset(&alone)];
    for salt in 0..9 {
        assert!(!rows[1].estimates().is_empty() && rows[1].advice().is_empty());
        assert_eq!(rows[0].estimates(), rows[1].estimates());
        let actions = choices(&rows[0], 0, salt);
        rows = [step(&with, actions.clone()).expect("legal"), step(&alone, actions).expect("legal")];
    }
}

#[test]
fn shares_sum_to_one_over_legal_actions() {
    let line_up = ["agent", "agent", "policy:lion", "search:lion:16"];
    for game in boardwire_games::IDS {
        let (table, config) = with_policy(game, &line_up, |lion, _| lion.with_random_weights(1));
        let with_policy = config.line_ups[0].bots.iter().map(|(_, bot)| bot.clone());
        for bot in with_policy.chain(["mc:16", "greedy"].map(|name| name.parse().expect("a bot"))) {
            let adviser = Some(Adviser { bot: bot.clone(), shares: true });
            let batch = open(&table, &EnvironmentConfig { adviser, ..config.clone() }, 6, 0, 2);
            let (mut rows, mut divided) = (reset(&batch), 0);
            for salt in 0..20 {
                for index in (0..6).filter(|&index| rows.seat()[index] != NO_VALUE) {
                    let (legal, shares) = (legal(&rows, index), shares(&rows, index));
                    assert_eq!(shares.len(), table.game.info().actions.count());
                    let sum: f32 = shares.iter().sum();
                    assert!((sum - 1.0).abs() < 1e-5, "{game}, {bot}: {sum}");
                    let positive = (0..=255_u8).zip(&shares).filter(|(_, share)| **share > 0.0);
                    let positive: Vec<u8> = positive.map(|(action, _)| action).collect();
                    assert!(positive.iter().all(|action| legal.contains(action)));
                    assert!(positive.contains(&rows.advice()[index]));
                    divided += u32::from(positive.len() > 1);
                    // No action has had more playouts than the chosen action.
                    let max = shares.iter().copied().fold(0.0, f32::max);
                    let chosen_share = shares[usize::from(rows.advice()[index])];
                    assert!(!bot.searches() || chosen_share.to_bits() == max.to_bits(), "{game}, {bot}");
                }
                rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
            }
            assert_eq!(divided == 0, matches!(bot, Bot::Greedy { .. }), "{game}, {bot}");
        }
    }
}

#[test]
fn row_bytes_counts_the_bytes_of_a_row() {
    for game in boardwire_games::IDS {
        let (table, config) = (table(game, 3), config(&["agent", "random", "agent"]));
        let config = EnvironmentConfig {
            columns: Columns { oracle: true, estimates: true, ..config.columns },
            ..advised(config, "random")
        };
        let rows = reset(&open(&table, &config, 5, 0, 1));
        let bytes: usize = columns(&rows).iter().map(|column| column.len()).sum();
        // The end of an episode: environment, scores and ranks of three seats, views of two agents.
        let end = 4 + 3 * 5 + 2 * rows.view().len() / 5;
        assert_eq!(bytes, 5 * (row_bytes(table.game.info(), &config) - end), "{game}");
    }
}

#[test]
fn rows_keep_their_advice_unless_they_are_reset_or_loaded() {
    let table = table("rauha", 2);
    let plain = config(&["agent", "random"]);
    let batch = open(&table, &advised(plain.clone(), "mc:9"), 12, 0, 2);
    let key = SnapshotKey::derive(b"a secret");
    let mut rows = reset(&batch);
    for salt in 0..9 {
        rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
    }
    let snapshot = wait(batch.save(&key, &[])).expect("it is saved");
    let some = Reset { mask: vec![0b0000_0101, 0].into(), ..Reset::default() };
    let partly_reset = wait(batch.reset(some, None)).expect("it is reset");
    for index in 0..12 {
        assert_eq!(row_digest(&partly_reset, index) == row_digest(&rows, index), index != 0 && index != 2);
    }
    let expected = step(&batch, choices(&partly_reset, 0, 99)).expect("legal");
    // A snapshot is the same with and without advice. Every batch that loads it gives the same advice.
    let without = open(&table, &plain, 12, 0, 2);
    let loaded = wait(without.load(&key, snapshot.clone(), &[])).expect("it is of the same kind");
    assert_eq!(wait(without.save(&key, &[])).expect("it is saved"), snapshot);
    let with = wait(batch.load(&key, snapshot.clone(), &[])).expect("the snapshot is valid");
    for index in 0..12 {
        assert_eq!(row_digest(&with, index), row_digest(&rows, index));
    }
    let unnumbered = |step| Message { sequence: 0, ..step };
    assert_eq!(unnumbered(unadvised(with.clone())), unnumbered(message(loaded)));
    let next = step(&batch, choices(&with, 0, 99)).expect("legal");
    for index in (0..12).filter(|&index| index != 0 && index != 2) {
        assert_eq!(row_digest(&next, index), row_digest(&expected, index));
    }
}

/// Returns a batch whose adviser fails in the second round, and the same batch without an adviser.
fn failing_batches() -> [Arc<Batch>; 2] {
    let (table, config) = with_policy("faraway", &["agent", "policy:lion"], overflowing_network);
    let (_, lion) = config.line_ups[0].bots[0].clone();
    let without = super::config(&["agent", "random"]);
    let adviser = Some(Adviser { bot: lion, shares: false });
    [EnvironmentConfig { adviser, ..without.clone() }, without].map(|config| open(&table, &config, 100, 0, 2))
}

#[test]
fn a_failing_adviser_is_an_error_and_changes_nothing() {
    let [batch, plain] = failing_batches();
    let key = SnapshotKey::derive(b"a secret");
    let save = |batch: &Arc<Batch>| wait(batch.save(&key, &[])).expect("it is saved");
    let check_error = |refused: Error| match refused {
        Error::BotFailed { seat, problem, .. } => {
            assert_eq!(seat, 0);
            let start = "as adviser: policy `lion`: logit of action ";
            assert!(problem.starts_with(start) && problem.ends_with(" is inf"), "{problem}");
        }
        other => panic!("{other}"),
    };
    let (mut rows, _) = (reset(&batch), reset(&plain));
    let before = loop {
        let (actions, before) = (choices(&rows, 0, 0), save(&batch));
        step(&plain, actions.clone()).expect("it has no adviser");
        match step(&batch, actions) {
            Ok(next) => rows = next,
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
fn a_cancelled_call_while_the_adviser_thinks_changes_nothing() {
    let table = table("faraway", 2);
    let plain = config(&["agent", "random"]);
    let (pool, key) = (Pool::stepped(), SnapshotKey::derive(b"a secret"));
    let options = options(&advised(plain.clone(), "mc:20"), 20, 0);
    let batch = run_for_slices(
        &pool,
        usize::MAX,
        Batch::open("b".to_owned(), Arc::clone(&table), options, &pool.new_group()),
    );
    let batch = batch.expect("it ends").expect("it opens");
    let save =
        || run_for_slices(&pool, usize::MAX, batch.save(&key, &[])).expect("it ends").expect("it is saved");
    let rows = run_for_slices(&pool, usize::MAX, batch.reset(Reset::default(), None)).expect("it ends");
    let actions = Actions::of_all(choices(&rows.expect("it is reset"), 0, 0).into());
    let before = save();
    let other = open(&table, &plain, 20, 50, 1);
    reset(&other);
    let snapshot = wait(other.save(&key, &[])).expect("it is saved");
    let slices = || (0..usize::BITS).map(|power| (1 << power) - 1);
    let cancelled =
        |slices: &usize| run_for_slices(&pool, *slices, batch.step(0, 0, actions.clone(), None)).is_none();
    // The caller cancels after more and more slices, until the call finishes first.
    let times = slices().take_while(cancelled).inspect(|_| assert_eq!(save(), before)).count();
    assert!(times > 2, "the adviser thinks in the pool");
    let cancelled =
        |slices: &usize| run_for_slices(&pool, *slices, batch.load(&key, snapshot.clone(), &[])).is_none();
    let stepped = save();
    let times = slices().take_while(cancelled).inspect(|_| assert_eq!(save(), stepped)).count();
    assert!(times > 2, "the adviser thinks in the pool");
}

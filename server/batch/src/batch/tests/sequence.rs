//! Tests of requests that state the sequence number of their response.

use super::*;

fn numbered(batch: &Arc<Batch>, range: Range<usize>, actions: &[u8], sequence: u64) -> Result<Step, Error> {
    let (first, count) = (
        u32::try_from(range.start).expect("the number fits u32"),
        u32::try_from(range.len()).expect("the number fits u32"),
    );
    let actions = Actions::of_all(Bytes::copy_from_slice(&actions[range]));
    wait(batch.step(first, count, actions, Some(sequence)))
}

#[test]
fn a_repeated_step_gets_the_same_response_and_steps_nothing() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 300, 0, 2);
    let rows = reset(&batch);
    assert_eq!(rows.sequence, 1);
    let actions = choices(&rows, 0, 0);
    let second = numbered(&batch, 0..300, &actions, 2).expect("the sequence number is the next one");
    assert_eq!(second.sequence, 2);
    assert_eq!(numbered(&batch, 0..300, &actions, 2), Ok(second.clone()));
    let third =
        numbered(&batch, 0..300, &choices(&second, 0, 1), 3).expect("the sequence number is the next one");
    assert_ne!(third.view(), second.view());
    // Another batch without retries plays the same.
    let other = open(&table("faraway", 2), &config(&["agent", "random"]), 300, 0, 1);
    step(&other, choices(&reset(&other), 0, 0)).expect("legal");
    assert_eq!(step(&other, choices(&second, 0, 1)), Ok(third));
}

#[test]
fn any_other_number_or_content_is_stale_and_changes_nothing() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 8, 0, 1);
    let rows = reset(&batch);
    let actions = choices(&rows, 0, 0);
    let stale = |sequence, expected| Err(Error::SequenceStale { expected, sequence });
    assert_eq!(numbered(&batch, 0..8, &actions, 1), stale(1, 2), "the first request had no number to repeat");
    assert_eq!(numbered(&batch, 0..8, &actions, 3), stale(3, 2));
    let second = numbered(&batch, 0..8, &actions, 2).expect("the sequence number is the next one");
    let mut changed = actions.clone();
    changed[0] = 112;
    assert_eq!(numbered(&batch, 0..8, &changed, 2), stale(2, 3), "another action");
    assert_eq!(numbered(&batch, 0..4, &actions, 2), stale(2, 3), "another range");
    assert_eq!(numbered(&batch, 0..8, &actions, 2), Ok(second), "the response is still cached");
}

#[test]
fn a_refused_step_uses_no_sequence_number() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 8, 0, 1);
    let rows = reset(&batch);
    let refused = numbered(&batch, 0..8, &[112; 8], 2).expect_err("no seat may play this region");
    assert!(matches!(refused, Error::BatchActionIllegal { .. }), "{refused:?}");
    numbered(&batch, 0..8, &choices(&rows, 0, 0), 2).expect("the sequence number is still the next one");
}

#[test]
fn each_range_counts_its_responses() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 200, 0, 2);
    let actions = choices(&reset(&batch), 0, 0);
    let low = numbered(&batch, 0..100, &actions, 2).expect("the sequence number is the next one");
    let next: Vec<u8> = choices(&low, 0, 1).into_iter().chain(actions[100..].to_vec()).collect();
    numbered(&batch, 0..100, &next, 3).expect("the sequence number is the next one");
    let high = numbered(&batch, 100..200, &actions, 2).expect("the other half has had one response");
    assert_eq!(numbered(&batch, 100..200, &actions, 2), Ok(high));
    // A reset covers all environments, so its sequence number is one more than the highest of any environment.
    let again = |sequence| wait(batch.reset(Reset::default(), Some(sequence)));
    let fresh = again(4).expect("the sequence number is the next one");
    assert_eq!(again(4), Ok(fresh), "a repeated reset starts no episode");
    let stale = Err(Error::SequenceStale { expected: 5, sequence: 3 });
    assert_eq!(numbered(&batch, 0..100, &next, 3), stale, "earlier responses are no longer cached");
}

/// A bytes field shares the memory of its whole message.
#[test]
fn a_cached_request_does_not_keep_its_message() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), 1, 0, 1);
    let chosen = choices(&reset(&batch), 0, 0)[0];
    let (actions, mask) = (Bytes::from(vec![chosen; 1 << 20]), Bytes::from(vec![1; 1 << 20]));
    let one = Actions { indices: actions.slice(..1), mask: mask.slice(..1) };
    wait(batch.step(0, 0, one, Some(2))).expect("the sequence number is the next one");
    assert!(actions.is_unique() && mask.is_unique());
    wait(batch.reset(Reset { mask: mask.slice(..1), ..Reset::default() }, Some(3)))
        .expect("the sequence number is the next one");
    assert!(mask.is_unique());
}

/// The client cancels its request while bots think, and then retries it.
#[test]
fn a_cancelled_step_that_is_retried_runs_once() {
    let (table, config) = (table("faraway", 2), config(&["agent", "greedy:4"]));
    let (pool, mut ends) = (Pool::stepped(), vec![]);
    for slices in (0..usize::BITS).map(|power| (1 << power) - 1) {
        let group = pool.new_group();
        let batch = Batch::open("b".to_owned(), Arc::clone(&table), options(&config, 40, 0), &group);
        let batch = run_for_slices(&pool, usize::MAX, batch).expect("it ends").expect("it opens");
        let rows = run_for_slices(&pool, usize::MAX, batch.reset(Reset::default(), None)).expect("it ends");
        let actions = Actions::of_all(choices(&rows.expect("it is reset"), 0, 0).into());
        let step = || batch.step(0, 0, actions.clone(), Some(2));
        let cancelled = run_for_slices(&pool, slices, step()).is_none();
        let again = run_for_slices(&pool, usize::MAX, step()).expect("it ends");
        ends.push(again.expect("the step runs now, or its response is cached"));
        if !cancelled {
            break;
        }
    }
    assert!(
        ends.len() > 1 && ends.iter().all(|end| *end == ends[0]),
        "at whatever point the first request stopped"
    );
}

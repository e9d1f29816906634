//! Requests that state the number of their answer.

use super::*;

fn numbered(batch: &Arc<Batch>, run: Range<usize>, actions: &[u8], sequence: u64) -> Result<Step, Error> {
    let (first, count) = (u32::try_from(run.start).expect("few"), u32::try_from(run.len()).expect("few"));
    let own = Actions::of_all(Bytes::copy_from_slice(&actions[run]));
    wait(batch.step(first, count, own, Some(sequence)))
}

#[test]
fn a_repeated_step_is_answered_again_and_steps_nothing() {
    let batch = open(&table("faraway", 2), &plan(&["agent", "random"]), 300, 0, 2);
    let shown = reset(&batch);
    assert_eq!(shown.sequence, 1);
    let actions = choices(&shown, 0, 0);
    let second = numbered(&batch, 0..300, &actions, 2).expect("it is due");
    assert_eq!(second.sequence, 2);
    assert_eq!(numbered(&batch, 0..300, &actions, 2), Ok(second.clone()));
    let third = numbered(&batch, 0..300, &choices(&second, 0, 1), 3).expect("it is due");
    assert_ne!(third.view(), second.view());
    // What another has played is the same as if nothing had been repeated.
    let other = open(&table("faraway", 2), &plan(&["agent", "random"]), 300, 0, 1);
    step(&other, choices(&reset(&other), 0, 0)).expect("legal");
    assert_eq!(step(&other, choices(&second, 0, 1)), Ok(third));
}

#[test]
fn any_other_number_or_content_is_stale_and_changes_nothing() {
    let batch = open(&table("faraway", 2), &plan(&["agent", "random"]), 8, 0, 1);
    let shown = reset(&batch);
    let actions = choices(&shown, 0, 0);
    let stale = |sequence, expected| Err(Error::SequenceStale { expected, sequence });
    assert_eq!(numbered(&batch, 0..8, &actions, 1), stale(1, 2), "the first request had no number to repeat");
    assert_eq!(numbered(&batch, 0..8, &actions, 3), stale(3, 2));
    let second = numbered(&batch, 0..8, &actions, 2).expect("it is due");
    let mut others = actions.clone();
    others[0] = 112;
    assert_eq!(numbered(&batch, 0..8, &others, 2), stale(2, 3), "another action");
    assert_eq!(numbered(&batch, 0..4, &actions, 2), stale(2, 3), "another run");
    assert_eq!(numbered(&batch, 0..8, &actions, 2), Ok(second), "the answer is still there");
}

#[test]
fn an_illegal_step_takes_no_number() {
    let batch = open(&table("faraway", 2), &plan(&["agent", "random"]), 8, 0, 1);
    let shown = reset(&batch);
    let refused = numbered(&batch, 0..8, &[112; 8], 2).expect_err("a region that nobody may play");
    assert!(matches!(refused, Error::BatchActionIllegal { .. }), "{refused:?}");
    numbered(&batch, 0..8, &choices(&shown, 0, 0), 2).expect("it is still due");
}

#[test]
fn each_run_counts_its_own_answers() {
    let batch = open(&table("faraway", 2), &plan(&["agent", "random"]), 200, 0, 2);
    let actions = choices(&reset(&batch), 0, 0);
    let low = numbered(&batch, 0..100, &actions, 2).expect("it is due");
    let next: Vec<u8> = choices(&low, 0, 1).into_iter().chain(actions[100..].to_vec()).collect();
    numbered(&batch, 0..100, &next, 3).expect("it is due");
    let high = numbered(&batch, 100..200, &actions, 2).expect("the other half has had one answer");
    assert_eq!(numbered(&batch, 100..200, &actions, 2), Ok(high));
    // A reset covers all: its number follows the highest.
    let again = |sequence| wait(batch.reset(Reset::default(), Some(sequence)));
    let fresh = again(4).expect("it is due");
    assert_eq!(again(4), Ok(fresh), "a repeated reset begins nothing");
    let stale = Err(Error::SequenceStale { expected: 5, sequence: 3 });
    assert_eq!(numbered(&batch, 0..100, &next, 3), stale, "answers from before are gone");
}

/// Fields of a message are parts of it, however little of it they are.
#[test]
fn a_request_that_is_remembered_does_not_keep_its_message() {
    let batch = open(&table("faraway", 2), &plan(&["agent", "random"]), 1, 0, 1);
    let chosen = choices(&reset(&batch), 0, 0)[0];
    let (actions, mask) = (Bytes::from(vec![chosen; 1 << 20]), Bytes::from(vec![1; 1 << 20]));
    let one = Actions { indices: actions.slice(..1), mask: mask.slice(..1) };
    wait(batch.step(0, 0, one, Some(2))).expect("it is due");
    assert!(actions.is_unique() && mask.is_unique());
    wait(batch.reset(Reset { mask: mask.slice(..1), ..Reset::default() }, Some(3))).expect("it is due");
    assert!(mask.is_unique());
}

/// The sender goes away while bots think, and asks again.
#[test]
fn a_step_that_was_given_up_is_made_once() {
    let (table, plan) = (table("faraway", 2), plan(&["agent", "greedy:4"]));
    let (pool, mut ends) = (Pool::stepped(), vec![]);
    for slices in (0..usize::BITS).map(|power| (1 << power) - 1) {
        let group = pool.alone();
        let batch = Batch::open("b".to_owned(), Arc::clone(&table), opening(&plan, 40, 0), &group);
        let batch = within(&pool, usize::MAX, batch).expect("it ends").expect("it is opened");
        let shown = within(&pool, usize::MAX, batch.reset(Reset::default(), None)).expect("it ends");
        let actions = Actions::of_all(choices(&shown.expect("it is reset"), 0, 0).into());
        let step = || batch.step(0, 0, actions.clone(), Some(2));
        let given_up = within(&pool, slices, step()).is_none();
        let again = within(&pool, usize::MAX, step()).expect("it ends");
        ends.push(again.expect("made now, or answered again"));
        if !given_up {
            break;
        }
    }
    assert!(ends.len() > 1 && ends.iter().all(|end| *end == ends[0]), "however far the first had come");
}

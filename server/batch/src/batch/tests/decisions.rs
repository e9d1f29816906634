//! Tests of the decision counter: each choice of an agent counts once.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// Two batch sizes. The caller's thread steps the first, the pool the second.
const COUNTS: [usize; 2] = [5, CALLER_AND_POOL_LIMIT + 1];

/// Returns a table of Faraway, and the counter of its decisions.
fn counted() -> (Arc<Table>, Arc<AtomicU64>) {
    let (uncounted, counter) = (table("faraway", 2), Arc::new(AtomicU64::new(0)));
    let decisions = metrics::Counter::from_arc(Arc::clone(&counter));
    (Arc::new(Table { game: Arc::clone(&uncounted.game), digest: uncounted.digest, decisions }), counter)
}

#[test]
fn only_choices_of_agents_count() {
    for environments in COUNTS {
        let ((table, counter), count) = (counted(), environments as u64);
        let made = || counter.swap(0, Ordering::Relaxed);
        let batch = open(&table, &config(&["agent", "random"]), environments, 0, 2);
        let rows = reset(&batch);
        assert_eq!(made(), 0, "deals and bots");
        let numbered = |actions: Vec<u8>, mask: Vec<u8>, sequence| {
            let actions = Actions { indices: actions.into(), mask: mask.into() };
            wait(batch.step(0, 0, actions, sequence))
        };
        let actions = choices(&rows, 0, 0);
        let mut mask = vec![0; environments.div_ceil(8)];
        mask[0] = 0b101;
        numbered(actions, mask, None).expect("legal");
        assert_eq!(made(), 2, "the mask leaves out all other environments");
        let actions = choices(&super::current_rows(&batch), 0, 1);
        for _ in 0..2 {
            numbered(actions.clone(), vec![], Some(4)).expect("the step runs, or its response is cached");
        }
        assert_eq!(made(), count, "the same request twice");
        numbered(vec![255; environments], vec![], None).expect_err("there is no such action");
        assert_eq!(made(), 0);
    }
}

#[test]
fn a_step_that_starts_an_episode_is_no_decision() {
    let (table, counter) = counted();
    let batch = open(&table, &config(&["agent", "agent"]), 1, 0, 1);
    let (mut rows, mut made) = (reset(&batch), 0);
    for salt in 0..200 {
        made += u64::from(rows.seat()[0] != NO_VALUE);
        rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
        assert_eq!(counter.load(Ordering::Relaxed), made);
    }
    assert!(made < 200, "episodes have ended");
}

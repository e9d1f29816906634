use std::collections::VecDeque;

use super::*;

/// The maximum number of rows of a step.
const ROWS: usize = 64;

fn widths() -> Widths {
    let mut widths = [0; COLUMNS];
    (widths[Column::Ply as usize], widths[Column::View as usize]) = (4, 2_044);
    Widths(widths)
}

/// Returns a step of this many rows, written in one buffer or divided into columns.
fn step(buffers: &BufferCache, rows: usize, divided: bool) -> Step {
    let written = buffers.rows(widths(), rows);
    let written = if divided { written.divided(rows) } else { written };
    let step = buffers.finish(written, 0, 1, EpisodeEndColumns::default());
    assert_eq!((step.rows, step.bytes.len()), (rows, rows * widths().row()));
    step
}

fn cached(buffers: &BufferCache) -> usize {
    buffers.lock().iter().map(|cached| cached.capacity).sum()
}

#[test]
fn at_most_two_whole_steps_are_cached() {
    for divided in [false, true] {
        let (buffers, whole) = (BufferCache::new(widths(), ROWS), ROWS * widths().row());
        let all: Vec<Step> = (0..5).map(|_| step(&buffers, ROWS, divided)).collect();
        assert_eq!(cached(&buffers), 2 * whole);
        drop(all);
        // A smaller step reuses a whole buffer.
        let parts: Vec<Step> = (0..5).map(|_| step(&buffers, ROWS / 2, divided)).collect();
        assert_eq!(cached(&buffers), 2 * whole);
        drop(parts);
        let written = step(&buffers, ROWS, divided);
        assert!(buffers.lock().iter().any(|cached| cached.rows.as_ptr() == written.bytes.as_ptr()));
        assert_eq!(cached(&buffers), 2 * whole);
    }
}

/// A step that is not in a cached buffer has allocated new memory.
#[test]
fn steps_and_half_steps_reuse_buffers_while_earlier_ones_are_read() {
    for (rows, read) in [(ROWS, 1), (ROWS / 2, 3)] {
        let (buffers, mut sent) = (BufferCache::new(widths(), ROWS), VecDeque::new());
        for round in 0..50 {
            if sent.len() == read + 1 {
                sent.pop_front();
            }
            let (before, written) = (cached(&buffers), step(&buffers, rows, round % 2 == 0));
            assert!(round <= read || cached(&buffers) == before, "round {round}");
            sent.push_back(written);
            assert!(sent.iter().all(|step: &Step| {
                buffers.lock().iter().any(|cached| cached.rows.as_ptr() == step.bytes.as_ptr())
            }));
        }
    }
}

#[test]
fn a_buffer_that_is_too_small_is_replaced() {
    let buffers = BufferCache::new(widths(), ROWS);
    drop(step(&buffers, ROWS / 4, false));
    drop(step(&buffers, ROWS, false));
    assert_eq!(cached(&buffers), ROWS * widths().row());
    drop(step(&buffers, ROWS / 4, true));
    assert_eq!(buffers.lock().len(), 1);
}

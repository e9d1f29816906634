//! Tests with snapshots from outside, which may be invalid.

use boardwire_kernel::testkit::{self, ViewerSnapshot};
use boardwire_kernel::{Audits, Hidden, RESAMPLE_STREAM, RngStream, Seat, Setup};
use borsh::BorshDeserialize as _;

use super::super::catalogue::AxisId;
use super::super::limits::HAND;
use super::super::state::{Decision, Sorted};
use super::super::{GoldenCompass, State};
use super::support::{Table, seat};

#[test]
fn a_snapshot_with_broken_bytes_is_refused_or_harmless() {
    let game = testkit::table::<GoldenCompass>(3, &[]);
    let mut rng = RngStream::new(4, RESAMPLE_STREAM);
    let mut accepted = 0;
    testkit::random_game(&game, 12, |episode| {
        let bytes = borsh::to_vec(episode.state()).expect("memory");
        for _ in 0..60 {
            let mut broken = bytes.clone();
            let at = rng.below(u32::try_from(broken.len()).expect("small")) as usize;
            broken[at] = u8::try_from(rng.below(256)).expect("a byte");
            let Ok(state) = State::try_from_slice(&broken) else {
                continue;
            };
            if game.audit(&state).is_err() {
                continue;
            }
            accepted += 1;
            for seat in Seat::all(3) {
                let _ = ViewerSnapshot::of(&*game, &state, seat);
                let mut sample = state;
                game.resample(&mut sample, seat, &mut rng);
                let _ = boardwire_kernel::Estimate::features(&*game, &sample, seat);
            }
        }
    });
    assert!(accepted > 0, "at least one modified snapshot passes the audit");
}

#[test]
fn choices_of_no_list_and_turns_beyond_the_last_are_refused() {
    // GC-8.2: a cost or option is due within a list of effects, and there is room for the lists of the options.
    let table = Table::dealt(3, 1);
    let refused = |decision: Decision, depth: u8, turn: u32| {
        let mut state = table.state;
        (state.decision, state.effect_stack.depth, state.turn) = (decision, depth, turn);
        state.axis = Some(AxisId::new(1));
        table.game.audit(&state).expect_err("the audit rejects this state")
    };
    let maximum = table.game.info().max_plies;
    let choose = Decision::Choose { first: 0, count: 1 };
    let deepest = u8::try_from(table.state.effect_stack.lists.len()).expect("few");
    for (decision, depth) in [(Decision::Cost(1), 0), (choose, 0), (choose, deepest)] {
        assert!(refused(decision, depth, 1).contains("lists of effects"), "{decision:?} at {depth}");
    }
    assert!(!refused(Decision::Cost(1), 1, 1).contains("lists of effects"));
    assert!(!refused(choose, deepest - 1, 1).contains("lists of effects"));
    assert_eq!(refused(Decision::Cost(1), 1, maximum + 1), format!("there is no turn {}", maximum + 1));
    assert!(!refused(Decision::Cost(1), 1, maximum).contains("turn"));
}

#[test]
fn drawn_after_out_of_order_or_above_the_reshuffles_is_refused() {
    // GC-13.2
    let table = Table::dealt(3, 1);
    let audit = |drawn_after: [u8; 4]| {
        let mut bytes = vec![4];
        bytes.extend(drawn_after);
        bytes.resize(1 + HAND, 0);
        let mut state = table.state;
        state.memory[seat(0)].reshuffles = 3;
        state.memory[seat(0)].drawn_after[seat(1)] =
            Sorted::try_from_slice(&bytes).expect("a length and items");
        table.game.audit(&state)
    };
    assert_eq!(audit([0, 0, 0, 3]), Ok(()));
    assert!(audit([3, 0, 0, 0]).is_err() && audit([0, 0, 0, 4]).is_err());
}

//! Step 2: placing and discarding.

use boardwire_kernel::{Choices, Seat};

use super::{SIDE_A, TestState, cells, id};
use crate::rauha::action::Action;
use crate::rauha::state::Phase;

fn places(setup: &TestState) -> Vec<u8> {
    (0..9).filter(|&cell| setup.is_legal(0, Action::Place { cell })).collect()
}

#[test]
fn a_card_goes_on_any_cell_for_its_cost_or_on_its_own_cells() {
    // RA-5.1
    let mut setup = TestState::keeping(2, 1, 0);
    setup.crystals(0, 2);
    assert_eq!(places(&setup), [0, 1, 2, 3, 4, 5, 6, 7, 8], "card 0 costs 2 crystals");
    setup.place(0, 8);
    assert_eq!((setup.purse(0), setup.state.boards[Seat::FIRST].cells[8]), (0, id(0)));
    let mut setup = TestState::keeping(2, 1, 0);
    setup.crystals(0, 1);
    assert!(places(&setup).is_empty());
    let mut setup = TestState::keeping(2, 1, 11);
    setup.crystals(0, 0);
    assert_eq!(places(&setup), [2, 3, 8], "card 11 is free and bound to cells");
    let mut setup = TestState::keeping(2, 1, 33);
    setup.crystals(0, 0);
    assert_eq!(places(&setup).len(), 9, "card 33 is free");
}

#[test]
fn a_covered_card_is_gone_and_a_spore_stays() {
    // RA-5.2
    let mut setup = TestState::keeping(2, 1, 33);
    let mut board = SIDE_A;
    board[4] = 25;
    setup.cells(0, board).spores(0, &[4]);
    setup.place(0, 4);
    assert_eq!(setup.state.boards[Seat::FIRST].cells[4], id(33));
    assert!(!setup.state.boards.all().iter().any(|board| board.cells.contains(&id(25))));
    assert_eq!(setup.state.boards[Seat::FIRST].spores, cells(&[4]));
}

#[test]
fn a_discard_for_crystals_is_always_legal_and_gives_four() {
    // RA-5.3
    let mut setup = TestState::keeping(2, 1, 69);
    setup.crystals(0, 0).spores(0, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let legal = setup.game.encode(Action::TakeCrystals);
    let choices = setup.game.legal(&setup.state, Seat::new(0));
    assert_eq!(choices.iter().collect::<Vec<_>>(), [legal]);
    setup.act(0, Action::TakeCrystals);
    assert_eq!(setup.purse(0), 4);
    assert_eq!(setup.state.kept[Seat::FIRST], None);
}

#[test]
fn a_discard_for_a_spore_needs_a_cell_without_one() {
    // RA-5.4
    let mut setup = TestState::keeping(2, 1, 0);
    setup.spores(0, &[0, 1, 2, 3, 5, 6, 7]);
    let free: Vec<u8> = (0..9).filter(|&cell| setup.is_legal(0, Action::TakeSpore { cell })).collect();
    assert_eq!(free, [4, 8]);
    setup.act(0, Action::TakeSpore { cell: 8 });
    assert_eq!(setup.state.boards[Seat::FIRST].spores, cells(&[0, 1, 2, 3, 5, 6, 7, 8]));
    assert_eq!(setup.purse(0), 4, "it costs nothing and gives no crystals");
}

#[test]
fn no_seat_can_pass_step_2() {
    // RA-5.5
    let setup = TestState::keeping(2, 1, 0);
    assert!(!setup.is_legal(0, Action::End));
    assert_eq!(setup.state.phase, Phase::UseCard);
}

#[test]
fn r6_a_spore_may_lie_on_a_desert_and_counts() {
    // RA-R6
    let mut setup = TestState::keeping(2, 1, 33);
    setup.act(0, Action::TakeSpore { cell: 2 });
    assert_eq!(
        setup.state.boards[Seat::FIRST].spores,
        cells(&[2]),
        "cell 2 of side A is a desert without effect"
    );
    let mut setup = TestState::at(2, 4, Phase::Activate);
    setup.hold(0, &["maa"]).spores(0, &[2]).call(0, "maa");
    assert_eq!(setup.total(0), 1);
}

#[test]
fn r19_a_card_that_cannot_be_paid_or_placed_is_discarded() {
    // RA-R19
    let mut setup = TestState::keeping(2, 1, 69);
    setup.crystals(0, 6);
    assert!(places(&setup).is_empty(), "card 69 costs 7");
    assert!(setup.is_legal(0, Action::TakeCrystals));
    assert!(setup.is_legal(0, Action::TakeSpore { cell: 0 }));
}

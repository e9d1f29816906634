//! Step 4: activations in a turn.

use boardwire_kernel::Seat;

use super::{SIDE_A, TestState, cells, id};
use crate::rauha::action::Action;
use crate::rauha::state::Phase;

/// Creates a stop at which seat 0 activates; `covered` lists cards on its board.
fn activating(stop: u8, covered: &[(usize, u8)]) -> TestState {
    let mut setup = TestState::at(2, stop, Phase::Activate);
    let mut cells = SIDE_A;
    for &(cell, card) in covered {
        cells[cell] = card;
    }
    setup.cells(0, cells);
    setup
}

#[test]
fn the_line_of_the_avatar_and_the_new_entities_are_activated_once_each_in_any_order() {
    // RA-7.1
    let mut setup = TestState::keeping(2, 5, 7);
    let mut cells = SIDE_A;
    (cells[0], cells[1]) = (2, 5);
    setup.cells(0, cells).hold(0, &["maa"]).spores(0, &[8]);
    setup.place(0, 2);
    let open: Vec<u8> = (0..9).filter(|&cell| setup.may_activate(0, cell)).collect();
    assert_eq!(open, [0, 1, 2], "row 0 with the new card, and no Spore elsewhere");
    assert!(setup.may_call(0, "kiteet"));
    assert!(!setup.may_call(0, "maa"), "held from before");
    setup.activate(0, 1).call(0, "kiteet").activate(0, 0);
    assert!(!setup.may_activate(0, 1) && !setup.may_call(0, "kiteet") && setup.may_activate(0, 2));
    setup.activate(0, 2);
    assert_eq!((setup.purse(0), setup.total(0)), (4 + 6, 3));
    assert_eq!(setup.state.seats_done, 1, "nothing is left");
}

#[test]
fn a_new_card_outside_the_line_is_not_activated() {
    // RA-7.1
    let mut setup = TestState::keeping(2, 5, 7);
    setup.place(0, 8);
    assert!(!setup.may_activate(0, 8));
}

#[test]
fn the_activation_may_be_ended_at_any_time() {
    // RA-7.2 RA-R9
    let mut setup = activating(1, &[]);
    assert!(setup.may_activate(0, 0) && setup.may_activate(0, 6), "a crystal and a point for nothing");
    setup.activate(0, 0).act(0, Action::End);
    assert_eq!((setup.purse(0), setup.total(0), setup.state.seats_done), (5, 0, 1));
}

#[test]
fn crystals_gained_first_pay_for_what_comes_later() {
    // RA-7.3: biome 0 gains 4 crystals, biome 41 buys 7 points for 2, biome 20 counts Spores.
    let mut setup = activating(1, &[(0, 0), (3, 41), (6, 100)]);
    setup.crystals(0, 1);
    assert!(!setup.may_activate(0, 3));
    setup.activate(0, 0);
    assert!(setup.may_activate(0, 3));
    setup.activate(0, 3);
    assert_eq!((setup.purse(0), setup.total(0)), (3, 7));
    let mut setup = activating(1, &[(0, 17), (3, 20)]);
    setup.activate(0, 0).act(0, Action::PutSpore { cell: 8 }).activate(0, 3);
    assert_eq!(setup.total(0), 1, "a Spore bought first counts");
}

#[test]
fn gains_and_scores_are_added_and_nothing_cannot_be_activated() {
    // RA-7.4: column 1 of side A scores 1, gains 1 and has no effect.
    let mut setup = activating(2, &[]);
    assert!(!setup.may_activate(0, 7));
    setup.activate(0, 1).activate(0, 4);
    assert_eq!((setup.purse(0), setup.total(0)), (5, 1));
}

#[test]
fn points_per_counts_every_symbol_and_the_active_card_itself() {
    // RA-7.5: biome 47 counts flying animals and shows two. Biome 51 shows two as well, biome 2 shows one.
    let mut setup = activating(1, &[(0, 47), (1, 51), (2, 2), (3, 13)]);
    setup.activate(0, 0);
    assert_eq!(setup.total(0), 2 + 2 + 1 + 1, "13 is flying too");
    setup.activate(0, 3);
    assert_eq!(setup.total(0), 6, "13 counts marine, and there is none");
    let mut setup = activating(1, &[(0, 64), (1, 25)]);
    setup.hold(0, &["vuori"]).activate(0, 0);
    assert_eq!(setup.total(0), 2 + 2 + 1 + 2, "own, a card, a printed cell, VUORI");
}

#[test]
fn buying_points_needs_its_cost() {
    // RA-7.6
    let mut setup = activating(1, &[(0, 1)]);
    setup.crystals(0, 2);
    assert!(!setup.may_activate(0, 0));
    setup.crystals(0, 3).activate(0, 0);
    assert_eq!((setup.purse(0), setup.total(0)), (0, 5));
}

#[test]
fn r16_a_purchase_is_made_once_an_activation() {
    // RA-R16
    let mut setup = activating(1, &[(0, 1)]);
    setup.crystals(0, 20).activate(0, 0);
    assert_eq!((setup.purse(0), setup.total(0)), (17, 5));
    assert!(!setup.may_activate(0, 0));
}

#[test]
fn buying_a_spore_needs_its_cost_and_a_free_cell() {
    // RA-7.7 RA-R18
    let mut setup = activating(1, &[(0, 17)]);
    setup.crystals(0, 1);
    assert!(!setup.may_activate(0, 0));
    setup.crystals(0, 2).spores(0, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(!setup.may_activate(0, 0));
    setup.spores(0, &[1, 2, 3, 4, 5, 6, 7]).activate(0, 0);
    assert_eq!((setup.purse(0), setup.state.phase), (0, Phase::Spore));
    let targets: Vec<u8> = (0..9).filter(|&cell| setup.is_legal(0, Action::PutSpore { cell })).collect();
    assert_eq!(targets, [0, 8], "the active cell included, an occupied one never");
    assert!(setup.try_act(0, Action::PutSpore { cell: 4 }).is_err());
    assert!(!setup.is_legal(0, Action::End), "what is bought is put");
    setup.act(0, Action::PutSpore { cell: 0 });
    assert_eq!(setup.state.boards[Seat::FIRST].spores, cells(&[0, 1, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn an_activation_ends_by_itself_when_nothing_is_possible() {
    // RA-7.8
    let mut setup = activating(1, &[(3, 1), (6, 102)]);
    setup.crystals(0, 0).activate(0, 0);
    assert_eq!(setup.state.seats_done, 1, "1 crystal does not pay for card 1");
    let mut setup = TestState::keeping(2, 1, 33);
    setup.cells(0, [25; 9]).spores(0, &[0]);
    setup.act(0, Action::TakeSpore { cell: 1 });
    assert_eq!(setup.state.seats_done, 1, "a line without effects asks for nothing");
}

#[test]
fn r7_a_spore_bought_in_a_turn_opens_nothing() {
    // RA-R7
    let mut setup = activating(1, &[(0, 17)]);
    setup.activate(0, 0).act(0, Action::PutSpore { cell: 1 });
    assert!(!setup.may_activate(0, 1));
}

#[test]
fn r10_metsat_counts_the_most_frequent_animal() {
    // RA-R10
    let mut setup = TestState::at(2, 4, Phase::Activate);
    let mut cells = SIDE_A;
    (cells[0], cells[1], cells[2]) = (49, 50, 55);
    setup.cells(0, cells).hold(0, &["metsat"]).spores(0, &[3]).call(0, "metsat");
    assert_eq!(setup.total(0), 3, "three land, three marine, one flying");
    let mut setup = TestState::at(2, 4, Phase::Activate);
    setup.hold(0, &["metsat"]).spores(0, &[3]).call(0, "metsat");
    assert_eq!(setup.total(0), 0, "no animals at all");
}

#[test]
fn r13_crystals_are_unlimited() {
    // RA-R13
    let mut setup = activating(1, &[(0, 40)]);
    setup.crystals(0, 97).crystals(1, 97).activate(0, 0);
    assert_eq!(setup.purse(0), 102);
}

#[test]
fn r14_every_cell_of_every_board_may_have_its_spore() {
    // RA-R14
    let mut setup = TestState::at(5, 1, Phase::Activate);
    for seat in 0..5 {
        setup.spores(seat, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
    setup.spores(0, &[0, 1, 2, 3, 4, 5, 6, 7]);
    setup.board(0).cells[0] = id(17);
    setup.activate(0, 0).act(0, Action::PutSpore { cell: 8 });
    let spores: u32 = setup.state.boards.all().iter().map(|board| board.spores.len()).sum();
    assert_eq!(spores, 45);
}

#[test]
fn r15_activating_for_nothing_is_legal_and_moves_no_token() {
    // RA-R15
    let mut setup = activating(1, &[(0, 12)]);
    setup.state.leader = Seat::new(1);
    assert!(setup.may_activate(0, 0), "per land, and there is none");
    setup.activate(0, 0);
    assert_eq!((setup.total(0), setup.state.leader), (0, Seat::new(1)));
}

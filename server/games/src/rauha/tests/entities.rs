//! Step 3: Entities.

use boardwire_kernel::Seat;

use super::{SIDE_A, TestState};
use crate::rauha::action::Action;
use crate::rauha::state::Phase;

/// Returns side A with some cells covered.
fn board(covered: &[(usize, u8)]) -> [u8; 9] {
    let mut cells = SIDE_A;
    for &(cell, card) in covered {
        cells[cell] = card;
    }
    cells
}

/// Creates a state after seat 0 has placed `card` on `cell` of a board. Seat 0 has enough crystals.
fn placed(covered: &[(usize, u8)], card: u8, cell: u8) -> TestState {
    let mut setup = TestState::keeping(3, 1, card);
    setup.cells(0, board(covered)).crystals(0, 20).place(0, cell);
    setup
}

#[test]
fn a_symbol_in_three_cells_of_the_row_or_column_calls_its_entity() {
    // RA-6.1: row 1 of side A begins with quartz; 2 is quartz and flying, 5 quartz and marine.
    let mut setup = TestState::keeping(3, 1, 2);
    setup.cells(0, board(&[(5, 5)])).hold(2, &["kiteet", "maa"]);
    setup.place(0, 4);
    assert_eq!(setup.held(0), ["kiteet"], "from another seat");
    assert_eq!(setup.held(2), ["maa"]);
    assert!(!setup.is_legal(0, Action::TakeCrystals), "no choice is asked for");
    let setup = placed(&[(0, 8), (3, 12)], 13, 6);
    assert_eq!(setup.held(0), ["metsat"], "a column of forests, from the table");
}

#[test]
fn several_entities_at_once_may_be_welcomed() {
    // RA-6.1: biome 37 shows forest, mushroom, flying and marine. Biome 38 shows quartz, mountain, flying and marine.
    // Biome 35 shows quartz, mushroom, flying and land.
    let setup = placed(&[(0, 37), (1, 38), (5, 34), (8, 7)], 35, 2);
    assert_eq!(setup.held(0), ["kiteet", "taivas"], "flying in the row, quartz in the column");
}

#[test]
fn diagonals_and_deserts_call_no_entity() {
    // RA-6.2: quartz is on the diagonal; column 0 and row 2 of side A have deserts.
    let setup = placed(&[(0, 2), (4, 5)], 7, 8);
    assert!(setup.held(0).is_empty());
    let mut setup = TestState::keeping(3, 1, 33);
    setup.cells(0, board(&[(4, 33)]));
    for desert in [102, 104, 106] {
        assert!(setup.game.biome(super::id(desert)).calls.is_empty());
    }
}

#[test]
fn an_entity_stays_when_its_line_is_broken() {
    // RA-6.3
    let mut setup = TestState::keeping(3, 1, 33);
    setup.cells(0, board(&[(0, 2), (1, 5), (2, 7)])).hold(0, &["kiteet"]);
    setup.place(0, 1);
    assert_eq!(setup.held(0), ["kiteet"]);
}

#[test]
fn a_line_of_an_entity_already_held_does_nothing() {
    // RA-6.4
    let mut setup = TestState::keeping(3, 1, 7);
    setup.cells(0, board(&[(0, 2), (1, 5)])).hold(0, &["kiteet"]);
    setup.place(0, 2);
    assert_eq!(setup.held(0), ["kiteet"]);
    assert!(!setup.may_call(0, "kiteet"));
}

#[test]
fn a_discard_calls_no_entity() {
    // RA-6.5
    let mut setup = TestState::keeping(3, 1, 33);
    setup.cells(0, board(&[(0, 2), (1, 5), (2, 7)]));
    setup.act(0, Action::TakeCrystals);
    assert!(setup.held(0).is_empty());
}

#[test]
fn the_seven_effects_are_those_of_the_tiles() {
    // RA-6.6
    let gains = |key: &str, prepare: &dyn Fn(&mut TestState)| {
        let mut setup = TestState::at(2, 4, Phase::Activate);
        setup.crystals(0, 4).hold(0, &[key]);
        prepare(&mut setup);
        let (points, crystals) = (setup.total(0), setup.purse(0));
        let first = setup.state.boards[Seat::FIRST].spores;
        setup.call(0, key);
        assert_eq!(first, setup.state.boards[Seat::FIRST].spores);
        (i32::from(setup.total(0) - points), i32::from(setup.purse(0)) - i32::from(crystals))
    };
    // When seat 0 ends, it gains water points. The other seats have as many sources, so it gains 0.
    let even = |setup: &mut TestState| {
        setup.spores(0, &[0]);
    };
    assert_eq!(gains("kiteet", &even), (3, 0));
    assert_eq!(gains("sienet", &even), (0, 3));
    assert_eq!(gains("taivas", &even), (7, -4));
    assert_eq!(
        gains("maa", &|setup| {
            setup.spores(0, &[0, 2, 7]);
        }),
        (3, 0)
    );
    assert_eq!(gains("meri", &even), (1, 0), "one source is printed on side A");
    let animals = |setup: &mut TestState| {
        setup.spores(0, &[0]).cells(0, board(&[(1, 51), (2, 50), (3, 2)]));
    };
    assert_eq!(gains("metsat", &animals), (3, 0), "three flying against two marine");
    let mut setup = TestState::at(2, 4, Phase::Activate);
    setup.hold(0, &["vuori"]).spores(0, &[0]);
    assert!(!setup.may_call(0, "vuori"));
    let sources = setup.game.water(&setup.state.boards[Seat::FIRST]);
    assert_eq!(sources, 1 + 2);
}

#[test]
fn r1_a_line_that_was_complete_before_counts_with_the_placed_card() {
    // RA-R1
    let mut setup = TestState::keeping(3, 1, 39);
    setup.cells(0, board(&[(0, 2), (1, 5), (2, 7)])).hold(1, &["kiteet"]);
    setup.place(0, 1);
    assert_eq!(setup.held(0), ["kiteet"], "39 is quartz too, so the row is complete as before");
    assert!(setup.held(1).is_empty());
}

#[test]
fn r2_a_complete_line_elsewhere_calls_no_entity() {
    // RA-R2
    let mut setup = TestState::keeping(3, 1, 33);
    setup.cells(0, board(&[(0, 2), (1, 5), (2, 7)])).hold(1, &["kiteet"]);
    setup.place(0, 4);
    assert!(setup.held(0).is_empty());
    assert_eq!(setup.held(1), ["kiteet"]);
}

#[test]
fn r3_an_entity_cannot_be_refused() {
    // RA-R3
    let mut setup = placed(&[(0, 2), (1, 5)], 7, 2);
    assert_eq!(setup.held(0), ["kiteet"]);
    setup.act(0, Action::End);
    assert_eq!(setup.held(0), ["kiteet"], "but it may be left unactivated");
    assert_eq!(setup.total(0), 0);
}

#[test]
fn r4_an_entity_may_be_activated_by_each_who_welcomes_it_in_the_turn() {
    // RA-R4
    let mut setup = TestState::keeping(2, 1, 7);
    setup.state.kept[Seat::new(1)] = Some(super::id(39));
    setup.cells(0, board(&[(0, 2), (1, 5)])).cells(1, board(&[(0, 0), (1, 6)]));
    setup.place(0, 2).call(0, "kiteet").act(0, Action::End);
    assert_eq!((setup.total(0), setup.held(0)), (3, vec!["kiteet"]));
    setup.place(1, 2).call(1, "kiteet");
    assert_eq!((setup.total(1), setup.held(1)), (3, vec!["kiteet"]));
    assert!(setup.held(0).is_empty());
}

#[test]
fn r5_a_symbol_twice_on_a_card_does_not_stand_for_two_cells() {
    // RA-R5: biome 49 is a forest with two land animals, biome 15 a forest with one.
    let setup = placed(&[(3, 15)], 49, 4);
    assert!(setup.held(0).is_empty(), "four land symbols on two cells of the row");
}

//! Step 3: Divine Entities.

use boardwire_kernel::Seat;

use super::{SIDE_A, Scene};
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
fn placed(covered: &[(usize, u8)], card: u8, cell: u8) -> Scene {
    let mut scene = Scene::keeping(3, 1, card);
    scene.cells(0, board(covered)).crystals(0, 20).place(0, cell);
    scene
}

#[test]
fn a_symbol_in_three_cells_of_the_row_or_column_calls_its_entity() {
    // RA-6.1: row 1 of side A begins with a crystal; 2 is crystal and flying, 5 crystal and marine.
    let mut scene = Scene::keeping(3, 1, 2);
    scene.cells(0, board(&[(5, 5)])).hold(2, &["kiteet", "maa"]);
    scene.place(0, 4);
    assert_eq!(scene.held(0), ["kiteet"], "from another seat");
    assert_eq!(scene.held(2), ["maa"]);
    assert!(!scene.is_legal(0, Action::TakeCrystals), "no choice is asked for");
    let scene = placed(&[(0, 8), (3, 12)], 13, 6);
    assert_eq!(scene.held(0), ["metsat"], "a column of forests, from the table");
}

#[test]
fn several_entities_at_once_may_be_welcomed() {
    // RA-6.1: 37 forest+mushroom flying+marine, 38 crystal+mountain flying+marine, 35 crystal+mushroom flying+land.
    let scene = placed(&[(0, 37), (1, 38), (5, 34), (8, 7)], 35, 2);
    assert_eq!(scene.held(0), ["kiteet", "taivas"], "flying in the row, crystal in the column");
}

#[test]
fn diagonals_and_deserts_call_nobody() {
    // RA-6.2: crystals are on the diagonal; column 0 and row 2 of side A have deserts.
    let scene = placed(&[(0, 2), (4, 5)], 7, 8);
    assert!(scene.held(0).is_empty());
    let mut scene = Scene::keeping(3, 1, 33);
    scene.cells(0, board(&[(4, 33)]));
    for desert in [102, 104, 106] {
        assert!(scene.game.biome(super::id(desert)).calls.is_empty());
    }
}

#[test]
fn an_entity_stays_when_its_line_is_broken() {
    // RA-6.3
    let mut scene = Scene::keeping(3, 1, 33);
    scene.cells(0, board(&[(0, 2), (1, 5), (2, 7)])).hold(0, &["kiteet"]);
    scene.place(0, 1);
    assert_eq!(scene.held(0), ["kiteet"]);
}

#[test]
fn a_line_of_an_entity_already_held_does_nothing() {
    // RA-6.4
    let mut scene = Scene::keeping(3, 1, 7);
    scene.cells(0, board(&[(0, 2), (1, 5)])).hold(0, &["kiteet"]);
    scene.place(0, 2);
    assert_eq!(scene.held(0), ["kiteet"]);
    assert!(!scene.may_call(0, "kiteet"));
}

#[test]
fn a_discard_calls_nobody() {
    // RA-6.5
    let mut scene = Scene::keeping(3, 1, 33);
    scene.cells(0, board(&[(0, 2), (1, 5), (2, 7)]));
    scene.act(0, Action::TakeCrystals);
    assert!(scene.held(0).is_empty());
}

#[test]
fn the_seven_effects_are_those_of_the_tiles() {
    // RA-6.6
    let worth = |key: &str, prepare: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::at(2, 4, Phase::Activate);
        scene.crystals(0, 4).hold(0, &[key]);
        prepare(&mut scene);
        let (points, crystals) = (scene.total(0), scene.purse(0));
        let first = scene.state.boards[Seat::FIRST].spores;
        scene.call(0, key);
        assert_eq!(first, scene.state.boards[Seat::FIRST].spores);
        (i32::from(scene.total(0) - points), i32::from(scene.purse(0)) - i32::from(crystals))
    };
    // When seat 0 ends, it gains water points. The other seats have as many sources, so it gains 0.
    let even = |scene: &mut Scene| {
        scene.spores(0, &[0]);
    };
    assert_eq!(worth("kiteet", &even), (3, 0));
    assert_eq!(worth("sienet", &even), (0, 3));
    assert_eq!(worth("taivas", &even), (7, -4));
    assert_eq!(
        worth("maa", &|scene| {
            scene.spores(0, &[0, 2, 7]);
        }),
        (3, 0)
    );
    assert_eq!(worth("meri", &even), (1, 0), "one source is printed on side A");
    let animals = |scene: &mut Scene| {
        scene.spores(0, &[0]).cells(0, board(&[(1, 51), (2, 50), (3, 2)]));
    };
    assert_eq!(worth("metsat", &animals), (3, 0), "three flying against two marine");
    let mut scene = Scene::at(2, 4, Phase::Activate);
    scene.hold(0, &["vuori"]).spores(0, &[0]);
    assert!(!scene.may_call(0, "vuori"));
    let sources = scene.game.water(&scene.state.boards[Seat::FIRST]);
    assert_eq!(sources, 1 + 2);
}

#[test]
fn r1_a_line_that_was_complete_before_counts_with_the_placed_card() {
    // RA-R1
    let mut scene = Scene::keeping(3, 1, 39);
    scene.cells(0, board(&[(0, 2), (1, 5), (2, 7)])).hold(1, &["kiteet"]);
    scene.place(0, 1);
    assert_eq!(scene.held(0), ["kiteet"], "39 is a crystal too, so the row is complete as before");
    assert!(scene.held(1).is_empty());
}

#[test]
fn r2_a_complete_line_elsewhere_calls_nobody() {
    // RA-R2
    let mut scene = Scene::keeping(3, 1, 33);
    scene.cells(0, board(&[(0, 2), (1, 5), (2, 7)])).hold(1, &["kiteet"]);
    scene.place(0, 4);
    assert!(scene.held(0).is_empty());
    assert_eq!(scene.held(1), ["kiteet"]);
}

#[test]
fn r3_an_entity_cannot_be_refused() {
    // RA-R3
    let mut scene = placed(&[(0, 2), (1, 5)], 7, 2);
    assert_eq!(scene.held(0), ["kiteet"]);
    scene.act(0, Action::End);
    assert_eq!(scene.held(0), ["kiteet"], "but it may be left unactivated");
    assert_eq!(scene.total(0), 0);
}

#[test]
fn r4_an_entity_may_be_activated_by_each_who_welcomes_it_in_the_turn() {
    // RA-R4
    let mut scene = Scene::keeping(2, 1, 7);
    scene.state.kept[Seat::new(1)] = Some(super::id(39));
    scene.cells(0, board(&[(0, 2), (1, 5)])).cells(1, board(&[(0, 0), (1, 6)]));
    scene.place(0, 2).call(0, "kiteet").act(0, Action::End);
    assert_eq!((scene.total(0), scene.held(0)), (3, vec!["kiteet"]));
    scene.place(1, 2).call(1, "kiteet");
    assert_eq!((scene.total(1), scene.held(1)), (3, vec!["kiteet"]));
    assert!(scene.held(0).is_empty());
}

#[test]
fn r5_a_symbol_twice_on_a_card_does_not_stand_for_two_cells() {
    // RA-R5: 49 is a forest with two land animals, 15 a forest with one.
    let scene = placed(&[(3, 15)], 49, 4);
    assert!(scene.held(0).is_empty(), "four land symbols on two cells of the row");
}

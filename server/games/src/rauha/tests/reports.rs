//! Reports of choices.

use boardwire_kernel::{Seat, Texts};

use super::TestState;
use crate::rauha::action::Action;
use crate::rauha::state::{EntitySet, Phase};

/// Applies a choice and returns what `viewer` is told of it.
fn report(setup: &mut TestState, seat: u8, action: Action, viewer: u8) -> String {
    let before = setup.state;
    setup.act(seat, action);
    let mut report = String::new();
    let (choice, viewer) = ((Seat::new(seat), action), Seat::new(viewer));
    setup.game.report(&before, choice, &setup.state, viewer, &mut report).expect("memory");
    report
}

#[test]
fn drafts_are_reported_to_their_seat_only() {
    // RA-11.2
    for seats in [2, 5] {
        let mut setup = TestState::opening(seats, 1);
        for seat in 0..seats {
            let card = setup.game.hand(&setup.state, Seat::new(seat))[1];
            let viewer = (seat + 1) % seats;
            let state = setup.state;
            assert_eq!(report(&mut setup, seat, Action::Draft { card }, viewer), "");
            setup.state = state;
            let own = format!("seat {seat} (you) drafts {}\n", setup.game.catalogue.components.code(card));
            assert_eq!(report(&mut setup, seat, Action::Draft { card }, seat), own);
        }
    }
}

#[test]
fn a_discarded_card_is_reported_to_its_seat_only() {
    // RA-11.2
    let discard = |card, viewer| report(&mut TestState::keeping(2, 1, card), 0, Action::TakeCrystals, viewer);
    assert_eq!(discard(1, 1), "seat 0 discards its card: +4 crystals\n");
    assert_eq!(discard(1, 1), discard(2, 1));
    assert_eq!(discard(1, 0), "seat 0 (you) discards C2: +4 crystals\n");
    let spore = report(&mut TestState::keeping(2, 1, 1), 0, Action::TakeSpore { cell: 4 }, 1);
    assert_eq!(spore, "seat 0 discards its card: +1 Spore on mid\n");
}

#[test]
fn a_placed_card_is_reported_with_the_entities_it_takes() {
    // RA-6.1, RA-11.3
    let place = |viewer| {
        let mut setup = TestState::keeping(3, 1, 3);
        setup.cells(0, [100, 101, 102, 103, 104, 5, 106, 107, 108]).hold(2, &["kiteet"]);
        report(&mut setup, 0, Action::Place { cell: 4 }, viewer)
    };
    let placed = "places C4 on mid over the printed desert; pays 3 crystals; takes KITEET from seat 2";
    assert_eq!(place(1), format!("seat 0 {placed}\n"));
    assert_eq!(place(2), format!("seat 0 {placed} (you)\n"));
    assert_eq!(place(0), format!("seat 0 (you) {placed}\n"));
}

#[test]
fn activations_are_reported_with_what_they_give() {
    // RA-7.3, RA-10.1
    let mut setup = TestState::at(2, 1, Phase::Activate);
    setup.state.leader = Seat::new(1);
    assert_eq!(
        report(&mut setup, 0, Action::ActivateCell { cell: 0 }, 1),
        "seat 0 activates NW: +1 crystal\n"
    );
    assert_eq!(
        report(&mut setup, 0, Action::ActivateCell { cell: 6 }, 1),
        "seat 0 activates SW: +1 point\nseat 0 leads now\n"
    );
    assert_eq!(report(&mut setup, 0, Action::End, 1), "seat 0 ends the activation\n");
    let mut setup = TestState::at(2, 2, Phase::Spore);
    assert_eq!(
        report(&mut setup, 0, Action::PutSpore { cell: 8 }, 1),
        "seat 0 puts the bought Spore on SE\n"
    );
}

#[test]
fn the_last_activation_is_reported_by_what_all_seats_see() {
    // RA-7.8, RA-R15: other seats cannot distinguish the activation of NW, which gives nothing, from the end.
    let last = |cell, action, viewer| {
        let mut setup = TestState::at(2, 1, Phase::Activate);
        setup.cells(0, [cell, 101, 102, 31, 104, 105, 31, 107, 108]);
        report(&mut setup, 0, action, viewer)
    };
    let activate = Action::ActivateCell { cell: 0 };
    assert_eq!(last(8, activate, 1), "seat 0 ends the activation\n");
    assert_eq!(last(8, Action::End, 1), last(8, activate, 1));
    assert_eq!(last(8, activate, 0), "seat 0 (you) activates NW (C9): +0 points (+1 point per flying)\n");
    assert_eq!(last(16, activate, 1), "seat 0 activates NW (C17): +4 points\n");
    assert_eq!(last(16, Action::End, 1), "seat 0 ends the activation\n");
}

#[test]
fn equal_last_purchases_are_reported_together() {
    // RA-7.6: each purchase of 3 crystals for 5 points makes the other impossible.
    let mut setup = TestState::at(2, 1, Phase::Activate);
    setup.cells(0, [1, 101, 102, 1, 104, 105, 35, 107, 108]);
    let seen = report(&mut setup, 0, Action::ActivateCell { cell: 3 }, 1);
    let effect = "pay 3 crystals, +5 points";
    assert_eq!(seen, format!("seat 0 activates NW (C2): {effect} or W (C2): {effect}\n"));
}

#[test]
fn a_scoring_is_reported_with_the_points_for_water() {
    // RA-8.2, RA-7.8: seats without anything to activate end the scoring by themselves.
    let scoring = |stop| {
        let mut setup = TestState::at(3, stop, Phase::Activate);
        setup.spores(0, &[1]).hold(2, &["vuori"]).state.leader = Seat::FIRST;
        setup
    };
    let end = report(&mut scoring(16), 0, Action::ActivateCell { cell: 1 }, 2);
    let water = "seat 2 (you): +3 points for Water Sources\nseat 2 (you) leads now\n";
    assert_eq!(end, format!("seat 0 activates N: +1 point\n{water}"));
    // The last seat of a turn ends it. Nothing can be activated in the scoring that follows.
    let mut setup = scoring(3);
    setup.spores(0, &[]).hold(0, &["vuori"]).state.boards[Seat::new(2)].entities = EntitySet::EMPTY;
    setup.state.seats_done = 2;
    let end = report(&mut setup, 2, Action::End, 1);
    assert_eq!(end, "seat 2 ends the activation\nseat 0: +3 points for Water Sources\n");
    assert_eq!(setup.state.stop, 5);
}

//! States as text: states that differ in the observation also differ in the text.

use boardwire_kernel::{Seat, Texts, Viewer};

use super::TestState;
use crate::rauha::state::Phase;

fn text(setup: &TestState, viewer: impl Into<Viewer>) -> String {
    let mut text = String::new();
    setup.game.text(&setup.state, viewer.into(), &mut text).expect("memory");
    text
}

#[test]
fn the_text_says_who_goes_first() {
    // RA-4.2: the lead may have changed during the turn.
    let acting_second = |first: u8, done: u8| {
        let mut setup = TestState::at(3, 2, Phase::Activate);
        (setup.state.leader, setup.state.first_seat, setup.state.seats_done) =
            (Seat::new(1), Seat::new(first), done);
        text(&setup, Seat::new(2))
    };
    let (one, other) = (acting_second(0, 1), acting_second(1, 0));
    assert!(one.contains("The leader is seat 1; seat 0 goes first."), "{one}");
    assert!(other.contains("The leader is seat 1; seat 1 goes first."), "{other}");
    assert_ne!(one, other);
}

#[test]
fn the_text_says_what_takes_part_in_an_activation_and_is_not_possible() {
    // RA-7.1, RA-7.6
    for phase in [Phase::Activate, Phase::Spore] {
        let mut setup = TestState::at(2, 1, phase);
        setup.hold(0, &["taivas"]).crystals(0, 3);
        let held = text(&setup, Seat::new(1));
        let taivas = setup.entity("taivas");
        setup.state.welcomed.insert(taivas);
        let welcomed = text(&setup, Seat::new(1));
        assert_ne!(held, welcomed);
        assert!(welcomed.contains("Not possible now: TAIVAS."), "{welcomed}");
        setup.crystals(0, 4);
        let possible = text(&setup, Seat::new(1));
        assert!(possible.contains(" cell 0 cell 3 cell 6 TAIVAS.\n"), "{possible}");
        setup.state.activated.cells.insert(3);
        let activated = text(&setup, Seat::new(1));
        assert!(activated.contains("Activated already: cell 3.\n"), "{activated}");
    }
}

#[test]
fn the_text_says_where_the_packs_are() {
    // RA-11.1
    let mut setup = TestState::opening(2, 1);
    let drafting = text(&setup, Viewer::Public);
    assert!(drafting.contains("; in each hand 4;"), "{drafting}");
    setup.draft_lowest();
    let drafted = text(&setup, Viewer::Public);
    assert!(drafted.contains("; on each Satellite 3;"), "{drafted}");
}

//! The end of the game.

use boardwire_kernel::{Scoring, Seat};

use super::TestState;
use crate::rauha::action::Action;
use crate::rauha::state::Phase;

/// Creates the fourth scoring; only seat 0 has something to activate.
fn last() -> TestState {
    let mut setup = TestState::at(3, 16, Phase::Activate);
    setup.spores(0, &[1]);
    setup
}

#[test]
fn most_points_win_after_the_fourth_scoring() {
    // RA-9.1
    let mut setup = last();
    setup.points(0, 10).points(1, 30).points(2, 20);
    assert!(setup.outcome().is_none());
    setup.activate(0, 1);
    let outcome = setup.outcome().expect("over");
    assert_eq!((outcome.scores(), outcome.ranks()), (&[11, 30, 20][..], &[3, 1, 2][..]));
    assert_eq!(setup.state.stop, 16);
}

#[test]
fn equal_seats_share_the_victory_whatever_else_they_have() {
    // RA-9.1 RA-9.2
    let mut setup = last();
    setup.points(0, 30).points(1, 30).points(2, 20).crystals(1, 90).hold(2, &["vuori"]);
    setup.act(0, Action::End);
    let outcome = setup.outcome().expect("over");
    assert_eq!(outcome.ranks(), [1, 1, 3]);
    assert_eq!(outcome.scores(), [30, 30, 23], "VUORI is worth its water only: 2 more sources, 3 points");
}

#[test]
fn points_go_on_beyond_a_lap() {
    // RA-9.2
    let mut setup = last();
    setup.points(0, 299).activate(0, 1);
    assert_eq!(setup.total(0), 300);
    let lines = setup.game.explain(&setup.state, Seat::FIRST);
    assert_eq!(lines.iter().map(|line| line.points).sum::<i32>(), 300);
    assert_eq!(lines[1].points, 1, "the Spore of the scoring");
}

//! The three phases of a round.

use boardwire_kernel::{Choices, Episode};

use super::{explore, line, placed, play, play_on, region, sanctuary, scripted, seat};
use crate::faraway::{Faraway, Phase, Regions, Sanctuaries, State};

fn set(ids: &[u8]) -> Regions {
    ids.iter().copied().collect()
}

fn cards(ids: &[u8]) -> Sanctuaries {
    ids.iter().copied().collect()
}

/// Starts a game: seat 0 holds 6, 15 and 49, each with a clue; seat 1 holds 1, 2 and 3.
fn game() -> Episode<Faraway> {
    let regions = [6, 15, 49, 1, 2, 3, 60, 61, 62, 40, 50, 30];
    scripted(2, "basic", &regions, &[20, 7, 11, 12, 24])
}

fn take(game: &mut Episode<Faraway>, number: u8, id: u8) {
    play(game, number, region(id));
}

/// Plays the first round and stops when all seats must choose a region for the second.
fn second_round() -> Episode<Faraway> {
    let mut game = game();
    explore(&mut game, &[6, 1]);
    take(&mut game, 1, 60);
    take(&mut game, 0, 61);
    game
}

#[test]
fn all_turn_up_together_what_they_chose_in_secret() {
    // FA-3.1
    let mut game = game();
    play(&mut game, 1, region(3));
    let lines = |game: &Episode<Faraway>| [0, 1].map(|number| line(game.state(), number));
    assert!(lines(&game).iter().all(Vec::is_empty));
    assert_eq!(game.pending().lowest(), Some(seat(0)));
    play(&mut game, 0, region(15));
    assert_eq!(lines(&game), [[15], [3]]);
    assert_eq!(game.state().hands[seat(0)], set(&[6, 49]));
    play_on(&mut game, |state| state.round == 2);
    explore(&mut game, &[49, 2]);
    assert_eq!(lines(&game), [[15, 49], [3, 2]]);
}

#[test]
fn no_seat_finds_a_sanctuary_in_the_first_round() {
    // FA-3.2
    let mut game = game();
    explore(&mut game, &[49, 3]);
    assert_eq!(game.state().sanctuary_deck, 45);
    play_on(&mut game, |state| state.round == 2);
    assert_eq!((game.ply(), game.state().sanctuary_deck), (4, 45));
}

#[test]
fn only_a_region_longer_than_the_one_just_before_finds() {
    // FA-3.3: the line is 40, 5, 21. Region 21 is shorter than 40 but finds, because 5 came just before it.
    let mut game = scripted(2, "basic", &[40, 5, 21, 68, 67, 66], &[]);
    let dealt = |state: &State, round: usize| [0, 1].map(|number| state.dealt[seat(number)][round - 2].len());
    for (round, regions) in (1..).zip([[40, 68], [5, 67], [21, 66]]) {
        play_on(&mut game, |state| state.round == round);
        explore(&mut game, &regions);
    }
    assert_eq!(dealt(game.state(), 2), [0, 0]);
    assert_eq!(dealt(game.state(), 3), [1, 0]);
}

#[test]
fn as_many_are_dealt_as_there_are_clues_and_one_more() {
    // FA-3.4: the example of the rulebook: region 49 after 15, three clues in the area, 4 cards.
    let mut game = second_round();
    explore(&mut game, &[15, 2]);
    assert_eq!(game.state().found(seat(0)).len(), 1 + 2, "6 and the 15 just played show a clue");
    play_on(&mut game, |state| state.phase == Phase::Place && state.active() == Some(seat(0)));
    play(&mut game, 0, sanctuary(11));
    explore(&mut game, &[49, 3]);
    assert_eq!(game.state().found(seat(0)).len(), 4);
}

#[test]
fn r12_the_sanctuary_being_placed_does_not_change_the_deal() {
    // FA-R12: sanctuary 7 shows a clue, which counts from the next round on.
    let mut game = second_round();
    explore(&mut game, &[15, 2]);
    take(&mut game, 1, 40);
    play(&mut game, 1, sanctuary(20));
    take(&mut game, 0, 50);
    play(&mut game, 0, sanctuary(7));
    assert_eq!(game.state().dealt[seat(0)][0].len(), 3);
    explore(&mut game, &[49, 3]);
    assert_eq!(game.state().found(seat(0)).len(), 1 + 4);
}

#[test]
fn durations_give_the_order_and_a_turn_is_whole() {
    // FA-4.1
    let mut game = second_round();
    explore(&mut game, &[15, 2]);
    assert_eq!(game.state().order[..2], [1, 0].map(seat));
    let mut turns = vec![];
    for _ in 0..4 {
        let active = game.pending().lowest().expect("a seat has a turn");
        assert_eq!(game.pending().len(), 1);
        turns.push((active.number(), game.state().phase));
        let action = game.game().legal(game.state(), active).lowest().expect("a choice");
        game.apply(active, action.into()).expect("legal");
    }
    let whole = [(1, Phase::Take), (1, Phase::Place), (0, Phase::Take), (0, Phase::Place)];
    assert_eq!(turns, whole);
    assert_eq!(game.state().phase, Phase::Explore);
}

#[test]
fn a_region_is_taken_from_a_display_that_is_not_refilled() {
    // FA-4.2
    let mut game = second_round();
    explore(&mut game, &[15, 2]);
    let legal = |game: &Episode<Faraway>, number| game.game().legal(game.state(), seat(number));
    assert_eq!(game.state().display, set(&[30, 40, 50]));
    assert_eq!(legal(&game, 1).iter().collect::<Vec<_>>(), [29, 39, 49]);
    let deck = game.state().deck;
    take(&mut game, 1, 40);
    assert_eq!(game.state().hands[seat(1)], set(&[3, 40, 60]));
    play(&mut game, 1, sanctuary(20));
    assert_eq!((game.state().display, game.state().deck), (set(&[30, 50]), deck));
    assert_eq!(legal(&game, 0).iter().collect::<Vec<_>>(), [29, 49]);
}

#[test]
fn exactly_one_of_the_sanctuaries_dealt_is_placed() {
    // FA-4.4
    let mut game = second_round();
    explore(&mut game, &[15, 2]);
    assert_eq!(
        (game.state().found(seat(1)), game.state().found(seat(0))),
        (cards(&[20]), cards(&[7, 11, 12]))
    );
    take(&mut game, 1, 40);
    play(&mut game, 1, sanctuary(20));
    take(&mut game, 0, 50);
    let legal = game.game().legal(game.state(), seat(0));
    assert_eq!(legal.iter().collect::<Vec<_>>(), [68 + 6, 68 + 10, 68 + 11]);
    play(&mut game, 0, sanctuary(11));
    assert_eq!([0, 1].map(|number| placed(game.state(), number)), [[11], [20]]);
}

#[test]
fn the_other_sanctuaries_go_under_the_deck() {
    // FA-4.5: the deck has 45 cards less the two placed. The returned cards are not in the front block.
    let mut game = second_round();
    explore(&mut game, &[15, 2]);
    assert_eq!(game.state().sanctuary_deck, 41);
    play_on(&mut game, |state| state.round == 3);
    let state = game.state();
    assert_eq!((state.sanctuary_deck, state.front.len()), (43, 41));
    assert_eq!(state.returned(2, seat(0)), cards(&[11, 12]), "the lowest, 7, was placed");
    assert!(state.front.intersection(cards(&[7, 11, 12, 20])).is_empty());
}

#[test]
fn a_seat_that_finds_nothing_places_nothing() {
    // FA-4.4
    let mut game = second_round();
    explore(&mut game, &[15, 60]);
    play_on(&mut game, |state| state.round == 3);
    explore(&mut game, &[61, 2]);
    assert_eq!(game.state().found(seat(1)), Sanctuaries::EMPTY);
    let display = game.state().display.lowest().expect("a display");
    take(&mut game, 1, display);
    assert_eq!(game.state().active(), Some(seat(0)));
}

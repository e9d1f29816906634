//! Setup, track and draft.

use boardwire_kernel::{Choices, RandomSource, Seat, SeatSet, Setup, Turns, testkit};

use super::{TestState, cells};
use crate::rauha::Rauha;
use crate::rauha::action::Action;
use crate::rauha::catalogue::{Side, printed_biome};
use crate::rauha::state::{BiomeId, Phase};
use crate::rauha::turn::satellite;

#[test]
fn two_to_five_seats_begin_on_the_same_side_with_four_crystals() {
    // RA-1.1 RA-1.2
    assert_eq!(Rauha::TYPE.seats, 2..=5);
    for (side, number) in [("A", 0), ("B", 1)] {
        for seats in 2..=5 {
            let game = testkit::table::<Rauha>(seats, &[("side", side)]);
            let state = game.deal(&mut RandomSource::seeded(3, 3));
            for board in state.boards.of(seats) {
                assert_eq!(board.cells, [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|cell| printed_biome(number, cell)));
                assert_eq!((board.crystals, board.points(), board.spores), (4, 0, cells(&[])));
                assert!(board.entities.is_empty());
            }
        }
    }
    let default = testkit::table::<Rauha>(2, &[]);
    assert_eq!(default.info().options.word("side"), "A", "side A is suggested first");
}

#[test]
fn the_first_leader_is_drawn_from_a_stream_of_its_own() {
    // RA-1.3
    let game = testkit::table::<Rauha>(3, &[]);
    for leader in 0..3 {
        let mut chance = RandomSource::scripted([(0..12).collect(), vec![], vec![leader]]);
        let state = game.deal(&mut chance);
        assert_eq!((state.leader, state.first_seat), (Seat::new(leader), Seat::new(leader)));
    }
    let leaders: std::collections::BTreeSet<u8> =
        (0..40).map(|seed| TestState::opening(3, seed).state.leader.number()).collect();
    assert_eq!(leaders.len(), 3);
}

#[test]
fn satellites_lie_between_neighbours() {
    // RA-1.4
    for seats in 2..=5 {
        let game = testkit::table::<Rauha>(seats, &[]);
        for seat in Seat::all(seats) {
            let [star, moon] = [Side::Star, Side::Moon].map(|side| satellite(seat, side, seats));
            assert_eq!((star, moon), (seat, seat.clockwise(1, seats)));
            assert_ne!(star, moon, "also with two seats");
            for (round, satellites) in [(1, [moon, star]), (2, [star, moon])] {
                assert_eq!(game.satellites(round, seat), satellites);
                assert_eq!(satellites.map(|satellite| game.pack_readers(round, satellite))[0][0], seat);
                assert_eq!(satellites.map(|satellite| game.pack_readers(round, satellite))[1][1], seat);
            }
        }
    }
}

#[test]
fn the_ages_are_decks_of_forty_different_cards() {
    // RA-1.5
    let setup = TestState::opening(5, 9);
    let [first, second] = setup.game.ages;
    assert_eq!((first.len(), second.len()), (40, 40));
    assert!(first.intersection(second).is_empty());
    assert_eq!(setup.state.undealt.intersection(second), second, "Age 2 is untouched at first");
    assert_eq!(setup.state.undealt.len(), 60);
}

#[test]
fn the_track_has_four_rounds_of_three_turns_and_a_scoring() {
    // RA-2.1
    let setup = TestState::opening(2, 1);
    let track = &setup.game.track;
    let columns = [[0, 3, 6], [1, 4, 7], [2, 5, 8]].map(|line| cells(&line));
    let rows = [[0, 1, 2], [3, 4, 5], [6, 7, 8]].map(|line| cells(&line));
    let lines = |round: usize| [0, 1, 2].map(|turn| track[4 * round + turn].line);
    assert_eq!(lines(0), columns);
    assert_eq!(lines(1), rows);
    assert_eq!(lines(2), [columns[2], columns[1], columns[0]]);
    assert_eq!(lines(3), [rows[2], rows[1], rows[0]]);
    let sides: Vec<Side> = track.iter().filter_map(|stop| stop.side).collect();
    let (moon, star) = (Side::Moon, Side::Star);
    assert_eq!(sides, [moon, star, moon, star, moon, star, moon, star, moon, star, moon, star]);
    let corners: Vec<usize> = (0..16).filter(|&stop| track[stop].is_scoring()).collect();
    assert_eq!(corners, [3, 7, 11, 15]);
    for cell in 0..9 {
        let times = track.iter().filter(|stop| stop.line.contains(cell)).count();
        assert_eq!(times, 4, "each cell's row and column come up twice each");
    }
}

#[test]
fn each_round_deals_four_cards_of_its_age_on_each_satellite() {
    // RA-2.2 RA-8.3
    let mut setup = TestState::opening(3, 5);
    let mut left = [40, 40];
    for round in 1..=4u8 {
        assert_eq!((setup.state.round(), setup.state.turn()), (round, 1));
        let age = usize::from((round - 1) / 2);
        left[age] -= 12;
        let counts = setup.game.counts(&setup.state);
        assert_eq!(counts.undealt, left, "nothing goes back into a deck");
        assert_eq!(counts.pack, 4);
        for pack in Seat::all(3).map(|satellite| setup.state.pack(round, satellite)) {
            assert!(pack.iter().all(|&card| setup.game.ages[age].contains(card)));
        }
        for _ in 0..3 {
            setup.idle_turn();
        }
        while setup.state.is_scoring() && setup.state.phase == Phase::Activate {
            let acting_seat = setup.game.acting_seat(&setup.state).number();
            setup.act(acting_seat, Action::End);
        }
    }
    assert_eq!(setup.state.phase, Phase::Over);
}

#[test]
fn cards_are_dealt_satellite_by_satellite_from_the_stream_of_their_age() {
    // RA-2.2
    let game = testkit::table::<Rauha>(2, &[]);
    let dealt = [8, 5, 3, 1, 40, 39, 38, 37];
    let mut chance = RandomSource::scripted([dealt.to_vec(), vec![], vec![1]]);
    let state = game.deal(&mut chance);
    let packs = Seat::all(2).map(|satellite| state.pack(1, satellite).map(BiomeId::get));
    assert!(packs.eq([[1, 3, 5, 8], [37, 38, 39, 40]]));
    assert_eq!((chance.script_error(), chance.usage()), (None, vec![0, 0, 0]));
}

#[test]
fn all_draft_at_once_from_the_satellite_of_the_notch() {
    // RA-3.1
    let mut setup = TestState::opening(3, 2);
    assert_eq!(setup.game.pending(&setup.state), SeatSet::all(3));
    for seat in Seat::all(3) {
        let moon = setup.state.pack(1, seat.clockwise(1, 3));
        assert_eq!(setup.game.hand(&setup.state, seat), moon);
        let legal = setup.game.legal(&setup.state, seat);
        assert!(legal.iter().eq(moon.iter().map(|card| card.get() - 1)));
    }
    setup.act(1, Action::Draft { card: setup.state.pack(1, Seat::new(2))[3] });
    assert_eq!(setup.game.pending(&setup.state).iter().map(Seat::number).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(setup.state.phase, Phase::Draft, "nothing happens before all have chosen");
}

#[test]
fn packs_shrink_and_change_hands_and_the_last_card_goes_to_the_black_hole() {
    // RA-3.2 RA-3.3
    let mut setup = TestState::opening(3, 4);
    let dealt = *setup.state.pack(1, Seat::new(1));
    let hand = |setup: &TestState, seat: u8| setup.game.hand(&setup.state, Seat::new(seat)).to_vec();
    assert_eq!(hand(&setup, 0), dealt, "the moon of seat 0");
    assert_eq!(setup.game.counts(&setup.state).black_hole, 0);
    setup.idle_turn();
    assert_eq!(hand(&setup, 1), dealt[1..], "the star of seat 1 is the moon of seat 0");
    assert_eq!(setup.game.counts(&setup.state).black_hole, 3);
    setup.idle_turn();
    assert_eq!(hand(&setup, 0), dealt[2..], "turn 3 goes back to the first reader");
    setup.draft_lowest();
    let counts = setup.game.counts(&setup.state);
    assert_eq!((counts.pack, counts.black_hole), (0, 6 + 3), "three cards were left over");
}

#[test]
fn r17_a_draft_choice_is_final() {
    // RA-R17
    let mut setup = TestState::opening(2, 2);
    let pack = setup.game.hand(&setup.state, Seat::new(0)).to_vec();
    setup.act(0, Action::Draft { card: pack[0] });
    assert!(setup.game.legal(&setup.state, Seat::new(0)).is_empty());
    assert!(setup.try_act(0, Action::Draft { card: pack[1] }).is_err());
}

#[test]
fn the_leader_at_the_start_of_the_turn_acts_first_and_the_order_stands() {
    // RA-4.1 RA-4.2
    let mut setup = TestState::opening(3, 2);
    setup.state.leader = Seat::new(2);
    setup.state.first_seat = Seat::new(2);
    setup.draft_lowest();
    for (done, seat) in [(0, 2), (1, 0), (2, 1)] {
        assert_eq!((setup.state.seats_done, setup.state.phase), (done, Phase::UseCard));
        assert_eq!(setup.game.pending(&setup.state), SeatSet::only(Seat::new(seat)));
        setup.act(seat, Action::TakeCrystals);
        assert_eq!(
            setup.game.pending(&setup.state),
            SeatSet::only(Seat::new(seat)),
            "consecutive steps 2 to 4"
        );
        if seat == 0 {
            // Column 0 of side A ends in a desert that gives a point, so the lead changes.
            setup.activate(0, 6);
            assert_eq!(setup.state.leader, Seat::FIRST);
        }
        setup.act(seat, Action::End);
    }
    assert_eq!(
        (setup.state.stop, setup.state.first_seat),
        (2, Seat::FIRST),
        "the new leader goes first in the next turn"
    );
}

#[test]
fn every_avatar_moves_on_when_all_have_finished() {
    // RA-4.3
    let mut setup = TestState::opening(2, 2);
    for stop in 1..=3 {
        assert_eq!(setup.state.stop, stop);
        setup.idle_turn();
    }
    assert_eq!(setup.state.stop, 5, "a corner where nothing can be activated passes by itself");
    assert_eq!((setup.state.round(), setup.state.turn()), (2, 1));
}

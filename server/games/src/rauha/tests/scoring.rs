//! Scorings, water, the leader.

use boardwire_kernel::Seat;

use super::{SIDE_A, TestState};
use crate::rauha::action::Action;
use crate::rauha::catalogue::BIOME_COUNT;
use crate::rauha::state::{Phase, Source};

fn corner(seats: u8, stop: u8) -> TestState {
    TestState::at(seats, stop, Phase::Activate)
}

#[test]
fn a_scoring_activates_spores_and_every_entity_held() {
    // RA-8.1
    let mut setup = corner(2, 8);
    setup.spores(0, &[0, 1, 2, 8]).hold(0, &["kiteet", "sienet", "vuori"]).spores(1, &[6]);
    let open: Vec<u8> = (0..9).filter(|&cell| setup.may_activate(0, cell)).collect();
    assert_eq!(open, [0, 1, 8], "cell 2 has no effect, and the Avatar's line plays no part");
    assert!(setup.may_call(0, "kiteet") && setup.may_call(0, "sienet") && !setup.may_call(0, "vuori"));
    setup.activate(0, 8).call(0, "kiteet").activate(0, 0).call(0, "sienet");
    assert!(!setup.may_activate(0, 8) && !setup.may_call(0, "kiteet"), "once each");
    assert_eq!((setup.total(0), setup.purse(0)), (4, 8));
    setup.activate(0, 1);
    assert_eq!(setup.state.seats_done, 1, "seat 1 is next");
    assert!(setup.may_activate(1, 6));
}

#[test]
fn r8_scoring_activations_are_optional() {
    // RA-R8
    let mut setup = corner(2, 8);
    setup.spores(0, &[0, 1]).spores(1, &[0]).act(0, Action::End);
    assert_eq!((setup.state.seats_done, setup.total(0), setup.purse(0)), (1, 0, 4));
}

#[test]
fn r7_a_spore_bought_in_a_scoring_opens_its_cell_once() {
    // RA-R7: cell 5 of side A buys a Spore for 3.
    let mut setup = corner(2, 8);
    setup.spores(0, &[5, 6]).crystals(0, 9).activate(0, 5).act(0, Action::PutSpore { cell: 1 });
    assert!(setup.may_activate(0, 1));
    assert!(!setup.may_activate(0, 5), "activated already");
    setup.activate(0, 1);
    assert_eq!(setup.total(0), 1);
    assert!(!setup.may_activate(0, 1));
}

#[test]
fn water_is_compared_with_the_fewest_of_any_seat() {
    // RA-8.2: biome 24 shows one Water Source, 25 shows two, 65 shows three. Side A of the board shows one on cell
    // 7.
    for (sources, points) in [(1, 0), (2, 1), (3, 3), (4, 6), (5, 10), (6, 15), (7, 15)] {
        let mut setup = corner(3, 8);
        let mut cells = SIDE_A;
        let mountains: &[(usize, u8)] = match sources {
            1 => &[],
            2 => &[(0, 24)],
            3 => &[(0, 25)],
            4 => &[(0, 65)],
            5 => &[(0, 65), (1, 24)],
            6 => &[(0, 65), (1, 25)],
            _ => &[(0, 65), (1, 25), (2, 24)],
        };
        for &(cell, card) in mountains {
            cells[cell] = card;
        }
        setup.cells(0, cells).spores(0, &[3]).spores(1, &[3]);
        assert_eq!(setup.game.water(&setup.state.boards[Seat::FIRST]), sources);
        setup.act(0, Action::End);
        assert_eq!(setup.total(0), points, "{sources} sources against 1");
        assert_eq!(setup.state.boards[Seat::FIRST].gained[Source::Water as usize], points);
    }
}

#[test]
fn vuori_counts_as_two_sources_and_the_fewest_may_be_zero() {
    // RA-8.2
    let mut setup = corner(2, 8);
    let mut dry = SIDE_A;
    dry[7] = 33;
    setup.hold(0, &["vuori"]).cells(1, dry).spores(0, &[3]).spores(1, &[3]);
    setup.act(0, Action::End).act(1, Action::End);
    assert_eq!((setup.total(0), setup.total(1)), (6, 0), "3 sources against 0; the fewest gain nothing");
}

#[test]
fn r20_a_two_type_mountain_has_no_source() {
    // RA-R20
    let setup = corner(2, 8);
    for biome in setup.game.catalogue.components.biomes.up_to(BIOME_COUNT) {
        let is_mountain_only = biome.types == [false, false, false, true, false];
        assert!(biome.symbols.water() == 0 || is_mountain_only, "only single-type mountains have drops");
    }
}

#[test]
fn r11_the_leader_is_determined_again_at_a_corner() {
    // RA-R11: seat 1 went first in turn 3, and seat 0 takes the lead during it.
    let mut setup = TestState::at(2, 3, Phase::Activate);
    (setup.state.first_seat, setup.state.leader, setup.state.seats_done) = (Seat::new(1), Seat::new(1), 1);
    setup.spores(0, &[0]).spores(1, &[0]);
    setup.activate(0, 8).act(0, Action::End);
    assert_eq!((setup.state.stop, setup.state.first_seat), (4, Seat::FIRST));
    assert!(setup.may_activate(0, 0));
}

#[test]
fn r12_water_is_gained_when_the_seat_ends_its_own_activation() {
    // RA-R12: both gain one point for water; the second one lands on top.
    let mut setup = corner(3, 8);
    let mut wet = SIDE_A;
    wet[0] = 24;
    setup.cells(0, wet).cells(1, wet).spores(0, &[3]).spores(1, &[3]).spores(2, &[3]);
    setup.act(0, Action::End);
    assert_eq!((setup.total(0), setup.total(1), setup.state.leader), (1, 0, Seat::FIRST));
    setup.act(1, Action::End);
    assert_eq!((setup.total(1), setup.state.leader), (1, Seat::new(1)));
}

#[test]
fn the_last_to_reach_the_furthest_space_leads() {
    // RA-10.1
    let mut setup = corner(3, 8);
    let gain = |setup: &mut TestState, seat, points| {
        setup.state.gain(Seat::new(seat), Source::Turns, points);
        setup.state.leader.number()
    };
    assert_eq!(gain(&mut setup, 1, 2), 1);
    assert_eq!(gain(&mut setup, 2, 1), 1, "less far");
    assert_eq!(gain(&mut setup, 2, 1), 2, "as far, and on top");
    assert_eq!(gain(&mut setup, 2, 3), 2);
    assert_eq!(gain(&mut setup, 0, 9), 0, "furthest");
}

#[test]
fn a_gain_of_nothing_moves_no_token() {
    // RA-10.2
    let mut setup = corner(2, 8);
    setup.state.leader = Seat::new(1);
    setup.state.gain(Seat::FIRST, Source::Turns, 0);
    assert_eq!(setup.state.leader, Seat::new(1), "both stand on 0, seat 1 on top");
}

/// `order` models the full stack of tokens, bottom to top.
#[test]
fn the_one_number_leader_equals_a_full_stack_of_tokens() {
    // RA-10.1 RA-10.2
    let mut rng = boardwire_kernel::RngStream::new(11, 0);
    for _ in 0..300 {
        let seats = 2 + rng.below(4);
        let mut order: Vec<u32> = (0..seats).collect();
        rng.shuffle(&mut order);
        let mut setup = corner(u8::try_from(seats).expect("small"), 8);
        setup.state.leader = Seat::new(u8::try_from(order[order.len() - 1]).expect("small"));
        let mut points = vec![0u16; seats as usize];
        for _ in 0..40 {
            let seat = rng.below(seats);
            let gain = u16::try_from(rng.below(4)).expect("small");
            if gain > 0 {
                order.retain(|&other| other != seat);
                order.push(seat);
                points[seat as usize] += gain;
            }
            let mover = Seat::new(u8::try_from(seat).expect("small"));
            setup.state.gain(mover, Source::Turns, gain);
            let maximum = points.iter().max();
            let top = order.iter().rev().find(|&&seat| points.get(seat as usize) == maximum);
            assert_eq!(top.copied(), Some(setup.state.leader.number().into()));
        }
    }
}

//! Tests of components, path and set-up.

use boardwire_kernel::{Audits, Seat, testkit};

use super::super::catalogue::{AxisId, TokenSet};
use super::super::state::Decision;
use super::super::{GoldenCompass, streams};
use super::support::{Table, seat};

#[test]
fn a_deck_has_every_daemon_with_every_symbol_and_as_many_decks_as_the_seats_need() {
    // GC-1.1
    for (seats, cards) in [(2, 38), (3, 76), (4, 76)] {
        let table = Table::new(seats);
        assert_eq!(table.state.deck.len(), cards);
        let faces = table.game.catalogue().cards.iter().filter(|card| card.daemon.is_some());
        assert_eq!(faces.clone().count(), 32);
        assert!(faces.clone().all(|card| card.count == 1));
    }
    let cards = Table::new(2).game.catalogue().cards.clone();
    let count = |name| cards.iter().find(|card| card.name == name).map(|card| card.count);
    assert_eq!((count("joker"), count("flying spy")), (Some(2), Some(4)));
}

#[test]
fn conservation_38_or_76_cards_36_truth_tiles_8_dust_tiles_24_experience_tokens() {
    // GC-1.2; the audit of every ply counts the components. This test compares them with the printed numbers.
    for seats in 2..=4 {
        let game = testkit::table::<GoldenCompass>(seats, &[]);
        let end = testkit::random_game(&game, 3, |episode| {
            let s = episode.state();
            game.audit(s).expect("components are conserved");
            let hands: u32 = s.seats.all().iter().map(|seat_state| u32::from(seat_state.hand.len())).sum();
            let cards = hands + u32::from(s.deck.len()) + u32::from(s.discard.len());
            assert_eq!(cards, if seats == 2 { 38 } else { 76 });
            let dust: u8 = s.seats.all().iter().map(|seat_state| seat_state.dust).sum();
            assert_eq!(dust + s.dust, 8);
            let owned: u32 = s
                .seats
                .all()
                .iter()
                .map(|seat_state| seat_state.tokens.union(seat_state.laid_out).len())
                .sum();
            let tokens_at_cities: u32 = s.city_tokens.iter().map(TokenSet::len).sum();
            assert_eq!(owned + tokens_at_cities, 24);
        });
        let taken: u8 = end.state().seats.all().iter().map(|seat_state| seat_state.truth.len()).sum();
        let bag = end.state().bag.len();
        assert!(taken <= 2 * 3 * seats && bag == 12, "36 tiles, eight drawn three times");
    }
}

#[test]
fn ten_characters_a_period() {
    // GC-R1
    let table = Table::new(2);
    for period in 0..3 {
        let of_period = table.game.catalogue().characters.iter().filter(|card| card.period == period);
        assert_eq!(of_period.count(), 10);
    }
}

#[test]
fn the_path_has_31_steps_and_every_space_but_start_and_objectives_is_in_one_city() {
    // GC-2.1, GC-R3
    let catalogue = Table::new(2).game.catalogue().clone();
    assert_eq!(catalogue.objectives, [9, 18, 31]);
    for space in 1..31u8 {
        let cities = catalogue.cities.iter().filter(|city| (city.spaces.0..=city.spaces.1).contains(&space));
        let expected = usize::from(!catalogue.objectives.contains(&space));
        assert_eq!(cities.count(), expected, "space {space}");
    }
}

#[test]
fn the_current_city_is_lyras_or_the_first_of_the_period_and_none_on_its_objective() {
    // GC-2.2, GC-R4
    let catalogue = Table::new(2).game.catalogue().clone();
    let name =
        |period, lyra| catalogue.current_city(period, lyra).map(|city| catalogue.city(city).id.as_str());
    assert_eq!(name(0, 0), Some("jordan_college"));
    assert_eq!(name(0, 4), Some("jordan_college"));
    assert_eq!(name(0, 5), Some("london"));
    assert_eq!(name(0, 9), None);
    assert_eq!(name(1, 9), Some("trollesund"));
    assert_eq!(name(2, 18), Some("svalbard"));
    assert_eq!(name(2, 25), Some("northern_lights"));
    assert_eq!(name(2, 31), None);
}

#[test]
fn the_board_is_set_up_and_four_cards_dealt() {
    // GC-3.1, GC-3.2, GC-5.1
    let table = Table::dealt(3, 5);
    let s = &table.state;
    assert_eq!((s.lyra, s.airship, s.dust, s.decision), (0, None, 8, Decision::Keep));
    assert_eq!(s.bag.len(), 36);
    assert!(s.city_tokens.iter().all(|pile| pile.len() == 6));
    for seat_state in s.seats.of(3) {
        assert_eq!((seat_state.hand.len(), seat_state.supply, seat_state.compass), (4, 14, 0));
        assert!(seat_state.dealt.is_some());
    }
    assert_eq!(s.undealt_characters.len(), 4, "two to each of three seats, the rest unseen");
}

#[test]
fn every_seat_can_be_first() {
    // GC-R5
    let firsts: std::collections::BTreeSet<Seat> =
        (0..40).map(|seed| Table::dealt(4, seed).state.first_seat).collect();
    assert_eq!(firsts.len(), 4);
}

#[test]
fn the_first_seat_of_the_period_is_dealt_the_first_characters() {
    // GC-5.1
    let mut table = Table::dealt(3, 1);
    let mut s = table.state;
    s.first_seat = seat(2);
    table.scripted(streams::CHARACTERS, &[5, 8, 2, 3, 4, 6]);
    table.game.begin_period(&mut s, &mut table.chance);
    let dealt = [2, 0, 1].map(|seat| s.seats[Seat::new(seat)].dealt.map(|dealt| dealt.map(u8::from)));
    assert_eq!(dealt, [Some([5, 8]), Some([2, 3]), Some([4, 6])]);
}

#[test]
fn the_needle_points_by_weight_at_one_red_and_one_light_blue_symbol() {
    // GC-6.1, GC-R8
    let mut table = Table::new(2);
    let mut s = table.state;
    assert_eq!(table.game.wheel.len(), 15);
    for rank in 0..15 {
        table.scripted(streams::WHEEL, &[rank]);
        table.game.begin_turn(&mut s, &mut table.chance);
        assert_eq!(AxisId::to_row(s.axis), rank + 1, "fifteen axes of weight 1");
    }
}

//! Tests of red turns, Lyra's steps and the stall guard.

use boardwire_kernel::testkit;

use super::super::action::Action;
use super::super::catalogue::{CardId, DaemonId, SymbolId};
use super::super::state::{Decision, Pile, SetKind};
use super::super::streams;
use super::support::{Table, seat};

const HAND: [&str; 6] =
    ["ermine madonna", "wildcat baby", "mouse thunderbolt", "moth hourglass", "hawk baby", "flying spy"];

#[test]
fn both_colours_are_always_offered_and_the_turn_passes_clockwise() {
    // GC-6.2
    let mut table = Table::new(3);
    table.needle(2, 1);
    assert_eq!(table.legal(), [Action::Red, Action::Blue]);
    table.play(&[Action::Red]);
    assert_eq!((table.state.active, table.state.decision), (seat(1), Decision::Colour));
    table.play(&[Action::Blue, Action::GiveUp, Action::EndTurn]);
    assert_eq!(table.state.active, seat(2));
}

#[test]
fn hand_of_6_red_symbol_draws_3_two_cards_are_discarded_before_lyra_moves() {
    // GC-7.1, GC-R9
    let mut table = Table::new(2);
    table.hand(0, &HAND);
    table.needle(3, 1);
    table.play(&[Action::Red]);
    assert_eq!(
        (table.state.decision, table.state.lyra, table.state.active_seat().hand.len()),
        (Decision::DiscardToLimit, 0, 9)
    );
    assert_eq!(
        table.legal().len(),
        table.state.active_seat().hand.types().iter().count(),
        "any card of the hand"
    );
    table.play_cards(&["flying spy"]);
    assert_eq!((table.state.decision, table.state.lyra), (Decision::DiscardToLimit, 0));
    table.play_cards(&["hawk baby"]);
    assert_eq!(
        (table.state.lyra, table.state.active, table.state.seats[seat(0)].hand.len()),
        (1, seat(1), 7)
    );
    assert_eq!(table.state.discard.len(), 2);
}

#[test]
fn red_moves_lyra_by_its_number_and_leaves_no_room_for_cards() {
    // GC-7.2
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby", "hawk madonna"]);
    table.needle(2, 2);
    table.play(&[Action::Red]);
    assert_eq!((table.state.lyra, table.state.active, table.state.decision), (2, seat(1), Decision::Colour));
    let mut table = Table::new(2);
    table.needle(3, 0);
    table.play(&[Action::Red]);
    assert_eq!((table.state.lyra, table.state.idle_turns), (0, 1), "no number, no step");
}

#[test]
fn lyra_one_space_before_the_green_objective_red_symbol_with_2_stops_and_ends_the_period() {
    // GC-9.1, GC-9.2, GC-4.1, GC-R20
    let mut table = Table::new(2);
    table.state.lyra = 8;
    table.needle(2, 2);
    assert_eq!(table.game.tokens_at_cities(&table.state)[1], 6);
    table.play(&[Action::Red]);
    assert_eq!(table.state.lyra, 9);
    assert_eq!(table.game.tokens_at_cities(&table.state)[1], 0, "London's tokens leave");
    assert!(matches!(table.state.decision, Decision::Truth { .. }), "the turn and the period end");
}

#[test]
fn lyra_on_the_last_jordan_college_space_advances_1_jordan_colleges_tokens_leave() {
    // GC-9.2, GC-R21
    let mut table = Table::new(2);
    table.state.lyra = 4;
    table.hand(1, &["hawk baby", "hawk madonna"]);
    table.needle(2, 1);
    table.play(&[Action::Red]);
    assert_eq!(table.game.tokens_at_cities(&table.state)[..2], [0, 6]);
    table.play(&[Action::Blue, Action::GiveUp, Action::Play(SetKind::Pair(DaemonId::new(6)))]);
    let london = table.game.catalogue().cities[1].tokens;
    let taken = table.state.seats[seat(1)].tokens;
    assert_eq!(taken.intersection(london), taken, "a pair now takes from London");
    assert_eq!(table.state.city_tokens[0].len(), 6, "no seat knows which tokens left: they stay a set");
}

#[test]
fn one_card_in_the_draw_pile_red_draws_2_that_card_then_the_discard_pile_then_the_second() {
    // GC-R32
    let mut table = Table::new(2);
    let left = table.state.deck.kinds::<2>();
    let names: Vec<String> = table.names_of(left.iter().map(CardId::new));
    let singles: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| name.contains(' ') && *name != "flying spy").collect();
    table.discarded(&singles[1..]);
    table.discarded(&["joker", "joker", "flying spy", "flying spy", "flying spy", "flying spy"]);
    assert_eq!((table.state.deck.len(), table.state.discard.len()), (1, 37));
    table.needle(2, 1);
    let mut once = table.copied();
    table.play(&[Action::Red]);
    assert!(table.names(0).contains(&singles[0].to_owned()), "the last card of the pile first");
    assert_eq!((table.state.deck.len(), table.state.discard.len()), (36, 0));
    once.game.draw(&mut once.state, seat(0), 1, &mut once.chance, |_| ());
    assert_eq!((once.state.deck.len(), once.state.discard.len()), (0, 37), "nothing more is due: no shuffle");
}

#[test]
fn with_no_card_anywhere_the_rest_of_a_draw_is_lost() {
    // GC-R32
    let mut table = Table::new(2);
    table.state.deck = Pile::EMPTY;
    let mut drawn = 0;
    table.game.draw(&mut table.state, seat(0), 2, &mut table.chance, |_| drawn += 1);
    assert_eq!(drawn, 0);
}

#[test]
fn the_twentieth_turn_in_a_row_without_a_step_moves_lyra_onto_the_objective() {
    // GC-R36, GC-4.2
    let mut table = Table::new(3);
    table.state.lyra = 8;
    table.state.idle_turns = 19;
    table.state.active = seat(1);
    table.needle(3, 0);
    table.play(&[Action::Blue, Action::GiveUp, Action::EndTurn]);
    assert_eq!((table.state.lyra, table.state.idle_turns), (9, 0));
    while matches!(table.state.decision, Decision::Truth { .. }) && table.state.period == 0 {
        let first = table.legal()[0];
        table.play(&[first]);
    }
    assert_eq!(
        (table.state.period, table.state.first_seat),
        (1, seat(2)),
        "the left neighbour of the seat just acting begins"
    );
}

#[test]
fn a_turn_with_a_step_restarts_the_count_and_a_free_advance_of_0_does_not() {
    // GC-R36
    let mut table = Table::in_period(2, 1);
    table.state.idle_turns = 7;
    table.ally(0, "Hester");
    table.light_blue();
    table.play(&[Action::Ally, Action::Choose(1), Action::Steps(0), Action::EndTurn]);
    assert_eq!(table.state.idle_turns, 8);
    table.ally(1, "Hester");
    table.light_blue();
    table.play(&[Action::Ally, Action::Choose(1), Action::Steps(2), Action::EndTurn]);
    assert_eq!((table.state.idle_turns, table.state.lyra), (0, 11));
}

#[test]
fn the_guard_is_an_option_and_0_is_never() {
    // GC-R36
    for (value, guarded) in [("0", false), ("3", true)] {
        let game = testkit::table(2, &[("stall_guard_turns", value)]);
        let mut table = Table::of(game, 1);
        (0..2).for_each(|seat| table.play_for(seat, Action::Keep(0)));
        for _ in 0..3 {
            table.play(&[Action::Blue, Action::GiveUp, Action::EndTurn]);
        }
        assert_eq!(table.state.lyra > 0, guarded);
    }
}

#[test]
fn reaching_the_objective_in_mid_turn_lets_the_turn_be_completed() {
    // GC-R22, GC-9.1
    let mut table = Table::in_period(2, 1);
    table.state.lyra = 17;
    table.ally(0, "Lee Scoresby");
    table.tokens(1, &["London token worth 3"]);
    table.hand(0, &["flying spy", "flying spy", "hawk baby", "hawk madonna"]);
    table.scripted(streams::CARDS, &[0, 3, 0]);
    table.light_blue();
    table.play(&[Action::Ally, Action::Steps(1)]);
    assert_eq!((table.state.decision, table.state.lyra), (Decision::Sets, 18));
    assert!(!table.offers(Action::Play(SetKind::Pair(DaemonId::new(6)))), "daemon pairs do not work");
    assert!(
        table.offers(Action::Play(SetKind::Spies))
            && table.offers(Action::Play(SetKind::Triplet(SymbolId::new(1)))),
        "spies and triplets do"
    );
    table.play(&[Action::Play(SetKind::Triplet(SymbolId::new(1)))]);
    while matches!(table.state.decision, Decision::NameSetCard(_)) {
        let first = table.legal()[0];
        table.play(&[first]);
    }
    assert_eq!(table.state.active_seat().compass, 2);
}

//! Red turns, Lyra's steps, the stall guard.

use boardwire_kernel::testkit;

use super::super::action::Action;
use super::super::state::Step;
use super::super::streams;
use super::support::Table;

const HAND: [&str; 6] =
    ["ermine.madonna", "wildcat.baby", "mouse.thunderbolt", "moth.hourglass", "hawk.baby", "spy"];

#[test]
fn both_colours_are_always_offered_and_the_turn_passes_clockwise() {
    // GC-6.2
    let mut table = Table::new(3);
    table.needle(2, 1);
    assert_eq!(table.legal(), [Action::Red, Action::Blue]);
    table.play(&[Action::Red]);
    assert_eq!((table.s.active, table.s.step), (1, Step::Colour));
    table.play(&[Action::Blue, Action::GiveUp, Action::EndTurn]);
    assert_eq!(table.s.active, 2);
}

#[test]
fn hand_of_6_red_symbol_draws_3_two_cards_are_discarded_before_lyra_moves() {
    // GC-7.1, GC-R9
    let mut table = Table::new(2);
    table.hand(0, &HAND);
    table.needle(3, 1);
    table.play(&[Action::Red]);
    assert_eq!((table.s.step, table.s.lyra, table.s.own().hand.len()), (Step::Limit, 0, 9));
    assert_eq!(table.legal().len(), table.s.own().hand.types().len() as usize, "any card of the hand");
    table.play_cards(&["spy"]);
    assert_eq!((table.s.step, table.s.lyra), (Step::Limit, 0));
    table.play_cards(&["hawk.baby"]);
    assert_eq!((table.s.lyra, table.s.active, table.s.place(0).hand.len()), (1, 1, 7));
    assert_eq!(table.s.discard_len, 2);
}

#[test]
fn red_moves_lyra_by_its_number_and_leaves_no_room_for_cards() {
    // GC-7.2
    let mut table = Table::new(2);
    table.hand(0, &["hawk.baby", "hawk.madonna"]);
    table.needle(2, 2);
    table.play(&[Action::Red]);
    assert_eq!((table.s.lyra, table.s.active, table.s.step), (2, 1, Step::Colour));
    let mut table = Table::new(2);
    table.needle(3, 0);
    table.play(&[Action::Red]);
    assert_eq!((table.s.lyra, table.s.still), (0, 1), "no number, no step");
}

#[test]
fn lyra_one_space_before_the_green_objective_red_symbol_with_2_stops_and_ends_the_period() {
    // GC-9.1, GC-9.2, GC-4.1, GC-R20
    let mut table = Table::new(2);
    table.s.lyra = 8;
    table.needle(2, 2);
    assert_eq!(table.game.lying(&table.s, 1), 6);
    table.play(&[Action::Red]);
    assert_eq!(table.s.lyra, 9);
    assert_eq!(table.game.lying(&table.s, 1), 0, "London's tokens leave");
    assert!(matches!(table.s.step, Step::Truth { .. }), "the turn and the period end");
}

#[test]
fn lyra_on_the_last_jordan_college_space_advances_1_jordan_colleges_tokens_leave() {
    // GC-9.2, GC-R21
    let mut table = Table::new(2);
    table.s.lyra = 4;
    table.hand(1, &["hawk.baby", "hawk.madonna"]);
    table.needle(2, 1);
    table.play(&[Action::Red]);
    assert_eq!((table.game.lying(&table.s, 0), table.game.lying(&table.s, 1)), (0, 6));
    table.play(&[Action::Blue, Action::GiveUp, Action::Pair(5)]);
    let london = table.game.printed().cities[1].tokens;
    assert_eq!(table.s.place(1).tokens & london, table.s.place(1).tokens, "a pair now takes from London");
    assert_eq!(table.s.piles[0].count_ones(), 6, "nobody knows which tokens left: they stay a set");
}

#[test]
fn one_card_in_the_draw_pile_red_draws_2_that_card_then_the_discard_pile_then_the_second() {
    // GC-R32
    let mut table = Table::new(2);
    let names: Vec<String> = table.game.names_of((0..34).filter(|&card| table.s.deck[usize::from(card)] > 0));
    let singles: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.contains('.')).collect();
    table.discarded(&singles[1..]);
    table.discarded(&["joker", "joker", "spy", "spy", "spy", "spy"]);
    assert_eq!((table.s.deck_len, table.s.discard_len), (1, 37));
    table.needle(2, 1);
    let mut once = Table { game: table.game.clone(), s: table.s, chance: table.chance.clone() };
    table.play(&[Action::Red]);
    assert!(table.names(0).contains(&singles[0].to_owned()), "the last card of the pile first");
    assert_eq!((table.s.deck_len, table.s.discard_len), (36, 0));
    once.game.draw(&mut once.s, 0, 1, &mut once.chance, |_| ());
    assert_eq!((once.s.deck_len, once.s.discard_len), (0, 37), "nothing more is due: no shuffle");
}

#[test]
fn with_no_card_anywhere_the_rest_of_a_draw_is_lost() {
    // GC-R32
    let mut table = Table::new(2);
    (table.s.deck, table.s.deck_len) = ([0; 64], 0);
    let mut drawn = 0;
    table.game.draw(&mut table.s, 0, 2, &mut table.chance, |_| drawn += 1);
    assert_eq!(drawn, 0);
}

#[test]
fn the_twentieth_turn_in_a_row_without_a_step_moves_lyra_onto_the_objective() {
    // GC-R36, GC-4.2
    let mut table = Table::new(3);
    table.s.lyra = 8;
    table.s.still = 19;
    table.s.active = 1;
    table.needle(3, 0);
    table.play(&[Action::Blue, Action::GiveUp, Action::EndTurn]);
    assert_eq!((table.s.lyra, table.s.still), (9, 0));
    while matches!(table.s.step, Step::Truth { .. }) && table.s.period == 0 {
        let first = table.legal()[0];
        table.play(&[first]);
    }
    assert_eq!((table.s.period, table.s.first), (1, 2), "the left neighbour of the seat just acting begins");
}

#[test]
fn a_turn_with_a_step_restarts_the_count_and_a_free_advance_of_0_does_not() {
    // GC-R36
    let mut table = Table::in_period(2, 1);
    table.s.still = 7;
    table.ally(0, "hester");
    table.light_blue();
    table.play(&[Action::Ally, Action::Choose(1), Action::Steps(0), Action::EndTurn]);
    assert_eq!(table.s.still, 8);
    table.ally(1, "hester");
    table.light_blue();
    table.play(&[Action::Ally, Action::Choose(1), Action::Steps(2), Action::EndTurn]);
    assert_eq!((table.s.still, table.s.lyra), (0, 11));
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
        assert_eq!(table.s.lyra > 0, guarded);
    }
}

#[test]
fn reaching_the_objective_in_mid_turn_lets_the_turn_be_completed() {
    // GC-R22, GC-9.1
    let mut table = Table::in_period(2, 1);
    table.s.lyra = 17;
    table.ally(0, "lee_scoresby");
    table.tokens(1, &["london.3"]);
    table.hand(0, &["spy", "spy", "hawk.baby", "hawk.madonna"]);
    table.scripted(streams::CARDS, &[0, 3, 0]);
    table.light_blue();
    table.play(&[Action::Ally, Action::Steps(1)]);
    assert_eq!((table.s.step, table.s.lyra), (Step::Sets, 18));
    assert!(!table.offers(Action::Pair(5)), "daemon pairs do not work");
    assert!(table.offers(Action::Spies) && table.offers(Action::Triplet(0)), "spies and triplets do");
    table.play(&[Action::Triplet(0)]);
    while matches!(table.s.step, Step::Fill(_)) {
        let first = table.legal()[0];
        table.play(&[first]);
    }
    assert_eq!(table.s.own().compass, 2);
}

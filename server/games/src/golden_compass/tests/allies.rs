//! Tests of the choice of allies, light-blue actions and powers.

use boardwire_kernel::{Choices, Seat, Texts, Turns};
use serde_json::json;

use super::super::action::Action;
use super::super::catalogue::{CardId, CityId, DaemonId};
use super::super::state::{Decision, SetKind, TargetReason};
use super::super::streams;
use super::support::{Table, default_catalogue, seat};

#[test]
fn each_keeps_one_and_passes_the_other_to_the_left_all_at_once() {
    // GC-5.2, GC-R6
    let mut table = Table::dealt(3, 4);
    let places = |table: &Table| table.state.seats.of(3).to_vec();
    let dealt: Vec<_> = places(&table).iter().filter_map(|place| place.dealt).collect();
    table.play_for(2, Action::Keep(1));
    assert_eq!(table.game.pending(&table.state).len(), 2, "nothing is shown before all have chosen");
    assert!(places(&table).iter().all(|place| place.ally.is_none()));
    table.play_for(0, Action::Keep(0));
    table.play_for(1, Action::Keep(0));
    let allies: Vec<_> = places(&table).iter().filter_map(|place| place.ally).collect();
    let under: Vec<_> = places(&table).iter().filter_map(|place| place.card_under_ally).collect();
    assert_eq!(allies, [dealt[0][0], dealt[1][0], dealt[2][1]]);
    assert_eq!(under, [dealt[2][0], dealt[0][1], dealt[1][1]]);
}

#[test]
fn the_magisterium_value_is_the_sum_of_both_cards_and_public() {
    // GC-5.3, GC-R7
    let mut table = Table::new(2);
    table.ally(0, "Lord Asriel");
    table.state.seats[seat(0)].card_under_ally = table.state.seats[seat(1)].ally;
    let under = table.state.seats[seat(1)].ally.expect("an ally");
    let under = table.game.catalogue().character(under).magisterium;
    assert_eq!(table.game.magisterium(&table.state.seats[seat(0)]), 3 + under);
}

#[test]
fn the_action_comes_first_and_both_parts_may_be_given_up() {
    // GC-8.1, GC-R10
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby", "hawk madonna"]);
    table.light_blue();
    assert!(!table.offers(Action::Play(SetKind::Pair(DaemonId::new(6)))) && table.offers(Action::GiveUp));
    table.play(&[Action::GiveUp]);
    assert!(
        table.offers(Action::Play(SetKind::Pair(DaemonId::new(6))))
            && table.offers(Action::EndTurn)
            && !table.offers(Action::Dust)
    );
    table.play(&[Action::EndTurn]);
    assert_eq!(table.state.active, seat(1));
}

#[test]
fn the_four_actions_do_what_they_say() {
    // GC-8.2
    let mut table = Table::new(3);
    table.light_blue();
    table.play(&[Action::Alethiometer]);
    assert_eq!((table.state.active_seat().compass, table.state.active_seat().supply), (1, 13));
    table.light_blue();
    table.play(&[Action::Magisterium, Action::Opponent(2)]);
    assert_eq!(table.state.airship, Some(seat(2)));
    table.light_blue();
    table.play(&[Action::Dust]);
    assert_eq!((table.state.active_seat().dust, table.state.dust), (1, 7));
    table.ally(0, "Ma Costa");
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!(table.state.active_seat().hand.len(), 2);
    table.needle(2, 2);
    table.play(&[Action::Blue]);
    let offered = table.legal();
    assert!(offered.contains(&Action::Alethiometer) && !offered.contains(&Action::Ally), "only the symbol's");
}

#[test]
fn dust_supply_empty_all_8_tiles_with_the_active_player_the_dust_action_is_not_offered() {
    // GC-R19, GC-R33
    let mut table = Table::new(3);
    table.state.dust = 0;
    table.state.seats[seat(0)].dust = 8;
    table.light_blue();
    assert!(!table.offers(Action::Dust));
    table.state.seats[seat(0)].dust = 5;
    table.state.seats[seat(2)].dust = 3;
    assert!(table.offers(Action::Dust));
    table.play(&[Action::Dust]);
    assert_eq!(table.legal(), [Action::Opponent(2)], "any opponent who has some");
    table.play(&[Action::Opponent(2)]);
    assert_eq!((table.state.seats[seat(0)].dust, table.state.seats[seat(2)].dust), (6, 2));
}

#[test]
fn the_airship_goes_to_an_opponent_who_does_not_hold_it() {
    // GC-R11, GC-R19
    let mut table = Table::new(3);
    table.state.airship = Some(seat(1));
    table.light_blue();
    table.play(&[Action::Magisterium]);
    assert_eq!(table.legal(), [Action::Opponent(2)]);
    let mut table = Table::new(2);
    table.state.airship = Some(seat(1));
    table.light_blue();
    assert!(!table.offers(Action::Magisterium));
    table.state.airship = Some(seat(0));
    assert!(table.offers(Action::Magisterium));
}

#[test]
fn effects_come_in_order_and_impossible_ones_are_skipped() {
    // GC-8.3, GC-R11
    let mut table = Table::new(2);
    table.state.airship = Some(seat(1));
    table.ally(0, "Fra Pavel");
    table.hand(1, &["hawk baby"]);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!(
        table.state.decision,
        Decision::Target(TargetReason::Cards(1)),
        "the airship effect is skipped"
    );
    table.play(&[Action::Opponent(1)]);
    assert_eq!(table.names(0), ["hawk baby"]);
    table.light_blue();
    assert!(!table.offers(Action::Ally), "nothing it could change");
}

#[test]
fn iorek_byrnison_without_a_token_to_steal_is_not_offered_with_one_the_cost_is_asked() {
    // GC-8.3, GC-8.4
    let mut table = Table::in_period(2, 1);
    table.ally(0, "Iorek Byrnison");
    table.hand(0, &["hawk baby", "joker", "flying spy"]);
    table.light_blue();
    assert!(!table.offers(Action::Ally));
    table.tokens(1, &["London token worth 3"]);
    assert!(table.offers(Action::Ally));
    table.play(&[Action::Ally]);
    assert_eq!(table.legal(), [Action::Pay, Action::Decline]);
    table.play(&[Action::Pay]);
    assert_eq!(table.legal().len(), 3, "any card of the hand");
    table.play_cards(&["flying spy"]);
    table.play(&[Action::Opponent(1), Action::StealWithBack(CityId::new(2))]);
    assert_eq!((table.state.active_seat().tokens.len(), table.state.decision), (1, Decision::Sets));
    table.hand(0, &[]);
    table.tokens(1, &["London token worth 4"]);
    table.light_blue();
    assert!(!table.offers(Action::Ally), "the cost cannot be paid");
}

#[test]
fn a_declined_cost_ends_its_own_list_and_no_other() {
    // GC-8.4
    let mut table = Table::in_period(2, 2);
    table.ally(0, "Thorold");
    table.hand(0, &["hawk baby"]);
    table.light_blue();
    table.play(&[Action::Ally, Action::Choose(1), Action::Decline]);
    assert_eq!(table.state.decision, Decision::Steps { max: 1 }, "the effect after the choice still happens");
    assert_eq!((table.state.active_seat().compass, table.state.active_seat().hand.len()), (0, 1));
}

#[test]
fn only_possible_options_are_offered() {
    // GC-8.5
    let mut table = Table::in_period(2, 2);
    table.ally(0, "Thorold");
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!(table.legal(), [Action::Choose(0)], "the cost of the second cannot be paid");
}

#[test]
fn hester_lyra_one_space_before_the_objective_the_free_advance_offers_0_or_1() {
    // GC-8.5
    let mut table = Table::in_period(2, 1);
    table.state.lyra = 17;
    table.ally(0, "Hester");
    table.light_blue();
    table.play(&[Action::Ally, Action::Choose(1)]);
    assert_eq!(table.legal(), [Action::Steps(0), Action::Steps(1)]);
}

#[test]
fn the_hand_limit_applies_after_every_effect() {
    // GC-8.5, GC-R9
    let mut table = Table::in_period(2, 1);
    let hand =
        ["ermine baby", "wildcat baby", "mouse baby", "moth baby", "hawk baby", "polecat baby", "flying spy"];
    table.hand(0, &hand);
    table.ally(0, "Lee Scoresby");
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!((table.state.decision, table.state.active_seat().hand.len()), (Decision::DiscardToLimit, 10));
    table.play_cards(&["flying spy", "ermine baby", "wildcat baby"]);
    assert_eq!(table.state.decision, Decision::Steps { max: 2 });
}

#[test]
fn the_text_shows_up_to_255_rights() {
    // GC-14.1: 250 effects of up to 4 each would exceed a byte, so the numbers stop at 255.
    let mut table = Table::new(2);
    (table.state.wild_pair_rights, table.state.short_triplet_rights) = (u8::MAX, u8::MAX);
    let mut text = String::new();
    table.game.text(&table.state, Seat::FIRST.into(), &mut text).expect("memory");
    assert!(text.contains("this turn the ally also allows: 255 wild pair (any two cards), 255 short triplet (two of one symbol)"), "{text}");
}

#[test]
fn draw_and_keep_discards_from_the_cards_just_drawn() {
    // GC-8.6
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby"]);
    table.ally(0, "The Librarian");
    table.scripted(streams::CARDS, &[0, 0, 0]);
    table.light_blue();
    table.play(&[Action::Ally]);
    let drawn = ["ermine madonna", "ermine thunderbolt", "ermine baby"];
    let offered: Vec<Action> = drawn.iter().map(|name| Action::Card(table.card(name))).collect();
    assert_eq!(table.legal(), offered, "not the card held before");
    table.play_cards(&["ermine baby"]);
    assert_eq!((table.state.decision, table.state.active_seat().hand.len()), (Decision::Sets, 3));
}

#[test]
fn cards_are_taken_at_random_and_known_to_thief_and_victim_only() {
    // GC-8.6, GC-R38
    let mut table = Table::new(3);
    table.ally(0, "Tony Costa");
    table.hand(1, &["hawk baby", "joker", "flying spy"]);
    table.scripted(streams::STOLEN_CARDS, &[2]);
    table.chance.extend(streams::CARDS, [0]);
    table.light_blue();
    table.play(&[Action::Ally, Action::Opponent(1)]);
    assert!(table.names(0).contains(&"flying spy".to_owned()), "the third of the hand in order of types");
    let spy = table.card("flying spy");
    let knows = |viewer: u8| {
        let taken = table.state.memory[seat(viewer)].taken();
        taken.iter().any(|taken| taken.card == spy.get() && taken.is_certain(seat(0)))
    };
    assert!(knows(1) && !knows(2));
    let text = |seat: u8| {
        let mut text = String::new();
        table.game.text(&table.state, Seat::new(seat).into(), &mut text).expect("memory");
        text
    };
    assert!(
        text(1).contains("taken from your hand, now with seat 0: flying spy") && !text(2).contains("taken")
    );
}

#[test]
fn compass_tiles_sent_back_are_one_opponents_as_many_as_lie_there() {
    // GC-8.6
    let mut table = Table::in_period(3, 2);
    table.ally(0, "Ragnar Sturlusson");
    (table.state.seats[seat(1)].compass, table.state.seats[seat(1)].supply) = (1, 13);
    (table.state.seats[seat(2)].compass, table.state.seats[seat(2)].supply) = (3, 11);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!(table.legal(), [Action::Opponent(1), Action::Opponent(2)]);
    let mut other = table.copied();
    table.play(&[Action::Opponent(1)]);
    other.play(&[Action::Opponent(2)]);
    assert_eq!((table.state.seats[seat(1)].compass, table.state.seats[seat(1)].supply), (0, 14));
    assert_eq!((other.state.seats[seat(2)].compass, other.state.seats[seat(2)].supply), (1, 13));
}

#[test]
fn compass_tiles_missing_in_the_supply_are_not_laid() {
    // GC-R34, GC-R19
    let mut table = Table::new(2);
    table.ally(0, "Lord Asriel");
    (table.state.seats[seat(0)].compass, table.state.seats[seat(0)].supply) = (13, 1);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!((table.state.active_seat().compass, table.state.active_seat().supply), (14, 0));
    table.light_blue();
    assert!(!table.offers(Action::Ally) && !table.offers(Action::Alethiometer));
}

#[test]
fn a_cost_too_high_or_for_nothing_is_not_asked_and_ends_its_list() {
    // GC-8.3, GC-8.4
    let effect = |kind: &str, count: u8| json!({"kind": kind, "count": count});
    for (cost, bought) in [(3, "place_compass"), (1, "steal_experience")] {
        let mut file = default_catalogue();
        file["characters"]["list"][0]["effects"] =
            json!([effect("draw", 1), effect("spend_cards", cost), effect(bought, 1)]);
        let mut table = Table::by(&file, 2);
        table.ally(0, "Roger Parslow");
        table.hand(0, &["hawk baby"]);
        table.light_blue();
        table.play(&[Action::Ally]);
        let acting = table.state.active_seat();
        assert_eq!(
            (table.state.decision, acting.hand.len(), acting.compass),
            (Decision::Sets, 2, 0),
            "{bought}"
        );
    }
}

#[test]
fn a_cost_of_two_cards_is_paid_with_two_one_by_one() {
    // GC-8.4
    let effect = |kind: &str, count: u8| json!({"kind": kind, "count": count});
    let mut file = default_catalogue();
    file["characters"]["list"][0]["effects"] = json!([effect("spend_cards", 2), effect("place_compass", 1)]);
    let mut table = Table::by(&file, 2);
    table.ally(0, "Roger Parslow");
    table.hand(0, &["hawk baby", "moth baby", "ermine baby"]);
    table.light_blue();
    table.play(&[Action::Ally, Action::Pay]);
    for left in [2, 1] {
        assert_eq!(table.state.decision, Decision::Pay { left });
        table.play(&[Action::Card(CardId::new(table.state.active_seat().hand.as_slice()[0]))]);
    }
    let acting = table.state.active_seat();
    assert_eq!((table.state.decision, acting.hand.len(), acting.compass), (Decision::Sets, 1, 1));
}

#[test]
fn an_option_is_chosen_among_those_of_its_choice_that_are_possible() {
    // GC-8.3: no opponent has a token to steal, and the list after these two belongs to another choice.
    let effect = |kind: &str, count: u8| json!({"kind": kind, "count": count});
    let mut file = default_catalogue();
    let (draw, steal) = (effect("draw", 1), effect("steal_experience", 1));
    let list = &mut file["characters"]["list"];
    list[0]["effects"] = json!([{"kind": "choose_one", "options": [[draw], [steal]]}]);
    list[1]["effects"] = json!([{"kind": "choose_one", "options": [[draw], [draw]]}]);
    let mut table = Table::by(&file, 2);
    table.ally(0, "Roger Parslow");
    table.light_blue();
    table.play(&[Action::Ally]);
    let Decision::Choose { count: 2, .. } = table.state.decision else {
        panic!("{:?}", table.state.decision)
    };
    let legal = [0, 1].map(|option| {
        let action = Action::Choose(option);
        let is_legal = table.game.is_legal(&table.state, Seat::FIRST, action);
        assert_eq!(is_legal, table.offers(action), "option {option}");
        is_legal
    });
    assert_eq!(legal, [true, false]);
}

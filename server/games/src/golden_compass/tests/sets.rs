//! Tests of card sets.

use super::super::action::Action;
use super::super::catalogue::{CityId, DaemonId, SymbolId, TokenId, TokenSet};
use super::super::state::{Decision, SetKind, TargetReason};
use super::super::streams;
use super::support::{Table, seat};

fn pairs(table: &Table) -> Vec<u8> {
    let pair = |action: &Action| {
        if let Action::Play(SetKind::Pair(id)) = action { Some(id.get()) } else { None }
    };
    table.legal().iter().filter_map(pair).collect()
}

#[test]
fn two_cards_are_a_pair_that_show_one_daemon() {
    // GC-8.8
    let table = Table::new(2);
    let are_pair = |one: &str, other: &str| {
        table.game.card_sets.are_pair(table.card(one).get(), table.card(other).get())
    };
    assert!(are_pair("hawk baby", "hawk madonna"));
    for (one, other) in
        [("hawk baby", "moth baby"), ("hawk baby", "joker"), ("joker", "joker"), ("flying spy", "flying spy")]
    {
        assert!(!are_pair(one, other), "{one} {other}");
    }
}

#[test]
fn a_pair_takes_an_unseen_token_of_the_current_city() {
    // GC-8.8, GC-R13
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby", "hawk madonna"]);
    table.scripted(streams::TOKENS, &[5]);
    table.at_sets();
    table.play(&[Action::Play(SetKind::Pair(DaemonId::new(6)))]);
    assert_eq!(table.state.active_seat().tokens, TokenSet::single(5), "a random one of those lying there");
    assert_eq!((table.state.discard.len(), table.state.active_seat().hand.len()), (2, 0));
}

#[test]
fn two_jokers_and_one_hawk_pairs_of_ermine_and_hawk_are_offered_no_others() {
    // GC-8.11, GC-R17
    let mut table = Table::new(2);
    table.hand(0, &["joker", "joker", "hawk baby"]);
    table.at_sets();
    assert_eq!(pairs(&table), [1, 6]);
    let mut hawk = table.copied();
    table.play(&[Action::Play(SetKind::Pair(DaemonId::new(1)))]);
    assert_eq!(table.names(0), ["hawk baby"], "both jokers");
    hawk.play(&[Action::Play(SetKind::Pair(DaemonId::new(6)))]);
    assert_eq!(hawk.names(0), ["joker"], "hawk with a joker: no choice is asked");
}

#[test]
fn cards_are_asked_for_only_while_more_than_one_choice_completes_the_set() {
    // GC-8.11
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby", "hawk madonna", "joker"]);
    table.at_sets();
    table.play(&[Action::Play(SetKind::Pair(DaemonId::new(6)))]);
    let cards = ["hawk baby", "hawk madonna", "joker"].map(|name| table.card(name));
    let mut offered: Vec<Action> = cards.into_iter().map(Action::Card).collect();
    offered.sort_by_key(|action| action.index());
    assert_eq!(table.legal(), offered);
    table.play_cards(&["joker"]);
    assert_eq!(table.legal().len(), 2, "a joker needs a hawk beside it");
    table.play_cards(&["hawk madonna"]);
    assert_eq!(table.names(0), ["hawk baby"]);
    let mut table = Table::new(2);
    table.hand(0, &["ermine baby", "hawk baby", "joker", "joker"]);
    table.at_sets();
    table.play(&[Action::Play(SetKind::Triplet(SymbolId::new(3)))]);
    table.play_cards(&["joker"]);
    table.play_cards(&["joker"]);
    assert_eq!(
        table.legal().len(),
        2,
        "the third may be no joker: there is none left, and baby needs its own"
    );
}

#[test]
fn a_triplet_lays_two_compass_tiles_and_one_when_only_one_is_left() {
    // GC-8.9, GC-R19
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby", "moth baby", "mouse baby"]);
    table.at_sets();
    let mut last = table.copied();
    table.play(&[Action::Play(SetKind::Triplet(SymbolId::new(3)))]);
    assert_eq!(table.state.active_seat().compass, 2);
    (last.state.seats[seat(0)].compass, last.state.seats[seat(0)].supply) = (13, 1);
    let mut none = last.copied();
    last.play(&[Action::Play(SetKind::Triplet(SymbolId::new(3)))]);
    assert_eq!(last.state.active_seat().compass, 14);
    (none.state.seats[seat(0)].compass, none.state.seats[seat(0)].supply) = (14, 0);
    assert!(!none.offers(Action::Play(SetKind::Triplet(SymbolId::new(3)))));
}

#[test]
fn two_spies_steal_a_random_token_of_the_owner_and_back_named() {
    // GC-8.10, GC-R16, GC-R2
    let mut table = Table::new(3);
    table.hand(0, &["flying spy", "flying spy", "joker"]);
    table.at_sets();
    assert!(!table.offers(Action::Play(SetKind::Spies)), "no opponent has a token");
    table.tokens(1, &["London token worth 3", "London alethiometer token", "Bolvangar token worth 7"]);
    table.play(&[Action::Play(SetKind::Spies)]);
    assert_eq!(
        (table.state.decision, table.legal()),
        (Decision::Target(TargetReason::Token), vec![Action::Opponent(1)])
    );
    table.play(&[Action::Opponent(1)]);
    assert_eq!(
        table.legal(),
        [Action::StealWithBack(CityId::new(2)), Action::StealWithBack(CityId::new(4))],
        "the backs are public"
    );
    table.scripted(streams::STOLEN_TOKENS, &[12]);
    table.play(&[Action::StealWithBack(CityId::new(2))]);
    assert_eq!(table.state.active_seat().tokens, TokenSet::single(12));
}

#[test]
fn spies_steal_in_the_last_period_too_but_no_token_laid_out() {
    // GC-R16, GC-R14
    let mut table = Table::in_period(2, 2);
    table.hand(0, &["flying spy", "flying spy"]);
    table.lay(1, 0, &["London token worth 3"]);
    table.at_sets();
    assert!(!table.offers(Action::Play(SetKind::Spies)));
    table.tokens(1, &["London token worth 4"]);
    assert!(table.offers(Action::Play(SetKind::Spies)));
    table.play(&[Action::Play(SetKind::Spies), Action::Opponent(1)]);
    assert_eq!(table.legal(), [Action::StealWithBack(CityId::new(2))]);
}

#[test]
fn jokers_alone_are_a_set_of_the_first_daemon_or_symbol_and_of_no_other() {
    // GC-8.8, GC-8.9
    let mut table = Table::new(4);
    table.hand(0, &["joker", "joker", "ermine baby"]);
    table.at_sets();
    assert_eq!(pairs(&table), [1], "with its own card as well");
    table.hand(0, &["joker", "joker", "joker"]);
    let triplets = |table: &Table| {
        [1, 2, 3, 4].map(|id| table.offers(Action::Play(SetKind::Triplet(SymbolId::new(id)))))
    };
    assert_eq!(triplets(&table), [true, false, false, false]);
    table.play(&[Action::Play(SetKind::Triplet(SymbolId::new(1)))]);
    assert_eq!((table.names(0).len(), table.state.active_seat().compass), (0, 2));
    let mut table = Table::new(4);
    table.hand(0, &["joker", "joker", "joker", "moth thunderbolt"]);
    table.at_sets();
    assert_eq!(triplets(&table), [true, true, false, false]);
    table.play(&[Action::Play(SetKind::Triplet(SymbolId::new(2)))]);
    assert_eq!(
        table.names(0),
        ["joker"],
        "one way, since a thunderbolt must be among them: no choice is asked"
    );
}

#[test]
fn a_joker_is_no_flying_spy() {
    // GC-R18
    let mut table = Table::new(2);
    table.tokens(1, &["London token worth 3"]);
    table.hand(0, &["flying spy", "joker", "joker"]);
    table.at_sets();
    assert!(!table.offers(Action::Play(SetKind::Spies)));
}

#[test]
fn any_number_of_sets_in_any_mix() {
    // GC-R12
    let mut table = Table::new(2);
    table.tokens(1, &["Bolvangar token worth 4"]);
    let hand = [
        "hawk baby",
        "hawk madonna",
        "flying spy",
        "flying spy",
        "moth hourglass",
        "mouse hourglass",
        "ermine hourglass",
    ];
    table.hand(0, &hand);
    table.at_sets();
    table.play(&[
        Action::Play(SetKind::Spies),
        Action::Opponent(1),
        Action::StealWithBack(CityId::new(4)),
        Action::Play(SetKind::Pair(DaemonId::new(6))),
        Action::Play(SetKind::Triplet(SymbolId::new(4))),
    ]);
    assert_eq!((table.state.active_seat().tokens.len(), table.state.active_seat().compass), (2, 2));
    assert_eq!(table.legal(), [Action::EndTurn]);
}

#[test]
fn a_pair_without_a_token_in_the_current_city_is_not_offered() {
    // GC-R19
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby", "hawk madonna"]);
    table.tokens(
        1,
        &["Jordan College token worth 3", "Jordan College token worth 3", "Jordan College token worth 4"],
    );
    table.tokens(
        1,
        &["Jordan College token worth 4", "Jordan College token worth 5", "Jordan College token worth 5"],
    );
    table.at_sets();
    assert!(pairs(&table).is_empty());
}

#[test]
fn in_the_last_period_a_pair_lays_a_token_out_and_marks_it() {
    // GC-8.8, GC-R14
    let mut table = Table::in_period(2, 2);
    table.hand(0, &["hawk baby", "hawk madonna"]);
    table.tokens(0, &["London token worth 4", "London token worth 4", "Bolvangar token worth 7"]);
    table.at_sets();
    table.play(&[Action::Play(SetKind::Pair(DaemonId::new(6)))]);
    assert_eq!(
        table.legal(),
        [Action::Token(TokenId::new(8)), Action::Token(TokenId::new(23))],
        "equal tokens are offered once"
    );
    table.play(&[Action::Token(TokenId::new(8))]);
    assert_eq!(
        (
            table.state.active_seat().laid_out.len(),
            table.state.active_seat().supply,
            table.state.active_seat().compass
        ),
        (1, 13, 0)
    );
    assert_eq!(table.state.circles[0], table.state.active_seat().laid_out);
    let all_seats_know = table.state.memory[seat(1)].tokens[7] == 0;
    assert!(all_seats_know, "it lies face up");
}

#[test]
fn nothing_is_laid_out_without_a_compass_tile() {
    // GC-R15
    let mut table = Table::in_period(2, 2);
    table.hand(0, &["hawk baby", "hawk madonna"]);
    table.tokens(0, &["London token worth 4"]);
    (table.state.seats[seat(0)].compass, table.state.seats[seat(0)].supply) = (14, 0);
    table.at_sets();
    assert_eq!(table.legal(), [Action::EndTurn]);
}

#[test]
fn period_3_svalbard_full_daemon_pairs_are_not_playable_triplets_and_spies_are() {
    // GC-9.3, GC-R19
    let mut table = Table::in_period(2, 2);
    table.lay(
        1,
        0,
        &["Jordan College token worth 3", "Jordan College token worth 3", "Jordan College token worth 4"],
    );
    table.lay(
        1,
        0,
        &["Jordan College token worth 4", "Jordan College token worth 5", "Jordan College token worth 5"],
    );
    table.tokens(0, &["London token worth 4"]);
    table.tokens(1, &["London token worth 3"]);
    table.hand(0, &["hawk baby", "hawk madonna", "mouse baby", "moth baby", "flying spy", "flying spy"]);
    table.at_sets();
    assert_eq!(
        table.legal(),
        [Action::Play(SetKind::Triplet(SymbolId::new(3))), Action::Play(SetKind::Spies), Action::EndTurn]
    );
    table.state.lyra = 25;
    assert!(
        table.offers(Action::Play(SetKind::Pair(DaemonId::new(6)))),
        "Northern Lights has its own circles"
    );
    table.play(&[Action::Play(SetKind::Pair(DaemonId::new(6))), Action::Token(TokenId::new(8))]);
    assert_eq!((table.state.circles[0].len(), table.state.circles[1].len()), (6, 1));
}

#[test]
fn a_wild_pair_takes_any_two_cards_but_spies_and_uses_the_right_up() {
    // GC-8.7
    let mut table = Table::in_period(2, 2);
    table.ally(0, "Pantalaimon");
    table.tokens(0, &["London token worth 4", "Bolvangar token worth 7"]);
    table.hand(0, &["hawk baby", "moth madonna", "flying spy"]);
    table.scripted(streams::CARDS, &[0]);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!(table.state.wild_pair_rights, 1);
    table.play(&[Action::Play(SetKind::WildPair)]);
    let spy = Action::Card(table.card("flying spy"));
    assert!(!table.offers(spy) && table.legal().len() == 3);
    table.play_cards(&["hawk baby", "moth madonna"]);
    table.play(&[Action::Token(TokenId::new(8))]);
    assert!(table.state.wild_pair_rights == 0 && !table.offers(Action::Play(SetKind::WildPair)));
    table.state.wild_pair_rights = 1;
    table.play(&[Action::EndTurn]);
    assert_eq!(table.state.wild_pair_rights, 0, "rights last until the end of the turn");
}

#[test]
fn a_short_triplet_needs_two_cards_of_one_symbol() {
    // GC-8.7
    let mut table = Table::in_period(2, 1);
    table.ally(0, "Farder Coram");
    table.hand(0, &["hawk baby", "moth baby", "joker"]);
    table.scripted(streams::CARDS, &[0]);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert!(
        table.offers(Action::Play(SetKind::ShortTriplet(SymbolId::new(3))))
            && table.offers(Action::Play(SetKind::ShortTriplet(SymbolId::new(1))))
            && !table.offers(Action::Play(SetKind::ShortTriplet(SymbolId::new(2))))
    );
    table.play(&[Action::Play(SetKind::ShortTriplet(SymbolId::new(3)))]);
    table.play_cards(&["hawk baby", "moth baby"]);
    assert_eq!((table.state.active_seat().compass, table.state.short_triplet_rights), (2, 0));
    assert!(!table.offers(Action::Play(SetKind::ShortTriplet(SymbolId::new(1)))));
}

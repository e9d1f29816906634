//! Card sets.

use super::super::action::Action;
use super::super::state::{Aim, Step};
use super::super::streams;
use super::support::Table;

fn pairs(table: &Table) -> Vec<u8> {
    let pair = |action: &Action| {
        if let Action::Pair(id) = action { Some(*id) } else { None }
    };
    table.legal().iter().filter_map(pair).collect()
}

#[test]
fn a_pair_takes_an_unseen_token_of_the_current_city() {
    // GC-8.8, GC-R13
    let mut table = Table::new(2);
    table.hand(0, &["hawk.baby", "hawk.madonna"]);
    table.scripted(streams::TOKENS, &[4]);
    table.at_sets();
    table.play(&[Action::Pair(5)]);
    assert_eq!(table.s.own().tokens, 1 << 4, "a random one of those lying there");
    assert_eq!((table.s.discard_len, table.s.own().hand.len()), (2, 0));
}

#[test]
fn two_jokers_and_one_hawk_pairs_of_ermine_and_hawk_are_offered_no_others() {
    // GC-8.11, GC-R17
    let mut table = Table::new(2);
    table.hand(0, &["joker", "joker", "hawk.baby"]);
    table.at_sets();
    assert_eq!(pairs(&table), [0, 5]);
    let mut hawk = Table { game: table.game.clone(), s: table.s, chance: table.chance.clone() };
    table.play(&[Action::Pair(0)]);
    assert_eq!(table.names(0), ["hawk.baby"], "both jokers");
    hawk.play(&[Action::Pair(5)]);
    assert_eq!(hawk.names(0), ["joker"], "hawk with a joker: no choice is asked");
}

#[test]
fn cards_are_asked_for_only_while_more_than_one_choice_completes_the_set() {
    // GC-8.11
    let mut table = Table::new(2);
    table.hand(0, &["hawk.baby", "hawk.madonna", "joker"]);
    table.at_sets();
    table.play(&[Action::Pair(5)]);
    let cards = ["hawk.baby", "hawk.madonna", "joker"].map(|name| table.card(name));
    let mut offered: Vec<Action> = cards.into_iter().map(Action::Card).collect();
    offered.sort_by_key(|action| table.game.layout.encode(*action));
    assert_eq!(table.legal(), offered);
    table.play_cards(&["joker"]);
    assert_eq!(table.legal().len(), 2, "a joker needs a hawk beside it");
    table.play_cards(&["hawk.madonna"]);
    assert_eq!(table.names(0), ["hawk.baby"]);
    let mut table = Table::new(2);
    table.hand(0, &["ermine.baby", "hawk.baby", "joker", "joker"]);
    table.at_sets();
    table.play(&[Action::Triplet(2)]);
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
    table.hand(0, &["hawk.baby", "moth.baby", "mouse.baby"]);
    table.at_sets();
    let mut last = Table { game: table.game.clone(), s: table.s, chance: table.chance.clone() };
    table.play(&[Action::Triplet(2)]);
    assert_eq!(table.s.own().compass, 2);
    (last.s.places[0].compass, last.s.places[0].supply) = (13, 1);
    let mut none = Table { game: last.game.clone(), s: last.s, chance: last.chance.clone() };
    last.play(&[Action::Triplet(2)]);
    assert_eq!(last.s.own().compass, 14);
    (none.s.places[0].compass, none.s.places[0].supply) = (14, 0);
    assert!(!none.offers(Action::Triplet(2)));
}

#[test]
fn two_spies_steal_a_random_token_of_the_owner_and_back_named() {
    // GC-8.10, GC-R16, GC-R2
    let mut table = Table::new(3);
    table.hand(0, &["spy", "spy", "joker"]);
    table.at_sets();
    assert!(!table.offers(Action::Spies), "no opponent has a token");
    table.tokens(1, &["london.3", "london.alethiometer", "bolvangar.7"]);
    table.play(&[Action::Spies]);
    assert_eq!((table.s.step, table.legal()), (Step::Target(Aim::Token), vec![Action::Opponent(1)]));
    table.play(&[Action::Opponent(1)]);
    assert_eq!(table.legal(), [Action::Back(1), Action::Back(3)], "the backs are public");
    table.scripted(streams::STOLEN_TOKENS, &[11]);
    table.play(&[Action::Back(1)]);
    assert_eq!(table.s.own().tokens, 1 << 11);
}

#[test]
fn spies_steal_in_the_last_period_too_but_no_token_laid_out() {
    // GC-R16, GC-R14
    let mut table = Table::in_period(2, 2);
    table.hand(0, &["spy", "spy"]);
    table.lay(1, 0, &["london.3"]);
    table.at_sets();
    assert!(!table.offers(Action::Spies));
    table.tokens(1, &["london.4"]);
    assert!(table.offers(Action::Spies));
    table.play(&[Action::Spies, Action::Opponent(1)]);
    assert_eq!(table.legal(), [Action::Back(1)]);
}

#[test]
fn a_joker_is_no_flying_spy() {
    // GC-R18
    let mut table = Table::new(2);
    table.tokens(1, &["london.3"]);
    table.hand(0, &["spy", "joker", "joker"]);
    table.at_sets();
    assert!(!table.offers(Action::Spies));
}

#[test]
fn any_number_of_sets_in_any_mix() {
    // GC-R12
    let mut table = Table::new(2);
    table.tokens(1, &["bolvangar.4"]);
    let hand =
        ["hawk.baby", "hawk.madonna", "spy", "spy", "moth.hourglass", "mouse.hourglass", "ermine.hourglass"];
    table.hand(0, &hand);
    table.at_sets();
    table.play(&[Action::Spies, Action::Opponent(1), Action::Back(3), Action::Pair(5), Action::Triplet(3)]);
    assert_eq!((table.s.own().tokens.count_ones(), table.s.own().compass), (2, 2));
    assert_eq!(table.legal(), [Action::EndTurn]);
}

#[test]
fn a_pair_without_a_token_in_the_current_city_is_not_offered() {
    // GC-R19
    let mut table = Table::new(2);
    table.hand(0, &["hawk.baby", "hawk.madonna"]);
    table.tokens(1, &["jordan_college.3", "jordan_college.3", "jordan_college.4"]);
    table.tokens(1, &["jordan_college.4", "jordan_college.5", "jordan_college.5"]);
    table.at_sets();
    assert!(pairs(&table).is_empty());
}

#[test]
fn in_the_last_period_a_pair_lays_a_token_out_and_marks_it() {
    // GC-8.8, GC-R14
    let mut table = Table::in_period(2, 2);
    table.hand(0, &["hawk.baby", "hawk.madonna"]);
    table.tokens(0, &["london.4", "london.4", "bolvangar.7"]);
    table.at_sets();
    table.play(&[Action::Pair(5)]);
    assert_eq!(table.legal(), [Action::Token(7), Action::Token(22)], "equal tokens are offered once");
    table.play(&[Action::Token(7)]);
    assert_eq!((table.s.own().laid.count_ones(), table.s.own().supply, table.s.own().compass), (1, 13, 0));
    assert_eq!(table.s.circles[0], table.s.own().laid);
    let everybody_knows = table.s.memory[1].tokens[7] == 0;
    assert!(everybody_knows, "it lies face up");
}

#[test]
fn nothing_is_laid_out_without_a_compass_tile() {
    // GC-R15
    let mut table = Table::in_period(2, 2);
    table.hand(0, &["hawk.baby", "hawk.madonna"]);
    table.tokens(0, &["london.4"]);
    (table.s.places[0].compass, table.s.places[0].supply) = (14, 0);
    table.at_sets();
    assert_eq!(table.legal(), [Action::EndTurn]);
}

#[test]
fn period_3_svalbard_full_daemon_pairs_are_not_playable_triplets_and_spies_are() {
    // GC-9.3, GC-R19
    let mut table = Table::in_period(2, 2);
    table.lay(1, 0, &["jordan_college.3", "jordan_college.3", "jordan_college.4"]);
    table.lay(1, 0, &["jordan_college.4", "jordan_college.5", "jordan_college.5"]);
    table.tokens(0, &["london.4"]);
    table.tokens(1, &["london.3"]);
    table.hand(0, &["hawk.baby", "hawk.madonna", "mouse.baby", "moth.baby", "spy", "spy"]);
    table.at_sets();
    assert_eq!(table.legal(), [Action::Triplet(2), Action::Spies, Action::EndTurn]);
    table.s.lyra = 25;
    assert!(table.offers(Action::Pair(5)), "Northern Lights has circles of its own");
    table.play(&[Action::Pair(5), Action::Token(7)]);
    assert_eq!((table.s.circles[0].count_ones(), table.s.circles[1].count_ones()), (6, 1));
}

#[test]
fn a_wild_pair_takes_any_two_cards_but_spies_and_uses_the_right_up() {
    // GC-8.7
    let mut table = Table::in_period(2, 2);
    table.ally(0, "pantalaimon");
    table.tokens(0, &["london.4", "bolvangar.7"]);
    table.hand(0, &["hawk.baby", "moth.madonna", "spy"]);
    table.scripted(streams::CARDS, &[0]);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert_eq!(table.s.wild, 1);
    table.play(&[Action::Wild]);
    let spy = Action::Card(table.card("spy"));
    assert!(!table.offers(spy) && table.legal().len() == 3);
    table.play_cards(&["hawk.baby", "moth.madonna"]);
    table.play(&[Action::Token(7)]);
    assert!(table.s.wild == 0 && !table.offers(Action::Wild));
    table.s.wild = 1;
    table.play(&[Action::EndTurn]);
    assert_eq!(table.s.wild, 0, "rights last until the end of the turn");
}

#[test]
fn a_short_triplet_needs_two_cards_of_one_symbol() {
    // GC-8.7
    let mut table = Table::in_period(2, 1);
    table.ally(0, "farder_coram");
    table.hand(0, &["hawk.baby", "moth.baby", "joker"]);
    table.scripted(streams::CARDS, &[0]);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert!(
        table.offers(Action::Short(2)) && table.offers(Action::Short(0)) && !table.offers(Action::Short(1))
    );
    table.play(&[Action::Short(2)]);
    table.play_cards(&["hawk.baby", "moth.baby"]);
    assert_eq!((table.s.own().compass, table.s.short), (2, 0));
    assert!(!table.offers(Action::Short(0)));
}

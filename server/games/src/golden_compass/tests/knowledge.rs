//! Tests of what a seat may know, and of what `resample` samples.

use std::collections::BTreeSet;

use boardwire_kernel::testkit::{self, ViewerSnapshot};
use boardwire_kernel::{Audits, Hidden, RESAMPLE_STREAM, RngStream, Seat, Setup, Texts, Viewer, Views};

use super::super::GoldenCompass;
use super::super::action::Action;
use super::super::catalogue::{CharacterId, CityId, DaemonId, TokenId, TokenSet};
use super::super::memory::TABLE;
use super::super::state::{Decision, SetKind, State, tokens_of};
use super::super::streams;
use super::support::{Table, seat, tiles};

/// A stream, two of its outcomes, the play, and the seats that see which outcome it was.
type Case<'a> = (usize, [u8; 2], &'a dyn Fn(&mut Table), &'a [u8]);

fn samples(table: &Table, viewer: u8, count: u32) -> Vec<State> {
    let mut rng = RngStream::new(count.into(), RESAMPLE_STREAM);
    let sample = |_| {
        let mut state = table.state;
        table.game.resample(&mut state, Seat::new(viewer), &mut rng);
        state
    };
    (0..count).map(sample).collect()
}

fn shown(table: &Table, seat: u8) -> ViewerSnapshot {
    ViewerSnapshot::of(&*table.game, &table.state, Seat::new(seat))
}

#[test]
fn cards_of_another_hand_show_in_nothing_but_their_number() {
    // GC-13.1
    let mut one = Table::new(3);
    let mut other = Table::new(3);
    one.hand(1, &["hawk baby", "joker"]);
    other.hand(1, &["flying spy", "moth madonna"]);
    for seat in [0, 2] {
        assert_eq!(shown(&one, seat), shown(&other, seat));
    }
    assert_ne!(shown(&one, 1), shown(&other, 1));
}

#[test]
fn a_card_drawn_a_token_taken_and_a_token_stolen_show_to_those_who_saw_them() {
    // GC-13.1, GC-R13
    let table = Table::new(3);
    let after = |stream: usize, outcome: u8, play: &dyn Fn(&mut Table)| {
        let mut table = table.copied();
        table.tokens(1, &["Bolvangar token worth 7", "Bolvangar token worth 4"]);
        table.hand(0, &["hawk baby", "hawk madonna", "flying spy", "flying spy"]);
        table.scripted(stream, &[outcome]);
        play(&mut table);
        table
    };
    let draw = |table: &mut Table| {
        table.ally(0, "Roger Parslow");
        table.light_blue();
        table.play(&[Action::Ally]);
    };
    let take = |table: &mut Table| {
        table.at_sets();
        table.play(&[Action::Play(SetKind::Pair(DaemonId::new(6)))]);
    };
    let steal = |table: &mut Table| {
        table.at_sets();
        table.play(&[
            Action::Play(SetKind::Spies),
            Action::Opponent(1),
            Action::StealWithBack(CityId::new(4)),
        ]);
    };
    let cases: [Case; 3] = [
        (streams::CARDS, [0, 20], &draw, &[0]),
        (streams::TOKENS, [1, 6], &take, &[0]),
        (streams::STOLEN_TOKENS, [19, 23], &steal, &[0, 1]),
    ];
    for (stream, outcomes, play, saw) in cases {
        let [one, other] = outcomes.map(|outcome| after(stream, outcome, play));
        for seat in 0..3 {
            assert_eq!(
                shown(&one, seat) != shown(&other, seat),
                saw.contains(&seat),
                "stream {stream} seat {seat}"
            );
        }
    }
}

#[test]
fn a_card_stolen_shows_to_thief_and_victim_only() {
    // GC-R38
    let stolen = |rank: u8| {
        let mut table = Table::in_period(3, 2);
        table.ally(0, "The Tartar Officer");
        table.hand(1, &["hawk baby", "moth madonna"]);
        table.scripted(streams::STOLEN_CARDS, &[rank]);
        table.light_blue();
        table.play(&[Action::Ally, Action::Opponent(1)]);
        table
    };
    let (one, other) = (stolen(0), stolen(1));
    assert_eq!(shown(&one, 2), shown(&other, 2));
    assert!(shown(&one, 0) != shown(&other, 0) && shown(&one, 1) != shown(&other, 1));
}

#[test]
fn dealt_characters_show_to_their_seat_and_the_passed_one_to_its_receiver() {
    // GC-13.1, GC-R7
    let mut one = Table::dealt(4, 2);
    let mut other = one.copied();
    let unseen = other.state.undealt_characters.lowest().expect("two are left");
    let dealt = other.state.seats[seat(0)].dealt.as_mut().expect("two are dealt");
    let old = std::mem::replace(&mut dealt[1], CharacterId::new(unseen));
    other.state.undealt_characters.remove(unseen);
    other.state.undealt_characters.insert(old);
    for seat in 1..4 {
        assert_eq!(shown(&one, seat), shown(&other, seat));
    }
    for table in [&mut one, &mut other] {
        (0..4).for_each(|seat| table.play_for(seat, Action::Keep(0)));
    }
    let symbols = |table: &Table| table.game.magisterium(&table.state.seats[seat(1)]);
    assert_ne!(shown(&one, 1), shown(&other, 1), "the receiver");
    assert_eq!(
        shown(&one, 3) == shown(&other, 3),
        symbols(&one) == symbols(&other),
        "others see symbols only"
    );
}

#[test]
fn truth_and_dust_tiles_show_to_all() {
    // GC-R35
    let mut table = Table::new(3);
    table.state.seats[seat(1)].truth = tiles(&[(3, 2)]);
    table.state.seats[seat(1)].dust = 2;
    for seat in 0..3 {
        let mut text = String::new();
        table.game.text(&table.state, Seat::new(seat).into(), &mut text).expect("memory");
        assert!(text.contains("2 dust tiles; truth tiles worth 4+4=8"), "{text}");
    }
}

#[test]
fn resample_varies_hands_tokens_characters_and_fresh_cards() {
    // GC-13.1
    let mut table = Table::new(4);
    table.hand(1, &["hawk baby", "joker"]);
    table.tokens(1, &["London token worth 4", "London alethiometer token"]);
    let all = samples(&table, 0, 200);
    let kinds = |value: &dyn Fn(&State) -> String| all.iter().map(value).collect::<BTreeSet<_>>().len();
    assert!(kinds(&|s| format!("{:?}", s.seats[seat(1)].hand)) > 100, "hands");
    assert!(kinds(&|s| format!("{:?}", s.deck)) > 100, "draw piles");
    assert!(kinds(&|s| format!("{:?}", s.seats[seat(1)].tokens)) > 5, "tokens");
    assert!(kinds(&|s| format!("{:?}", s.seats[seat(3)].card_under_ally)) > 1, "cards under allies");
    assert_eq!(
        kinds(&|s| format!(
            "{:?}",
            (s.seats[seat(0)], s.seats[seat(1)].ally, s.seats[seat(1)].card_under_ally)
        )),
        1,
        "what it knows"
    );
    let dealt = Table::dealt(4, 2);
    let all = samples(&dealt, 0, 100);
    let pairs: BTreeSet<_> = all.iter().map(|s| s.seats[seat(2)].dealt).collect();
    assert!(pairs.len() > 30, "characters dealt");
    assert!(all.iter().all(|s| s.seats[seat(0)].dealt == dealt.state.seats[seat(0)].dealt));
    let mut keeping = Table::new(2);
    keeping.ally(0, "The Librarian");
    keeping.light_blue();
    keeping.play(&[Action::Ally]);
    assert!(matches!(keeping.state.decision, Decision::DiscardDrawn { .. }));
    let fresh: BTreeSet<String> =
        samples(&keeping, 1, 50).iter().map(|s| format!("{:?}", s.just_drawn)).collect();
    assert!(fresh.len() > 20, "cards just drawn");
}

#[test]
fn a_stolen_card_stays_known_to_its_last_owner_until_it_is_shown() {
    // GC-13.2
    let mut table = Table::in_period(2, 2);
    table.ally(0, "The Tartar Officer");
    table.hand(0, &["moth baby", "mouse baby"]);
    table.hand(1, &["hawk baby"]);
    table.light_blue();
    table.play(&[Action::Ally, Action::Opponent(1)]);
    let hawk = table.card("hawk baby");
    assert!(samples(&table, 1, 100).iter().all(|s| s.seats[seat(0)].hand.count(hawk) == 1));
    table.game.discard(&mut table.state, seat(0), hawk, 0);
    assert!(samples(&table, 1, 100).iter().all(|s| s.seats[seat(0)].hand.count(hawk) == 0));
}

#[test]
fn a_stolen_card_may_have_moved_on_when_a_third_seat_steals() {
    // GC-13.2
    let mut table = Table::new(3);
    table.hand(1, &["hawk baby"]);
    table.hand(0, &["moth baby", "mouse baby"]);
    table.state.active = seat(0);
    table.game.steal_card(&mut table.state, seat(1), &mut table.chance);
    table.state.active = seat(2);
    table.game.steal_card(&mut table.state, seat(0), &mut table.chance);
    let hawk = table.card("hawk baby");
    let holders: BTreeSet<(u8, u8)> = samples(&table, 1, 200)
        .iter()
        .map(|s| (s.seats[seat(0)].hand.count(hawk), s.seats[seat(2)].hand.count(hawk)))
        .collect();
    assert!(holders.contains(&(0, 1)) && holders.contains(&(1, 0)));
    assert!(!holders.contains(&(0, 0)), "with one of the two, and nowhere else");
    assert_eq!(table.game.audit(&table.state), Ok(()));
}

#[test]
fn cards_of_a_discard_pile_that_came_back_are_in_no_hand_filled_before() {
    // GC-13.2
    let mut table = Table::new(2);
    table.hand(1, &["hawk baby", "moth baby"]);
    table.discarded(&["joker", "joker", "ermine baby"]);
    table.game.reshuffle_discard(&mut table.state);
    let back = ["joker", "ermine baby"].map(|name| table.card(name));
    let all = samples(&table, 0, 300);
    assert!(all.iter().all(|s| back.iter().all(|&card| s.seats[seat(1)].hand.count(card) == 0)));
    table.game.draw(&mut table.state, seat(1), 1, &mut table.chance, |_| ());
    let held = |s: &State| back.iter().map(|&card| s.seats[seat(1)].hand.count(card)).sum::<u8>();
    let counts: BTreeSet<u8> = samples(&table, 0, 600).iter().map(held).collect();
    assert_eq!(counts, BTreeSet::from([0, 1]), "only the card drawn since can be one of them");
}

#[test]
fn one_joker_came_back_and_one_never_showed_an_old_hand_holds_at_most_one() {
    // GC-13.2
    let mut table = Table::new(2);
    table.hand(1, &["hawk baby", "joker"]);
    table.discarded(&["joker"]);
    table.game.reshuffle_discard(&mut table.state);
    let joker = table.card("joker");
    let counts: BTreeSet<u8> =
        samples(&table, 0, 600).iter().map(|s| s.seats[seat(1)].hand.count(joker)).collect();
    assert_eq!(counts, BTreeSet::from([0, 1]));
    table.game.discard(&mut table.state, seat(1), joker, 0);
    let counts: BTreeSet<u8> =
        samples(&table, 0, 300).iter().map(|s| s.seats[seat(1)].hand.count(joker)).collect();
    assert_eq!(counts, BTreeSet::from([0]), "the one that never showed is the one discarded");
}

#[test]
fn every_copy_is_as_likely_in_a_hand() {
    // GC-13.1
    let mut table = Table::new(2);
    table.hand(1, &["hawk baby"]);
    let count = |card: &str, all: &[State]| {
        let card = table.card(card);
        all.iter().filter(|s| s.seats[seat(1)].hand.count(card) == 1).count()
    };
    let all = samples(&table, 0, 38_000);
    assert!((900..1100).contains(&count("hawk baby", &all)), "{}", count("hawk baby", &all));
    assert!((900..1100).contains(&count("moth madonna", &all)));
    assert!((3800..4200).contains(&count("flying spy", &all)), "four copies");
    assert!((1850..2150).contains(&count("joker", &all)), "two copies");
}

#[test]
fn a_stolen_token_is_known_to_thief_and_victim_and_others_know_its_back() {
    // GC-13.2, GC-R2
    let mut table = Table::new(3);
    table.tokens(1, &["London alethiometer token", "London token worth 6"]);
    table.state.active = seat(0);
    table.scripted(streams::STOLEN_TOKENS, &[12]);
    table.game.steal_token(&mut table.state, seat(1), CityId::new(2), &mut table.chance);
    assert!(samples(&table, 1, 100).iter().all(|s| s.seats[seat(0)].tokens == TokenSet::single(12)));
    let london = table.game.catalogue().cities[1].tokens;
    let third = samples(&table, 2, 200);
    assert!(third.iter().all(|s| s.seats[seat(0)].tokens.difference(london).is_empty()));
    let tokens: BTreeSet<_> = third.iter().map(|s| s.seats[seat(0)].tokens.lowest()).collect();
    assert_eq!(tokens.len(), 6, "any token with that back");
    table.state.active = seat(2);
    table.game.steal_token(&mut table.state, seat(0), CityId::new(2), &mut table.chance);
    assert!(
        samples(&table, 1, 100).iter().all(|s| s.seats[seat(2)].tokens == TokenSet::single(12)),
        "it was the only one there"
    );
}

#[test]
fn a_token_laid_out_is_no_longer_where_it_was_thought_to_be() {
    // GC-13.2, GC-R14
    let mut table = Table::in_period(2, 2);
    table.tokens(1, &["London token worth 4", "London token worth 4", "London token worth 6"]);
    table.state.active = seat(1);
    table.game.lay_token(&mut table.state, TokenId::new(8));
    let places = &table.state.memory[seat(0)].tokens;
    let gone: Vec<usize> = (0..24).filter(|&token| places[token] == 0).collect();
    assert_eq!(gone.len(), 1, "one of two equal tokens");
    let left = samples(&table, 0, 200);
    let kind = |s: &State| {
        let mut laid = tokens_of(s.seats[seat(1)].laid_out);
        laid.next().map(|id| table.game.catalogue().token(id).kind)
    };
    assert!(left.iter().all(|s| s.seats[seat(1)].tokens.len() == 2 && kind(s) == Some(TokenId::new(8))));
    // Of equal tokens, a seat lays out the one with the lowest id that it held.
    let has_lower = |s: &State| s.seats[seat(1)].laid_out.contains(9) && s.seats[seat(1)].tokens.contains(8);
    assert!(!left.iter().any(has_lower));
    assert!(places[8] & TABLE != 0);
}

#[test]
fn memories_agree_with_the_board_in_every_sample_of_a_random_game() {
    // GC-13.2
    for seats in 2..=4 {
        let game = testkit::table::<GoldenCompass>(seats, &[]);
        let mut rng = RngStream::new(9, RESAMPLE_STREAM);
        testkit::random_game(&game, 21, |episode| {
            for viewer in 0..seats {
                let mut sample = *episode.state();
                game.resample(&mut sample, Seat::new(viewer), &mut rng);
                for other in 0..seats {
                    // A sample can be resampled for other seats.
                    let mut next = sample;
                    game.resample(&mut next, Seat::new(other), &mut rng);
                    assert_eq!(game.audit(&next), Ok(()));
                }
            }
        });
    }
}

#[test]
fn the_public_sees_what_lies_open_and_of_tokens_the_backs() {
    // GC-13.1
    let mut table = Table::in_period(3, 2);
    table.hand(0, &["hawk baby", "joker"]);
    table.discarded(&["flying spy", "moth baby"]);
    table.tokens(1, &["London token worth 4", "London alethiometer token"]);
    table.lay(2, 1, &["Bolvangar token worth 7"]);
    let field = |name: &str| {
        let layout = &table.game.info().public_layout;
        let mut view = vec![0; layout.bytes()];
        table.game.view(&table.state, Viewer::Public, &mut view);
        let (offset, field) = layout.with_offsets().find(|(_, field)| field.name == name).expect("a field");
        view[offset..offset + field.bytes()].to_vec()
    };
    let copies = field("copies");
    let discarded = copies.iter().filter(|copy| **copy == 0);
    assert_eq!(discarded.count(), 2);
    assert!(
        copies.iter().all(|&copy| copy == 0 || copy == 2),
        "what is in hands is as hidden as the draw pile"
    );
    let tokens = field("tokens");
    assert!(tokens[6..12].iter().all(|&code| code == 0b101), "London: at the city or with seat 1");
    assert!(tokens[..6].iter().all(|&code| code == 1), "Jordan College: at the city");
    assert_eq!(tokens[23 - 1], 16 + 2 * 2 + 1, "Bolvangar's 7: laid out by seat 2 in the second city");
    assert_eq!((field("chooser"), field("hand_sizes")), (vec![1], vec![2, 0, 0]));
    let private =
        ["hand", "hidden_places", "taken_cards", "taken_holders", "dealt", "under", "passed", "fresh"];
    let layout = &table.game.info().public_layout;
    assert!(layout.fields.iter().all(|field| !private.contains(&field.name)));
    let mut text = String::new();
    table.game.text(&table.state, Viewer::Public, &mut text).expect("memory");
    assert!(text.contains("seen by the public") && !text.contains("(you)"), "{text}");
    assert!(
        text.contains("discard pile (2): moth baby, 1 flying spy") && text.contains("2 of London"),
        "{text}"
    );
}

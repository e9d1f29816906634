//! Tests that `resample` can give every state that the memory of a seat allows, and no other.

use std::collections::BTreeSet;

use boardwire_kernel::{
    Audits, BOT_STREAM, BySeat, Choices, Hidden, RESAMPLE_STREAM, RngStream, Seat, Turns, testkit,
};

use super::super::action::Action;
use super::super::catalogue::{CityId, DaemonId, TokenSet};
use super::super::limits::MAX_SEATS;
use super::super::memory::{Memory, NOT_HIDDEN, TABLE, seat_bit};
use super::super::state::{Decision, Hand, Pile, SetKind};
use super::super::{GoldenCompass, State, streams};
use super::frequencies::TABLES;
use super::memories::{allows, other_hands};
use super::support::{Table, seat};

/// Returns a state sampled for the first seat.
fn sampled(table: &Table, rng: &mut RngStream) -> State {
    let mut state = table.state;
    table.game.resample(&mut state, seat(0), rng);
    let held = |state: &State| state.seats.all().map(|seat_state| seat_state.hand.len());
    assert_eq!(held(&state), held(&table.state));
    state
}

fn steal(table: &mut Table, thief: u8, victim: u8) {
    table.state.active = seat(thief);
    table.game.steal_card(&mut table.state, seat(victim), &mut table.chance);
}

#[test]
fn cards_taken_are_where_there_is_room_for_them() {
    // GC-13.2: one of the two cards was stolen again, so each of the two hands has one.
    let mut rng = RngStream::new(9, RESAMPLE_STREAM);
    let mut table = Table::new(3);
    table.hand(0, &["ermine baby", "hawk baby"]);
    for (thief, victim) in [(1, 0), (1, 0), (2, 1)] {
        steal(&mut table, thief, victim);
    }
    for _ in 0..50 {
        let sample = sampled(&table, &mut rng);
        assert_eq!([1, 2].map(|number| sample.seats[seat(number)].hand.len()), [1, 1]);
    }
    // A card that is certainly with seat 1 is there in addition to its other cards.
    let mut table = Table::new(3);
    table.hand(1, &["moth baby", "mouse baby"]);
    table.hand(0, &["hawk baby"]);
    steal(&mut table, 1, 0);
    for _ in 0..50 {
        assert!(sampled(&table, &mut rng).seats[seat(1)].hand.contains(table.card("hawk baby")));
    }
    // Seat 2 has shown the card that it stole, so it has only the cards that it just drew.
    let mut table = Table::new(3);
    table.hand(1, &["moth baby"]);
    table.hand(0, &["hawk baby"]);
    table.scripted(streams::STOLEN_CARDS, &[0, 0]);
    table.chance.extend(streams::CARDS, [0, 0, 0]);
    steal(&mut table, 1, 0);
    let (moth, hawk) = (table.card("moth baby"), table.card("hawk baby"));
    steal(&mut table, 2, 1);
    assert!(table.state.seats[seat(2)].hand.contains(moth));
    table.game.discard(&mut table.state, seat(2), moth, 0);
    table.ally(2, "The Librarian");
    table.light_blue();
    table.play(&[Action::Ally]);
    for _ in 0..50 {
        assert!(sampled(&table, &mut rng).seats[seat(1)].hand.contains(hawk));
    }
    // Ermine is with seat 1 or 2, hawk with seat 1 or 3, and seat 3 has no card.
    let mut table = Table::new(4);
    table.hand(0, &["ermine baby", "hawk baby"]);
    table.scripted(streams::STOLEN_CARDS, &[0; 4]);
    for (thief, victim) in [(1, 0), (2, 1), (3, 0), (1, 3)] {
        steal(&mut table, thief, victim);
    }
    let ermine = table.card("ermine baby");
    for _ in 0..50 {
        let places = sampled(&table, &mut rng).seats;
        assert!(places[seat(2)].hand.contains(ermine) && places[seat(1)].hand.contains(hawk));
    }
}

#[test]
fn other_seats_know_their_own_tokens_in_a_sample() {
    // GC-13.1
    let mut rng = RngStream::new(11, RESAMPLE_STREAM);
    let mut table = Table::new(3);
    table.tokens(1, &["London token worth 3", "Bolvangar token worth 7"]);
    let sample = sampled(&table, &mut rng);
    for other in [1, 2].map(seat) {
        for token in 1..=24u8 {
            let is_own = sample.seats[other].tokens.contains(token);
            let due = if is_own { seat_bit(other) } else { (TABLE | 0b111) & !seat_bit(other) };
            assert_eq!(sample.memory[other].tokens[usize::from(token) - 1], due, "{other} {token}");
        }
    }
}

#[test]
fn other_seats_know_what_lies_open_and_their_own_hands_in_a_sample() {
    // GC-13.1
    let mut rng = RngStream::new(13, RESAMPLE_STREAM);
    let mut table = Table::in_period(3, 2);
    table.discarded(&["flying spy", "flying spy", "moth baby"]);
    table.hand(1, &["flying spy", "hawk baby"]);
    table.lay(2, 1, &["Bolvangar token worth 7", "London token worth 4"]);
    let sample = sampled(&table, &mut rng);
    for other in [1, 2].map(seat) {
        let (memory, hand) = (&sample.memory[other], &sample.seats[other].hand);
        for (card, &block) in (0u8..).zip(&table.game.blocks).skip(1) {
            let seen = memory
                .last_seen(block)
                .iter()
                .map(|&seen_at| usize::from(seen_at == NOT_HIDDEN))
                .sum::<usize>();
            let open = sample.discard.count(card);
            assert_eq!(seen, usize::from(open + hand.count(card)), "{other}: card {card}");
        }
        let laid = table.state.seats[seat(2)].laid_out;
        let known = (1..=24u8).filter(|&token| memory.tokens[usize::from(token) - 1] == 0);
        assert_eq!(known.collect::<TokenSet>(), laid);
    }
}

#[test]
fn a_sample_has_every_token_once_and_what_was_stolen_from_its_seat_with_the_thief() {
    // GC-13.2, GC-R38
    let mut rng = RngStream::new(15, RESAMPLE_STREAM);
    let mut table = Table::in_period(3, 2);
    table.tokens(1, &["London token worth 3", "Bolvangar token worth 4"]);
    table.tokens(0, &["London alethiometer token"]);
    table.lay(2, 1, &["London token worth 4"]);
    table.state.active = seat(1);
    table.game.steal_token(&mut table.state, seat(0), CityId::new(2), &mut table.chance);
    let (mut others, truth) = (TokenSet::EMPTY, table.state.seats.all().map(|seat_state| seat_state.tokens));
    let stolen = TokenSet::single(12);
    assert!(!truth[1].intersection(stolen).is_empty());
    for _ in 0..100 {
        let sample = sampled(&table, &mut rng);
        let held = sample.seats.all().map(|seat_state| seat_state.tokens);
        assert_eq!(held.map(|held| held.len()), truth.map(|held| held.len()));
        assert_eq!(held[1].intersection(stolen), stolen);
        others = others.union(held[1].difference(stolen));
        let all = held.into_iter().chain(sample.city_tokens).chain([sample.seats[seat(2)].laid_out]);
        assert_eq!(all.clone().map(|tokens| tokens.len()).sum::<u32>(), 24);
        assert_eq!(all.fold(TokenSet::EMPTY, TokenSet::union).len(), 24);
    }
    // London has six tokens, of which one was stolen and one laid out. Bolvangar has six.
    assert_eq!(others.len(), 4 + 6);
}

#[test]
fn a_sample_gives_every_token_of_a_city_as_often_to_its_holder() {
    // GC-13.1
    let mut table = Table::new(3);
    table.tokens(1, &["London token worth 3"]);
    let (mut rng, mut held) = (RngStream::new(12, RESAMPLE_STREAM), [0u32; 6]);
    for _ in 0..6_000 {
        let sample = sampled(&table, &mut rng);
        let token = sample.seats[seat(1)].tokens.lowest().expect("one of London's");
        held[usize::from(token) - 7] += 1;
    }
    // The standard deviation is 29.
    assert!(held.iter().all(|&count| count.abs_diff(1_000) < 150), "{held:?}");
}

/// Returns all ways to fill the hands of these seats, each with its number of cards, from a pile.
fn fillings(
    seats: &[(Seat, u8)],
    pile: &Pile,
    from: u8,
    hands: BySeat<Hand, MAX_SEATS>,
) -> Vec<BySeat<Hand, MAX_SEATS>> {
    let Some((&(seat, left), rest)) = seats.split_first() else { return vec![hands] };
    if left == 0 {
        return fillings(rest, pile, 1, hands);
    }
    // Adds the cards of a hand in the order of types, so that each hand occurs once.
    let types = (from..).take_while(|&card| usize::from(card) < pile.counts().len());
    let types = types.filter(|&card| pile.count(card) > 0);
    let with = |card| {
        let (mut pile, mut hands, mut seats) = (*pile, hands, seats.to_vec());
        pile.remove(card);
        hands[seat].insert(card);
        seats[0].1 -= 1;
        fillings(&seats, &pile, card, hands)
    };
    types.flat_map(with).collect()
}

/// Returns the other hands that a seat's memory allows. A seat that must name a card of a set needs a choice.
fn allowed_hands(game: &GoldenCompass, state: &State, viewer: Seat) -> BTreeSet<Vec<Vec<u8>>> {
    let mut pile = state.deck;
    let mut seats = Vec::new();
    for seat in game.others(viewer) {
        let hand = &state.seats[seat].hand;
        hand.as_slice().iter().for_each(|&card| pile.insert(card));
        seats.push((seat, hand.len()));
    }
    let can_go_on = |hands: &BySeat<Hand, MAX_SEATS>| match state.decision {
        Decision::NameSetCard(partial_set) if state.active != viewer => {
            game.card_sets.has_choice(&hands[state.active], partial_set)
        }
        _ => true,
    };
    let all = fillings(&seats, &pile, 1, BySeat::default()).into_iter();
    let allowed = all.filter(|hands| allows(game, &state.memory[viewer], viewer, hands) && can_go_on(hands));
    allowed.map(|hands| as_lists(&hands)).collect()
}

fn as_lists(hands: &BySeat<Hand, MAX_SEATS>) -> Vec<Vec<u8>> {
    hands.all().iter().map(|hand| hand.as_slice().to_vec()).collect()
}

#[test]
fn every_hand_that_a_memory_allows_is_sampled_and_no_other() {
    // GC-13.2: random games at tiny tables, with reshuffles, thefts, sets and cards just drawn.
    let (mut looked_at, mut choosing) = (0, 0);
    for tiny in TABLES {
        let game = tiny.game();
        for seed in 0..6 {
            let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
            testkit::random_game(&game, seed, |episode| {
                let state = episode.state();
                if state.decision == Decision::Keep
                    || episode.ply() % 9 > 0 && !matches!(state.decision, Decision::NameSetCard(_))
                {
                    return;
                }
                for viewer in game.all_seats() {
                    let due = allowed_hands(&game, state, viewer);
                    if due.len() > 40 {
                        continue;
                    }
                    let mut sampled = BTreeSet::new();
                    for draw in 0..40_000 {
                        let mut sample = *state;
                        game.resample(&mut sample, viewer, &mut rng);
                        sampled.insert(as_lists(&other_hands(&game, &sample, viewer)));
                        let is_certain = state.memory[viewer].taken().is_empty();
                        if draw > if is_certain { 200 } else { 2_000 } && sampled.len() == due.len() {
                            break;
                        }
                    }
                    assert_eq!(sampled, due, "{viewer}: {state:?}");
                    looked_at += u32::from(due.len() > 1);
                    choosing += u32::from(
                        matches!(state.decision, Decision::NameSetCard(_)) && viewer != state.active,
                    );
                }
            });
        }
    }
    assert!(looked_at > 500 && choosing > 10, "{looked_at} positions, {choosing} with a set begun");
}

#[test]
fn every_place_of_a_token_that_a_memory_allows_is_sampled_and_no_other() {
    // GC-13.2, GC-R16, GC-R38
    let tiny = TABLES.iter().find(|tiny| !tiny.tokens.is_empty()).expect("one has tokens");
    let game = tiny.game();
    let mut looked_at = 0;
    for seed in 0..6 {
        let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
        testkit::random_game(&game, seed, |episode| {
            let state = episode.state();
            if state.decision == Decision::Keep || episode.ply() % 9 > 0 {
                return;
            }
            for viewer in game.all_seats() {
                let due = allowed_tokens(&game, state, viewer);
                if due.len() > 60 {
                    continue;
                }
                let sampled: BTreeSet<_> = (0..2_000)
                    .map(|_| {
                        let mut sample = *state;
                        game.resample(&mut sample, viewer, &mut rng);
                        sample.seats.all().map(|seat_state| seat_state.tokens.iter().collect::<Vec<u8>>())
                    })
                    .collect();
                assert_eq!(sampled, due, "{viewer}: {state:?}");
                looked_at += u32::from(due.len() > 1);
            }
        });
    }
    assert!(looked_at > 100, "{looked_at} positions");
}

/// Returns the tokens by seat that a memory allows: each where it may be, with the true number of each back.
fn allowed_tokens(game: &GoldenCompass, state: &State, viewer: Seat) -> BTreeSet<[Vec<u8>; MAX_SEATS]> {
    let backs = |tokens: &[TokenSet; MAX_SEATS]| {
        let cities = || game.catalogue().collecting().iter();
        let of = |tokens: &TokenSet| cities().map(|city| tokens.intersection(city.tokens).len()).collect();
        tokens.iter().map(of).collect::<Vec<Vec<u32>>>()
    };
    let due = backs(&state.seats.all().map(|seat_state| seat_state.tokens));
    let mut all = vec![[TokenSet::EMPTY; MAX_SEATS]];
    for (token, &places) in (1u8..).zip(&state.memory[viewer].tokens[..game.catalogue().tokens.len()]) {
        let with = |held: [TokenSet; MAX_SEATS]| {
            let at_table = (places == 0 || places & TABLE != 0).then_some(held);
            let seats = game.all_seats().filter(move |&seat| places & seat_bit(seat) != 0).map(move |seat| {
                let mut held = held;
                held[seat.index()].insert(token);
                held
            });
            at_table.into_iter().chain(seats).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(with).collect();
        all.retain(|held| {
            backs(held).iter().flatten().zip(due.iter().flatten()).all(|(held, due)| held <= due)
        });
    }
    let all = all.into_iter().filter(|held| backs(held) == due);
    all.map(|held| held.map(|tokens| tokens.iter().collect())).collect()
}

#[test]
fn a_hand_that_leaves_a_choice_is_built_where_sampling_finds_none() {
    // GC-8.11: each of the two cards of seat 1 must be an ermine or a joker, and they must differ.
    let mut table = Table::new(2);
    table.hand(1, &["ermine baby", "ermine madonna", "ermine hourglass"]);
    table.state.active = seat(1);
    table.at_sets();
    table.play(&[Action::Play(SetKind::Pair(DaemonId::new(1)))]);
    table.play_cards(&["ermine baby"]);
    let Decision::NameSetCard(partial_set) = table.state.decision else {
        panic!("{:?}", table.state.decision)
    };
    assert_eq!(partial_set.kind, SetKind::Pair(DaemonId::new(1)));
    let mut rng = RngStream::new(14, RESAMPLE_STREAM);
    for _ in 0..2_000 {
        let sample = sampled(&table, &mut rng);
        assert!(table.game.card_sets.has_choice(&sample.seats[seat(1)].hand, partial_set));
        assert_eq!(table.game.audit(&sample), Ok(()));
    }
}

#[test]
fn resample_accepts_a_snapshot_with_unreachable_reshuffles() {
    // GC-13.2: the audit does not notice that no card was in the draw pile when these places were filled.
    let mut table = Table::new(2);
    table.hand(1, &["ermine baby", "ermine madonna", "joker"]);
    table.state.active = seat(1);
    table.at_sets();
    table.play(&[Action::Play(SetKind::Pair(DaemonId::new(1)))]);
    table.play_cards(&["ermine baby"]);
    let memory: &mut Memory = &mut table.state.memory[seat(0)];
    memory.reshuffles = 2;
    memory.last_seen.iter_mut().filter(|seen_at| **seen_at != NOT_HIDDEN).for_each(|seen_at| *seen_at = 2);
    assert_eq!(table.game.audit(&table.state), Ok(()));
    let mut rng = RngStream::new(15, RESAMPLE_STREAM);
    for _ in 0..200 {
        assert_eq!(table.game.audit(&sampled(&table, &mut rng)), Ok(()));
    }
    let mut chooser = RngStream::new(16, BOT_STREAM);
    while let Some(pending) = table.game.pending(&table.state).lowest() {
        let action = chooser.draw(&mut table.game.legal(&table.state, pending));
        table.play_for(pending.number(), table.game.decode(action).expect("a legal action"));
        sampled(&table, &mut rng);
    }
}

#[test]
fn a_taken_card_goes_where_the_old_cards_still_fit() {
    // GC-13.2, GC-R38: seat 2 stole one of two cards and has shown all its cards. All hidden cards except the hawk have
    // returned since. So the hawk is in the old place of seat 1, and seat 2 did not draw it.
    let mut table = Table::new(3);
    table.hand(0, &["hawk baby"]);
    table.hand(1, &["moth baby"]);
    table.hand(2, &["mouse baby"]);
    let [hawk, moth, mouse] = ["hawk baby", "moth baby", "mouse baby"].map(|name| table.card(name));
    table.scripted(streams::STOLEN_CARDS, &[0, u8::from(moth.get() > hawk.get())]);
    steal(&mut table, 1, 0);
    steal(&mut table, 2, 1);
    assert!(table.state.seats[seat(1)].hand.contains(hawk));
    for card in [mouse, moth] {
        table.game.discard(&mut table.state, seat(2), card, 0);
    }
    table.game.reshuffle_discard(&mut table.state);
    let memory: &mut Memory = &mut table.state.memory[seat(0)];
    memory
        .last_seen
        .iter_mut()
        .filter(|seen_at| **seen_at == 0)
        .for_each(|seen_at| *seen_at = memory.reshuffles);
    table.chance.extend(streams::CARDS, [0]);
    table.game.draw(&mut table.state, seat(2), 1, &mut table.chance, |_| ());
    let mut rng = RngStream::new(17, RESAMPLE_STREAM);
    for _ in 0..200 {
        let sample = sampled(&table, &mut rng);
        let hands = other_hands(&table.game, &sample, seat(0));
        assert!(allows(&table.game, &table.state.memory[seat(0)], seat(0), &hands), "{hands:?}");
        assert!(sample.seats[seat(1)].hand.contains(hawk));
    }
}

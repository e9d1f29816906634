//! What a memory excludes has not happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use boardwire_kernel::{Episode, RESAMPLE_STREAM, RngStream, Seat, testkit};

use super::super::catalogue::limits::KNOWN;
use super::super::catalogue::{CardId, CityId, DaemonId, SymbolId, TokenId, TokenSet};
use super::super::memory::{Memory, SEEN};
use super::super::state::{Hand, SetKind, Step};
use super::super::trace::{Event, TRACE, Trace};
use super::super::{Action, GoldenCompass, State};
use super::support::{Table, seat};

/// Whether the memory allows the hand an opponent holds: its cards fit its hand places, oldest first.
///
/// A hand with cards that may have moved on is not looked at.
fn allows(game: &GoldenCompass, s: &State, memory: &Memory, seat: Seat) -> Option<bool> {
    let mut hand = s.places[seat].hand;
    for taken in memory.taken() {
        if taken.is_certain(seat) {
            assert!(hand.remove(taken.card), "a card surely there is not there");
        } else if taken.may_be_with(seat) {
            return None;
        }
    }
    let mut stamps: Vec<u8> = Vec::new();
    for card in hand.types() {
        let hidden = memory.stamps(game.blocks[usize::from(card)]).iter().filter(|&&stamp| stamp != SEEN);
        stamps.extend(hidden.take(hand.count(card).into()));
    }
    stamps.sort_unstable();
    let ages = memory.ages[seat].as_slice();
    Some(stamps.len() == ages.len() && stamps.iter().zip(ages).all(|(stamp, age)| stamp <= age))
}

#[test]
fn a_memory_never_excludes_the_hands_there_are() {
    // GC-13.2
    let mut looked_at = [0u32; 2];
    for seats in 2..=4 {
        for seed in 0..60 {
            let game = testkit::table::<GoldenCompass>(seats, &[("stall_guard_turns", "200")]);
            testkit::random_game(&game, seed, |episode| {
                let s = episode.state();
                for viewer in game.all_seats() {
                    let memory = &s.memory[viewer];
                    for seat in game.others(viewer) {
                        match allows(&game, s, memory, seat) {
                            None => looked_at[1] += 1,
                            Some(allowed) => {
                                assert!(allowed, "{viewer} excludes the hand of {seat}: {s:?}");
                            }
                        }
                        looked_at[0] += u32::from(memory.returns > 0);
                    }
                }
            });
        }
    }
    assert!(looked_at.iter().all(|&count| count > 50), "{looked_at:?}");
}

#[test]
fn a_memory_is_what_its_seat_saw_of_all_events() {
    // GC-13.2
    for seats in 2..=4 {
        let game = testkit::table::<GoldenCompass>(seats, &[]);
        for seed in 0..10 {
            testkit::random_game(&game, seed, |episode| {
                let state = episode.state();
                for viewer in game.all_seats() {
                    assert_eq!(game.recall(state.trace.events(), viewer), state.memory[viewer]);
                }
            });
        }
    }
}

#[test]
fn a_shorter_history_leads_to_the_same_position() {
    // GC-13.2: nobody is shown anything else, and the game and worlds go on from it.
    let mut rng = RngStream::new(1, RESAMPLE_STREAM);
    for seats in 2..=4 {
        let game = testkit::table::<GoldenCompass>(seats, &[]);
        let (mut shorter, mut sum) = (0, 0);
        for seed in 0..6 {
            testkit::random_game(&game, seed, |episode| {
                if episode.ply() % 7 > 0 || episode.state().turn == 0 {
                    return;
                }
                let mut state = *episode.state();
                game.condense(&mut state);
                shorter += u32::from(state.trace.len() < episode.state().trace.len());
                sum += 1;
                assert_eq!(game.audit(&state), Ok(()));
                for viewer in game.all_seats() {
                    let mut world = state;
                    game.resample(&mut world, viewer, &mut rng);
                    assert_eq!(game.audit(&world), Ok(()));
                    let shown = |state: &State| testkit::Shown::to(&*game, state, viewer);
                    assert_eq!(shown(&world), shown(episode.state()));
                }
            });
        }
        assert!(shorter > sum / 3, "{shorter} of {sum} are shorter");
    }
}

#[test]
fn a_shorter_history_has_room_for_what_happens_next() {
    // GC-13.2: a card goes to and fro after the only return, before which there is little to be forgotten.
    let game = testkit::table::<GoldenCompass>(3, &[]);
    let (first, second, card) = (Seat::FIRST, Seat::new(1), CardId::new(1));
    for asked in 0..12 {
        let mut state = *Episode::seeded(Arc::clone(&game), 1).state();
        state.trace.push(first, Event::Return);
        (0..asked).for_each(|_| state.trace.push(first, Event::Asked));
        state.trace.push(first, Event::Draw(card));
        let (mut thief, mut victim) = (second, first);
        while !state.trace.is_full() {
            state.trace.push(thief, Event::Steal { victim, card });
            (thief, victim) = (victim, thief);
        }
        let last = state.trace.events().last();
        game.condense(&mut state);
        assert!(!state.trace.is_full(), "{asked} events before");
        assert_eq!(state.trace.events().last().map(|entry| entry.event), last.map(|entry| entry.event));
    }
}

#[test]
fn of_more_cards_taken_than_are_remembered_the_least_sure_counts_as_hidden() {
    // GC-13.2
    let game = testkit::table::<GoldenCompass>(4, &[]);
    let mut memory = Memory::new(game.copies, game.printed().tokens.len());
    let rows = (1..=20).map(CardId::new);
    for card in rows.clone() {
        memory.drew(game.blocks[card.index()]);
        memory.lost_card(Seat::new(1), card, &game.blocks);
    }
    assert_eq!(memory.taken().len(), KNOWN);
    assert_eq!(memory.ages[Seat::new(1)].as_slice(), [0; 20 - KNOWN], "the others are hidden in that hand");
    for card in rows {
        let stamps = memory.stamps(game.blocks[card.index()]).iter();
        let seen = stamps.filter(|&&stamp| stamp == SEEN).map(|_| 1).sum::<usize>();
        let taken = memory.taken().iter().filter(|taken| taken.card == card.get()).count();
        assert_eq!(seen, taken);
    }
}

#[test]
fn of_equal_cards_taken_the_surest_is_shown_and_the_others_become_as_unsure_as_all() {
    // GC-13.2: two spies may be with seats 1 and 2 and one with 1 and 3, when seat 1 shows one.
    let table = Table::new(4);
    let (spy, hawk) = (table.card("spy"), table.card("hawk.baby"));
    let blocks = &table.game.blocks;
    let mut memory = Memory::new(table.game.copies, table.game.printed().tokens.len());
    let lost = |memory: &mut Memory, thief: u8, card: CardId| {
        memory.drew(blocks[card.index()]);
        memory.lost_card(seat(thief), card, blocks);
    };
    lost(&mut memory, 1, spy);
    lost(&mut memory, 1, spy);
    memory.saw_card_stolen(seat(1), seat(2));
    lost(&mut memory, 3, spy);
    memory.saw_card_stolen(seat(3), seat(1));
    lost(&mut memory, 2, hawk);
    let holders = |memory: &Memory, card: CardId| {
        let taken = memory.taken().iter().filter(|taken| taken.card == card.get());
        taken.map(|taken| taken.holders).collect::<Vec<_>>()
    };
    assert_eq!(holders(&memory, spy), [0b0110, 0b0110, 0b1010]);
    let hidden = memory.ages[seat(1)].as_slice().len();
    memory.saw_card_leave(seat(1), spy, blocks[spy.index()], 0);
    assert_eq!(holders(&memory, spy), [0b1110, 0b1110]);
    assert_eq!(holders(&memory, hawk), [0b0100], "it is another card, and surely there");
    assert_eq!(memory.ages[seat(1)].as_slice().len(), hidden - 1);
}

/// The events that a shorter history makes of these, with who acts.
fn condensed(events: &[(u8, Event)]) -> Vec<(u8, Event)> {
    let mut table = Table::new(3);
    table.state.trace = Trace::EMPTY;
    for &(actor, event) in events {
        table.state.trace.push(seat(actor), event);
    }
    table.game.condense(&mut table.state);
    table.state.trace.events().map(|entry| (entry.actor.number(), entry.event)).collect()
}

#[test]
fn a_shorter_history_begins_at_the_first_return_that_leaves_half_the_room() {
    // GC-13.2: of 404 bytes the four returns leave 304, 203, 102 and 1.
    let part = [vec![(0, Event::Asked); 100], vec![(0, Event::Return)]].concat();
    let left = condensed(&part.repeat(4));
    let returns = left.iter().filter(|event| event.1 == Event::Return).count();
    assert_eq!((returns, left.len()), (3, 203));
}

#[test]
fn a_shorter_history_without_a_return_begins_where_the_last_seat_began_to_act() {
    // GC-13.2
    let draw = |actor: u8, card: u8| (actor, Event::Draw(CardId::new(card)));
    let events = [draw(0, 1), draw(0, 2), draw(1, 3), draw(0, 4), draw(1, 5), draw(1, 6)];
    let before = [draw(0, 1), draw(0, 2), draw(0, 4), draw(1, 3)];
    let since = [(1, Event::Apart), draw(1, 5), draw(1, 6)];
    assert_eq!(condensed(&events), [&before[..], &since].concat());
    let at_once = [draw(0, 3), (0, Event::Apart), draw(0, 1), (0, Event::Return), draw(0, 2)];
    assert_eq!(condensed(&at_once), at_once, "cards drawn at once stay apart from the others");
}

#[test]
fn a_shorter_history_begins_with_no_set_half_told() {
    // GC-13.2: one seat acts all the time, and what it was asked leaves no other place.
    let card = |card: u8| CardId::new(card);
    let set = [
        Event::Draw(card(1)),
        Event::Draw(card(2)),
        Event::Begin(SetKind::Pair(DaemonId::new(1))),
        Event::Asked,
        Event::Show { card: card(1), among: 0 },
        Event::Show { card: card(2), among: 0 },
    ];
    let set = set.map(|event| (0, event));
    assert_eq!(condensed(&[&[(0, Event::Asked); TRACE - 6], &set[..]].concat()), set);
}

#[test]
fn a_shorter_history_tells_who_surely_has_what_and_nobody_more() {
    // GC-13.2, GC-R38
    let mut table = Table::new(3);
    table.hand(1, &["ermine.baby", "moth.baby"]);
    table.hand(0, &["hawk.baby"]);
    table.tokens(0, &["london.alethiometer"]);
    table.state.active = seat(1);
    table.game.steal_card(&mut table.state, seat(0), &mut table.chance);
    table.game.steal_token(&mut table.state, seat(0), CityId::new(2), &mut table.chance);
    table.game.draw(&mut table.state, seat(2), 1, &mut table.chance, |_| ());
    let token = table.state.places[seat(1)].tokens.lowest().expect("it was stolen");
    table.game.condense(&mut table.state);
    let (hawk, mut rng) = (table.card("hawk.baby"), RngStream::new(3, RESAMPLE_STREAM));
    let mut seen_by_third = BTreeSet::new();
    for _ in 0..100 {
        let [victim, third] = [0, 2].map(|viewer| {
            let mut world = table.state;
            table.game.resample(&mut world, seat(viewer), &mut rng);
            world.places[seat(1)]
        });
        assert!(victim.hand.contains(hawk) && victim.tokens == TokenSet::single(token));
        seen_by_third.insert(third.tokens.lowest());
    }
    assert!(seen_by_third.len() > 1, "the third seat knows only its back");
}

#[test]
fn a_shorter_history_brings_no_token_back_to_its_city() {
    // GC-13.2, GC-R16: seat 0 was robbed of one, and then seat 1, of either of two: it knows that its own is with one of them.
    let mut table = Table::new(3);
    table.tokens(0, &["london.alethiometer"]);
    table.tokens(1, &["london.4"]);
    let token = table.state.places[seat(0)].tokens.lowest().expect("it has one");
    for (thief, victim) in [(1, 0), (2, 1)] {
        table.state.active = seat(thief);
        table.game.steal_token(&mut table.state, seat(victim), CityId::new(2), &mut table.chance);
    }
    // The history begins with this, and what came before is retold.
    table.game.draw(&mut table.state, seat(0), 1, &mut table.chance, |_| ());
    table.game.condense(&mut table.state);
    let mut rng = RngStream::new(3, RESAMPLE_STREAM);
    let mut holders = BTreeSet::new();
    for _ in 0..100 {
        let mut world = table.state;
        table.game.resample(&mut world, seat(0), &mut rng);
        assert_eq!(table.game.audit(&world), Ok(()));
        holders.insert([1, 2].map(|holder| world.places[seat(holder)].tokens.contains(token)));
    }
    assert_eq!(holders, BTreeSet::from([[true, false], [false, true]]));
}

#[test]
fn a_shorter_history_tells_what_was_known_when_it_ends_and_not_what_came_later() {
    // GC-13.2: seat 1 drew a hawk before the return; that it took another one after it says nothing of the first.
    let mut table = Table::new(3);
    table.hand(0, &["hawk.baby"]);
    table.hand(1, &["hawk.baby"]);
    table.game.return_discard(&mut table.state);
    table.state.active = seat(1);
    table.game.steal_card(&mut table.state, seat(0), &mut table.chance);
    table.game.condense(&mut table.state);
    let events = || table.state.trace.events();
    assert_eq!(events().filter(|entry| matches!(entry.event, Event::Steal { .. })).count(), 1);
    let (hawk, mut rng) = (table.card("hawk.baby").get(), RngStream::new(4, RESAMPLE_STREAM));
    let has_another = (0..100).all(|_| {
        let mut world = table.state;
        table.game.resample(&mut world, seat(0), &mut rng);
        world.places[seat(1)].hand.count(hawk) == 2
    });
    assert!(!has_another, "seat 0 cannot know of the other hawk");
}

#[test]
fn cards_just_drawn_stay_the_last_ones_in_a_shorter_history() {
    // GC-13.2: no return has come, so the history is cut where the seat began to act.
    let mut table = Table::new(2);
    table.hand(0, &["spy"]);
    table.hand(1, &["moth.baby"]);
    table.ally(0, "librarian");
    let moth = table.card("moth.baby");
    table.game.discard(&mut table.state, seat(1), moth, 0);
    table.light_blue();
    table.play(&[Action::Ally]);
    assert!(matches!(table.state.step, Step::Drop { .. }));
    table.game.condense(&mut table.state);
    let mut rng = RngStream::new(5, RESAMPLE_STREAM);
    for _ in 0..20 {
        let mut world = table.state;
        table.game.resample(&mut world, seat(1), &mut rng);
        let draws: Vec<CardId> = world.trace.events().filter_map(|entry| drawn(entry.event)).collect();
        let last: Hand = draws[draws.len() - 3..].iter().copied().collect();
        assert_eq!(last, world.just_drawn);
    }
}

fn drawn(event: Event) -> Option<CardId> {
    if let Event::Draw(card) = event { Some(card) } else { None }
}

#[test]
fn a_trace_is_full_once_the_longest_event_may_not_fit() {
    let mut trace = Trace::EMPTY;
    (0..TRACE - 4).for_each(|_| trace.push(Seat::FIRST, Event::Asked));
    assert!(!trace.is_full());
    trace.push(Seat::new(1), Event::Steal { victim: Seat::FIRST, card: CardId::new(1) });
    assert!(trace.is_full() && trace.len() < TRACE);
}

#[test]
fn every_event_is_read_as_it_was_written() {
    let (cards, seats) = ([1, 64].map(CardId::new), [0, 1, 2, 3].map(seat));
    let kinds = [
        SetKind::Pair(DaemonId::new(1)),
        SetKind::Pair(DaemonId::new(16)),
        SetKind::Triplet(SymbolId::new(1)),
        SetKind::Triplet(SymbolId::new(8)),
        SetKind::Short(SymbolId::new(1)),
        SetKind::Short(SymbolId::new(8)),
        SetKind::Spies,
        SetKind::Wild,
    ];
    let mut events = vec![Event::Apart, Event::Return, Event::Asked];
    events.extend(kinds.map(Event::Begin));
    for card in cards {
        events.push(Event::Draw(card));
        events.extend([0, 1, 16].map(|among| Event::Show { card, among }));
        events.extend(seats.map(|victim| Event::Steal { victim, card }));
    }
    for token in [1, 32].map(TokenId::new) {
        events.extend([Event::Take(token), Event::Lay(token)]);
        events.extend(seats.map(|victim| Event::Rob { victim, token }));
    }
    let written: Vec<_> = events.iter().flat_map(|&event| seats.map(|actor| (actor, event))).collect();
    for part in written.chunks(100) {
        let mut trace = Trace::EMPTY;
        for &(actor, event) in part {
            trace.push(actor, event);
        }
        let read: Vec<_> = trace.events().map(|entry| (entry.actor, entry.event)).collect();
        assert_eq!(read, part);
        assert!(trace.is_sound());
    }
    let mut bytes = borsh::to_vec(&Trace::EMPTY).expect("memory");
    (bytes[1], bytes[4]) = (1, u8::MAX);
    let trace: Trace = borsh::from_slice(&bytes).expect("bytes of the right number");
    assert_eq!(trace.len(), 1);
    assert!(!trace.is_sound(), "a byte that no event has");
}

#[test]
fn a_draw_stands_apart_from_what_may_be_one_alone() {
    let ends_so = |event: Event| {
        let mut trace = Trace::EMPTY;
        trace.push(Seat::FIRST, event);
        trace.may_end_with_draw()
    };
    assert!([Event::Draw(CardId::new(64)), Event::Return].map(ends_so).iter().all(|&may| may));
    let others = [Event::Show { card: CardId::new(1), among: 0 }, Event::Asked, Event::Apart];
    assert!(others.map(ends_so).iter().all(|&may| !may));
    assert!(!Trace::EMPTY.may_end_with_draw());
}

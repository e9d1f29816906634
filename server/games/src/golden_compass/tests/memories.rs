//! What a memory excludes has not happened.

use std::sync::Arc;

use boardwire_kernel::{Episode, RESAMPLE_STREAM, RngStream, Seat, testkit};

use super::super::catalogue::CardId;
use super::super::catalogue::limits::KNOWN;
use super::super::memory::{Memory, SEEN};
use super::super::trace::Event;
use super::super::{GoldenCompass, State};

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
                    assert_eq!(game.recall(&state.trace, viewer), state.memory[viewer]);
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

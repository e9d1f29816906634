//! What a memory excludes has not happened.

use boardwire_kernel::{Seat, testkit};

use super::super::memory::{Memory, SEEN};
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

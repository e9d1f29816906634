//! The sanctuary deck when returned cards are dealt again and when it runs out.

use std::collections::BTreeSet;

use boardwire_kernel::{
    Audits, Choices, Episode, Estimate, Hidden, RandomSource, RngStream, Seat, Setup, Texts, apply,
};

use super::{climbing_game, explore, field, scripted, seat, table};
use crate::faraway::turn::block_round_and_index;
use crate::faraway::{Faraway, Phase, Sanctuaries, State};

#[test]
fn r1_returned_sanctuaries_lie_under_the_deck_in_an_order_that_no_seat_knows() {
    // FA-R1: blocks are dealt in order. The first card drawn from a block can be any of its cards.
    let game = table(6, "basic");
    let mut begun = 0;
    for seed in 0..20 {
        climbing_game(&game, seed, |episode| {
            if episode.state().phase == Phase::Explore && episode.pending().len() == 1 {
                begun += u32::from(deals_evenly_from_a_returned_block(episode));
            }
        });
    }
    assert!(begun > 5, "only {begun} deals began a returned block and left some of it");
}

/// Returns whether the next deal starts a returned block without using it up. Asserts that each of its cards can come.
fn deals_evenly_from_a_returned_block(episode: &Episode<Faraway>) -> bool {
    let (game, before) = (episode.game(), episode.state());
    let last = episode.pending().lowest().expect("one seat owes");
    let action = game.legal(before, last).lowest().expect("a choice");
    let (mut came, mut numbers) = (Sanctuaries::EMPTY, BTreeSet::new());
    let mut block = Sanctuaries::EMPTY;
    for seed in 0..200 {
        let mut after = *before;
        apply(&**game, &mut after, last, action.into(), &mut RandomSource::seeded(seed, 2)).expect("legal");
        if after.front_block == before.front_block || after.front.is_empty() {
            return false;
        }
        let (round, order_index) = block_round_and_index(after.front_block);
        let owner = before.order_of(round, game.info().seats)[usize::from(order_index)];
        block = before.returned(round, owner);
        let drawn = block.difference(after.front);
        numbers.insert(drawn.len());
        came = came.union(drawn);
    }
    assert_eq!((came, numbers.len()), (block, 1));
    true
}

#[test]
fn r1_a_script_gives_the_order_in_which_they_were_returned() {
    // FA-R1: `records` plays whole games in which returned cards come again in their recorded order.
    let mut game = scripted(2, "basic", &[6, 15, 49, 1, 2, 3], &[20, 7, 11, 12]);
    explore(&mut game, &[6, 1]);
    assert_eq!(game.random_source().usage()[1], 45);
    game.random_source_mut().extend(1, [12, 11]);
    assert_eq!(game.random_source().usage()[1], 47);
}

#[test]
fn r2_what_the_deck_lacked_is_dealt_before_placing_so_each_seat_gets_its_due() {
    // FA-R2
    let game = table(6, "basic");
    let (mut short, mut filled) = (0, 0);
    for seed in 0..60 {
        let mut owed = boardwire_kernel::BySeat::<u8, 6>::default();
        climbing_game(&game, seed, |episode| {
            let state = episode.state();
            if let (Phase::Take, 0) = (state.phase, state.turn) {
                owed = state.owed;
                short += owed.all().iter().map(|&owed| u32::from(owed)).sum::<u32>();
                for order_index in 0..6 {
                    in_order(state, order_index);
                }
            }
            if state.phase == Phase::Place && state.round < 8 {
                let active = state.active().expect("a turn");
                assert!(!state.found(active).is_empty());
                assert_eq!(state.owed[active], 0);
                let due = game.due(state, active, state.round);
                let got = state.found(active).len();
                assert!(got == u32::from(due) || state.sanctuary_deck == 0);
                filled += u32::from(owed[active] > 0);
            }
        });
    }
    assert!(short > 20 && filled > 10, "{short} cards short, {filled} turns filled up");
}

/// Calls `look` for every state of climbing games with a seat that is owed sanctuaries, and for a copy without the debt.
fn owed(mut look: impl FnMut(&Faraway, Seat, &State, &State)) {
    let game = table(6, "basic");
    for seed in 0..30 {
        climbing_game(&game, seed, |episode| {
            let state = episode.state();
            for seat in Seat::all(6).filter(|&seat| state.owed[seat] > 0) {
                let mut other = *state;
                other.owed[seat] = 0;
                look(&game, seat, state, &other);
            }
        });
    }
}

#[test]
fn r2_a_seat_is_told_what_it_is_owed() {
    // FA-R2, FA-5.1
    let mut told = 0;
    owed(|game, seat, state, _| {
        let mut text = String::new();
        game.text(state, seat.into(), &mut text).expect("memory");
        let number = state.owed[seat];
        let word = if number == 1 { "sanctuary" } else { "sanctuaries" };
        let own = text.split_once(&format!("\n{seat} (you):\n")).expect("an own section").1;
        let own = own.split_once("\nseat").expect("other seats").0;
        assert!(own.contains(&format!("\nstill owed {number} {word}, since the deck ran out\n")), "{text}");
        let by_seat: Vec<u8> = seat.round(6).map(|seat| state.owed[seat]).collect();
        assert_eq!(field(game, state, seat.number(), "owed"), by_seat);
        told += 1;
    });
    assert!(told > 20, "{told} positions");
}

#[test]
fn r2_a_seat_that_is_owed_sanctuaries_is_estimated_to_place_one() {
    // FA-R2
    let mut without = 0;
    owed(|game, seat, state, other| {
        let [value, less] = [state, other].map(|state| game.value(state, seat));
        let has_none = state.found(seat).is_empty();
        assert_eq!(value > less, has_none, "{state:?}");
        without += u32::from(has_none);
    });
    assert!(without > 10, "{without} positions in which it has found none yet");
}

#[test]
fn r2_the_audit_refuses_a_debt_that_is_forgotten_or_paid_at_another_time() {
    // FA-R2, FA-4.7, FA-7.3
    let game = table(6, "basic");
    let mut tried = [0; 3];
    for seed in 0..60 {
        climbing_game(&game, seed, |episode| {
            let state = episode.state();
            for seat in Seat::all(6) {
                let broken = [forgotten(state, seat), taken_back(state, seat), paid_early(state, seat)];
                for (tried, broken) in tried.iter_mut().zip(broken) {
                    let Some(broken) = broken else { continue };
                    assert!(game.audit(&broken).is_err(), "{seat} in {state:?}");
                    *tried += 1;
                }
            }
        });
    }
    assert!(tried.iter().all(|&tried| tried > 10), "{tried:?} positions");
}

/// Returns a state in which the seat's debt is missing.
fn forgotten(state: &State, seat: Seat) -> Option<State> {
    let mut broken = *state;
    (std::mem::take(&mut broken.owed[seat]) > 0).then_some(broken)
}

/// Returns a state in which the placing seat lacks one of the cards dealt to it last.
fn taken_back(state: &State, seat: Seat) -> Option<State> {
    let must_place = state.phase == Phase::Place && state.active() == Some(seat);
    let (round, order_index) = block_round_and_index(state.front_block.max(1));
    let block = state.returned(round, state.order_of(round, 6)[usize::from(order_index)]);
    let last = state.found(seat).intersection(block).lowest()?;
    let mut broken = *state;
    broken.dealt[seat][usize::from(state.round - 2)].remove(last);
    broken.front.insert(last);
    broken.sanctuary_deck += 1;
    (must_place && round == state.round).then_some(broken)
}

/// Returns a state in which a seat got one of the owed cards before its turn.
fn paid_early(state: &State, seat: Seat) -> Option<State> {
    let mut broken = *state;
    broken.owed[seat] = state.owed[seat].checked_sub(1)?;
    let first = state.front.lowest()?;
    broken.front.remove(first);
    broken.dealt[seat][usize::from(state.round - 2)].insert(first);
    broken.sanctuary_deck -= 1;
    Some(broken)
}

/// Asserts that a seat later in the order is dealt nothing while an earlier one is owed cards.
fn in_order(state: &State, order_index: usize) {
    let later = &state.order[order_index + 1..];
    if state.owed[state.order[order_index]] > 0 {
        assert!(later.iter().all(|&other| state.found(other).is_empty()));
        assert_eq!(state.sanctuary_deck, 0);
    }
}

#[test]
fn positions_of_a_deck_that_ran_round_obey_the_law_of_resampling() {
    // FA-5.4, FA-R1: the audit replays the whole history, so it checks each determinization from `resample`.
    let mut rng = RngStream::new(5, 0);
    for seats in 4..=6 {
        let game = table(seats, "advanced");
        for seed in 0..25 {
            climbing_game(&game, seed, |episode| {
                for number in 0..seats {
                    let mut world = *episode.state();
                    game.resample(&mut world, seat(number), &mut rng);
                    assert_eq!(game.audit(&world), Ok(()), "seat {number} at ply {}", episode.ply());
                    for round in 0..7 {
                        assert_eq!(
                            world.dealt[seat(number)][round],
                            episode.state().dealt[seat(number)][round]
                        );
                    }
                }
            });
        }
    }
}

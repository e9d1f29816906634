//! The end of a round and of the game.

use boardwire_kernel::{Audits, Episode, Scoring, Setup, testkit};

use super::{VARIANTS, climbing_game, fame, line, placed, play_on, seat, table};
use crate::faraway::{Faraway, Phase, RegionId, Regions, SanctuaryId, State};

#[test]
fn the_left_over_leaves_the_game_and_a_new_display_is_revealed() {
    // FA-4.6, FA-R13: the left-over is public and never returns.
    for seats in 2..=6 {
        let mut gone = Regions::EMPTY;
        let end = testkit::random_game(&table(seats, "basic"), 9, |episode| {
            let state = episode.state();
            let round = usize::from(state.round);
            if state.phase == Phase::Explore && round > 1 {
                gone.insert(state.left_over[round - 2].expect("a round has ended"));
                assert_eq!(gone.len() as usize, round - 1);
                let revealed = if round < 8 { u32::from(seats) + 1 } else { 0 };
                assert_eq!(state.display.len(), revealed);
            }
            let elsewhere =
                state.hands.all().iter().fold(state.deck.union(state.display), |all, &hand| all.union(hand));
            assert!(gone.intersection(elsewhere).is_empty());
        });
        assert!(end.state().left_over.iter().flatten().all(|&id| gone.contains(id)));
    }
}

#[test]
fn r3_no_display_is_revealed_for_the_last_round() {
    // FA-R3: with six seats the deck has only one region left then.
    for (seats, left) in (2..=6).zip([41, 31, 21, 11, 1]) {
        for variant in VARIANTS {
            let mut game = Episode::seeded(table(seats, variant), 4);
            play_on(&mut game, |state| state.round == 8);
            assert_eq!((game.state().display.len(), game.state().deck.len()), (0, left));
            play_on(&mut game, |state| state.phase == Phase::Over);
            assert_eq!(game.state().deck.len(), left);
        }
    }
}

#[test]
fn nothing_is_taken_in_the_last_round() {
    // FA-4.3
    testkit::random_game(&table(4, "basic"), 6, |episode| {
        let state = episode.state();
        assert!(state.round < 8 || state.phase != Phase::Take);
    });
}

#[test]
fn after_eight_rounds_every_line_is_full_and_two_regions_are_worth_nothing() {
    // FA-4.7
    let end = testkit::random_game(&table(3, "advanced"), 2, |_| {});
    let state = end.state();
    for number in 0..3 {
        assert_eq!((line(state, number).len(), state.hands[seat(number)].len()), (8, 2));
        let mut other = *state;
        other.hands[seat(number)] = Regions::EMPTY;
        assert_eq!(end.game().fame(state, seat(number)), end.game().fame(&other, seat(number)));
    }
}

#[test]
fn a_sanctuary_is_placed_for_every_climb_and_the_scores_are_the_sums() {
    // FA-4.7, FA-6.5
    let game = table(5, "basic");
    for seed in 0..20 {
        let end = climbing_game(&game, seed, |_| {});
        let outcome = end.outcome().expect("over");
        for number in 0..5 {
            let line = line(end.state(), number);
            let climbs = line.windows(2).filter(|pair| pair[1] > pair[0]).count();
            let placed = placed(end.state(), number);
            assert_eq!(placed.len(), climbs);
            assert_eq!(outcome.scores()[usize::from(number)], i32::from(fame(&line, &placed).total()));
        }
        let best = outcome.scores().iter().max().expect("five scores");
        let winner = (0..5).find(|&at| outcome.ranks()[at] == 1).expect("a winner");
        assert_eq!(outcome.scores()[winner], *best, "FA-6.5: the highest total wins");
    }
}

/// Returns the state of a finished game with these lines.
fn finished(lines: &[[u8; 8]]) -> State {
    let seats = u8::try_from(lines.len()).expect("few");
    let mut state = *Episode::seeded(table(seats, "basic"), 1).state();
    state.phase = Phase::Over;
    state
        .lines
        .of_mut(seats)
        .copy_from_slice(&lines.iter().map(|line| line.map(RegionId::from_row)).collect::<Vec<_>>());
    state
}

#[test]
fn r11_the_shortest_region_of_the_line_breaks_ties() {
    // FA-R11: three lines pay nothing; their shortest regions are 15, 6 and 21.
    let lines =
        [[41, 59, 15, 33, 28, 51, 40, 50], [32, 44, 6, 63, 8, 67, 36, 42], [23, 55, 62, 60, 47, 21, 26, 53]];
    for line in &lines {
        assert_eq!(fame(line, &[]).total(), 0, "{line:?}");
    }
    let game = table(3, "basic");
    let mut state = finished(&lines);
    // A shorter region in hand does not count.
    state.hands[seat(0)].insert(1);
    let outcome = game.outcome(&state).expect("over");
    assert_eq!(outcome.scores(), [0, 0, 0]);
    assert_eq!(outcome.ranks(), [2, 1, 3], "all places go by the same comparison");
}

#[test]
fn a_score_is_explained_card_by_card() {
    // FA-6.5: one line of text for every region and every sanctuary placed, and no other.
    let mut state = finished(&[[27, 14, 29, 38, 50, 13, 57, 26], [1, 2, 3, 4, 5, 6, 7, 8]]);
    state.placed[seat(0)] = [0, 15, 0, 44, 0, 24, 0].map(SanctuaryId::from_row);
    let lines = table(2, "basic").explain(&state, seat(0));
    let regions = [(27, 4), (14, 8), (29, 2), (38, 0), (50, 0), (13, 2), (57, 0), (26, 0)];
    let regions = regions.map(|(id, points)| (format!("R{id}"), points));
    let sanctuaries = [(15, 4), (44, 5), (24, 0)].map(|(id, points)| (format!("S{id}"), points));
    let expected = regions.into_iter().chain(sanctuaries);
    assert!(lines.iter().map(|line| (line.source.clone(), line.points)).eq(expected), "{lines:?}");
}

#[test]
fn every_reachable_position_passes_the_audit_and_others_do_not() {
    // FA-7.1, FA-7.2, FA-7.3
    for seats in 2..=6 {
        for variant in VARIANTS {
            let game = table(seats, variant);
            climbing_game(&game, 3, |episode| {
                assert_eq!(game.audit(episode.state()), Ok(()));
                for broken in tampered(episode.state()) {
                    assert!(game.audit(&broken).is_err(), "{broken:?}");
                }
            });
        }
    }
}

/// Returns unreachable states. Each has one field changed.
fn tampered(state: &State) -> Vec<State> {
    let change = |change: fn(&mut State)| {
        let mut state = *state;
        change(&mut state);
        state
    };
    vec![
        change(|state| state.round = 0),
        change(|state| state.round = 200),
        change(|state| state.turn = 250),
        change(|state| state.order[0] = seat(7)),
        change(|state| state.lines[seat(0)][7] = RegionId::from_row(77)),
        change(|state| state.lines[seat(0)][0] = state.lines[seat(1)][0].max(RegionId::from_row(1))),
        change(|state| state.quests[seat(1)][0] ^= 7),
        change(|state| state.hands[seat(0)].insert(100u8)),
        change(|state| state.deck.insert(0u8)),
        change(|state| state.revealed.insert(70u8)),
        change(|state| state.display.insert(state.deck.lowest().unwrap_or(0))),
        change(|state| state.left_over[6] = RegionId::from_row(255)),
        change(|state| state.set_aside[seat(1)] = [200, 3].map(RegionId::from_row)),
        change(|state| state.chosen[seat(0)] = RegionId::from_row(99)),
        change(|state| state.placed[seat(1)][6] = SanctuaryId::from_row(99)),
        change(|state| state.dealt[seat(0)][6].insert(60u8)),
        change(|state| state.owed[seat(0)] = 40),
        change(|state| state.front.insert(63u8)),
        change(|state| state.front_block = 77),
        change(|state| state.sanctuary_deck += 1),
    ]
}

#[test]
fn sanctuaries_that_were_dealt_again_since_are_audited_too() {
    // FA-7.3, FA-R1: cards of every block of round 2 have been drawn.
    let game = table(6, "basic");
    let mut tried = 0;
    for seed in 0..3 {
        climbing_game(&game, seed, |episode| {
            let state = episode.state();
            for owner in (0..6).map(seat).filter(|_| state.front_block > 6) {
                let Some(card) = state.returned(2, owner).lowest() else { continue };
                for other in (0..=63u8).filter(|&other| !state.dealt[owner][0].contains(other)) {
                    let mut broken = *state;
                    broken.dealt[owner][0].remove(card);
                    broken.dealt[owner][0].insert(other);
                    assert!(game.audit(&broken).is_err(), "{card} of {owner} became {other} in {state:?}");
                    tried += 1;
                }
            }
        });
    }
    assert!(tried > 1000, "{tried} positions");
}

#[test]
fn hands_and_display_have_their_sizes() {
    // FA-7.2
    testkit::random_game(&table(4, "basic"), 8, |episode| {
        let state: &State = episode.state();
        let hands = [0, 1, 2, 3].map(|at| state.hands[seat(at)].len());
        match state.phase {
            Phase::Explore => assert_eq!(hands, [3; 4]),
            _ if state.round == 8 => assert_eq!(hands, [2; 4]),
            _ => assert!(hands.iter().all(|len| (2..=3).contains(len))),
        }
    });
}

#[test]
fn a_game_is_never_longer_than_declared_and_no_score_exceeds_its_bound() {
    // FA-7.4
    for seats in 2..=6 {
        for (variant, set_aside) in VARIANTS.into_iter().zip([0, 2]) {
            let game: std::sync::Arc<Faraway> = table(seats, variant);
            let end = climbing_game(&game, 11, |_| {});
            let info = game.info();
            let placed: u32 =
                end.state().placed.all().iter().flatten().map(|id| u32::from(id.is_some())).sum();
            assert_eq!(end.ply(), u32::from(seats) * (8 + 7 + set_aside) + placed);
            assert_eq!(info.max_plies, u32::from(seats) * (8 + 7 + 7 + set_aside));
            assert!(info.scores.0 == 0 && info.scores.1 >= 199, "{:?}", info.scores);
        }
    }
}

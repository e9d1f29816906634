//! The estimate guides play, and snapshots from outside do no harm.

use std::sync::Arc;

use boardwire_kernel::testkit::{self, Shown};
use boardwire_kernel::{BOT_STREAM, Chance, Dice, Episode, Game as _, RESAMPLE_STREAM, Seat, apply};
use borsh::BorshDeserialize as _;

use super::super::{GoldenCompass, State, streams};

/// The action whose worth, over a few worlds and fresh chance, is the best.
fn greedy(episode: &Episode<GoldenCompass>, seat: Seat, dice: &mut Dice) -> u8 {
    let game = episode.game();
    let known = episode.knowledge(seat, dice);
    let mut sums: Vec<(i64, u8)> = known.legal().iter().map(|action| (0, action)).collect();
    for _ in 0..4 {
        let world = known.world(dice);
        for (sum, action) in &mut sums {
            let mut next = world;
            let mut chance = Chance::seeded(dice.seed(), streams::NAMES.len());
            apply(&**game, &mut next, seat, u32::from(*action), &mut chance).expect("a legal action");
            *sum += i64::from(game.estimate(&next, seat));
        }
    }
    let best = sums.iter().map(|(sum, _)| *sum).max();
    sums.iter().find(|(sum, _)| Some(*sum) == best).expect("a pending seat has a choice").1
}

#[test]
fn greedy_play_wins_three_quarters_against_random_play_and_more() {
    let game = testkit::table::<GoldenCompass>(2, &[]);
    let games = 40;
    let mut halves = 0;
    for seed in 0..games {
        let own = Seat::new(u8::try_from(seed % 2).expect("two seats"));
        let mut episode = Episode::seeded(Arc::clone(&game), seed);
        let mut dice = Dice::new(seed, BOT_STREAM);
        while let Some(seat) = episode.pending().lowest() {
            let action = if seat == own {
                greedy(&episode, seat, &mut dice)
            } else {
                dice.draw(&mut game.legal(episode.state(), seat))
            };
            episode.apply(seat, action.into()).expect("a legal action");
        }
        let outcome = episode.outcome().expect("the end");
        let other = own.clockwise(1, 2);
        halves += u64::from(outcome.is_winner(own)) + u64::from(!outcome.is_winner(other));
    }
    assert!(halves * 2 >= 3 * games, "{halves} halves of {games} games");
}

#[test]
fn a_snapshot_with_broken_bytes_is_refused_or_harmless() {
    let game = testkit::table::<GoldenCompass>(3, &[]);
    let mut dice = Dice::new(4, RESAMPLE_STREAM);
    let mut accepted = 0;
    testkit::random_game(&game, 12, |episode| {
        let bytes = borsh::to_vec(episode.state()).expect("memory");
        for _ in 0..60 {
            let mut broken = bytes.clone();
            let at = dice.below(u32::try_from(broken.len()).expect("small")) as usize;
            broken[at] = u8::try_from(dice.below(256)).expect("a byte");
            let Ok(state) = State::try_from_slice(&broken) else {
                continue;
            };
            if game.audit(&state).is_err() {
                continue;
            }
            accepted += 1;
            for seat in Seat::all(3) {
                let _ = Shown::to(&*game, &state, seat);
                let mut world = state;
                game.resample(&mut world, seat, &mut dice);
                let _ = game.estimate(&world, seat);
            }
        }
    });
    assert!(accepted > 0, "turn numbers may be anything");
}

//! The estimate makes the one-ply bot play.

use std::sync::Arc;

use boardwire_kernel::{Chance, Dice, Episode, Game, Seat, apply, testkit};

use crate::faraway::Faraway;

const WORLDS: usize = 4;

/// The action with the best mean estimate over a few worlds; the lowest index among equals.
fn greedy(episode: &Episode<Faraway>, seat: Seat, dice: &mut Dice) -> u8 {
    let knowledge = episode.knowledge(seat, dice);
    let game = knowledge.game();
    let legal = knowledge.legal();
    let mut sums = vec![0i64; legal.len() as usize];
    for _ in 0..WORLDS {
        let world = knowledge.world(dice);
        let seed = dice.seed();
        for (sum, action) in sums.iter_mut().zip(legal) {
            let mut next = world;
            let mut chance = Chance::seeded(seed, Faraway::TITLE.streams.len());
            apply(game, &mut next, seat, action.into(), &mut chance).expect("a legal action is accepted");
            *sum += i64::from(game.estimate(&next, seat));
        }
    }
    let best = sums.iter().max().expect("a pending seat has an action");
    let at = sums.iter().position(|sum| sum == best).unwrap_or(0);
    legal.iter().nth(at).expect("a sum for every action")
}

/// Plays one match of the greedy bot at `seat` against random seats; whether it wins, and all scores.
fn plays(game: &Arc<Faraway>, seed: u64, seat: Seat) -> (bool, Vec<i32>) {
    let mut dice = Dice::new(seed, boardwire_kernel::BOT_STREAM);
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    while let Some(owing) = episode.pending().lowest() {
        let action = if owing == seat {
            greedy(&episode, owing, &mut dice)
        } else {
            dice.draw(&mut game.legal(episode.state(), owing))
        };
        episode
            .apply(owing, action.into())
            .expect("a legal action is accepted");
    }
    let outcome = episode.outcome().expect("the game is over");
    (outcome.is_winner(seat), outcome.scores().to_vec())
}

#[test]
fn greedy_beats_random() {
    for variant in ["basic", "advanced"] {
        let game = testkit::table::<Faraway>(2, &[("variant", variant)]);
        let n: u64 = std::env::var("FA_N")
            .ok()
            .and_then(|n| n.parse().ok())
            .unwrap_or(50);
        let (mut wins, mut own, mut other) = (0, 0, 0);
        for seed in 0..n {
            let seat = Seat::new((seed % 2) as u8);
            let (won, scores) = plays(&game, seed, seat);
            wins += u64::from(won);
            own += scores[seat.index()];
            other += scores[1 - seat.index()];
        }
        println!(
            "{variant}: {wins} of {n}; mean {} to {}",
            own / n as i32,
            other / n as i32
        );
        assert!(wins * 10 >= n * 9, "greedy wins {wins} of {n}");
    }
}

//! The estimate makes the one-ply bot play.

use std::sync::Arc;

use boardwire_kernel::{BOT_STREAM, Chance, Dice, Episode, Game, Seat, apply};

use super::{VARIANTS, seat, table};
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

/// Plays one match of the greedy bot at `own` against random seats; whether it wins.
fn wins(game: &Arc<Faraway>, seed: u64, own: Seat) -> bool {
    let mut dice = Dice::new(seed, BOT_STREAM);
    let mut episode = Episode::seeded(Arc::clone(game), seed);
    while let Some(owing) = episode.pending().lowest() {
        let action = if owing == own {
            greedy(&episode, owing, &mut dice)
        } else {
            dice.draw(&mut game.legal(episode.state(), owing))
        };
        episode
            .apply(owing, action.into())
            .expect("a legal action is accepted");
    }
    episode.outcome().expect("the game is over").is_winner(own)
}

#[test]
fn greedy_beats_random() {
    for variant in VARIANTS {
        let game = table(2, variant);
        let wins = (0..100)
            .filter(|&match_seed| {
                let own = seat(u8::from(match_seed % 2 == 1));
                wins(&game, match_seed, own)
            })
            .count();
        assert!(wins >= 95, "{variant}: greedy wins {wins} of 100");
    }
}

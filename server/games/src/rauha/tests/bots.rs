//! The estimate, judged by a one-ply bot that plays against chance.

use std::sync::Arc;

use boardwire_kernel::{Chance, Dice, Episode, Game, Seat, apply, testkit};

use super::Rauha;

/// The legal action with the best summed estimate over some worlds; the lowest index among equals.
fn greedy(episode: &Episode<Rauha>, seat: Seat, worlds: u32, dice: &mut Dice) -> u8 {
    let game = &**episode.game();
    let legal = game.legal(episode.state(), seat);
    let mut worth = [0i64; 256];
    for _ in 0..worlds {
        let mut world = *episode.state();
        game.resample(&mut world, seat, dice);
        let seed = dice.seed();
        for action in legal {
            let (mut state, mut chance) = (world, Chance::seeded(seed, 3));
            apply(game, &mut state, seat, action.into(), &mut chance).expect("legal in every world");
            worth[usize::from(action)] += i64::from(game.estimate(&state, seat));
        }
    }
    let best = legal.iter().map(|action| worth[usize::from(action)]).max();
    let mut actions = legal.iter();
    actions.find(|&action| Some(worth[usize::from(action)]) == best).expect("an action")
}

/// Points of the greedy seat and of the best other one, game by game.
fn matches(seats: u8, games: u64, worlds: u32) -> Vec<(i32, i32)> {
    let game: Arc<Rauha> = testkit::table(seats, &[]);
    let play = |seed| {
        let mut episode = Episode::seeded(Arc::clone(&game), seed);
        let mut dice = Dice::new(seed, 1 << 40);
        let me = Seat::new(u8::try_from(seed % u64::from(seats)).expect("small"));
        while let Some(seat) = episode.pending().lowest() {
            let action = if seat == me {
                greedy(&episode, seat, worlds, &mut dice)
            } else {
                dice.draw(&mut game.legal(episode.state(), seat))
            };
            episode.apply(seat, action.into()).expect("legal");
        }
        let outcome = episode.outcome().expect("over");
        let own = outcome.scores()[me.index()];
        let others = Seat::all(seats).filter(|&seat| seat != me);
        let best = others.map(|seat| outcome.scores()[seat.index()]).max();
        (own, best.expect("another seat"))
    };
    (0..games).map(play).collect()
}

#[test]
fn greedy_beats_random_clearly() {
    let scores = matches(2, 60, 2);
    let won = scores.iter().filter(|(own, other)| own > other).count();
    let mean = |score: &dyn Fn(&(i32, i32)) -> i32| scores.iter().map(score).sum::<i32>() / 60;
    println!("{won} of 60, {} to {} points", mean(&|pair| pair.0), mean(&|pair| pair.1));
    assert!(won >= 57, "{won} of 60 games won");
}

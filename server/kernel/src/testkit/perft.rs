//! Perft-like counts: the number of action sequences.

use crate::{Game, RandomSource, apply};

/// Counts the action sequences of `depth` plies from `state`; a sequence ends early with the game.
///
/// The lowest pending seat always chooses next. Each branch copies `chance`, so the counts depend on the seed.
///
/// # Panics
/// When the game refuses a legal action.
pub fn perft<G: Game>(game: &G, state: &G::State, chance: &RandomSource, depth: u32) -> u64 {
    let Some(seat) = game.pending(state).lowest() else {
        return 1;
    };
    let legal = game.legal(state, seat);
    if depth == 0 {
        return 1;
    }
    legal
        .iter()
        .map(|action| {
            let (mut next, mut chance) = (*state, chance.clone());
            apply(game, &mut next, seat, action.into(), &mut chance).expect("a legal action is accepted");
            perft(game, &next, &chance, depth - 1)
        })
        .sum()
}

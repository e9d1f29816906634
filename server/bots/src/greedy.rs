//! One ply deep: play every legal action in a few worlds and take the one worth most on average.

use boardwire_kernel::{Chance, Dice, Game, Knowledge, apply};

/// The legal action with the greatest estimate, summed over `worlds` worlds; the lowest index among equals.
///
/// Within one world every action meets the same hidden cards and the same chance, so that actions differ by
/// their own merit. That chance has a seed of its own: the true one stays unknown.
pub(crate) fn choose<G: Game>(knowledge: &Knowledge<G>, worlds: u32, dice: &mut Dice) -> u8 {
    let (game, seat, legal) = (knowledge.game(), knowledge.seat(), knowledge.legal());
    let only = legal.lowest().expect("a seat that owes a choice has a legal action");
    if legal.len() == 1 {
        return only;
    }
    let mut worth = [0i64; boardwire_kernel::MAX_ACTIONS];
    for _ in 0..worlds {
        let world = knowledge.world(dice);
        let seed = dice.seed();
        for action in legal {
            let mut state = world.clone();
            let mut chance = Chance::seeded(seed, G::TITLE.streams.len());
            apply(game, &mut state, seat, action.into(), &mut chance).expect("a world keeps the legal set");
            worth[usize::from(action)] += i64::from(game.estimate(&state, seat));
        }
    }
    // `max_by_key` takes the last of equals, so the indices come from the highest down.
    let mut actions: Vec<u8> = legal.iter().collect();
    actions.reverse();
    actions.into_iter().max_by_key(|&action| worth[usize::from(action)]).unwrap_or(only)
}

//! What a table's rules look up, computed once from its catalogue.

use super::catalogue::{CardType, Catalogue};
use super::memory::Block;
use super::{Face, UNGUARDED_PLIES};

/// What the rules ask of every card type.
pub(super) fn faces(catalogue: &Catalogue) -> Vec<Face> {
    let face = |card: &CardType| Face {
        daemon: card.daemon.unwrap_or(0),
        symbol: card.symbol.unwrap_or(0),
        is_ordinary: card.daemon.is_some(),
        is_joker: card.joker,
        is_spy: card.spy,
    };
    catalogue.cards.iter().map(face).collect()
}

/// Where the copies of every card type stand among the stamps.
pub(super) fn blocks(catalogue: &Catalogue, seats: u8) -> Vec<Block> {
    let decks = catalogue.decks[usize::from(seats)];
    let ends = catalogue.cards.iter().scan(0u8, |end, card| {
        let len = card.count * decks;
        *end += len;
        Some(Block { start: *end - len, len })
    });
    ends.collect()
}

/// Of every token, the one before it that equals it.
pub(super) fn alike(catalogue: &Catalogue) -> Vec<Option<u8>> {
    let tokens = &catalogue.tokens;
    let before = |at: usize| tokens[..at].iter().rposition(|other| other.kind == tokens[at].kind);
    (0..tokens.len()).map(|at| before(at).and_then(|id| u8::try_from(id).ok())).collect()
}

/// A bound on the plies of a match: turns of the guard times the plies of the longest turn.
pub(super) fn longest(catalogue: &Catalogue, seats: u8, guard: Option<u16>) -> u32 {
    let Some(guard) = guard else {
        return UNGUARDED_PLIES;
    };
    // Colour, action, target; every effect at most a choice or two and its cards; sets; the end.
    let power = |list: (u8, u8)| catalogue.plies_of(list);
    let ally = catalogue.characters.iter().map(|card| power(card.list)).max().unwrap_or(0);
    let played = u32::from(catalogue.hand_limit) / 2 * 6;
    let blue = 3 + ally + played + 1;
    let red = 1 + u32::from(catalogue.gain());
    let turns = u32::from(catalogue.steps()) * u32::from(guard);
    let magisterium = catalogue.characters.iter().map(|card| card.magisterium).max().unwrap_or(0);
    let scoring = 1 + 2 * u32::from(magisterium) + u32::from(catalogue.ransom);
    let framed = u32::from(seats) * (1 + u32::from(catalogue.tiles_each)) + scoring;
    turns * blue.max(red) + 3 * framed
}

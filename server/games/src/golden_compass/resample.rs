//! Samples a determinization for a seat, only from its memory and the public state.
//!
//! Every state that agrees with the memory can be sampled, and no other. `docs/games/golden_compass.md` says how far the
//! probabilities are from the true ones. The memories of other seats are rebuilt: these seats know their own components
//! and the public ones.

mod cards;
mod tokens;

use boardwire_kernel::{Hidden, RngStream, Seat};

use super::GoldenCompass;
use super::catalogue::CharacterId;
use super::limits::to_byte;
use super::memory::{Memory, NOT_HIDDEN, TABLE, seat_bit};
use super::state::{CharacterSet, Decision, State, tokens_of};

impl Hidden for GoldenCompass {
    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.resample_characters(state, viewer, rng);
        self.resample_cards(state, viewer, rng);
        self.resample_tokens(state, viewer, rng);
        if !state.memories_disabled {
            for seat in self.others(viewer) {
                state.memory[seat] = self.memory_of_public_state(state, seat);
            }
        }
    }
}

impl GoldenCompass {
    /// Samples the characters that `viewer` has not seen. A card under an ally is any card with the symbols shown. While
    /// seats choose allies, any character may have been dealt and kept.
    fn resample_characters(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut pile = state.undealt_characters;
        if state.decision == Decision::Keep {
            for id in self.others(viewer).filter_map(|seat| state.seats[seat].dealt).flatten() {
                pile.insert(id);
            }
            for seat in self.others(viewer) {
                let seat_state = &mut state.seats[seat];
                let mut draw = || CharacterId::new(rng.draw(&mut pile));
                seat_state.dealt = Some([draw(), draw()]);
                seat_state.kept_index = seat_state.kept_index.map(|_| to_byte(rng.below(2)));
            }
            state.undealt_characters = pile;
            return;
        }
        // The viewer knows the card under its own ally and the card that it passed to the left.
        let left = self.left_of(viewer);
        let hidden = self.others(viewer).filter(|&seat| seat != left);
        let under = |state: &State, seat| {
            state.seats[seat].card_under_ally.expect("allies are shown with a card under them")
        };
        for seat in hidden.clone() {
            pile.insert(under(state, seat));
        }
        for seat in hidden {
            let symbols = self.symbols[under(state, seat).index()];
            let fits = |id: &u8| self.symbols[usize::from(*id)] == symbols;
            let id = rng.draw(&mut pile.iter().filter(fits).collect::<CharacterSet>());
            pile.remove(id);
            state.seats[seat].card_under_ally = Some(CharacterId::new(id));
        }
        state.undealt_characters = pile;
    }

    /// Returns the memory of a seat that knows its own components and the public ones, and nothing else.
    fn memory_of_public_state(&self, state: &State, seat: Seat) -> Memory {
        let tokens = self.catalogue().tokens.len();
        let mut memory = Memory::new(self.copies, tokens);
        for other in self.others(seat) {
            let places = usize::from(state.seats[other].hand.len());
            memory.drawn_after[other] = std::iter::repeat_n(memory.reshuffles, places).collect();
        }
        for (seen_at, &kept) in memory.last_seen.iter_mut().zip(&state.not_discarded_mask) {
            *seen_at |= !kept;
        }
        for card in state.seats[seat].hand.cards() {
            let block = self.blocks[card.index()];
            let hidden = memory.last_seen[..block.end()].iter().rposition(|&seen_at| seen_at != NOT_HIDDEN);
            memory.last_seen[hidden.expect("a card in hand is one of its copies")] = NOT_HIDDEN;
        }
        memory.tokens[..tokens].fill(TABLE + self.others(seat).map(seat_bit).sum::<u8>());
        for token in state.circles.iter().flat_map(|&circle| tokens_of(circle)) {
            memory.tokens[token.index() - 1] = 0;
        }
        for token in tokens_of(state.seats[seat].tokens) {
            memory.tokens[token.index() - 1] = seat_bit(seat);
        }
        memory
    }
}

//! Draws anew what a seat cannot know, each world as often as it is likely given all that the seat has seen.
//!
//! Cards and tokens follow from the course of events, which [`super::walk`] draws anew from the one that is kept in
//! [`super::trace`]; what the other seats remember follows from it too, as in play. Characters were passed on once: those
//! under allies are any that show the symbols seen, and while allies are chosen any may have been dealt and kept.

use boardwire_kernel::{RngStream, Seat};

use super::GoldenCompass;
use super::catalogue::CharacterId;
use super::catalogue::limits::few;
use super::state::{CharacterSet, State, Step};

impl GoldenCompass {
    /// Draws anew what `viewer` cannot know.
    pub(super) fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.redraw_characters(state, viewer, rng);
        let mut cards = self.card_walk(state, viewer);
        cards.go(rng);
        self.put_cards(&cards, state);
        let renamed = self.redraw_tokens(state, viewer, rng);
        for seat in self.all_seats().filter(|&seat| seat != viewer || renamed) {
            state.memory[seat] = self.recall(state.trace.events(), seat);
        }
    }

    /// Draws anew where tokens are; says whether the viewer has equal ones under other numbers now.
    fn redraw_tokens(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) -> bool {
        if state.places.all().iter().all(|place| place.tokens.is_empty() && place.laid.is_empty()) {
            return false;
        }
        let mut tokens = self.token_walk(state, viewer);
        tokens.go(rng);
        self.put_tokens(&tokens, state, rng)
    }

    /// Draws anew the characters that `viewer` has not seen.
    pub(super) fn redraw_characters(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut pile = state.unseen;
        if state.step == Step::Keep {
            for id in self.others(viewer).filter_map(|seat| state.places[seat].dealt).flatten() {
                pile.insert(id);
            }
            for seat in self.others(viewer) {
                let place = &mut state.places[seat];
                let mut draw = || CharacterId::new(rng.draw(&mut pile));
                place.dealt = Some([draw(), draw()]);
                place.kept = place.kept.map(|_| few(rng.below(2)));
            }
            state.unseen = pile;
            return;
        }
        // The viewer knows the card under its own ally and the one it passed to the left.
        let left = self.left_of(viewer);
        let hidden = self.others(viewer).filter(|&seat| seat != left);
        let under =
            |state: &State, seat| state.places[seat].under.expect("allies are shown with a card under them");
        for seat in hidden.clone() {
            pile.insert(under(state, seat));
        }
        for seat in hidden {
            let symbols = self.symbols[under(state, seat).index()];
            let fits = |id: &u8| self.symbols[usize::from(*id)] == symbols;
            let id = rng.draw(&mut pile.iter().filter(fits).collect::<CharacterSet>());
            pile.remove(id);
            state.places[seat].under = Some(CharacterId::new(id));
        }
        state.unseen = pile;
    }
}

//! What a seat knows of the cards dealt: it remembers every pack it has looked at.
//!
//! A pack has two readers. The first sees four cards at turn 1 and what is left of them at turn 3, so at
//! turn 3 it knows where each of the four went. The second sees three cards at turn 2: it never sees the
//! first pick, and of the two it hands back it does not see which is kept and which goes to the Black Hole.
//! A card that is placed is known to all.

use boardwire_kernel::{Seat, Viewer};

use super::Rauha;
use super::state::{BiomeId, CARDS, PACK, State};

/// What a seat knows of one place of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Which card is there; of cards in a pack, that they are in it.
    Exactly,
    /// That one of the cards of all places so marked is there.
    Among,
    /// Nothing.
    Nothing,
}

/// What a viewer may know of a biome card, by value.
pub(super) const WHEREABOUTS: [&str; 6] =
    ["unknown", "in hand", "kept", "on a board", "passed on", "out of play"];
const IN_HAND: u8 = 1;
const KEPT: u8 = 2;
const ON_A_BOARD: u8 = 3;
pub(super) const PASSED_ON: u8 = 4;
pub(super) const OUT_OF_PLAY: u8 = 5;

/// Where each card is, by id less one, as values of [`WHEREABOUTS`].
pub(super) type Memory = [u8; CARDS as usize];

impl Rauha {
    /// What `viewer` knows of the cards dealt on `satellite` in `round`, which has begun.
    pub(super) fn known(&self, state: &State, viewer: Seat, round: u8, satellite: Seat) -> [Known; PACK] {
        use Known::{Among, Exactly, Nothing};
        let [first, second] = [1, 2].map(|turn| self.reader(satellite, self.side(round, turn)));
        let (turn, picks) = if round == state.round() { (state.turn(), state.picks()) } else { (4, 3) };
        let pack = state.pack(round, satellite);
        let is_placed = |place: usize| state.placed.contains(pack[place]);
        let seen_when_placed = |place| if is_placed(place) { Exactly } else { Nothing };
        if viewer == first {
            // The second reader has just picked one of three, and the rest has not been looked at yet.
            let unseen_pick = turn == 2 && picks == 2 && !is_placed(1);
            return if unseen_pick { [Exactly, Among, Among, Among] } else { [Exactly; PACK] };
        }
        if viewer != second || turn == 1 {
            return [0, 1, 2, 3].map(seen_when_placed);
        }
        if picks == 3 && !is_placed(2) {
            [seen_when_placed(0), Exactly, Among, Among]
        } else {
            [seen_when_placed(0), Exactly, Exactly, Exactly]
        }
    }

    /// The packs dealt so far, as round and Satellite.
    pub(super) fn dealt(&self, state: &State) -> impl Iterator<Item = (u8, Seat)> + use<> {
        let seats = self.seats;
        (1..=state.round()).flat_map(move |round| Seat::all(seats).map(move |satellite| (round, satellite)))
    }

    /// What `viewer` knows of every biome card.
    pub(super) fn memory(&self, state: &State, viewer: Viewer) -> Memory {
        let mut memory = [0; CARDS as usize];
        for card in state.placed {
            memory[usize::from(card - 1)] = OUT_OF_PLAY;
        }
        if let Viewer::Seat(seat) = viewer {
            self.remember_packs(state, seat, &mut memory);
        }
        for board in state.boards.of(self.seats) {
            for id in board.cells {
                // Printed cells have no entry.
                if let Some(whereabouts) = memory.get_mut(id.index() - 1) {
                    *whereabouts = ON_A_BOARD;
                }
            }
        }
        memory
    }

    /// Adds the cards that `seat` has looked at; those on a board are corrected later.
    fn remember_packs(&self, state: &State, seat: Seat, memory: &mut Memory) {
        let mut mark = |cards: &[BiomeId], whereabouts| {
            for card in cards {
                memory[card.index() - 1] = whereabouts;
            }
        };
        for round in 1..=state.round() {
            let is_over = round < state.round();
            let [first, second] = [1, 2].map(|turn| self.satellite(seat, self.side(round, turn)));
            let taker = self.reader(second, self.side(round, 1));
            let [first, second] = [first, second].map(|satellite| state.pack(round, satellite));
            let settled = match state.picks() {
                _ if is_over => PACK,
                // At turn 2 the pick of the other reader is one of the three cards handed on.
                2 if state.turn() == 2 => 1,
                3 => PACK,
                picks => picks,
            };
            mark(&first[..settled], OUT_OF_PLAY);
            mark(&first[settled..], PASSED_ON);
            if is_over || state.turn() > 1 {
                // Of the two cards handed back one is kept by the other reader until it is placed or discarded.
                let is_settled = is_over || state.picks() == 3 && state.kept[taker].is_none();
                let settled = if is_settled { PACK } else { 2 };
                mark(&second[1..settled], OUT_OF_PLAY);
                mark(&second[settled..], PASSED_ON);
            }
        }
        mark(self.hand(state, seat), IN_HAND);
        mark(state.kept[seat].as_slice(), KEPT);
    }
}

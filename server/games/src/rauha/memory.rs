//! What a seat knows of the cards dealt: it remembers every pack it has looked at.
//!
//! Two seats get each pack. The first reader sees four cards at turn 1 and the rest at turn 3. At turn 3 it therefore
//! knows where each of the four went. The second reader sees three cards at turn 2. It never sees the first pick. Of the
//! two cards it returns, it does not see which one is kept and which one goes to the Black Hole. All seats know a
//! placed card.

use boardwire_kernel::{Seat, Viewer};

use super::Rauha;
use super::state::{BiomeId, ByBiome, PACK_SIZE, State};

/// What a seat knows of one place of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The card in this place. For a card still in the pack: that it is in the pack.
    Exactly,
    /// Only that the card is one of those in all places with this mark.
    OneOfMarked,
    /// Nothing is known.
    Unknown,
}

/// What a viewer can know of a biome card, by value.
pub(super) const CARD_LOCATIONS: [&str; 6] =
    ["unknown", "in hand", "kept", "on a board", "passed on", "out of play"];
const IN_HAND: u8 = 1;
const KEPT: u8 = 2;
const ON_A_BOARD: u8 = 3;
pub(super) const PASSED_ON: u8 = 4;
pub(super) const OUT_OF_PLAY: u8 = 5;

/// The location of each card, as an index into [`CARD_LOCATIONS`].
pub(super) type Memory = ByBiome<u8>;

impl Rauha {
    /// Returns what `viewer` knows of the cards dealt on `satellite` in `round`, which has begun.
    pub(super) fn known(
        &self,
        state: &State,
        viewer: Seat,
        round: u8,
        satellite: Seat,
    ) -> [Known; PACK_SIZE] {
        use Known::{Exactly, OneOfMarked, Unknown};
        let [first, second] = self.pack_readers(round, satellite);
        let (turn, picks) = if round == state.round() { (state.turn(), state.picks()) } else { (4, 3) };
        let pack = state.pack(round, satellite);
        let is_placed = |place: usize| state.placed.contains(pack[place]);
        let seen_when_placed = |place| if is_placed(place) { Exactly } else { Unknown };
        if viewer == first {
            // The second reader has picked one of three cards. The viewer has not looked at the rest yet.
            let unseen_pick = turn == 2 && picks == 2 && !is_placed(1);
            return if unseen_pick {
                [Exactly, OneOfMarked, OneOfMarked, OneOfMarked]
            } else {
                [Exactly; PACK_SIZE]
            };
        }
        if viewer != second || turn == 1 {
            return [0, 1, 2, 3].map(seen_when_placed);
        }
        if picks == 3 && !is_placed(2) {
            [seen_when_placed(0), Exactly, OneOfMarked, OneOfMarked]
        } else {
            [seen_when_placed(0), Exactly, Exactly, Exactly]
        }
    }

    /// Returns the packs dealt so far, as round and Satellite.
    pub(super) fn dealt(&self, state: &State) -> impl Iterator<Item = (u8, Seat)> + use<> {
        let seats = self.seats;
        (1..=state.round()).flat_map(move |round| Seat::all(seats).map(move |satellite| (round, satellite)))
    }

    /// Returns what `viewer` knows of every biome card.
    pub(super) fn memory(&self, state: &State, viewer: Viewer) -> Memory {
        let mut memory = Memory::new([], 0);
        mark(&mut memory, state.placed.iter().map(BiomeId::new), OUT_OF_PLAY);
        if let Viewer::Seat(seat) = viewer {
            self.remember_packs(state, seat, &mut memory);
        }
        for board in state.boards.of(self.seats) {
            mark(&mut memory, board.cells, ON_A_BOARD);
        }
        memory
    }

    /// Returns the ids of the cards that `seat` has passed on and picks from next, ascending. The other
    /// seat that gets this pack takes one of these cards unseen; the list omits that card once it is placed.
    pub(super) fn returning_cards(&self, state: &State, seat: Seat) -> impl Iterator<Item = u8> {
        let [first, _] = self.satellites(state.round(), seat);
        // The seat picks from this pack at turn 1 and again at turn 3.
        let is_passed_on = state.picks() > 0 && state.turn() < 3;
        let passed_on: &[BiomeId] = if is_passed_on { &state.pack(state.round(), first)[1..] } else { &[] };
        let mut cards = [u8::MAX; PACK_SIZE - 1];
        let left = passed_on.iter().filter(|&&card| !state.placed.contains(card));
        cards.iter_mut().zip(left).for_each(|(place, card)| *place = card.get());
        cards.sort_unstable();
        cards.into_iter().take_while(|&card| card != u8::MAX)
    }

    /// Adds the cards that `seat` has looked at. The caller corrects cards on a board later.
    fn remember_packs(&self, state: &State, seat: Seat, memory: &mut Memory) {
        let now = state.round();
        for round in 1..now {
            let [first, second] = self.satellites(round, seat).map(|satellite| state.pack(round, satellite));
            mark(memory, *first, OUT_OF_PLAY);
            mark(memory, [second[1], second[2], second[3]], OUT_OF_PLAY);
        }
        let satellites = self.satellites(now, seat);
        let [first, second] = satellites.map(|satellite| state.pack(now, satellite));
        let (turn, picks) = (state.turn(), state.picks());
        let settled = match picks {
            // At turn 2 the pick of the other reader is one of the three cards passed on.
            2 if turn == 2 => 1,
            3 => PACK_SIZE,
            picks => picks,
        };
        mark(memory, *first, PASSED_ON);
        mark(memory, first[..settled].iter().copied(), OUT_OF_PLAY);
        if turn > 1 {
            // The other reader keeps one of the two returned cards until it places or discards it.
            let [taker, _] = self.pack_readers(now, satellites[1]);
            let is_settled = picks == 3 && state.kept[taker].is_none();
            mark(memory, [second[1]], OUT_OF_PLAY);
            mark(memory, [second[2], second[3]], if is_settled { OUT_OF_PLAY } else { PASSED_ON });
        }
        mark(memory, self.hand(state, seat).iter().copied(), IN_HAND);
        mark(memory, state.kept[seat], KEPT);
    }
}

/// Sets the location of some cards.
#[inline]
fn mark(memory: &mut Memory, cards: impl IntoIterator<Item = BiomeId>, location: u8) {
    for card in cards {
        memory[card] = location;
    }
}

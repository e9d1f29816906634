//! What a seat knows of the cards dealt: it remembers every pack it has looked at.
//!
//! A pack has two readers. The first sees four cards at turn 1 and what is left of them at turn 3, so at
//! turn 3 it knows where each of the four went. The second sees three cards at turn 2: it never sees the
//! first pick, and of the two it hands back it does not see which is kept and which goes to the Black Hole.
//! A card that is placed is known to all.

use boardwire_kernel::Seat;

use super::Rules;
use super::pieces::PACK;
use super::state::State;

/// What a seat knows of one place of [`State::packs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Which card is there; of cards in a pack, that they are in it.
    Exactly,
    /// That one of the cards of all places so marked is there.
    Among,
    /// Nothing.
    Nothing,
}

impl Rules {
    /// What `viewer` knows of the cards dealt on `satellite` in `round`, which has begun.
    pub(super) fn known(&self, state: &State, viewer: Seat, round: u8, satellite: u8) -> [Known; PACK] {
        use Known::{Among, Exactly, Nothing};
        let first = self.track[usize::from(4 * (round - 1))].side;
        let second = self.track[usize::from(4 * (round - 1) + 1)].side;
        let (first, second) = (self.reader(satellite, first), self.reader(satellite, second));
        let placed = |seat: Seat, turn| state.has_placed(seat, round, turn);
        let (turn, picks) = if round == state.round() { (state.turn(), state.picks()) } else { (4, 3) };
        let seen = |public: bool| if public { Exactly } else { Nothing };
        if viewer == first {
            // The second reader has just picked one of three, and the rest has not been looked at yet.
            return if turn == 2 && picks == 2 && !placed(second, 2) {
                [Exactly, Among, Among, Among]
            } else {
                [Exactly; PACK]
            };
        }
        let one = seen(picks > 0 && placed(first, 1));
        let three = picks > 2 && placed(first, 3);
        if viewer != second {
            let two = seen(picks > 1 && placed(second, 2));
            return [one, two, seen(three), Nothing];
        }
        match turn {
            1 => [one, Nothing, Nothing, Nothing],
            _ if picks == 3 && !three => [one, Exactly, Among, Among],
            _ => [one, Exactly, Exactly, Exactly],
        }
    }

    /// The packs dealt so far, as round and Satellite.
    pub(super) fn dealt(&self, state: &State) -> impl Iterator<Item = (u8, u8)> + use<> {
        let seats = self.seats;
        (1..=state.round()).flat_map(move |round| (0..seats).map(move |satellite| (round, satellite)))
    }

    /// The card `seat` drafted in a turn that has been drafted.
    pub(super) fn drafted(&self, state: &State, seat: Seat, round: u8, turn: u8) -> u8 {
        let stop = self.track[usize::from(4 * (round - 1) + turn - 1)];
        let satellite = Self::satellite(seat, stop.side, self.seats);
        state.packs[usize::from(round - 1)][satellite][usize::from(turn - 1)]
    }

    /// Writes what `viewer` knows of every biome card, by id less one, into zeroed memory.
    pub(super) fn remember(&self, state: &State, viewer: Seat, out: &mut [u8]) {
        for round in 1..state.round() {
            self.remember_past(state, viewer, round, out);
        }
        let round = state.round();
        let picks = state.picks();
        for satellite in 0..self.seats {
            let pack = &state.packs[usize::from(round - 1)][usize::from(satellite)];
            let known = self.known(state, viewer, round, satellite);
            for place in 0..PACK {
                let whereabouts = match known[place] {
                    Known::Nothing => continue,
                    Known::Exactly if place >= picks && picks < 3 => PASSED,
                    Known::Exactly => GONE,
                    Known::Among => self.fate(state, satellite, picks),
                };
                out[usize::from(pack[place] - 1)] = whereabouts;
            }
        }
        for card in self.hand(state, viewer) {
            out[usize::from(card - 1)] = IN_HAND;
        }
        let kept = state.kept[viewer.index()];
        if kept != 0 {
            out[usize::from(kept - 1)] = KEPT;
        }
        for board in &state.boards[..usize::from(self.seats)] {
            for card in board.cells {
                if let Some(card) = out.get_mut(usize::from(card - 1)) {
                    *card = ON_A_BOARD;
                }
            }
        }
    }

    /// A round that is over: what the seat has seen of it is out of play or, as the boards will show, on one.
    fn remember_past(&self, state: &State, viewer: Seat, round: u8, out: &mut [u8]) {
        let [first, second] = [0, 1].map(|turn| self.track[usize::from(4 * (round - 1) + turn)].side);
        for satellite in 0..self.seats {
            let pack = &state.packs[usize::from(round - 1)][usize::from(satellite)];
            let (first, second) = (self.reader(satellite, first), self.reader(satellite, second));
            let seen = if viewer == first {
                0
            } else if viewer == second {
                1
            } else {
                PACK
            };
            for &card in &pack[seen..] {
                out[usize::from(card - 1)] = GONE;
            }
            for (turn, (&card, taker)) in (1..).zip(pack.iter().zip([first, second, first])).take(seen) {
                if state.has_placed(taker, round, turn) {
                    out[usize::from(card - 1)] = GONE;
                }
            }
        }
    }

    /// Where the cards are of which the seat only knows that they are among some: after the second pick one
    /// is the other reader's; after the third they are out of play unless it still keeps one of them.
    fn fate(&self, state: &State, satellite: u8, picks: usize) -> u8 {
        let taker = self.reader(satellite, self.stop(state).side);
        if picks < 3 || !state.is_scoring() && state.kept[taker.index()] != 0 { PASSED } else { GONE }
    }
}

/// What a seat may know of a biome card, by value.
pub(super) const WHEREABOUTS: [&str; 6] =
    ["unknown", "in hand", "kept", "on a board", "passed on", "out of play"];
const IN_HAND: u8 = 1;
const KEPT: u8 = 2;
const ON_A_BOARD: u8 = 3;
pub(super) const PASSED: u8 = 4;
pub(super) const GONE: u8 = 5;

//! The position as a plain value.

use boardwire_kernel::{BitSet, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

/// A set of regions by duration.
pub type Regions = BitSet<2>;
/// A set of sanctuaries by id.
pub type Sanctuaries = BitSet<1>;

/// The most seats at a table.
pub(super) const SEATS: usize = 6;
/// The rounds of a game.
pub(super) const ROUNDS: u8 = 8;

/// What is being chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Phase {
    /// All seats at once set two of five dealt regions aside (advanced variant).
    SetAside,
    /// All seats at once choose the region to explore.
    Explore,
    /// The seat whose turn it is takes a region from the display.
    Take,
    /// The seat whose turn it is places a sanctuary.
    Place,
    /// Nothing: the game is over.
    Over,
}

/// A position of Faraway.
///
/// Decks are sets. What seats remember of the sanctuaries is kept as what each was dealt, round by round:
/// where a card lies now follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// What is being chosen.
    pub phase: Phase,
    /// The round, from 1 to 8.
    pub round: u8,
    /// Whose turn it is in the third phase, as a place in `order`.
    pub turn: u8,
    /// The seats by ascending duration of this round, once all have explored.
    pub order: [u8; SEATS],
    /// The region each seat has chosen while others still owe theirs; 0 is none. It is still in the hand.
    pub chosen: [u8; SEATS],
    /// Each seat's line by round; 0 is not played yet.
    pub lines: [[u8; 8]; SEATS],
    /// Each seat's hand.
    pub hands: [Regions; SEATS],
    /// What each seat set aside, ascending; in the hand until all have, in the deck from then on.
    pub aside: [[u8; 2]; SEATS],
    /// The undrawn regions.
    pub deck: Regions,
    /// The regions to take from.
    pub display: Regions,
    /// Every region that has ever come to the display.
    pub shown: Regions,
    /// The regions left over in the display, by round.
    pub left_over: [u8; 7],
    /// The sanctuaries each seat was dealt, by `round - 2`.
    pub dealt: [[Sanctuaries; 7]; SEATS],
    /// The sanctuary each seat placed, by `round - 2`; 0 is none.
    pub placed: [[u8; 7]; SEATS],
    /// How many sanctuaries each seat is still owed in this round, for want of cards in the deck.
    pub owed: [u8; SEATS],
    /// The sanctuaries from which the next is drawn: what is left of the front block of the deck.
    pub front: Sanctuaries,
    /// The front block: 0 is the deck as it began, `6 * (round - 2) + place in the order + 1` what a seat
    /// returned then.
    pub front_block: u8,
    /// How many sanctuaries are in the deck.
    pub sanctuary_deck: u8,
}

impl State {
    /// The regions a seat has in its line.
    #[must_use]
    pub fn line(&self, seat: usize) -> &[u8] {
        let line = &self.lines[seat];
        &line[..line.iter().position(|&id| id == 0).unwrap_or(line.len())]
    }

    /// The seat whose turn it is in the third phase.
    #[must_use]
    pub fn active(&self) -> Option<Seat> {
        match self.phase {
            Phase::Take | Phase::Place => Some(Seat::new(self.order[usize::from(self.turn)])),
            Phase::SetAside | Phase::Explore | Phase::Over => None,
        }
    }

    /// The sanctuaries that lie before a seat, dealt and not yet placed or returned.
    #[must_use]
    pub fn before(&self, seat: usize) -> Sanctuaries {
        match (self.phase, self.round.checked_sub(2)) {
            (Phase::Take | Phase::Place, Some(at)) if self.placed[seat][usize::from(at)] == 0 => {
                self.dealt[seat][usize::from(at)]
            }
            _ => Sanctuaries::EMPTY,
        }
    }

    /// What a seat returned under the deck in a round, if it has had its turn.
    #[must_use]
    pub(super) fn returned(&self, round: u8, seat: usize) -> Sanctuaries {
        let at = usize::from(round - 2);
        let mut block = self.dealt[seat][at];
        if block.remove(self.placed[seat][at]) { block } else { Sanctuaries::EMPTY }
    }

    /// The seats by ascending duration in a round that has been explored.
    #[must_use]
    pub(super) fn order_of(&self, round: u8, seats: u8) -> [u8; SEATS] {
        let at = usize::from(round - 1);
        let mut order = [0; SEATS];
        let members = &mut order[..usize::from(seats)];
        for (place, seat) in members.iter_mut().zip(0..) {
            *place = seat;
        }
        members.sort_unstable_by_key(|&seat| self.lines[usize::from(seat)][at]);
        order
    }

    /// Whether a seat found sanctuaries in a round it has explored: its region lasts longer than the one
    /// before.
    #[must_use]
    pub(super) fn found(&self, round: u8, seat: usize) -> bool {
        let at = usize::from(round - 1);
        at > 0 && self.lines[seat][at] > self.lines[seat][at - 1]
    }
}

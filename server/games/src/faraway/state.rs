//! The position as a plain value.

use boardwire_kernel::{BitSet, BySeat, Seat, ids};
use borsh::{BorshDeserialize, BorshSerialize};

ids! {
    /// A region, by its duration.
    pub RegionId,
    /// A sanctuary, by its row in the catalogue.
    pub SanctuaryId,
}

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

impl Phase {
    /// Whether seats act one after the other.
    #[inline]
    pub(super) fn has_turns(self) -> bool {
        matches!(self, Self::Take | Self::Place)
    }
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
    /// The seats by ascending duration of this round, once all have explored; the first seat in every place
    /// until then.
    pub order: [Seat; SEATS],
    /// The region each seat has chosen while others still owe theirs. It is still in the hand.
    pub chosen: BySeat<Option<RegionId>, SEATS>,
    /// Each seat's line by round.
    pub lines: BySeat<[Option<RegionId>; 8], SEATS>,
    /// How the quest of each region of a line stands. It follows from `lines` and `placed`, and is kept since every
    /// view shows it of every seat.
    pub quests: BySeat<[u8; 8], SEATS>,
    /// Whether `quests` is no longer kept.
    pub forgets: bool,
    /// Each seat's hand.
    pub hands: BySeat<Regions, SEATS>,
    /// What each seat set aside, ascending; in the hand until all have, in the deck from then on.
    pub set_aside: BySeat<[Option<RegionId>; 2], SEATS>,
    /// The undrawn regions.
    pub deck: Regions,
    /// The regions to take from.
    pub display: Regions,
    /// Every region that has ever come to the display.
    pub revealed: Regions,
    /// The regions left over in the display, by round.
    pub left_over: [Option<RegionId>; 7],
    /// The sanctuaries each seat was dealt, by `round - 2`.
    pub dealt: BySeat<[Sanctuaries; 7], SEATS>,
    /// The sanctuary each seat placed, by `round - 2`.
    pub placed: BySeat<[Option<SanctuaryId>; 7], SEATS>,
    /// How many sanctuaries each seat is still owed in this round, for want of cards in the deck.
    pub owed: BySeat<u8, SEATS>,
    /// The sanctuaries from which the next is drawn: what is left of the front block of the deck.
    pub front: Sanctuaries,
    /// The front block: 0 is the deck as it began, `6 * (round - 2) + place in the order + 1` what a seat
    /// returned then.
    pub front_block: u8,
    /// How many sanctuaries are in the deck.
    pub sanctuary_deck: u8,
}

impl State {
    /// How many regions every seat has in its line.
    #[must_use]
    #[inline]
    pub fn explored(&self) -> u8 {
        match self.phase {
            Phase::SetAside | Phase::Explore => self.round - 1,
            Phase::Take | Phase::Place | Phase::Over => self.round,
        }
    }

    /// The regions a seat has in its line, in the order played.
    #[must_use]
    pub fn line(&self, seat: Seat) -> impl DoubleEndedIterator<Item = RegionId> + Clone {
        self.lines[seat].into_iter().flatten()
    }

    /// The seat whose turn it is in the third phase.
    #[must_use]
    #[inline]
    pub fn active(&self) -> Option<Seat> {
        self.phase.has_turns().then(|| self.order[usize::from(self.turn)])
    }

    /// The sanctuaries a seat has found in this round and not yet placed or returned.
    #[must_use]
    #[inline]
    pub fn found(&self, seat: Seat) -> Sanctuaries {
        match self.round.checked_sub(2) {
            Some(at) if self.phase.has_turns() && self.placed[seat][usize::from(at)].is_none() => {
                self.dealt[seat][usize::from(at)]
            }
            Some(_) | None => Sanctuaries::EMPTY,
        }
    }

    /// What a seat returned under the deck in a round, if it has had its turn.
    #[must_use]
    pub(super) fn returned(&self, round: u8, seat: Seat) -> Sanctuaries {
        let at = usize::from(round - 2);
        match self.placed[seat][at] {
            Some(placed) => self.dealt[seat][at].difference(Sanctuaries::single(placed)),
            None => Sanctuaries::EMPTY,
        }
    }

    /// The seats by ascending duration in a round that has been explored.
    #[must_use]
    pub(super) fn order_of(&self, round: u8, seats: u8) -> [Seat; SEATS] {
        let at = usize::from(round - 1);
        let mut order = [Seat::FIRST; SEATS];
        let members = &mut order[..usize::from(seats)];
        for (place, seat) in members.iter_mut().zip(Seat::all(seats)) {
            *place = seat;
        }
        members.sort_unstable_by_key(|&seat| self.lines[seat][at]);
        order
    }

    /// Whether a seat finds sanctuaries in a round it has explored: its region lasts longer than the one before.
    #[must_use]
    #[inline]
    pub(super) fn finds(&self, round: u8, seat: Seat) -> bool {
        let at = usize::from(round - 1);
        at > 0 && self.lines[seat][at] > self.lines[seat][at - 1]
    }
}

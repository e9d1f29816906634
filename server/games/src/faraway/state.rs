//! The state of the game as a plain value.

use boardwire_kernel::{BitSet, BySeat, Seat, ids};
use borsh::{BorshDeserialize, BorshSerialize};

ids! {
    /// A region, identified by its duration.
    pub RegionId,
    /// A sanctuary, identified by its row in the catalogue.
    pub SanctuaryId,
}

/// A set of regions, by duration.
pub type Regions = BitSet<2>;
/// A set of sanctuaries, by id.
pub type Sanctuaries = BitSet<1>;

/// The maximum number of seats.
pub(super) const MAX_SEATS: usize = 6;
/// The number of rounds.
pub(super) const ROUND_COUNT: u8 = 8;

/// The decision that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Phase {
    /// All seats set two of five dealt regions aside, simultaneously (advanced variant).
    SetAside,
    /// All seats choose the region to explore, simultaneously.
    Explore,
    /// The active seat takes a region from the display.
    Take,
    /// The active seat places a sanctuary.
    Place,
    /// No decision: the game is over.
    Over,
}

impl Phase {
    /// Returns whether the seats act one after the other.
    #[inline]
    pub(super) fn has_turns(self) -> bool {
        matches!(self, Self::Take | Self::Place)
    }
}

/// A state of Faraway.
///
/// Decks are sets. For sanctuaries the state keeps what each seat was dealt in each round. The current place of
/// every sanctuary, and what each seat remembers, follow from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The decision that is due.
    pub phase: Phase,
    /// The round, from 1 to 8.
    pub round: u8,
    /// The active seat in the third phase, as an index into `order`.
    pub turn: u8,
    /// The seats by ascending duration in this round, after all have explored. Before that, every entry is the
    /// first seat.
    pub order: [Seat; MAX_SEATS],
    /// The region each seat has chosen while other choices are pending. The card is still in the hand.
    pub chosen: BySeat<Option<RegionId>, MAX_SEATS>,
    /// Each seat's line, by round.
    pub lines: BySeat<[Option<RegionId>; 8], MAX_SEATS>,
    /// The status of the quest of each region in a line. It is cached because every observation shows it for all seats;
    /// it follows from `lines` and `placed`.
    pub quests: BySeat<[u8; 8], MAX_SEATS>,
    /// Whether `quests` is no longer updated. Samples for playouts do not need it.
    pub quests_disabled: bool,
    /// Each seat's hand.
    pub hands: BySeat<Regions, MAX_SEATS>,
    /// The regions each seat set aside, ascending. They stay in the hand until all seats are done, then go into the deck.
    pub set_aside: BySeat<[Option<RegionId>; 2], MAX_SEATS>,
    /// The regions in the deck.
    pub deck: Regions,
    /// The regions that seats can take.
    pub display: Regions,
    /// All regions that have ever been in the display.
    pub revealed: Regions,
    /// The region left over in the display, by round.
    pub left_over: [Option<RegionId>; 7],
    /// The sanctuaries each seat was dealt, by `round - 2`.
    pub dealt: BySeat<[Sanctuaries; 7], MAX_SEATS>,
    /// The sanctuary each seat placed, by `round - 2`.
    pub placed: BySeat<[Option<SanctuaryId>; 7], MAX_SEATS>,
    /// The number of sanctuaries each seat is still owed in this round because the deck ran out.
    pub owed: BySeat<u8, MAX_SEATS>,
    /// The rest of the front block of the deck; the next sanctuary is drawn from it.
    pub front: Sanctuaries,
    /// The number of the front block. Block 0 is the initial deck; block `6 * (round - 2) + index in the order + 1`
    /// is what that seat returned in that round.
    pub front_block: u8,
    /// The number of sanctuaries in the deck.
    pub sanctuary_deck: u8,
}

impl State {
    /// Returns the number of regions in every seat's line.
    #[must_use]
    #[inline]
    pub fn explored(&self) -> u8 {
        match self.phase {
            Phase::SetAside | Phase::Explore => self.round - 1,
            Phase::Take | Phase::Place | Phase::Over => self.round,
        }
    }

    /// Returns the regions in a seat's line, in the order played.
    #[must_use]
    pub fn line(&self, seat: Seat) -> impl DoubleEndedIterator<Item = RegionId> + Clone {
        self.lines[seat].into_iter().flatten()
    }

    /// Returns the active seat in the third phase.
    #[must_use]
    #[inline]
    pub fn active(&self) -> Option<Seat> {
        self.phase.has_turns().then(|| self.order[usize::from(self.turn)])
    }

    /// Returns the sanctuaries a seat has found in this round and not yet placed or returned.
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

    /// Returns what a seat put under the deck in a round; empty before its turn.
    #[must_use]
    pub(super) fn returned(&self, round: u8, seat: Seat) -> Sanctuaries {
        let at = usize::from(round - 2);
        match self.placed[seat][at] {
            Some(placed) => self.dealt[seat][at].difference(Sanctuaries::single(placed)),
            None => Sanctuaries::EMPTY,
        }
    }

    /// Returns the seats by ascending duration in a round that all have explored.
    #[must_use]
    pub(super) fn order_of(&self, round: u8, seats: u8) -> [Seat; MAX_SEATS] {
        let at = usize::from(round - 1);
        let mut order = [Seat::FIRST; MAX_SEATS];
        let members = &mut order[..usize::from(seats)];
        for (place, seat) in members.iter_mut().zip(Seat::all(seats)) {
            *place = seat;
        }
        members.sort_unstable_by_key(|&seat| self.lines[seat][at]);
        order
    }

    /// Returns whether a seat finds sanctuaries in an explored round: its region is longer than the one before.
    #[must_use]
    #[inline]
    pub(super) fn finds(&self, round: u8, seat: Seat) -> bool {
        let at = usize::from(round - 1);
        at > 0 && self.lines[seat][at] > self.lines[seat][at - 1]
    }
}

//! The state: boards, the stop, and the card that each seat drafted.

use boardwire_kernel::{BitSet, BySeat, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

/// The maximum number of seats.
pub(super) const MAX_SEATS: usize = 5;
/// The number of rounds.
pub(super) const ROUND_COUNT: usize = 4;
/// The number of cards dealt on a Satellite at the start of a round.
pub(super) const PACK_SIZE: usize = 4;
/// The number of cells of a player board. Cells are numbered from 0 row by row.
pub(super) const CELL_COUNT: u8 = 9;
/// The number of biome cards of both Ages: the biomes 1 to `CARD_COUNT`.
pub(super) const CARD_COUNT: u8 = 80;

boardwire_kernel::ids! {
    /// A biome, identified by its row in the table `biomes`. 1 to 80 are the cards (catalogue id + 1); 81 to 89 are the
    /// printed cells of side A, 90 to 98 those of side B.
    pub BiomeId,
    /// An Entity, identified by its row in the table `entities`.
    pub EntityId
}

impl BiomeId {
    /// Returns whether it is a card rather than a printed cell.
    pub(super) fn is_card(self) -> bool {
        self.get() <= CARD_COUNT
    }
}

/// A value for every biome. The array has 256 entries, so an index is never out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByBiome<T>([T; 256]);

impl<T: Copy> ByBiome<T> {
    /// Takes the values of the biomes in the order of their ids, and the value for all other ids.
    pub(super) fn new(values: impl IntoIterator<Item = T>, none: T) -> Self {
        let mut all = [none; 256];
        for (entry, value) in all[1..].iter_mut().zip(values) {
            *entry = value;
        }
        Self(all)
    }
}

impl<T> std::ops::Index<BiomeId> for ByBiome<T> {
    type Output = T;

    #[inline]
    fn index(&self, id: BiomeId) -> &T {
        &self.0[id.index()]
    }
}

impl<T> std::ops::IndexMut<BiomeId> for ByBiome<T> {
    #[inline]
    fn index_mut(&mut self, id: BiomeId) -> &mut T {
        &mut self.0[id.index()]
    }
}

impl<T> ByBiome<T> {
    /// Returns the values of the biomes from 1 to `last`.
    pub(super) fn up_to(&self, last: u8) -> &[T] {
        &self.0[1..=usize::from(last)]
    }
}

/// A set of cards.
pub type CardSet = BitSet<2>;
/// A set of cells.
pub type CellSet = BitSet<1>;
/// A set of Entities.
pub type EntitySet = BitSet<1>;
/// The cards dealt on a Satellite: first the picked ones in the order of turns, then the others, ascending.
pub type Pack = [BiomeId; PACK_SIZE];

/// A state of Rauha as a plain value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The number of the stop on the track where all Avatars stand, 1 to 16.
    pub stop: u8,
    /// The decision or step that is due.
    pub phase: Phase,
    /// The leader: the seat whose token is on top on the furthest occupied space.
    pub leader: Seat,
    /// The seat that acts first at this stop: the leader at the start of the stop.
    pub first_seat: Seat,
    /// The number of seats that have finished at this stop.
    pub seats_done: u8,
    /// The cells and Entities the acting seat has activated.
    pub activated: ActivationSet,
    /// The Entities the acting seat has welcomed in this turn.
    pub welcomed: EntitySet,
    /// The board of every seat. Boards of unused seats stay as they were at the start.
    pub boards: BySeat<Board, MAX_SEATS>,
    /// The card chosen in this draft; after the draft, the card kept until step 2.
    pub kept: BySeat<Option<BiomeId>, MAX_SEATS>,
    /// The packs by round, then by the seat whose star the Satellite is. They contain what seats remember of the drafts.
    pub packs: [BySeat<Option<Pack>, MAX_SEATS>; ROUND_COUNT],
    /// The cards of both Ages that are not dealt.
    pub undealt: CardSet,
    /// All cards that were ever placed. All seats have seen them.
    pub placed: CardSet,
}

/// The decision or step that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Phase {
    /// Every seat chooses a card of its pack.
    Draft,
    /// The acting seat places or discards its kept card.
    UseCard,
    /// The acting seat activates cells and Entities.
    Activate,
    /// The acting seat puts the Spore it has bought on a cell.
    Spore,
    /// All seats have finished at this stop. No decision is due.
    StopFinished,
    /// The game is over.
    Over,
}

/// A set of cells and Entities, such as those activated already or those possible now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub struct ActivationSet {
    /// The cells.
    pub cells: CellSet,
    /// The Entities.
    pub entities: EntitySet,
}

impl ActivationSet {
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.entities.is_empty()
    }

    /// Returns the cells and Entities that are not in `other`.
    pub(super) fn without(self, other: Self) -> Self {
        Self { cells: self.cells.difference(other.cells), entities: self.entities.difference(other.entities) }
    }
}

/// One seat's board, crystals, points and Entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Board {
    /// The visible biomes.
    pub cells: [BiomeId; CELL_COUNT as usize],
    /// The cells with a Spore.
    pub spores: CellSet,
    /// The crystals.
    pub crystals: u16,
    /// Points, by [`Source`].
    pub gained: [u16; 4],
    /// The Entities held.
    pub entities: EntitySet,
}

/// A source of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Biomes activated in turns.
    Turns,
    /// Biomes with a Spore activated in scorings.
    Spores,
    /// Entities.
    Entities,
    /// Water Sources.
    Water,
}

impl Board {
    /// Creates a board in its initial state.
    #[must_use]
    pub fn new(cells: [BiomeId; CELL_COUNT as usize], crystals: u16) -> Self {
        Self { cells, spores: CellSet::EMPTY, crystals, gained: [0; 4], entities: EntitySet::EMPTY }
    }

    /// Returns the Life Energy.
    #[must_use]
    pub fn points(&self) -> u16 {
        self.gained.iter().sum()
    }

    /// Returns the biome on a cell.
    pub(super) fn at(&self, cell: u8) -> BiomeId {
        self.cells[usize::from(cell)]
    }

    pub(super) fn cells_without_spore(&self) -> CellSet {
        CellSet::below(CELL_COUNT.into()).difference(self.spores)
    }
}

impl State {
    /// Returns the round of the stop, 1 to 4.
    pub(super) fn round(&self) -> u8 {
        (self.stop - 1) / 4 + 1
    }

    /// Returns the turn in the round, 1 to 3; 4 is the scoring.
    pub(super) fn turn(&self) -> u8 {
        (self.stop - 1) % 4 + 1
    }

    /// Returns whether the Avatars stand at a corner.
    pub(super) fn is_scoring(&self) -> bool {
        self.turn() == 4
    }

    /// Returns how many cards have been picked from each pack of the current round.
    pub(super) fn picks(&self) -> usize {
        let turn = usize::from(self.turn());
        match self.phase {
            Phase::Draft => turn - 1,
            Phase::UseCard | Phase::Activate | Phase::Spore | Phase::StopFinished | Phase::Over => {
                turn.min(3)
            }
        }
    }

    /// Returns the cards dealt on a Satellite, in a round that has begun.
    pub(super) fn pack(&self, round: u8, satellite: Seat) -> &Pack {
        let pack = self.packs[usize::from(round - 1)][satellite].as_ref();
        pack.expect("cards lie on every Satellite once the round has begun")
    }

    /// Returns the same as [`Self::pack`], mutable.
    pub(super) fn pack_mut(&mut self, round: u8, satellite: Seat) -> &mut Pack {
        let pack = self.packs[usize::from(round - 1)][satellite].as_mut();
        pack.expect("cards lie on every Satellite once the round has begun")
    }

    /// Adds points and moves the seat's token. A token that moves lands on top of those on its space.
    pub fn gain(&mut self, seat: Seat, source: Source, points: u16) {
        if points == 0 {
            return;
        }
        self.boards[seat].gained[source as usize] += points;
        if self.boards[seat].points() >= self.boards[self.leader].points() {
            self.leader = seat;
        }
    }
}

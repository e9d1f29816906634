//! The position: boards, the stop, and who drafted what.

use boardwire_kernel::{BitSet, BySeat, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

/// The most seats of a table.
pub(super) const SEATS: usize = 5;
/// Rounds of a game.
pub(super) const ROUNDS: usize = 4;
/// Cards dealt on a Satellite at the start of a round.
pub(super) const PACK: usize = 4;
/// Cells of a player board, numbered from 0 row by row.
pub(super) const CELLS: u8 = 9;
/// The biome cards of both Ages: the biomes 1 to `CARDS`.
pub(super) const CARDS: u8 = 80;

boardwire_kernel::ids! {
    /// A biome, by its row in the table `biomes`: 1 to 80 the cards (catalogue id + 1), 81 to 89 the printed cells of
    /// side A, 90 to 98 those of side B.
    pub BiomeId,
    /// A Divine Entity, by its row in the table `entities`.
    pub EntityId
}

impl BiomeId {
    /// Whether it is a card, and not printed on the board.
    pub(super) fn is_card(self) -> bool {
        self.get() <= CARDS
    }
}

/// A value for every biome: 256 of them, so that looking one up is never out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByBiome<T>([T; 256]);

impl<T: Copy> ByBiome<T> {
    /// The values of the biomes in the order of their ids, and one for what is no biome.
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
    /// The values of the biomes from 1 to `last`.
    pub(super) fn up_to(&self, last: u8) -> &[T] {
        &self.0[1..=usize::from(last)]
    }
}

/// A set of cards.
pub type CardSet = BitSet<2>;
/// A set of cells.
pub type CellSet = BitSet<1>;
/// A set of Divine Entities.
pub type EntitySet = BitSet<1>;
/// The cards dealt on a Satellite: those picked, in the order of the turns, then those left, ascending.
pub type Pack = [BiomeId; PACK];

/// A position as a plain value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The stop of all Avatars, 1 to 16.
    pub stop: u8,
    /// What is due.
    pub phase: Phase,
    /// Whose token is on top of the furthest ones.
    pub leader: Seat,
    /// Who goes first at this stop: the leader at its start.
    pub first: Seat,
    /// How many seats have finished at this stop.
    pub done: u8,
    /// What the acting seat has activated.
    pub used: Activation,
    /// Entities the acting seat has welcomed in this turn.
    pub welcomed: EntitySet,
    /// A board for every seat; those nobody sits at stay as they were at the start.
    pub boards: BySeat<Board, SEATS>,
    /// The card chosen in this draft, then the card kept until step 2.
    pub kept: BySeat<Option<BiomeId>, SEATS>,
    /// By round, then by the seat whose star the Satellite is. It is what the seats remember of the drafts.
    pub packs: [BySeat<Option<Pack>, SEATS>; ROUNDS],
    /// The cards not dealt, of both Ages.
    pub undealt: CardSet,
    /// The cards that were ever placed: everybody has seen them.
    pub placed: CardSet,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Phase {
    /// Every seat chooses a card of its pack.
    Draft,
    /// The acting seat places or discards its kept card.
    Main,
    /// The acting seat activates.
    Activate,
    /// The acting seat puts the Spore it has bought.
    Spore,
    /// All seats have finished at this stop; no choice is made in it.
    Between,
    /// The game is over.
    Over,
}

/// Cells and Entities: those activated, or those that may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub struct Activation {
    /// The cells.
    pub cells: CellSet,
    /// The Entities.
    pub entities: EntitySet,
}

impl Activation {
    /// Whether there is neither a cell nor an Entity.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.entities.is_empty()
    }

    /// What is here and not in `other`.
    pub(super) fn without(self, other: Self) -> Self {
        Self { cells: self.cells.difference(other.cells), entities: self.entities.difference(other.entities) }
    }
}

/// One seat's board with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Board {
    /// The visible biomes.
    pub cells: [BiomeId; CELLS as usize],
    /// The cells with a Spore.
    pub spores: CellSet,
    /// The crystals.
    pub crystals: u16,
    /// Points by [`Source`].
    pub gained: [u16; 4],
    /// The Entities held.
    pub entities: EntitySet,
}

/// Where points come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Biomes activated in turns.
    Turns,
    /// Biomes with a Spore activated in scorings.
    Spores,
    /// Divine Entities.
    Entities,
    /// Water Sources.
    Water,
}

impl Board {
    /// A board on which nothing has happened.
    #[must_use]
    pub fn new(cells: [BiomeId; CELLS as usize], crystals: u16) -> Self {
        Self { cells, spores: CellSet::EMPTY, crystals, gained: [0; 4], entities: EntitySet::EMPTY }
    }

    /// The Life Energy.
    #[must_use]
    pub fn points(&self) -> u16 {
        self.gained.iter().sum()
    }

    /// The biome on a cell.
    pub(super) fn at(&self, cell: u8) -> BiomeId {
        self.cells[usize::from(cell)]
    }

    /// The cells without a Spore.
    pub(super) fn cells_without_spore(&self) -> CellSet {
        CellSet::first(CELLS.into()).difference(self.spores)
    }
}

impl State {
    /// The round of the stop, 1 to 4.
    pub(super) fn round(&self) -> u8 {
        (self.stop - 1) / 4 + 1
    }

    /// The turn of the round, 1 to 3; 4 in its scoring.
    pub(super) fn turn(&self) -> u8 {
        (self.stop - 1) % 4 + 1
    }

    /// Whether the Avatars stand at a corner.
    pub(super) fn is_scoring(&self) -> bool {
        self.turn() == 4
    }

    /// How many cards have been picked of each pack of the current round.
    pub(super) fn picks(&self) -> usize {
        let turn = usize::from(self.turn());
        match self.phase {
            Phase::Draft => turn - 1,
            Phase::Main | Phase::Activate | Phase::Spore | Phase::Between | Phase::Over => turn.min(3),
        }
    }

    /// The cards dealt on a Satellite in a round that has begun.
    pub(super) fn pack(&self, round: u8, satellite: Seat) -> &Pack {
        let pack = self.packs[usize::from(round - 1)][satellite].as_ref();
        pack.expect("cards lie on every Satellite once the round has begun")
    }

    /// The same, to change.
    pub(super) fn pack_mut(&mut self, round: u8, satellite: Seat) -> &mut Pack {
        let pack = self.packs[usize::from(round - 1)][satellite].as_mut();
        pack.expect("cards lie on every Satellite once the round has begun")
    }

    /// Moves the seat's token; one that moves lands on top of those already there.
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

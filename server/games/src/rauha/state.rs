//! The position: boards, the stop, and who drafted what.

use boardwire_kernel::{BitSet, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

use super::pieces::PACK;

/// The most seats of a table.
pub(super) const SEATS: usize = 5;
/// Rounds of a game.
pub(super) const ROUNDS: usize = 4;

/// A position as a plain value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The stop of all Avatars, 1 to 16.
    pub(super) stop: u8,
    pub(super) phase: Phase,
    /// Whose token is on top of the furthest ones.
    pub(super) leader: u8,
    /// Who goes first at this stop: the leader at its start.
    pub(super) first: u8,
    /// How many seats have finished at this stop.
    pub(super) done: u8,
    /// Cells and Entities the acting seat has activated.
    pub(super) used_cells: u16,
    pub(super) used_entities: u8,
    /// Entities the acting seat has welcomed in this turn.
    pub(super) fresh: u8,
    pub(super) boards: [Board; SEATS],
    /// By seat: the card chosen in this draft, then the card kept until step 2; 0 is none.
    pub(super) kept: [u8; SEATS],
    /// The cards dealt, by round and Satellite: first those picked, in the order of the turns, then those
    /// still in the pack, ascending. It is what the seats remember of the drafts, and no more.
    pub(super) packs: [[[u8; PACK]; SEATS]; ROUNDS],
    /// The cards not dealt, of both Ages.
    pub(super) undealt: BitSet<2>,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) enum Phase {
    /// Every seat chooses a card of its pack.
    Draft,
    /// The acting seat places or discards its kept card.
    Main,
    /// The acting seat activates.
    Activate,
    /// The acting seat puts the Spore it has bought.
    Spore,
    /// All seats have finished at this stop; never at rest.
    Between,
    /// The game is over.
    Over,
}

/// One seat's board with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Board {
    /// The visible biomes, by id.
    pub(super) cells: [u8; 9],
    /// The cells with a Spore.
    pub(super) spores: u16,
    pub(super) crystals: u16,
    /// Points by [`Source`].
    pub(super) gained: [u16; 4],
    /// The Entities held.
    pub(super) entities: u8,
    /// The turns, of 12, in which the kept card was placed.
    pub(super) placed: u16,
}

/// Where points come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
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
    /// The Life Energy.
    pub(super) fn points(&self) -> u16 {
        self.gained.iter().sum()
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
            _ => turn.min(3),
        }
    }

    /// The kept card has been placed or discarded.
    pub(super) fn go_on_to_activate(&mut self, seat: Seat) {
        self.kept[seat.index()] = 0;
        self.phase = Phase::Activate;
    }

    /// Moves the seat's token; one that moves lands on top of those already there.
    pub(super) fn gain(&mut self, seat: Seat, source: Source, points: u16) {
        if points == 0 {
            return;
        }
        self.boards[seat.index()].gained[source as usize] += points;
        let furthest = self.boards[usize::from(self.leader)].points();
        if self.boards[seat.index()].points() >= furthest {
            self.leader = seat.number();
        }
    }

    /// Whether the card `seat` drafted in that turn was placed; then everybody has seen it.
    pub(super) fn has_placed(&self, seat: Seat, round: u8, turn: u8) -> bool {
        self.boards[seat.index()].placed >> Self::turn_number(round, turn) & 1 == 1
    }

    /// The number of a turn in [`Board::placed`], 0 to 11.
    pub(super) fn turn_number(round: u8, turn: u8) -> u8 {
        3 * (round - 1) + turn - 1
    }
}

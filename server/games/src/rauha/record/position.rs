//! A case's boards as a position that the rules can act on.

use boardwire_kernel::{BitSet, Seat};
use serde_json::{Value, json};

use super::lines::{self, wrong};
use crate::LineError;
use crate::rauha::Catalogue;
use crate::rauha::action::Action;
use crate::rauha::pieces::{ANIMALS, Effect, PACK, Per};
use crate::rauha::rules::Rules;
use crate::rauha::state::{Board, Phase, SEATS, State};

/// A case's boards as a position in which the seat asked about acts.
pub(super) struct Position<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) rules: Rules,
    pub(super) state: State,
    pub(super) seat: Seat,
}

/// A first turn's activation with no boards.
pub(super) fn empty() -> State {
    State {
        stop: 1,
        phase: Phase::Activate,
        leader: 0,
        first: 0,
        done: 0,
        used_cells: 0,
        used_entities: 0,
        fresh: 0,
        boards: [Board::default(); SEATS],
        kept: [0; SEATS],
        packs: [[[0; PACK]; SEATS]; 4],
        undealt: BitSet::EMPTY,
    }
}

pub(super) fn difference(after: u16, before: u16) -> Value {
    json!(i32::from(after) - i32::from(before))
}

impl Position<'_> {
    pub(super) fn board(&self) -> &Board {
        &self.state.boards[self.seat.index()]
    }

    pub(super) fn keys(&self, entities: u8) -> Vec<String> {
        lines::keys(entities, self.catalogue)
    }

    pub(super) fn effect(&self, cell: u8) -> Effect {
        let id = self.board().cells[usize::from(cell)];
        self.rules.biomes[usize::from(id)].effect
    }

    pub(super) fn hand(&self) -> Result<u8, LineError> {
        match self.state.kept[self.seat.index()] {
            0 => wrong(&format!("state.players[{}].hand", self.seat.number()), "missing"),
            card => Ok(card),
        }
    }

    pub(super) fn choose(&mut self, action: Action) {
        self.rules.choose(&mut self.state, self.seat, action);
    }

    /// Activates, puts the Spore, and says what changed.
    pub(super) fn activate(&mut self, action: Action, target: Option<u8>) -> Value {
        let before = *self.board();
        self.choose(action);
        if let Some(cell) = target {
            self.choose(Action::PutSpore { cell });
        }
        let after = self.board();
        json!({
            "activatable": true,
            "crystals_delta": difference(after.crystals, before.crystals),
            "points_delta": difference(after.points(), before.points()),
            "spores_added": lines::cells(after.spores & !before.spores),
        })
    }

    /// Which Entities have a complete line anywhere.
    pub(super) fn aligned(&self) -> Value {
        // The diagonal meets every row and every column.
        let called = [0, 4, 8].map(|cell| self.rules.called(self.board(), cell));
        json!({ "entities": self.keys(called[0] | called[1] | called[2]) })
    }

    /// The Water Sources of all seats and what they give in a scoring.
    pub(super) fn water(&self) -> Value {
        let seats = || Seat::all(self.rules.seats);
        let counts: Vec<_> =
            seats().map(|seat| self.rules.sources(&self.state.boards[seat.index()])).collect();
        let points: Vec<_> = seats().map(|seat| self.rules.water_points(&self.state, seat)).collect();
        json!({ "counts": counts, "points": points })
    }

    pub(super) fn counts(&self) -> Value {
        let mut counts = json!({});
        for (kind, animal) in (0..).zip(ANIMALS) {
            counts[animal] = json!(self.rules.count(self.board(), Per::Animal(kind)));
        }
        counts["spore"] = json!(self.rules.count(self.board(), Per::Spore));
        counts["water"] = json!(self.rules.count(self.board(), Per::Water));
        counts
    }
}

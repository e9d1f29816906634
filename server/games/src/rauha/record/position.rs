//! A case's boards as a position that the rules can act on.

use std::sync::Arc;

use boardwire_kernel::record::LineError;
use boardwire_kernel::{Chance, Game, Loaded, Seat, set_up};
use serde_json::{Value, json};

use super::lines::{self, wrong};
use crate::rauha::action::Action;
use crate::rauha::catalogue::{ANIMALS, Ability, Per};
use crate::rauha::state::{BiomeId, Board, EntitySet, Phase, State};
use crate::rauha::{Catalogue, Rauha};

/// A catalogue as the tables that are set up from it share it.
pub(super) type Shared = Arc<Loaded<Catalogue>>;

/// A case's boards as a position in which the seat asked about acts.
pub(super) struct Position {
    pub(super) game: Rauha,
    pub(super) state: State,
    pub(super) seat: Seat,
    /// The seats of the case; the first only once more if it has no second.
    seats: u8,
}

/// A table of so many seats.
pub(super) fn table(catalogue: &Shared, seats: u8) -> Rauha {
    set_up(Arc::clone(catalogue), seats.into(), []).expect("two to five seats with the default options")
}

/// Activation in the first turn, on boards as they are at the start, seat 0 acting and leading.
pub(super) fn first_activation(game: &Rauha) -> State {
    let mut state = game.deal(&mut Chance::seeded(0, Rauha::TYPE.streams.len()));
    (state.phase, state.leader, state.first) = (Phase::Activate, Seat::FIRST, Seat::FIRST);
    state
}

pub(super) fn difference(after: u16, before: u16) -> Value {
    json!(i32::from(after) - i32::from(before))
}

impl Position {
    /// A position of these boards, seat 0 acting.
    pub(super) fn new(boards: &[Board], catalogue: &Shared) -> Self {
        let seats = u8::try_from(boards.len()).expect("at most five boards");
        let game = table(catalogue, seats.max(2));
        let mut state = first_activation(&game);
        for (board, &given) in state.boards.of_mut(seats.max(2)).iter_mut().zip(boards.iter().cycle()) {
            *board = given;
        }
        Self { game, state, seat: Seat::FIRST, seats }
    }

    /// The seats of the case.
    pub(super) fn seats(&self) -> impl Iterator<Item = Seat> {
        Seat::all(self.seats)
    }

    pub(super) fn board(&self) -> &Board {
        &self.state.boards[self.seat]
    }

    pub(super) fn keys(&self, entities: EntitySet) -> Vec<String> {
        lines::keys(entities, &self.game.catalogue.value)
    }

    pub(super) fn ability(&self, cell: u8) -> Ability {
        self.game.biome(self.board().at(cell)).ability
    }

    pub(super) fn hand(&self) -> Result<BiomeId, LineError> {
        let place = || format!("state.players[{}].hand", self.seat.number());
        self.state.kept[self.seat].map_or_else(|| wrong(&place(), "missing"), Ok)
    }

    pub(super) fn choose(&mut self, action: Action) {
        self.game.choose(&mut self.state, self.seat, action);
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
            "spores_added": lines::cells(after.spores.difference(before.spores)),
        })
    }

    /// Which Entities have a complete line anywhere.
    pub(super) fn aligned(&self) -> Value {
        // The diagonal meets every row and every column.
        let called = [0, 4, 8].map(|cell| self.game.called(self.board(), cell));
        json!({ "entities": self.keys(called.into_iter().fold(EntitySet::EMPTY, EntitySet::union)) })
    }

    /// The Water Sources of all seats and what they give in a scoring.
    pub(super) fn water(&self) -> Value {
        let counts: Vec<_> = self.seats().map(|seat| self.game.water(&self.state.boards[seat])).collect();
        let points: Vec<_> = self.seats().map(|seat| self.game.water_points(&self.state, seat)).collect();
        json!({ "counts": counts, "points": points })
    }

    pub(super) fn counts(&self) -> Value {
        let mut counts = json!({});
        for (animal, per) in ANIMALS.into_iter().zip([Per::Flying, Per::Land, Per::Marine]) {
            counts[animal] = json!(self.game.count(self.board(), per));
        }
        counts["spore"] = json!(self.game.count(self.board(), Per::Spore));
        counts["water"] = json!(self.game.count(self.board(), Per::Water));
        counts
    }
}

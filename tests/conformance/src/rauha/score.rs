//! Answers scoring cases about boards, with the same rules that play the game.

use std::sync::Arc;

use boardwire_games::rauha::{Action, BiomeId, Board, EntityId, EntitySet, Per, Phase, Rauha, Source, State};
use boardwire_kernel::catalogue::{CatalogueResult, check_range, read, refuse, require};
use boardwire_kernel::{Choices, RandomSource, Seat, Setup, Turns, set_up};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{Cell, EntityKeys, MAX_CRYSTALS_OR_POINTS, Player, Step, biome_to_number, boards};
use crate::GameCatalogue;

/// A scoring case. `op` determines which fields it needs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    op: String,
    player: Option<u8>,
    cell: Option<Cell>,
    spore_target: Option<Cell>,
    entity: Option<String>,
    action: Option<String>,
    step: Option<Step>,
    players: Option<u8>,
    initial_stack: Option<Vec<u8>>,
    events: Option<Vec<(u8, u16)>>,
    points: Option<Vec<u16>>,
    state: Option<CaseState>,
    #[serde(rename = "expect")]
    _expect: Option<IgnoredAny>,
    #[serde(rename = "source")]
    _source: Option<IgnoredAny>,
    #[serde(rename = "tags")]
    _tags: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseState {
    players: Vec<Player>,
}

/// The boards of a case. The seat of the question acts first, at stop 1.
struct Position {
    game: Rauha,
    keys: EntityKeys,
    state: State,
    seat: Seat,
    /// The number of boards in the case. A single board is copied to a second seat, which is not counted.
    seats: u8,
}

/// Answers a case, as JSON.
pub(crate) fn score(game: &GameCatalogue<Rauha>, line: &str) -> CatalogueResult<String> {
    let case: Case = read(line)?;
    let expect = case.answer(game)?;
    Ok(json!({ "id": case.id, "expect": expect }).to_string())
}

/// Returns the value of a field that the operation needs.
fn require_field<T>(field: &str, value: Option<T>) -> CatalogueResult<T> {
    value.map_or_else(|| refuse(field, "missing"), Ok)
}

/// Returns a table with this number of seats.
fn table(game: &GameCatalogue<Rauha>, seats: u8) -> Rauha {
    set_up(Arc::clone(&game.loaded), seats.into(), []).expect("two to five seats with the default options")
}

fn no_chance() -> RandomSource {
    RandomSource::seeded(0, Rauha::TYPE.streams.len())
}

impl Case {
    fn answer(&self, game: &GameCatalogue<Rauha>) -> CatalogueResult<Value> {
        match self.op.as_str() {
            "activate_cell" => self.activate_cell(&mut self.position(game)?),
            "activate_entity" => self.activate_entity(&mut self.position(game)?),
            "aligned" => Ok(self.position(game)?.aligned()),
            "place" => self.place(&mut self.position(game)?),
            "main_action" => self.main_action(&mut self.position(game)?),
            "water" => Ok(self.boards(game)?.water()),
            "activatable" => self.activatable(&mut self.position(game)?),
            "leader" => self.leader(game),
            "count" => Ok(self.position(game)?.counts()),
            "draft_satellite" => self.draft_satellite(game),
            "spore_target" => {
                let (mut position, target) =
                    (self.position(game)?, require_field("spore_target", self.spore_target)?);
                let bought = position.activate_cell(require_field("cell", self.cell)?.get());
                Ok(json!({ "legal": bought && position.can_put_spore(target) }))
            }
            "final" => self.winners(),
            other => refuse("op", format!("there is no operation `{other}`")),
        }
    }

    /// Returns the boards, with seat 0 acting.
    fn boards(&self, game: &GameCatalogue<Rauha>) -> CatalogueResult<Position> {
        let (players, keys) =
            (&require_field("state", self.state.as_ref())?.players, EntityKeys::read(&game.text)?);
        let boards = boards("state.players", players, &keys)?;
        let seats = u8::try_from(boards.len()).expect("at most five boards");
        let game = table(game, seats.max(2));
        let mut state = game.deal(&mut no_chance());
        (state.phase, state.leader, state.first_seat) = (Phase::Activate, Seat::FIRST, Seat::FIRST);
        for (board, &given) in state.boards.of_mut(seats.max(2)).iter_mut().zip(boards.iter().cycle()) {
            *board = given;
        }
        Ok(Position { game, keys, state, seat: Seat::FIRST, seats })
    }

    /// Returns the boards, with `player` acting. Its `hand` is the kept card, and its `fresh` Entities are welcomed.
    fn position(&self, game: &GameCatalogue<Rauha>) -> CatalogueResult<Position> {
        let mut position = self.boards(game)?;
        let seat = check_range("player", require_field("player", self.player)?, 0, position.seats - 1)?;
        let player = &self.state.as_ref().expect("the boards were found").players[usize::from(seat)];
        position.seat = Seat::new(seat);
        position.state.first_seat = position.seat;
        position.state.kept[position.seat] = player.hand.map(|hand| BiomeId::new(hand + 1));
        position.state.welcomed = player.welcomed("state.players", &position.keys)?;
        Ok(position)
    }

    fn activate_cell(&self, position: &mut Position) -> CatalogueResult<Value> {
        let before = *position.board();
        let done = position.activate_cell(require_field("cell", self.cell)?.get());
        self.activated(position, &before, done)
    }

    fn activate_entity(&self, position: &mut Position) -> CatalogueResult<Value> {
        let before = *position.board();
        let entity = position.keys.id("entity", require_field("entity", self.entity.as_ref())?)?;
        position.state.welcomed = before.entities.intersection(EntitySet::single(entity));
        let done = position.choose(Action::ActivateEntity { entity: EntityId::new(entity) });
        self.activated(position, &before, done)
    }

    /// Returns the changes by an activation, including the Spore that it buys. `done` is whether the activation was legal.
    fn activated(&self, position: &mut Position, before: &Board, mut done: bool) -> CatalogueResult<Value> {
        if done && position.state.phase == Phase::Spore {
            let target = require_field("spore_target", self.spore_target)?;
            done = position.choose(Action::PutSpore { cell: target.get() });
        }
        if !done {
            return Ok(json!({ "activatable": false }));
        }
        let after = position.board();
        Ok(json!({
            "activatable": true,
            "crystals_delta": difference(after.crystals, before.crystals),
            "points_delta": difference(after.points(), before.points()),
            "spores_added": after.spores.difference(before.spores).iter().collect::<Vec<_>>(),
        }))
    }

    fn place(&self, position: &mut Position) -> CatalogueResult<Value> {
        let cell = require_field("cell", self.cell)?.get();
        position.begin_main()?;
        let (before, cells) = (*position.board(), position.rows("place"));
        let mut answer = json!({
            "legal_cells": cells,
            "spore_cells": position.rows("take_spore"),
            "legal": cells.contains(&cell),
        });
        if !position.choose(Action::Place { cell }) {
            return Ok(answer);
        }
        let board = position.board();
        let boards = &position.state.boards.all()[..usize::from(position.seats)];
        let entities: Vec<_> = boards.iter().map(|board| position.keys.sorted_keys(board.entities)).collect();
        answer["crystals_delta"] = difference(board.crystals, before.crystals);
        answer["taken"] = json!(position.keys.sorted_keys(board.entities.difference(before.entities)));
        answer["water_after"] = json!(position.water_of(position.seat));
        answer["entities_after"] = json!(entities);
        answer["entities_activatable"] = json!(position.keys.sorted_keys(position.rows("activate_entity")));
        Ok(answer)
    }

    fn main_action(&self, position: &mut Position) -> CatalogueResult<Value> {
        position.begin_main()?;
        let action = match require_field("action", self.action.as_deref())? {
            "place" => Action::Place { cell: require_field("cell", self.cell)?.get() },
            "crystals" => Action::TakeCrystals,
            "spore" => Action::TakeSpore { cell: require_field("cell", self.cell)?.get() },
            other => return refuse("action", format!("`{other}` is none of place, crystals, spore")),
        };
        if !position.choose(action) {
            return Ok(json!({ "legal": false }));
        }
        let board = position.board();
        Ok(json!({
            "legal": true,
            "spores_after": (0..9).map(|cell: u8| u8::from(board.spores.contains(cell))).collect::<Vec<_>>(),
            "crystals_after": board.crystals,
            "cells_after": board.cells.map(|biome| biome_to_number(biome.get())),
        }))
    }

    fn activatable(&self, position: &mut Position) -> CatalogueResult<Value> {
        position.state.stop = require_field("step", self.step)?.get();
        let entities = position.keys.sorted_keys(position.rows("activate_entity"));
        Ok(json!({ "cells": position.rows("activate_cell"), "entities": entities }))
    }

    fn leader(&self, game: &GameCatalogue<Rauha>) -> CatalogueResult<Value> {
        let seats = self.table_seats()?;
        let mut state = table(game, seats).deal(&mut no_chance());
        state.leader = top_of(&require_field("initial_stack", self.initial_stack.as_ref())?[..], seats)?;
        for (index, &(seat, gain)) in require_field("events", self.events.as_ref())?.iter().enumerate() {
            let place = format!("events[{index}]");
            let seat = Seat::new(check_range(&*place, seat, 0, seats - 1)?);
            check_range(&*place, gain, 0, MAX_CRYSTALS_OR_POINTS)?;
            let fits = state.boards[seat].points().checked_add(gain).is_some();
            require(fits, place, || "the points of a seat exceed 65535".into())?;
            state.gain(seat, Source::Turns, gain);
        }
        Ok(json!({ "first": state.leader.number() }))
    }

    fn table_seats(&self) -> CatalogueResult<u8> {
        check_range("players", require_field("players", self.players)?, 2, 5)
    }

    fn draft_satellite(&self, game: &GameCatalogue<Rauha>) -> CatalogueResult<Value> {
        let seats = self.table_seats()?;
        let seat = Seat::new(check_range("player", require_field("player", self.player)?, 0, seats - 1)?);
        let step = require_field("step", self.step)?.get();
        require(!step.is_multiple_of(4), "step", || "nothing is drafted at a corner".into())?;
        let satellite = table(game, seats).satellite((step - 1) / 4 + 1, (step - 1) % 4 + 1, seat);
        Ok(json!({ "satellite": satellite.number() }))
    }

    fn winners(&self) -> CatalogueResult<Value> {
        let points = require_field("points", self.points.as_ref())?;
        check_range("points (their number)", points.len(), 1, 5)?;
        for (seat, &points) in points.iter().enumerate() {
            check_range(format!("points[{seat}]"), points, 0, MAX_CRYSTALS_OR_POINTS)?;
        }
        let maximum = points.iter().max();
        let winners: Vec<usize> = (0..points.len()).filter(|&seat| points.get(seat) == maximum).collect();
        Ok(json!({ "winners": winners, "shared": winners.len() > 1 }))
    }
}

/// Returns the seat on top of a stack. The stack must have every seat once.
pub(super) fn top_of(stack: &[u8], seats: u8) -> CatalogueResult<Seat> {
    let mut sorted = stack.to_vec();
    sorted.sort_unstable();
    match stack.last() {
        Some(&top) if sorted.into_iter().eq(0..seats) => Ok(Seat::new(top)),
        Some(_) | None => refuse("initial_stack", format!("not every seat below {seats} once")),
    }
}

fn difference(after: u16, before: u16) -> Value {
    json!(i32::from(after) - i32::from(before))
}

impl Position {
    fn board(&self) -> &Board {
        &self.state.boards[self.seat]
    }

    /// Returns the rows of the seat's legal actions with this verb.
    fn rows(&self, verb: &str) -> Vec<u8> {
        let actions = self.game.info().actions.all();
        let legal = self.game.legal(&self.state, self.seat);
        let legal = legal.iter().map(|index| &actions[usize::from(index)]);
        legal.filter(|action| action.verb == verb).map(|action| action.row).collect()
    }

    /// Applies an action if it is legal. Returns whether it was.
    fn choose(&mut self, action: Action) -> bool {
        let positions = self.game.intermediate_states(&self.state, self.seat, action, &mut no_chance());
        self.state = positions.first().copied().unwrap_or(self.state);
        !positions.is_empty()
    }

    /// Activates a cell at the first stop of its row or column where this is legal. Returns whether there is one.
    fn activate_cell(&mut self, cell: u8) -> bool {
        (1..16).filter(|stop| stop % 4 != 0).any(|stop| {
            self.state.stop = stop;
            self.choose(Action::ActivateCell { cell })
        })
    }

    /// Returns whether a Spore was bought that may be put on a cell.
    fn can_put_spore(&self, target: Cell) -> bool {
        self.game.is_legal(&self.state, self.seat, Action::PutSpore { cell: target.get() })
    }

    /// Starts step 2: the seat must place or discard the card in its hand.
    fn begin_main(&mut self) -> CatalogueResult {
        let place = format!("state.players[{}].hand", self.seat.number());
        require_field(&place, self.state.kept[self.seat])?;
        (self.state.phase, self.state.welcomed) = (Phase::UseCard, EntitySet::EMPTY);
        Ok(())
    }

    /// Returns the Entities with a complete line anywhere on the board.
    fn aligned(&self) -> Value {
        // The cells of the diagonal cover every row and every column.
        let called = [0, 4, 8].map(|cell| self.game.entities_called_by(self.board(), cell));
        json!({ "entities": self.keys.sorted_keys(called.into_iter().fold(EntitySet::EMPTY, EntitySet::union)) })
    }

    fn water_of(&self, seat: Seat) -> u8 {
        self.game.water(&self.state.boards[seat])
    }

    /// Returns the Water Sources of all seats, and the points for them in a scoring.
    fn water(&self) -> Value {
        let counts: Vec<_> = Seat::all(self.seats).map(|seat| self.water_of(seat)).collect();
        let points = Seat::all(self.seats).map(|seat| self.game.water_points(&self.state, seat));
        json!({ "counts": counts, "points": points.collect::<Vec<_>>() })
    }

    fn counts(&self) -> Value {
        let count = |per| self.game.count(self.board(), per);
        json!({
            "flying": count(Per::Flying),
            "land": count(Per::Land),
            "marine": count(Per::Marine),
            "spore": count(Per::Spore),
            "water": count(Per::Water),
        })
    }
}

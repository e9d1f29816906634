//! Scoring cases: single questions about boards, answered by the rules that play the game.

use boardwire_kernel::record::LineError;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::lines::{self, wrong};
use super::position::{Position, Shared, difference, first_activation, table};
use super::rows::PlayerRow;
use crate::rauha::action::Action;
use crate::rauha::legal::can_activate;
use crate::rauha::state::{Activation, Source};
use crate::rauha::turn::satellite;

type Answer = Result<Value, LineError>;

/// A case as it is written; which fields it needs depends on `op`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    op: String,
    player: Option<i64>,
    cell: Option<i64>,
    spore_target: Option<i64>,
    entity: Option<String>,
    action: Option<String>,
    step: Option<i64>,
    players: Option<i64>,
    initial_stack: Option<Vec<i64>>,
    events: Option<Vec<[i64; 2]>>,
    points: Option<Vec<i64>>,
    state: Option<StateRow>,
    #[serde(rename = "expect")]
    _expect: Option<IgnoredAny>,
    #[serde(rename = "source")]
    _source: Option<IgnoredAny>,
    #[serde(rename = "tags")]
    _tags: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StateRow {
    players: Vec<PlayerRow>,
}

/// Answers one case.
pub(super) fn answer(catalogue: &Shared, line: &str) -> Result<String, LineError> {
    let case: Case = serde_json::from_str(line)?;
    let expect = case.answer(catalogue)?;
    Ok(json!({ "id": case.id, "expect": expect }).to_string())
}

/// The value of a field the operation needs.
fn need<T>(field: &str, value: Option<T>) -> Result<T, LineError> {
    value.map_or_else(|| wrong(field, "missing"), Ok)
}

impl Case {
    fn answer(&self, catalogue: &Shared) -> Answer {
        match self.op.as_str() {
            "activate_cell" => self.activate_cell(&mut self.position(catalogue)?),
            "activate_entity" => self.activate_entity(&mut self.position(catalogue)?),
            "aligned" => Ok(self.position(catalogue)?.aligned()),
            "place" => self.place(&mut self.position(catalogue)?),
            "main_action" => self.main_action(&mut self.position(catalogue)?),
            "water" => Ok(self.table(catalogue)?.water()),
            "activatable" => self.activatable(&mut self.position(catalogue)?),
            "leader" => self.leader(catalogue),
            "count" => Ok(self.position(catalogue)?.counts()),
            "draft_satellite" => self.draft_satellite(catalogue),
            "spore_target" => self.spore_target(&self.position(catalogue)?),
            "final" => self.winners(),
            other => wrong("op", format_args!("there is no operation `{other}`")),
        }
    }

    fn cell(&self) -> Result<u8, LineError> {
        lines::cell("cell", need("cell", self.cell)?)
    }

    fn target(&self) -> Result<u8, LineError> {
        lines::cell("spore_target", need("spore_target", self.spore_target)?)
    }

    /// The boards, with seat 0 acting.
    fn table(&self, catalogue: &Shared) -> Result<Position, LineError> {
        let rows = &need("state", self.state.as_ref())?.players;
        Ok(Position::new(&lines::boards("state.players", rows, &catalogue.value)?, catalogue))
    }

    /// The boards, with `player` acting, its card in hand and its Entities welcomed in this turn.
    fn position(&self, catalogue: &Shared) -> Result<Position, LineError> {
        let mut position = self.table(catalogue)?;
        let rows = &self.state.as_ref().expect("table has found it").players;
        let seats = u8::try_from(rows.len()).expect("at most five boards");
        let seat = lines::seat("player", need("player", self.player)?, seats)?;
        (position.seat, position.state.first) = (seat, seat);
        let row = &rows[seat.index()];
        let place = format!("state.players[{}]", seat.number());
        if let Some(hand) = row.hand {
            position.state.kept[seat] = Some(lines::card(&format!("{place}.hand"), hand)?);
        }
        position.state.welcomed = row.welcomed(&place, position.board(), &catalogue.value)?;
        Ok(position)
    }

    fn activate_cell(&self, position: &mut Position) -> Answer {
        let cell = self.cell()?;
        let ability = position.ability(cell);
        if !can_activate(ability, position.board()) {
            return Ok(json!({ "activatable": false }));
        }
        if !ability.needs_cell {
            return Ok(position.activate(Action::ActivateCell { cell }, None));
        }
        let target = self.target()?;
        if position.board().spores.contains(target) {
            return Ok(json!({ "activatable": false }));
        }
        Ok(position.activate(Action::ActivateCell { cell }, Some(target)))
    }

    fn activate_entity(&self, position: &mut Position) -> Answer {
        let key = need("entity", self.entity.as_ref())?;
        let entity = lines::entity("entity", key, &position.game.catalogue.value)?;
        let held = position.board().entities.contains(entity);
        let ability = position.game.ability_of(entity);
        if !held || !can_activate(ability, position.board()) {
            return Ok(json!({ "activatable": false }));
        }
        let target = if ability.needs_cell { Some(self.target()?) } else { None };
        Ok(position.activate(Action::ActivateEntity { entity }, target))
    }

    fn place(&self, position: &mut Position) -> Answer {
        let cell = self.cell()?;
        let before = *position.board();
        let legal = position.game.cells_for(&before, position.hand()?);
        let mut answer = json!({
            "legal_cells": lines::cells(legal),
            "spore_cells": lines::cells(before.cells_without_spore()),
            "legal": legal.contains(cell),
        });
        if !legal.contains(cell) {
            return Ok(answer);
        }
        position.choose(Action::Place { cell });
        let (after, welcomed) = (position.board(), position.state.welcomed);
        let boards = position.seats().map(|seat| &position.state.boards[seat]);
        let entities: Vec<_> = boards.map(|board| position.keys(board.entities)).collect();
        let new = Activation { entities: welcomed, ..Activation::default() };
        answer["crystals_delta"] = difference(after.crystals, before.crystals);
        answer["taken"] = json!(position.keys(welcomed));
        answer["water_after"] = json!(position.game.water(after));
        answer["entities_after"] = json!(entities);
        answer["entities_activatable"] = json!(position.keys(position.game.possible(after, new).entities));
        Ok(answer)
    }

    fn main_action(&self, position: &mut Position) -> Answer {
        let hand = position.hand()?;
        let (legal, action) = match need("action", self.action.as_deref())? {
            "place" => {
                let cell = self.cell()?;
                let cells = position.game.cells_for(position.board(), hand);
                (cells.contains(cell), Action::Place { cell })
            }
            "crystals" => (true, Action::TakeCrystals),
            "spore" => {
                let cell = self.cell()?;
                (!position.board().spores.contains(cell), Action::TakeSpore { cell })
            }
            other => {
                return wrong("action", format_args!("`{other}` is none of place, crystals, spore"));
            }
        };
        if !legal {
            return Ok(json!({ "legal": false }));
        }
        position.choose(action);
        let board = position.board();
        Ok(json!({
            "legal": true,
            "spores_after": lines::spores(board),
            "crystals_after": board.crystals,
            "cells_after": board.cells.map(lines::written),
        }))
    }

    fn activatable(&self, position: &mut Position) -> Answer {
        position.state.stop = lines::stop("step", need("step", self.step)?)?;
        let possible = position.game.activatable(&position.state);
        Ok(json!({ "cells": lines::cells(possible.cells), "entities": position.keys(possible.entities) }))
    }

    fn leader(&self, catalogue: &Shared) -> Answer {
        let seats = lines::seats(need("players", self.players)?)?;
        let mut state = first_activation(&table(catalogue, seats));
        state.leader = lines::top_of(need("initial_stack", self.initial_stack.as_ref())?, seats)?;
        for (index, &[seat, gain]) in need("events", self.events.as_ref())?.iter().enumerate() {
            let place = format!("events[{index}]");
            let seat = lines::seat(&place, seat, seats)?;
            let gain = lines::amount(&place, gain)?;
            if state.boards[seat].points().checked_add(gain).is_none() {
                return wrong(&place, "the points of a seat exceed 65535");
            }
            state.gain(seat, Source::Turns, gain);
        }
        Ok(json!({ "first": state.leader.number() }))
    }

    fn draft_satellite(&self, catalogue: &Shared) -> Answer {
        let seats = lines::seats(need("players", self.players)?)?;
        let seat = lines::seat("player", need("player", self.player)?, seats)?;
        let stop = lines::stop("step", need("step", self.step)?)?;
        match catalogue.value.track[usize::from(stop - 1)].side {
            Some(side) => Ok(json!({ "satellite": satellite(seat, side, seats).number() })),
            None => wrong("step", "nothing is drafted at a corner"),
        }
    }

    fn spore_target(&self, position: &Position) -> Answer {
        let (ability, target) = (position.ability(self.cell()?), self.target()?);
        let buys = ability.needs_cell && can_activate(ability, position.board());
        Ok(json!({ "legal": buys && !position.board().spores.contains(target) }))
    }

    fn winners(&self) -> Answer {
        let points = need("points", self.points.as_ref())?;
        if !(1..=5).contains(&points.len()) {
            return wrong("points", format_args!("{} seats, not 1 to 5", points.len()));
        }
        for (seat, &points) in points.iter().enumerate() {
            lines::amount(&format!("points[{seat}]"), points)?;
        }
        let most = points.iter().max();
        let winners: Vec<usize> = (0..points.len()).filter(|&seat| points.get(seat) == most).collect();
        Ok(json!({ "winners": winners, "shared": winners.len() > 1 }))
    }
}

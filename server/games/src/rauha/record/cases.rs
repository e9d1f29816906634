//! Scoring cases: single questions about boards, answered by the rules that play the game.

use boardwire_kernel::Seat;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::lines::{self, wrong};
use super::position::{Position, difference, empty};
use super::rows::PlayerRow;
use crate::LineError;
use crate::rauha::Catalogue;
use crate::rauha::action::Action;
use crate::rauha::pieces::Effect;
use crate::rauha::rules::Rules;
use crate::rauha::scoring::can;
use crate::rauha::state::Source;
use crate::rauha::turn::free;

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
pub(super) fn answer(catalogue: &Catalogue, line: &str) -> Result<String, LineError> {
    let case: Case = serde_json::from_str(line)?;
    let expect = case.answer(catalogue)?;
    Ok(json!({ "id": case.id, "expect": expect }).to_string())
}

/// The value of a field the operation needs.
fn need<T>(field: &str, value: Option<T>) -> Result<T, LineError> {
    value.map_or_else(|| wrong(field, "missing"), Ok)
}

impl Case {
    fn answer(&self, catalogue: &Catalogue) -> Answer {
        match self.op.as_str() {
            "activate_cell" => self.activate_cell(&mut self.position(catalogue)?),
            "activate_entity" => self.activate_entity(&mut self.position(catalogue)?),
            "aligned" => Ok(self.position(catalogue)?.aligned()),
            "place" => self.place(&mut self.position(catalogue)?),
            "main_action" => self.main_action(&mut self.position(catalogue)?),
            "water" => Ok(self.table(catalogue)?.water()),
            "activatable" => self.activatable(&mut self.position(catalogue)?),
            "leader" => self.leader(),
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
    fn table<'a>(&self, catalogue: &'a Catalogue) -> Result<Position<'a>, LineError> {
        let rows = match &self.state {
            Some(state) => &state.players,
            None => return wrong("state", "missing"),
        };
        let boards = lines::boards("state.players", rows, catalogue)?;
        let rules = Rules::new(catalogue, u8::try_from(boards.len()).unwrap_or(0), 0);
        let mut state = empty();
        state.boards[..boards.len()].copy_from_slice(&boards);
        Ok(Position { catalogue, rules, state, seat: Seat::new(0) })
    }

    /// The boards, with `player` acting, its card in hand and its Entities welcomed in this turn.
    fn position<'a>(&self, catalogue: &'a Catalogue) -> Result<Position<'a>, LineError> {
        let mut position = self.table(catalogue)?;
        let seat = lines::number("player", need("player", self.player)?, position.rules.seats - 1)?;
        position.seat = Seat::new(seat);
        position.state.first = seat;
        let row = &self.state.as_ref().expect("table has found it").players[usize::from(seat)];
        let place = format!("state.players[{seat}]");
        if let Some(hand) = row.hand {
            position.state.kept[usize::from(seat)] = lines::card(&format!("{place}.hand"), hand)?;
        }
        if let Some(fresh) = &row.fresh {
            let place = format!("{place}.fresh");
            position.state.fresh = lines::entities(&place, fresh, catalogue)?;
            if position.state.fresh & !position.board().entities != 0 {
                return wrong(&place, "an Entity that is not held");
            }
        }
        Ok(position)
    }

    fn activate_cell(&self, position: &mut Position) -> Answer {
        let cell = self.cell()?;
        let effect = position.effect(cell);
        if !can(effect, position.board()) {
            return Ok(json!({ "activatable": false }));
        }
        if !matches!(effect, Effect::BuySpore { .. }) {
            return Ok(position.activate(Action::ActivateCell { cell }, None));
        }
        let target = self.target()?;
        if free(position.board()) >> target & 1 == 0 {
            return Ok(json!({ "activatable": false }));
        }
        Ok(position.activate(Action::ActivateCell { cell }, Some(target)))
    }

    fn activate_entity(&self, position: &mut Position) -> Answer {
        let key = need("entity", self.entity.as_ref())?;
        let entity = lines::entity("entity", key, position.catalogue)?;
        let held = position.board().entities >> entity & 1 == 1;
        let effect = position.rules.entities[usize::from(entity)];
        if !held || !can(effect, position.board()) {
            return Ok(json!({ "activatable": false }));
        }
        let target = match effect {
            Effect::BuySpore { .. } => Some(self.target()?),
            _ => None,
        };
        Ok(position.activate(Action::ActivateEntity { entity }, target))
    }

    fn place(&self, position: &mut Position) -> Answer {
        let cell = self.cell()?;
        let hand = position.hand()?;
        let before = *position.board();
        let legal = position.rules.fitting(&before, hand);
        let mut answer = json!({
            "legal_cells": lines::cells(legal),
            "spore_cells": lines::cells(free(&before)),
            "legal": legal >> cell & 1 == 1,
        });
        if legal >> cell & 1 == 0 {
            return Ok(answer);
        }
        position.choose(Action::Place { cell });
        let after = position.board();
        let fresh = position.state.fresh;
        let seats = &position.state.boards[..usize::from(position.rules.seats)];
        let entities: Vec<_> = seats.iter().map(|board| position.keys(board.entities)).collect();
        answer["crystals_delta"] = difference(after.crystals, before.crystals);
        answer["taken"] = json!(position.keys(fresh));
        answer["water_after"] = json!(position.rules.sources(after));
        answer["entities_after"] = json!(entities);
        answer["entities_activatable"] = json!(position.keys(position.rules.possible(after, 0, fresh).1));
        Ok(answer)
    }

    fn main_action(&self, position: &mut Position) -> Answer {
        let hand = position.hand()?;
        let (legal, action) = match need("action", self.action.as_deref())? {
            "place" => {
                let cell = self.cell()?;
                let fits = position.rules.fitting(position.board(), hand);
                (fits >> cell & 1 == 1, Action::Place { cell })
            }
            "crystals" => (true, Action::TakeCrystals),
            "spore" => {
                let cell = self.cell()?;
                (free(position.board()) >> cell & 1 == 1, Action::TakeSpore { cell })
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
        if position.state.is_scoring() {
            position.state.fresh = 0;
        }
        let (cells, entities) = position.rules.activatable(&position.state);
        Ok(json!({ "cells": lines::cells(cells), "entities": position.keys(entities) }))
    }

    fn leader(&self) -> Answer {
        let seats = self.seats()?;
        let stack = need("initial_stack", self.initial_stack.as_ref())?;
        let top = top_of(stack, seats)?;
        let mut state = empty();
        state.leader = top;
        for (index, &[seat, gain]) in need("events", self.events.as_ref())?.iter().enumerate() {
            let place = format!("events[{index}]");
            let seat = Seat::new(lines::number(&place, seat, seats - 1)?);
            let gain = lines::amount(&place, gain)?;
            let total = state.boards[seat.index()].points().checked_add(gain);
            if total.is_none() {
                return wrong(&place, "the points of a seat exceed 65535");
            }
            state.gain(seat, Source::Turns, gain);
        }
        Ok(json!({ "first": state.leader }))
    }

    fn draft_satellite(&self, catalogue: &Catalogue) -> Answer {
        let seats = self.seats()?;
        let seat = Seat::new(lines::number("player", need("player", self.player)?, seats - 1)?);
        let stop = lines::stop("step", need("step", self.step)?)?;
        let stop = catalogue.track[usize::from(stop - 1)];
        if stop.is_scoring() {
            return wrong("step", "nothing is drafted at a corner");
        }
        Ok(json!({ "satellite": Rules::satellite(seat, stop.side, seats) }))
    }

    fn spore_target(&self, position: &Position) -> Answer {
        let (effect, target) = (position.effect(self.cell()?), self.target()?);
        let buys = matches!(effect, Effect::BuySpore { .. }) && can(effect, position.board());
        Ok(json!({ "legal": buys && free(position.board()) >> target & 1 == 1 }))
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

    fn seats(&self) -> Result<u8, LineError> {
        match need("players", self.players)? {
            seats @ 2..=5 => Ok(u8::try_from(seats).unwrap_or(0)),
            other => wrong("players", format_args!("{other} is not from 2 to 5")),
        }
    }
}

/// The seat on top of a stack in which every seat is once.
pub(super) fn top_of(stack: &[i64], seats: u8) -> Result<u8, LineError> {
    let mut sorted = stack.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..i64::from(seats)) {
        return wrong("initial_stack", format_args!("not every seat below {seats} once"));
    }
    let top = stack.last().copied().unwrap_or(0);
    Ok(u8::try_from(top).unwrap_or(0))
}

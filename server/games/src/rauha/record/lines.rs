//! What scoring cases and recorded games share: boards and ids as they are written in JSON.
//!
//! There a card has its catalogue id 0..=79, a printed cell 100..=108 (side A) or 110..=118 (side B).

use std::collections::BTreeSet;

use super::rows::PlayerRow;
use crate::LineError;
use crate::rauha::Catalogue;
use crate::rauha::pieces::{CARDS, CELLS, STOPS, members, printed};
use crate::rauha::state::Board;

/// Crystals and points in a line are no more than this.
const MOST: i64 = 9999;

/// Says what is wrong at a place of the line.
pub(super) fn wrong<T>(place: &str, problem: impl std::fmt::Display) -> Result<T, LineError> {
    Err(LineError(format!("{place}: {problem}")))
}

/// A number from 0 to `most`.
pub(super) fn number(place: &str, value: i64, most: u8) -> Result<u8, LineError> {
    match u8::try_from(value) {
        Ok(number) if number <= most => Ok(number),
        _ => wrong(place, format_args!("{value} is not from 0 to {most}")),
    }
}

/// A cell.
pub(super) fn cell(place: &str, value: i64) -> Result<u8, LineError> {
    number(place, value, CELLS - 1)
}

/// A stop, 1 to 16.
pub(super) fn stop(place: &str, value: i64) -> Result<u8, LineError> {
    match number(place, value, STOPS)? {
        0 => wrong(place, "stops are numbered from 1"),
        stop => Ok(stop),
    }
}

/// Crystals or points.
pub(super) fn amount(place: &str, value: i64) -> Result<u16, LineError> {
    match u16::try_from(value) {
        Ok(amount) if value <= MOST => Ok(amount),
        _ => wrong(place, format_args!("{value} is not from 0 to {MOST}")),
    }
}

/// The id of a card.
pub(super) fn card(place: &str, value: i64) -> Result<u8, LineError> {
    match number(place, value, CARDS - 1) {
        Ok(card) => Ok(card + 1),
        Err(_) => wrong(place, format_args!("there is no card {value}")),
    }
}

/// The id of the biome visible on a cell.
fn biome(place: &str, value: i64, at: u8) -> Result<u8, LineError> {
    let sides = [(0, value - 100), (1, value - 110)];
    match sides.into_iter().find(|(_, cell)| (0..i64::from(CELLS)).contains(cell)) {
        Some((side, cell)) if cell == i64::from(at) => Ok(printed(side, at)),
        Some((_, cell)) => wrong(place, format_args!("{value} is printed on cell {cell}")),
        None => match card(place, value) {
            Ok(card) => Ok(card),
            Err(_) => wrong(place, format_args!("there is no biome {value}")),
        },
    }
}

/// The number by which cases and records call a biome.
pub(super) fn written(id: u8) -> u8 {
    match id {
        0..=CARDS => id.saturating_sub(1),
        _ if id <= CARDS + CELLS => 100 + (id - CARDS - 1),
        _ => 110 + (id - CARDS - CELLS - 1),
    }
}

/// The number of the Entity with this key.
pub(super) fn entity(place: &str, key: &str, catalogue: &Catalogue) -> Result<u8, LineError> {
    (0..)
        .zip(&catalogue.entities)
        .find(|(_, entity)| entity.key == key)
        .map_or_else(|| wrong(place, format_args!("there is no Entity `{key}`")), |(number, _)| Ok(number))
}

/// Different Entities, as a mask.
pub(super) fn entities(place: &str, keys: &[String], catalogue: &Catalogue) -> Result<u8, LineError> {
    let mut mask = 0;
    for (index, key) in keys.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let bit = 1 << entity(&place, key, catalogue)?;
        if mask & bit != 0 {
            return wrong(&place, format_args!("`{key}` stands there twice"));
        }
        mask |= bit;
    }
    Ok(mask)
}

/// The keys of some Entities, in alphabetical order.
pub(super) fn keys(entities: u8, catalogue: &Catalogue) -> Vec<String> {
    let key = |entity: u8| catalogue.entities[usize::from(entity)].key.clone();
    let keys: BTreeSet<String> = members(entities.into()).map(key).collect();
    keys.into_iter().collect()
}

/// Cells, ascending.
pub(super) fn cells(mask: u16) -> Vec<u8> {
    members(mask).collect()
}

/// A board's Spores as nine numbers.
pub(super) fn spores(board: &Board) -> Vec<u8> {
    (0..CELLS).map(|cell| u8::from(board.spores >> cell & 1 == 1)).collect()
}

impl PlayerRow {
    /// The board, checked by itself.
    pub(super) fn board(&self, place: &str, catalogue: &Catalogue) -> Result<Board, LineError> {
        let nine = |field: &str, given: usize| {
            if given == usize::from(CELLS) {
                Ok(())
            } else {
                wrong(&format!("{place}.{field}"), format_args!("{given} values, not {CELLS}"))
            }
        };
        nine("cells", self.cells.len())?;
        nine("spores", self.spores.len())?;
        let mut board = Board {
            crystals: amount(&format!("{place}.crystals"), self.crystals)?,
            gained: [amount(&format!("{place}.points"), self.points)?, 0, 0, 0],
            entities: entities(&format!("{place}.entities"), &self.entities, catalogue)?,
            ..Board::default()
        };
        for at in 0..CELLS {
            let index = usize::from(at);
            board.cells[index] = biome(&format!("{place}.cells[{at}]"), self.cells[index], at)?;
            let spore = number(&format!("{place}.spores[{at}]"), self.spores[index], 1)?;
            board.spores |= u16::from(spore) << at;
        }
        Ok(board)
    }
}

/// The boards of all rows: no card and no Entity twice, one side for all.
pub(super) fn boards(
    place: &str,
    rows: &[PlayerRow],
    catalogue: &Catalogue,
) -> Result<Vec<Board>, LineError> {
    if !(1..=5).contains(&rows.len()) {
        return wrong(place, format_args!("{} seats, not 1 to 5", rows.len()));
    }
    let mut seen = BTreeSet::new();
    let (mut held, mut sides) = (0, BTreeSet::new());
    let mut boards = Vec::with_capacity(rows.len());
    for (seat, row) in rows.iter().enumerate() {
        let place = format!("{place}[{seat}]");
        let board = row.board(&place, catalogue)?;
        for (at, id) in board.cells.into_iter().enumerate() {
            if id > CARDS {
                sides.insert((id - CARDS - 1) / CELLS);
            } else if !seen.insert(id) {
                return wrong(
                    &format!("{place}.cells[{at}]"),
                    format_args!("card {} is there twice", written(id)),
                );
            }
        }
        if sides.len() > 1 {
            return wrong(&format!("{place}.cells"), "both sides of the boards in one game");
        }
        if held & board.entities != 0 {
            return wrong(&format!("{place}.entities"), "an Entity has two holders");
        }
        held |= board.entities;
        if let Some(hand) = row.hand {
            let place = format!("{place}.hand");
            if !seen.insert(card(&place, hand)?) {
                return wrong(&place, format_args!("card {hand} is there twice"));
            }
        }
        boards.push(board);
    }
    Ok(boards)
}

//! What scoring cases and recorded games share: boards and ids as they are written in JSON.
//!
//! There a card has its catalogue id 0..=79, a printed cell 100..=108 (side A) or 110..=118 (side B).

use std::collections::BTreeSet;

use boardwire_kernel::Seat;
use boardwire_kernel::record::LineError;

use super::rows::PlayerRow;
use crate::rauha::Catalogue;
use crate::rauha::catalogue::{MOST_TOTAL, STOPS, printed};
use crate::rauha::state::{BiomeId, Board, CARDS, CELLS, CellSet, EntityId, EntitySet};

/// Says what is wrong at a place of the line.
pub(super) fn wrong<T>(place: &str, problem: impl std::fmt::Display) -> Result<T, LineError> {
    Err(LineError(format!("{place}: {problem}")))
}

/// A number from 0 to `most`.
pub(super) fn number(place: &str, value: i64, most: u8) -> Result<u8, LineError> {
    match u8::try_from(value) {
        Ok(number) if number <= most => Ok(number),
        Ok(_) | Err(_) => wrong(place, format_args!("{value} is not from 0 to {most}")),
    }
}

/// A seat of a table of `seats`.
pub(super) fn seat(place: &str, value: i64, seats: u8) -> Result<Seat, LineError> {
    number(place, value, seats - 1).map(Seat::new)
}

/// A number of seats.
pub(super) fn seats(value: i64) -> Result<u8, LineError> {
    let seats = u8::try_from(value).ok().filter(|seats| (2..=5).contains(seats));
    seats.map_or_else(|| wrong("players", format_args!("{value} is not from 2 to 5")), Ok)
}

/// The seat on top of a stack in which every seat is once.
pub(super) fn top_of(stack: &[i64], seats: u8) -> Result<Seat, LineError> {
    let mut sorted = stack.to_vec();
    sorted.sort_unstable();
    match stack.last() {
        Some(&top) if sorted.into_iter().eq(0..i64::from(seats)) => seat("initial_stack", top, seats),
        Some(_) | None => wrong("initial_stack", format_args!("not every seat below {seats} once")),
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
        Ok(amount) if amount <= MOST_TOTAL => Ok(amount),
        Ok(_) | Err(_) => wrong(place, format_args!("{value} is not from 0 to {MOST_TOTAL}")),
    }
}

/// A card.
pub(super) fn card(place: &str, value: i64) -> Result<BiomeId, LineError> {
    match number(place, value, CARDS - 1) {
        Ok(card) => Ok(BiomeId::new(card + 1)),
        Err(_) => wrong(place, format_args!("there is no card {value}")),
    }
}

/// The biome visible on a cell.
fn biome(place: &str, value: i64, at: u8) -> Result<BiomeId, LineError> {
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
pub(super) fn written(id: BiomeId) -> u8 {
    match id.get() {
        card @ ..=CARDS => card - 1,
        cell if cell <= CARDS + CELLS => 100 + (cell - CARDS - 1),
        cell => 110 + (cell - CARDS - CELLS - 1),
    }
}

/// The Entity with this key.
pub(super) fn entity(place: &str, key: &str, catalogue: &Catalogue) -> Result<EntityId, LineError> {
    match (1..).zip(&catalogue.entities).find(|(_, entity)| entity.key == key) {
        Some((number, _)) => Ok(EntityId::new(number)),
        None => wrong(place, format_args!("there is no Entity `{key}`")),
    }
}

/// Different Entities.
pub(super) fn entities(place: &str, keys: &[String], catalogue: &Catalogue) -> Result<EntitySet, LineError> {
    let mut set = EntitySet::EMPTY;
    for (index, key) in keys.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let entity = entity(&place, key, catalogue)?;
        if set.contains(entity) {
            return wrong(&place, format_args!("`{key}` stands there twice"));
        }
        set.insert(entity);
    }
    Ok(set)
}

/// The keys of some Entities, in alphabetical order.
pub(super) fn keys(entities: EntitySet, catalogue: &Catalogue) -> Vec<String> {
    let key = |entity| catalogue.entity(EntityId::new(entity)).key.clone();
    let keys: BTreeSet<String> = entities.iter().map(key).collect();
    keys.into_iter().collect()
}

/// Cells, ascending.
pub(super) fn cells(cells: CellSet) -> Vec<u8> {
    cells.iter().collect()
}

/// A board's Spores as nine numbers.
pub(super) fn spores(board: &Board) -> Vec<u8> {
    (0..CELLS).map(|cell| u8::from(board.spores.contains(cell))).collect()
}

impl PlayerRow {
    /// The board, checked by itself.
    fn board(&self, place: &str, catalogue: &Catalogue) -> Result<Board, LineError> {
        let nine = |field: &str, given: usize| match given {
            9 => Ok(()),
            given => wrong(&format!("{place}.{field}"), format_args!("{given} values, not {CELLS}")),
        };
        nine("cells", self.cells.len())?;
        nine("spores", self.spores.len())?;
        let crystals = amount(&format!("{place}.crystals"), self.crystals)?;
        let mut board = Board::new([printed(0, 0); CELLS as usize], crystals);
        board.gained[0] = amount(&format!("{place}.points"), self.points)?;
        board.entities = entities(&format!("{place}.entities"), &self.entities, catalogue)?;
        for at in 0..CELLS {
            let index = usize::from(at);
            board.cells[index] = biome(&format!("{place}.cells[{at}]"), self.cells[index], at)?;
            if number(&format!("{place}.spores[{at}]"), self.spores[index], 1)? == 1 {
                board.spores.insert(at);
            }
        }
        Ok(board)
    }

    /// The Entities welcomed in this turn, which the board has.
    pub(super) fn welcomed(
        &self,
        place: &str,
        board: &Board,
        catalogue: &Catalogue,
    ) -> Result<EntitySet, LineError> {
        let place = format!("{place}.fresh");
        let welcomed = entities(&place, self.fresh.as_deref().unwrap_or_default(), catalogue)?;
        if welcomed.difference(board.entities).is_empty() {
            Ok(welcomed)
        } else {
            wrong(&place, "an Entity that is not held")
        }
    }
}

/// The boards of all rows: no card and no Entity twice, one side for all, what was welcomed is held.
pub(super) fn boards(
    place: &str,
    rows: &[PlayerRow],
    catalogue: &Catalogue,
) -> Result<Vec<Board>, LineError> {
    if !(1..=5).contains(&rows.len()) {
        return wrong(place, format_args!("{} seats, not 1 to 5", rows.len()));
    }
    let (mut seen, mut sides, mut held) = (BTreeSet::new(), BTreeSet::new(), EntitySet::EMPTY);
    let mut boards = Vec::with_capacity(rows.len());
    for (seat, row) in rows.iter().enumerate() {
        let place = format!("{place}[{seat}]");
        let board = row.board(&place, catalogue)?;
        for (at, id) in board.cells.into_iter().enumerate() {
            if !id.is_card() {
                sides.insert(id.get() > CARDS + CELLS);
            } else if !seen.insert(id) {
                let place = format!("{place}.cells[{at}]");
                return wrong(&place, format_args!("card {} is there twice", written(id)));
            }
        }
        if sides.len() > 1 {
            return wrong(&format!("{place}.cells"), "both sides of the boards in one game");
        }
        if !held.intersection(board.entities).is_empty() {
            return wrong(&format!("{place}.entities"), "an Entity has two holders");
        }
        held = held.union(board.entities);
        row.welcomed(&place, &board, catalogue)?;
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

//! What every section of the catalogue is checked with: numbers in range, words known, rows in order.

use boardwire_kernel::CatalogueError;

use crate::rauha::pieces::CELLS;

/// A value that can be, or what is wrong with it and where.
pub(super) type Checked<T> = Result<T, CatalogueError>;

/// Says what is wrong at a place.
pub(super) fn refuse<T>(place: &str, problem: impl Into<String>) -> Checked<T> {
    Err(CatalogueError::new(place, problem))
}

/// The number, when it lies in the range.
pub(super) fn within(place: &str, value: i64, range: std::ops::RangeInclusive<u8>) -> Checked<u8> {
    u8::try_from(value).ok().filter(|number| range.contains(number)).map_or_else(
        || refuse(place, format!("{value} is not a whole number from {} to {}", range.start(), range.end())),
        Ok,
    )
}

/// The position of a word among those known.
pub(super) fn word(place: &str, word: &str, known: &[&str]) -> Checked<u8> {
    match (0..).zip(known).find(|(_, name)| **name == word) {
        Some((index, _)) => Ok(index),
        None => refuse(place, format!("`{word}` is none of {}", known.join(", "))),
    }
}

/// The only value the rules can be played with.
pub(super) fn exactly(place: &str, value: i64, due: i64) -> Checked<()> {
    if value == due { Ok(()) } else { refuse(place, format!("{value}, but the rules need {due}")) }
}

/// A list of the only length the rules can be played with.
pub(super) fn count(place: &str, given: usize, due: u8, what: &str) -> Checked<()> {
    if given == usize::from(due) { Ok(()) } else { refuse(place, format!("{given} {what}, not {due}")) }
}

/// Rows stand in the order of their ids.
pub(super) fn in_order(place: &str, id: i64, index: usize, first: i64) -> Checked<()> {
    let due = first + i64::try_from(index).unwrap_or(0);
    if (first..due).contains(&id) {
        return refuse(place, format!("{id} is the id of row {} already", id - first));
    }
    exactly(place, id, due)
}

/// A list of different cells, as a mask.
pub(super) fn cell_list(place: &str, cells: &[i64]) -> Checked<u16> {
    let mut set = 0;
    for (index, &cell) in cells.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let bit = 1 << within(&place, cell, 0..=CELLS - 1)?;
        if set & bit != 0 {
            return refuse(&place, format!("{cell} stands there twice"));
        }
        set |= bit;
    }
    if set == 0 {
        return refuse(place, "no cell at all");
    }
    Ok(set)
}

//! Checks of a table before the deal.

use crate::{CheckResult, ColumnKind, Field, FieldKind, Game, GameInfo, GameType, Table, ensure};

/// The maximum number of words of the section `How to play`.
const MAX_HOW_TO_PLAY_WORDS: usize = 250;

pub(super) fn actions_round_trip<G: Game>(game: &G) -> CheckResult {
    let actions = &game.info().actions;
    for index in 0..=u8::MAX {
        let label = actions.label(index);
        let Some(action) = game.decode(index) else {
            ensure(label.is_none(), || format!("index {index} has the label {label:?} but no action"))?;
            continue;
        };
        let encoded = game.encode(action);
        ensure(encoded == index, || format!("{action:?} of index {index} has the index {encoded}"))?;
        let parsed = label.and_then(|label| actions.parse(label));
        ensure(parsed == Some(index), || format!("{action:?} of index {index} has the label {label:?}"))?;
    }
    Ok(())
}

pub(super) fn names_stay_within_tables(info: &GameInfo, game_type: &GameType) -> CheckResult {
    ensure(info.id == game_type.id, || format!("a table of {} is called {}", game_type.id, info.id))?;
    ensure(game_type.seats.contains(&info.seats), || format!("{} is not played by {}", info.id, info.seats))?;
    let words = game_type.how_to_play().split_whitespace().count();
    ensure(words <= MAX_HOW_TO_PLAY_WORDS, || format!("How to play has {words} words"))?;
    for field in info.layout.fields.iter().chain(&info.public_layout.fields) {
        let maximum = match &field.kind {
            FieldKind::Id { table } => rows(info, table)?.saturating_sub(1),
            FieldKind::Category { names } => names.len().saturating_sub(1),
            FieldKind::Seat => info.seats.into(),
            FieldKind::Flag => 1,
            FieldKind::Count => field.max.into(),
        };
        ensure(usize::from(field.max) == maximum, || {
            format!("{} has the maximum {}, not {maximum}", field.name, field.max)
        })?;
        ensure(!field.doc.is_empty(), || format!("{} has no sentence for people", field.name))?;
        ensure((u16::from(field.max > 0)..=field.max).contains(&field.usual_max), || {
            format!("{} is usually at most {}, and never above {}", field.name, field.usual_max, field.max)
        })?;
        axes_keep_to_their_tables(info, field)?;
    }
    for action in info.actions.all() {
        let rows = action.table.map(|table| rows(info, table)).transpose()?;
        let is_within = rows.is_none_or(|rows| (1..rows).contains(&usize::from(action.row)));
        ensure(is_within, || format!("{action:?} names a row that its table does not have"))?;
    }
    info.tables.iter().try_for_each(|table| columns_keep_to_their_kinds(info, table))
}

fn axes_keep_to_their_tables(info: &GameInfo, field: &Field) -> CheckResult {
    for axis in &field.axes {
        let Some(table) = axis.table else { continue };
        ensure(usize::from(axis.size) < rows(info, table)?, || {
            format!("{} counts {} rows of {table}, which has fewer", field.name, axis.size)
        })?;
    }
    Ok(())
}

fn rows(info: &GameInfo, table: &str) -> Result<usize, String> {
    let found = info.tables.iter().find(|known| known.name == table);
    found.map(|table| table.rows.len()).ok_or_else(|| format!("there is no table {table}"))
}

fn columns_keep_to_their_kinds(info: &GameInfo, table: &Table) -> CheckResult {
    let is_none = |row: &Vec<i16>| row.iter().all(|&value| value == 0);
    ensure(table.rows.first().is_some_and(is_none), || format!("row 0 of {} is not all zero", table.name))?;
    let is_full = |row: &Vec<i16>| row.len() == table.columns.len();
    ensure(table.rows.iter().all(is_full), || format!("a row of {} has not every column", table.name))?;
    for (at, column) in table.columns.iter().enumerate() {
        let maximum = match &column.kind {
            ColumnKind::Id { table } => rows(info, table)?.saturating_sub(1),
            ColumnKind::Category { names } => names.len().saturating_sub(1),
            ColumnKind::Flag => 1,
            ColumnKind::Count => continue,
        };
        let is_within = |row: &Vec<i16>| usize::try_from(row[at]).is_ok_and(|value| value <= maximum);
        ensure(table.rows.iter().all(is_within), || {
            format!("{}.{} exceeds {maximum}", table.name, column.name)
        })?;
    }
    Ok(())
}

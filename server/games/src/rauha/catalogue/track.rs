//! The frame of the game: packs, the track of the Avatar, Water Sources.

use boardwire_kernel::catalogue::{Checked, exactly, refuse, require};

use super::pieces::{LINES, Side, Stop};
use super::rows::{Deal, Line, StopKind, StopRow, WaterScoring};
use super::{AGE, STOPS, cell_set};
use crate::rauha::state::CellSet;

/// The cards dealt, by Age and number of seats.
pub(super) fn check_deal(deal: &Deal) -> Checked {
    let rounds = [("1", vec![1, 2]), ("2", vec![3, 4])].map(|(age, rounds)| (age.to_owned(), rounds));
    require(deal.rounds_by_age == rounds.into(), "deal.rounds_by_age", || {
        "Age 1 is for rounds 1 and 2, Age 2 for 3 and 4".into()
    })?;
    for seats in 2..=5 {
        let place = format!("deal.by_players.{seats}");
        let Some(dealt) = deal.by_players.get(&seats) else {
            return refuse(place, "missing");
        };
        exactly(format!("{place}.dealt_per_round"), dealt.per_round, 4 * seats)?;
        exactly(format!("{place}.used_per_age"), dealt.used, 8 * seats)?;
        exactly(format!("{place}.left_in_box_per_age"), dealt.left_in_box, AGE - 8 * seats)?;
    }
    exactly("deal.by_players", deal.by_players.len(), 4)
}

/// Points by difference of Water Sources.
pub(super) fn water_points(row: &WaterScoring) -> Checked<[u8; 6]> {
    let points: Vec<u8> = row.points.iter().map(|points| points.get()).collect();
    let Ok(points) = <[u8; 6]>::try_from(points) else {
        return refuse("water_scoring.points", format!("{} values, not 6", row.points.len()));
    };
    exactly("water_scoring.points[0]", points[0], 0)?;
    Ok(points)
}

/// The stops of the Avatar.
pub(super) fn track(rows: &[StopRow]) -> Checked<[Stop; STOPS as usize]> {
    exactly("track", rows.len(), STOPS.into())?;
    let mut track = [Stop { round: 1, turn: 4, side: None, line: CellSet::EMPTY }; STOPS as usize];
    for ((index, row), stop) in (0..).zip(rows).zip(&mut track) {
        let place = format!("track[{index}]");
        (stop.round, stop.turn) = (index / 4 + 1, index % 4 + 1);
        exactly(format!("{place}.step"), row.step, index + 1)?;
        exactly(format!("{place}.round"), row.round, stop.round)?;
        let due = if stop.is_scoring() { StopKind::Scoring } else { StopKind::Turn };
        require(row.kind == due, format!("{place}.kind"), || format!("must be {due:?}").to_lowercase())?;
        if due == StopKind::Turn {
            let (side, line) = turn(&place, row, *stop)?;
            (stop.side, stop.line) = (Some(side), line);
        }
    }
    for (round, stops) in track.chunks(4).enumerate() {
        let place = format!("track[{}].satellite", 4 * round + 2);
        let alternates = stops[0].side == stops[2].side && stops[0].side != stops[1].side;
        require(alternates, place, || {
            "a Satellite is read at turns 1 and 3 by one neighbour, at turn 2 by the other".into()
        })?;
    }
    Ok(track)
}

fn turn(place: &str, row: &StopRow, stop: Stop) -> Checked<(Side, CellSet)> {
    fn due<T>(place: &str, field: &str, value: Option<T>) -> Checked<T> {
        value.map_or_else(|| refuse(format!("{place}.{field}"), "missing"), Ok)
    }
    exactly(format!("{place}.turn"), due(place, "turn", row.turn)?, stop.turn)?;
    exactly(format!("{place}.age"), due(place, "age", row.age)?, stop.round.div_ceil(2))?;
    let side = due(place, "satellite", row.satellite)?;
    let first = match due(place, "line", row.line)? {
        Line::Row => 0,
        Line::Column => 3,
    };
    let line = LINES[first + usize::from(due(place, "index", row.index)?.get())];
    let cells = cell_set(&format!("{place}.cells"), due(place, "cells", row.cells.as_deref())?)?;
    require(cells == line.into_iter().collect(), format!("{place}.cells"), || {
        "not the cells of the line named".into()
    })?;
    Ok((side, cells))
}

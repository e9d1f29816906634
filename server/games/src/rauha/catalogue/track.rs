//! The track of the Avatar and the points for Water Sources.

use boardwire_kernel::catalogue::{CatalogueResult, check_equals, refuse, require};

use super::STOP_COUNT;
use super::pieces::{LINES, Stop};
use super::rows::{Line, StopRow, WaterScoring};
use crate::rauha::state::CellSet;

/// Reads the points by difference of Water Sources.
pub(super) fn water_points(row: &WaterScoring) -> CatalogueResult<[u8; 6]> {
    let points: Vec<u8> = row.points.iter().map(|points| points.get()).collect();
    let Ok(points) = <[u8; 6]>::try_from(points) else {
        return refuse("water_scoring.points", format!("{} values, not 6", row.points.len()));
    };
    check_equals("water_scoring.points[0]", points[0], 0)?;
    Ok(points)
}

/// Reads the stops of the Avatar: three turns and a scoring in each round.
pub(super) fn track(rows: &[StopRow]) -> CatalogueResult<[Stop; STOP_COUNT as usize]> {
    check_equals("track", rows.len(), STOP_COUNT.into())?;
    let mut track = [Stop { round: 1, turn: 4, side: None, line: CellSet::EMPTY }; STOP_COUNT as usize];
    for ((index, row), stop) in (0..).zip(rows).zip(&mut track) {
        (stop.round, stop.turn) = (index / 4 + 1, index % 4 + 1);
        if !stop.is_scoring() {
            let place = format!("track[{index}]");
            stop.side = Some(required_field(&place, "satellite", row.satellite)?);
            let first = match required_field(&place, "line", row.line)? {
                Line::Row => 0,
                Line::Column => 3,
            };
            let line = LINES[first + usize::from(required_field(&place, "index", row.index)?.get())];
            stop.line = line.into_iter().collect();
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

fn required_field<T>(place: &str, field: &str, value: Option<T>) -> CatalogueResult<T> {
    value.map_or_else(|| refuse(format!("{place}.{field}"), "missing"), Ok)
}

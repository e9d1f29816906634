//! The frame of the game: rounds, packs, the track of the Avatar, Water Sources.

use boardwire_kernel::CatalogueError;

use super::check::{Checked, cell_list, count, exactly, refuse, within, word};
use super::rows;
use crate::rauha::pieces::{CARDS_OF_AGE, LINES, PACK, STOPS, Side, Stop, mask};

/// What the engine's frame needs: numbers of rounds, cards, packs.
pub(super) fn check_frame(file: &rows::File) -> Checked<()> {
    exactly("game.players.min", file.game.players.min, 2)?;
    exactly("game.players.max", file.game.players.max, 5)?;
    exactly("game.rounds", file.game.rounds, 4)?;
    exactly("game.turns_per_round", file.game.turns_per_round, 3)?;
    exactly("game.ages", file.game.ages, 2)?;
    exactly("components.divine_entities", file.components.divine_entities, 7)?;
    for age in ["age1", "age2"] {
        let place = format!("components.biome_cards.{age}");
        match file.components.biome_cards.get(age) {
            Some(&cards) => exactly(&place, cards, CARDS_OF_AGE.into())?,
            None => return refuse(&place, "missing"),
        }
    }
    exactly("setup.points", file.setup.points, 0)?;
    exactly("setup.spores", file.setup.spores, 0)?;
    exactly("setup.entities", file.setup.entities, 0)?;
    exactly("discard.or_spores", file.discard.or_spores, 1)?;
    exactly("deal.cards_per_satellite", file.deal.cards_per_satellite, 4)?;
    let rounds = [("1", vec![1, 2]), ("2", vec![3, 4])].map(|(age, rounds)| (age.to_owned(), rounds));
    if file.deal.rounds_by_age != rounds.into() {
        return refuse("deal.rounds_by_age", "Age 1 is for rounds 1 and 2, Age 2 for 3 and 4");
    }
    for seats in 2..=5 {
        let place = format!("deal.by_players.{seats}");
        let Some(dealt) = file.deal.by_players.get(&seats.to_string()) else {
            return refuse(&place, "missing");
        };
        let per_round = seats * i64::try_from(PACK).unwrap_or(0);
        let left = i64::from(CARDS_OF_AGE) - 2 * per_round;
        exactly(&format!("{place}.dealt_per_round"), dealt.per_round, per_round)?;
        exactly(&format!("{place}.used_per_age"), dealt.used, 2 * per_round)?;
        exactly(&format!("{place}.left_in_box_per_age"), dealt.left_in_box, left)?;
    }
    count("deal.by_players", file.deal.by_players.len(), 4, "seat counts")
}

/// Points by difference of Water Sources.
pub(super) fn water_points(row: &rows::WaterScoring) -> Checked<[u8; 6]> {
    count("water_scoring.points", row.points.len(), 6, "values")?;
    exactly("water_scoring.cap_difference", row.cap_difference, 5)?;
    let mut points = [0; 6];
    for (index, &value) in row.points.iter().enumerate() {
        points[index] = within(&format!("water_scoring.points[{index}]"), value, 0..=99)?;
    }
    if points[0] != 0 {
        return refuse("water_scoring.points[0]", "the fewest Water Sources give nothing");
    }
    Ok(points)
}

/// The stops of the Avatar.
pub(super) fn track(rows: &[rows::StopRow]) -> Checked<[Stop; STOPS as usize]> {
    count("track", rows.len(), STOPS, "stops")?;
    let mut track = [Stop { round: 1, turn: 4, side: Side::Star, line: 0 }; STOPS as usize];
    for (index, row) in (0..STOPS).zip(rows) {
        let place = format!("track[{index}]");
        exactly(&format!("{place}.step"), row.step, i64::from(index) + 1)?;
        exactly(&format!("{place}.round"), row.round, i64::from(index / 4) + 1)?;
        let stop = &mut track[usize::from(index)];
        stop.round = index / 4 + 1;
        stop.turn = index % 4 + 1;
        let kind = ["turn", "scoring"][usize::from(stop.is_scoring())];
        if row.kind != kind {
            return refuse(&format!("{place}.kind"), format!("`{}`, but this stop is a {kind}", row.kind));
        }
        if !stop.is_scoring() {
            (stop.side, stop.line) = turn(&place, row, *stop)?;
        }
    }
    for round in track.chunks(4) {
        if round[0].side != round[2].side || round[0].side == round[1].side {
            let place = format!("track[{}].satellite", 4 * round[0].round - 2);
            return refuse(
                &place,
                "a Satellite is read at turns 1 and 3 by one neighbour, at turn 2 by the other",
            );
        }
    }
    Ok(track)
}

fn turn(place: &str, row: &rows::StopRow, stop: Stop) -> Checked<(Side, u16)> {
    let missing = |field: &str| CatalogueError::new(format!("{place}.{field}"), "missing");
    let turn = row.turn.ok_or_else(|| missing("turn"))?;
    exactly(&format!("{place}.turn"), turn, stop.turn.into())?;
    let age = row.age.ok_or_else(|| missing("age"))?;
    exactly(&format!("{place}.age"), age, i64::from(stop.age()) + 1)?;
    let satellite = row.satellite.as_ref().ok_or_else(|| missing("satellite"))?;
    let side = match word(&format!("{place}.satellite"), satellite, &["moon", "star"])? {
        0 => Side::Moon,
        _ => Side::Star,
    };
    let line = row.line.as_ref().ok_or_else(|| missing("line"))?;
    let line = word(&format!("{place}.line"), line, &["row", "column"])?;
    let index = row.index.ok_or_else(|| missing("index"))?;
    let index = within(&format!("{place}.index"), index, 0..=2)?;
    let cells = row.cells.as_ref().ok_or_else(|| missing("cells"))?;
    let cells = cell_list(&format!("{place}.cells"), cells)?;
    if cells != mask(&LINES[usize::from(3 * line + index)]) {
        return refuse(&format!("{place}.cells"), "not the cells of the line named");
    }
    Ok((side, cells))
}

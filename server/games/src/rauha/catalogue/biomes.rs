//! Biomes and Divine Entities.

use super::Entity;
use super::check::{Checked, cell_list, count, exactly, in_order, refuse, within, word};
use super::effects::effect;
use super::rows;
use crate::rauha::pieces::{
    ALL_CELLS, ANIMALS, BIOMES, Biome, CARDS, CARDS_OF_AGE, CELLS, ENTITIES, Effect, Symbol, TYPES, printed,
};

/// The Entities, by number.
pub(super) fn entities(rows: &[rows::EntityRow]) -> Checked<Vec<Entity>> {
    count("entities", rows.len(), ENTITIES, "Entities")?;
    let mut entities: Vec<Entity> = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let place = format!("entities[{index}]");
        in_order(&format!("{place}.id"), row.id, index, 0)?;
        let entity = entity(&place, row)?;
        for (other, known) in entities.iter().enumerate() {
            let alike = |what: &str| refuse(&format!("{place}.{what}"), format!("as in entities[{other}]"));
            if known.key == entity.key {
                return alike("key");
            }
            if known.name == entity.name {
                return alike("name");
            }
            if known.called_by == entity.called_by {
                return alike("called_by");
            }
        }
        entities.push(entity);
    }
    Ok(entities)
}

fn entity(place: &str, row: &rows::EntityRow) -> Checked<Entity> {
    let called = format!("{place}.called_by");
    let called_by = match (&row.called_by.kind, &row.called_by.animal) {
        (Some(kind), None) => Symbol::Type(word(&format!("{called}.type"), kind, &TYPES[..4])?),
        (None, Some(animal)) => Symbol::Animal(word(&format!("{called}.animal"), animal, &ANIMALS)?),
        _ => return refuse(&called, "exactly one of `type` and `animal`"),
    };
    let effect = effect(&format!("{place}.effect"), &row.effect)?;
    let due: &[&str] = match effect {
        Effect::None | Effect::Water(_) => &[],
        _ => &["when_welcomed", "scoring"],
    };
    if row.activates != due {
        return refuse(&format!("{place}.activates"), format!("must be {due:?} for this effect"));
    }
    for (field, text) in [("key", &row.key), ("name", &row.name)] {
        // Names stand in labels and keys in lines of JSON: one word each.
        if text.is_empty() || !text.chars().all(char::is_alphabetic) {
            return refuse(&format!("{place}.{field}"), format!("`{text}` is not one word"));
        }
    }
    Ok(Entity { key: row.key.clone(), name: row.name.clone(), called_by, effect })
}

/// The biomes and their codes, by id.
pub(super) fn biomes(file: &rows::File, entities: &[Entity]) -> Checked<([Biome; BIOMES], Vec<String>)> {
    count("biomes", file.biomes.len(), CARDS, "cards")?;
    let mut biomes = [Biome::NONE; BIOMES];
    let mut codes = vec![String::new(); BIOMES];
    for (index, row) in file.biomes.iter().enumerate() {
        let place = format!("biomes[{index}]");
        in_order(&format!("{place}.id"), row.id, index, 0)?;
        if row.code.is_empty() || codes.contains(&row.code) {
            return refuse(&format!("{place}.code"), format!("`{}` is empty or used already", row.code));
        }
        biomes[index + 1] = card(&place, row)?;
        codes[index + 1].clone_from(&row.code);
    }
    for (side, letter, rows) in [(0, 'A', &file.boards.a), (1, 'B', &file.boards.b)] {
        let place = format!("boards.{letter}");
        count(&place, rows.len(), CELLS, "cells")?;
        for (index, row) in (0..CELLS).zip(rows) {
            let id = usize::from(printed(side, index));
            let place = format!("{place}[{index}]");
            in_order(&format!("{place}.id"), row.id, index.into(), 100 + 10 * i64::from(side))?;
            biomes[id] = cell(&place, row, index)?;
            codes[id] = format!("{letter}{index}");
        }
    }
    for biome in &mut biomes {
        biome.calls = (0..)
            .zip(entities)
            .filter(|(_, entity)| entity.called_by.is_on(biome))
            .fold(0, |calls, (number, _)| calls | 1 << number);
    }
    Ok((biomes, codes))
}

fn card(place: &str, row: &rows::BiomeRow) -> Checked<Biome> {
    exactly(&format!("{place}.copies"), row.copies, 1)?;
    exactly(&format!("{place}.age"), row.age, row.id / i64::from(CARDS_OF_AGE) + 1)?;
    let cells = match &row.cells {
        None => ALL_CELLS,
        Some(cells) => {
            let cells = cell_list(&format!("{place}.cells"), cells)?;
            if row.cost != 0 {
                return refuse(&format!("{place}.cells"), "a biome has a cost or allowed cells, not both");
            }
            cells
        }
    };
    Ok(Biome {
        age: within(&format!("{place}.age"), row.age, 1..=2)?,
        cost: within(&format!("{place}.cost"), row.cost, 0..=20)?,
        cells,
        ..shown(place, &row.types, &row.animals, row.water, &row.effect, 4)?
    })
}

fn cell(place: &str, row: &rows::CellRow, index: u8) -> Checked<Biome> {
    exactly(&format!("{place}.cell"), row.cell, index.into())?;
    exactly(&format!("{place}.row"), row.row, i64::from(index / 3))?;
    exactly(&format!("{place}.col"), row.col, i64::from(index % 3))?;
    shown(place, &row.types, &row.animals, row.water, &row.effect, 5)
}

/// What cards and printed cells both show; the first `kinds` types are allowed.
fn shown(
    place: &str,
    types: &[String],
    animals: &[String],
    water: i64,
    effect_row: &rows::EffectRow,
    kinds: usize,
) -> Checked<Biome> {
    let mut biome = Biome::NONE;
    if !(1..=2).contains(&types.len()) {
        return refuse(&format!("{place}.types"), format!("{} types, not 1 or 2", types.len()));
    }
    for (index, name) in types.iter().enumerate() {
        let place = format!("{place}.types[{index}]");
        let bit = 1 << word(&place, name, &TYPES[..kinds])?;
        if biome.types & bit != 0 {
            return refuse(&place, format!("`{name}` stands there twice"));
        }
        biome.types |= bit;
    }
    if animals.len() > 3 {
        return refuse(&format!("{place}.animals"), format!("{} animals, more than 3", animals.len()));
    }
    for (index, name) in animals.iter().enumerate() {
        let kind = word(&format!("{place}.animals[{index}]"), name, &ANIMALS)?;
        biome.animals[usize::from(kind)] += 1;
    }
    biome.water = within(&format!("{place}.water"), water, 0..=9)?;
    if water > 0 && types != ["mountain"] {
        return refuse(&format!("{place}.water"), "only a single-type mountain has Water Sources");
    }
    let place = format!("{place}.effect");
    biome.effect = effect(&place, effect_row)?;
    if matches!(biome.effect, Effect::Water(_)) {
        return refuse(&format!("{place}.kind"), "`passive_water` is for Entities");
    }
    Ok(biome)
}

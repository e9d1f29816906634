//! Reads biomes and Entities.

use boardwire_kernel::catalogue::{CatalogueResult, check_equals, refuse, require, unique};

use super::effects::effect;
use super::pieces::{Animal, Biome, Effect, Entity, Symbol, Symbols, Type};
use super::rows::{BiomeRow, EffectRow, EntityRow, File};
use super::{BIOME_COUNT, CARDS_PER_AGE, ENTITY_COUNT, cell_set};
use crate::rauha::state::{ByBiome, CARD_COUNT, CELL_COUNT, CellSet};

/// Reads the Entities, in the order of their ids.
pub(super) fn entities(rows: &[EntityRow]) -> CatalogueResult<Vec<Entity>> {
    check_equals("entities", rows.len(), ENTITY_COUNT.into())?;
    for (index, row) in (0..).zip(rows) {
        check_equals(format!("entities[{index}].id"), row.id, index)?;
    }
    unique("entities", "key", rows, |row| row.key.clone())?;
    unique("entities", "name", rows, |row| row.name.clone())?;
    let read = rows.iter().enumerate().map(|(index, row)| entity(&format!("entities[{index}]"), row));
    let entities = read.collect::<CatalogueResult<Vec<_>>>()?;
    unique("entities", "called_by", &entities, |entity| entity.called_by.name())?;
    Ok(entities)
}

fn entity(place: &str, row: &EntityRow) -> CatalogueResult<Entity> {
    let called_by = match (row.called_by.kind, row.called_by.animal) {
        (Some(Type::Desert), _) => {
            return refuse(
                format!("{place}.called_by.type"),
                "desert is not allowed: no Entity has this symbol",
            );
        }
        (Some(kind), None) => Symbol::Type(kind),
        (None, Some(animal)) => Symbol::Animal(animal),
        (Some(_), Some(_)) | (None, None) => {
            return refuse(format!("{place}.called_by"), "exactly one of `type` and `animal`");
        }
    };
    let effect = effect(&format!("{place}.effect"), &row.effect)?;
    for (field, text) in [("key", &row.key), ("name", &row.name)] {
        // Labels contain names, and lines of JSON contain keys: each must be one word.
        let is_word = !text.is_empty() && text.chars().all(char::is_alphabetic);
        require(is_word, format!("{place}.{field}"), || format!("`{text}` is not one word"))?;
    }
    Ok(Entity { key: row.key.clone(), name: row.name.clone(), called_by, effect })
}

/// Reads the biomes, in the order of their ids.
pub(super) fn biomes(file: &File, entities: &[Entity]) -> CatalogueResult<ByBiome<Biome>> {
    check_equals("biomes", file.biomes.len(), CARD_COUNT.into())?;
    let mut biomes = Vec::with_capacity(BIOME_COUNT.into());
    for (index, row) in (0..).zip(&file.biomes) {
        let place = format!("biomes[{index}]");
        check_equals(format!("{place}.id"), row.id, index)?;
        biomes.push(card(&place, row)?);
    }
    for (side, letter, rows) in [(0, 'A', &file.boards.a), (1, 'B', &file.boards.b)] {
        check_equals(format!("boards.{letter}"), rows.len(), CELL_COUNT.into())?;
        for (index, row) in (0..).zip(rows) {
            let place = format!("boards.{letter}[{index}]");
            check_equals(format!("{place}.id"), row.id, 100 + 10 * side + index)?;
            biomes.push(shown(&place, &row.types, &row.animals, row.water.get(), &row.effect)?);
        }
    }
    for biome in &mut biomes {
        let calls = (1..).zip(entities).filter(|(_, entity)| entity.called_by.is_on(biome));
        biome.calls = calls.map(|(id, _): (u8, _)| id).collect();
    }
    Ok(ByBiome::new(biomes, Biome::NONE))
}

fn card(place: &str, row: &BiomeRow) -> CatalogueResult<Biome> {
    let cells = match &row.cells {
        None => CellSet::below(CELL_COUNT.into()),
        Some(cells) => {
            require(row.cost.get() == 0, format!("{place}.cells"), || {
                "a biome has a cost or allowed cells, not both".into()
            })?;
            cell_set(&format!("{place}.cells"), cells)?
        }
    };
    if let Some(at) = row.types.iter().position(|&kind| kind == Type::Desert) {
        return refuse(format!("{place}.types[{at}]"), "no card is a desert");
    }
    let shown = shown(place, &row.types, &row.animals, row.water.get(), &row.effect)?;
    Ok(Biome { age: row.id / CARDS_PER_AGE + 1, cost: row.cost.get(), cells, ..shown })
}

/// Reads what cards and printed cells have in common.
fn shown(
    place: &str,
    types: &[Type],
    animals: &[Animal],
    water: u8,
    effect_row: &EffectRow,
) -> CatalogueResult<Biome> {
    require((1..=2).contains(&types.len()), format!("{place}.types"), || {
        format!("{} types, not 1 or 2", types.len())
    })?;
    require(types.len() == 1 || types[0] != types[1], format!("{place}.types[1]"), || {
        "the same as the first".into()
    })?;
    require(animals.len() <= 3, format!("{place}.animals"), || {
        format!("{} animals, more than 3", animals.len())
    })?;
    require(water == 0 || types == [Type::Mountain], format!("{place}.water"), || {
        "only a single-type mountain has Water Sources".into()
    })?;
    let effect = effect(&format!("{place}.effect"), effect_row)?;
    require(!matches!(effect, Effect::Water(_)), format!("{place}.effect.kind"), || {
        "`passive_water` is for Entities".into()
    })?;
    let (mut has, mut shows) = ([false; 5], [0; 3]);
    for &kind in types {
        has[kind as usize] = true;
    }
    for &animal in animals {
        shows[animal as usize] += 1;
    }
    let (symbols, ability) = (Symbols::new(shows, water), effect.into());
    Ok(Biome { types: has, symbols, ability, ..Biome::NONE })
}

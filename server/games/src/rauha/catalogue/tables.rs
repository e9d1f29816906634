//! The catalogue as integer matrices.

use boardwire_kernel::{Table, TableBuilder};

use super::pieces::{ANIMALS, Biome, Effect, Entity, Per, Side, Stop, TYPES};
use super::{BIOME_COUNT, Catalogue};
use crate::rauha::state::{CELL_COUNT, CellSet};

/// The names of the Ages, by value; a printed cell has none.
const AGES: [&str; 3] = ["none", "Age 1", "Age 2"];

pub(in crate::rauha) fn tables(catalogue: &Catalogue) -> Vec<Table> {
    vec![
        biomes(catalogue.biomes.up_to(BIOME_COUNT)),
        entities(&catalogue.entities),
        track(&catalogue.track),
        Table::of("water_points", &catalogue.water[1..]).count("points", |&points| points).finish(),
    ]
}

fn biomes(biomes: &[Biome]) -> Table {
    let table = Table::of("biomes", biomes)
        .category("age", AGES, |biome| biome.age)
        .each(&TYPES, |table, kind, word| table.flag(word, move |biome| biome.types[kind]))
        .each(&ANIMALS, |table, animal, word| table.count(word, move |biome| biome.symbols.animals()[animal]))
        .count("water", |biome| biome.symbols.water())
        .count("cost", |biome| biome.cost);
    with_effect(with_cells(table, "fits_cell", |biome| biome.cells), |biome| biome.ability.effect).finish()
}

fn entities(entities: &[Entity]) -> Table {
    let symbols: Vec<&str> = TYPES[..4].iter().chain(&ANIMALS).copied().collect();
    let table = Table::of("entities", entities).each(&symbols, |table, _, symbol| {
        table.flag(format!("called_by_{symbol}"), |entity| entity.called_by.name() == symbol)
    });
    with_effect(table, |entity| entity.effect).finish()
}

fn track(track: &[Stop]) -> Table {
    let table = Table::of("track", track)
        .count("round", |stop| stop.round)
        .count("turn", |stop| stop.turn)
        .category("age", AGES, |stop| stop.round.div_ceil(2))
        .flag("scoring", |stop| stop.is_scoring())
        .flag("moon", |stop| stop.side == Some(Side::Moon))
        .flag("star", |stop| stop.side == Some(Side::Star));
    with_cells(table, "activates_cell", |stop| stop.line).finish()
}

/// Adds a column for each cell: whether the cell is in a set.
fn with_cells<'a, T>(
    table: TableBuilder<'a, T>,
    name: &str,
    cells: impl Fn(&T) -> CellSet,
) -> TableBuilder<'a, T> {
    (0..CELL_COUNT).fold(table, |table, cell| {
        table.flag(format!("{name}_{cell}"), |component| cells(component).contains(cell))
    })
}

/// Adds the columns that describe an effect. Columns that the effect does not use are 0.
fn with_effect<T>(table: TableBuilder<'_, T>, effect: impl Fn(&T) -> Effect) -> TableBuilder<'_, T> {
    let number = |component: &T, read: fn(Effect) -> u8| read(effect(component));
    let table = table
        .count("gain_crystals", |it| {
            number(it, |effect| if let Effect::Gain(crystals) = effect { crystals } else { 0 })
        })
        .count("gain_points", |it| {
            number(it, |effect| if let Effect::Score(points) = effect { points } else { 0 })
        });
    let table = Per::ALL.into_iter().fold(table, |table, counted| {
        let name = counted.words().to_lowercase().replace(' ', "_");
        table.count(format!("points_per_{name}"), |it| {
            if let Effect::PointsPer(per, points) = effect(it)
                && per == counted
            {
                points
            } else {
                0
            }
        })
    });
    table
        .count("pay_crystals", |it| number(it, |effect| effect.cost().unwrap_or(0)))
        .count("bought_points", |it| {
            number(it, |effect| if let Effect::BuyPoints { points, .. } = effect { points } else { 0 })
        })
        .count("bought_spores", |it| u8::from(matches!(effect(it), Effect::BuySpore { .. })))
        .count("held_water", |it| number(it, Effect::water))
        .flag("can_be_activated", |it| effect(it).cost().is_some())
}

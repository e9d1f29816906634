//! The catalogue as integer matrices.

use boardwire_kernel::Table;

use super::catalogue::{Catalogue, Entity};
use super::effects::{COLUMNS, columns};
use super::pieces::{ANIMALS, Biome, CELLS, Side, Stop, TYPES};

/// The catalogue as integer matrices.
pub(super) fn tables(catalogue: &Catalogue) -> Vec<Table> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let mut columns_of_biomes = words(&["age"]);
    columns_of_biomes.extend(words(&TYPES));
    columns_of_biomes.extend(words(&ANIMALS));
    columns_of_biomes.extend(words(&["water", "cost"]));
    columns_of_biomes.extend((0..CELLS).map(|cell| format!("fits_cell_{cell}")));
    columns_of_biomes.extend(words(&COLUMNS));
    let rows = catalogue.biomes[1..].iter().map(biome_row).collect();
    let mut columns_of_entities: Vec<String> =
        TYPES[..4].iter().chain(&ANIMALS).map(|symbol| format!("called_by_{symbol}")).collect();
    columns_of_entities.extend(words(&COLUMNS));
    let entities = catalogue.entities.iter().map(entity_row).collect();
    let mut columns_of_track = words(&["round", "turn", "age", "scoring", "moon", "star"]);
    columns_of_track.extend((0..CELLS).map(|cell| format!("activates_cell_{cell}")));
    let water = catalogue.water[1..].iter().map(|&points| vec![points.into()]).collect();
    vec![
        Table::new("biomes", columns_of_biomes, rows),
        Table::new("entities", columns_of_entities, entities),
        Table::new("track", columns_of_track, catalogue.track.into_iter().map(stop_row).collect()),
        Table::new("water_points", words(&["points"]), water),
    ]
}

fn biome_row(biome: &Biome) -> Vec<i16> {
    let mut row = vec![i16::from(biome.age)];
    row.extend((0..TYPES.len()).map(|kind| i16::from(biome.types >> kind & 1)));
    row.extend(biome.animals.map(i16::from));
    row.extend([biome.water, biome.cost].map(i16::from));
    row.extend((0..CELLS).map(|cell| i16::from(biome.cells >> cell & 1 == 1)));
    row.extend(columns(biome.effect));
    row
}

fn entity_row(entity: &Entity) -> Vec<i16> {
    let symbols = TYPES[..4].iter().chain(&ANIMALS);
    let mut row: Vec<i16> = symbols.map(|&symbol| i16::from(entity.called_by.name() == symbol)).collect();
    row.extend(columns(entity.effect));
    row
}

fn stop_row(stop: Stop) -> Vec<i16> {
    let scoring = stop.is_scoring();
    let side = |side| i16::from(!scoring && stop.side == side);
    let mut row = vec![
        i16::from(stop.round),
        i16::from(stop.turn),
        i16::from(stop.age()) + 1,
        i16::from(scoring),
        side(Side::Moon),
        side(Side::Star),
    ];
    row.extend((0..CELLS).map(|cell| i16::from(stop.line >> cell & 1 == 1)));
    row
}

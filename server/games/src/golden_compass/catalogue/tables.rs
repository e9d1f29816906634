//! The catalogue as integer matrices.

use boardwire_kernel::Table;

use super::super::limits::{AXES, CARD_TYPES, CHARACTERS, COLLECTING, TILE_VALUES, TOKENS, to_byte};
use super::{Blue, Catalogue, DaemonId, KINDS, Op, SymbolId, with_ids};

/// Returns `none` and then the words: a value of 0 is none.
fn or_none(words: &[String]) -> Vec<&str> {
    std::iter::once("none").chain(words.iter().map(String::as_str)).collect()
}

/// Returns every table, in the order in which clients list them.
pub(in crate::golden_compass) fn tables(catalogue: &Catalogue, seats: u8) -> Vec<Table> {
    vec![
        padded_to_box(cards(catalogue, seats), CARD_TYPES),
        padded_to_box(tokens(catalogue), TOKENS),
        padded_to_box(characters(catalogue), CHARACTERS),
        effects(catalogue),
        options(catalogue),
        padded_to_box(axes(catalogue), AXES),
        padded_to_box(tiles(catalogue), TILE_VALUES),
        cities(catalogue),
    ]
}

/// Extends a table to as many rows as the box has components; fields and actions have room for them. Rows that a smaller
/// catalogue lacks are all zero.
fn padded_to_box(mut table: Table, rows: usize) -> Table {
    table.rows.resize(1 + rows, vec![0; table.columns.len()]);
    table
}

fn tiles(catalogue: &Catalogue) -> Table {
    Table::of("tiles", &catalogue.tiles)
        .count("value", |tile| tile.value)
        .count("count", |tile| tile.count)
        .finish()
}

fn cards(catalogue: &Catalogue, seats: u8) -> Table {
    let decks = catalogue.decks[usize::from(seats)];
    Table::of("cards", &catalogue.cards)
        .category("daemon", or_none(&catalogue.daemons), |card| DaemonId::to_row(card.daemon))
        .category("symbol", or_none(&catalogue.symbols), |card| SymbolId::to_row(card.symbol))
        .flag("joker", |card| card.is_joker)
        .flag("spy", |card| card.is_spy)
        .count("copies", |card| card.count * decks)
        .finish()
}

fn tokens(catalogue: &Catalogue) -> Table {
    Table::of("tokens", &catalogue.tokens)
        .id("city", "cities", |token| token.city.get())
        .count("value", |token| token.value)
        .flag("alethiometer", |token| token.is_alethiometer)
        .id("kind", "tokens", |token| token.kind.get())
        .finish()
}

fn characters(catalogue: &Catalogue) -> Table {
    Table::of("characters", &catalogue.characters)
        .category("period", or_none(&catalogue.periods), |card| card.period + 1)
        .count("magisterium", |card| card.magisterium)
        .id("first_effect", "effects", |card| card.power.rows().0)
        .count("effects", |card| card.power.rows().1)
        .finish()
}

/// Returns the effects. Kinds count from 1 in the order of the catalogue's schema; `number` is the effect's count.
fn effects(catalogue: &Catalogue) -> Table {
    let kinds = std::iter::once("none").chain(KINDS);
    Table::of("effects", &catalogue.ops)
        .category("kind", kinds, |op| op.numbers().0 + 1)
        .count("number", |op| op.numbers().1)
        .count("keep", |op| if let Op::DrawKeep { keep, .. } = *op { keep } else { 0 })
        .id("first_option", "options", |op| if let Op::ChooseOne { first, .. } = *op { first + 1 } else { 0 })
        .finish()
}

fn options(catalogue: &Catalogue) -> Table {
    Table::of("options", &catalogue.options)
        .id("first_effect", "effects", |list| list.rows().0)
        .count("effects", |list| list.rows().1)
        .finish()
}

/// Returns the axes. A free choice has all four light-blue symbols.
fn axes(catalogue: &Catalogue) -> Table {
    let symbols = [
        ("alethiometer", Blue::Alethiometer),
        ("magisterium", Blue::Magisterium),
        ("ally", Blue::Ally),
        ("dust", Blue::Dust),
    ];
    let drawn = Table::of("axes", &catalogue.axes)
        .count("draw", |axis| axis.draw)
        .count("advance", |axis| axis.advance);
    let shown = symbols.into_iter().fold(drawn, |table, (name, blue)| {
        table.flag(name, move |axis| axis.blue == blue || axis.blue == Blue::FreeChoice)
    });
    shown.count("weight", |axis| i16::try_from(axis.weight).expect("at most 256")).finish()
}

fn cities(catalogue: &Catalogue) -> Table {
    let cities: Vec<_> = with_ids(&catalogue.cities, usize::from).collect();
    Table::of("cities", &cities)
        .category("period", or_none(&catalogue.periods), |(id, _)| to_byte(id.div_ceil(2)))
        .count("first_space", |(_, city)| city.spaces.0)
        .count("last_space", |(_, city)| city.spaces.1)
        .count("places", |(_, city)| city.slots)
        .flag("collects", |(id, _)| *id <= COLLECTING)
        .finish()
}

//! The catalogue as integer matrices.

use boardwire_kernel::Table;

use super::catalogue::{Blue, Catalogue};
use super::limits::COLLECTING;

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|&column| column.to_owned()).collect()
}

fn small(number: usize) -> i16 {
    i16::try_from(number).unwrap_or(i16::MAX)
}

/// Every table, in the order in which clients list them.
pub(super) fn tables(catalogue: &Catalogue, seats: u8) -> Vec<Table> {
    vec![
        cards(catalogue, seats),
        tokens(catalogue),
        characters(catalogue),
        effects(catalogue),
        options(catalogue),
        axes(catalogue),
        tiles(catalogue),
        cities(catalogue),
    ]
}

fn cards(catalogue: &Catalogue, seats: u8) -> Table {
    let decks = catalogue.decks[usize::from(seats)];
    let id = |face: Option<u8>| face.map_or(0, |face| i16::from(face) + 1);
    let rows = catalogue.cards.iter().map(|card| {
        let copies = i16::from(card.count * decks);
        vec![id(card.daemon), id(card.symbol), card.joker.into(), card.spy.into(), copies]
    });
    Table::new("cards", names(&["daemon", "symbol", "joker", "spy", "copies"]), rows.collect())
}

fn tokens(catalogue: &Catalogue) -> Table {
    let rows = catalogue.tokens.iter().map(|token| {
        let (city, kind) = (i16::from(token.city) + 1, i16::from(token.kind) + 1);
        vec![city, token.value.into(), token.alethiometer.into(), kind]
    });
    Table::new("tokens", names(&["city", "value", "alethiometer", "kind"]), rows.collect())
}

fn characters(catalogue: &Catalogue) -> Table {
    let rows = catalogue.characters.iter().map(|card| {
        let (start, end) = card.list;
        vec![
            i16::from(card.period) + 1,
            card.magisterium.into(),
            i16::from(start) + 1,
            i16::from(end - start),
        ]
    });
    let columns = ["period", "magisterium", "first_effect", "effects"];
    Table::new("characters", names(&columns), rows.collect())
}

/// Kinds count from 1 in the order of the catalogue's schema; `number` is what the effect counts.
fn effects(catalogue: &Catalogue) -> Table {
    let rows = catalogue.ops.iter().map(|op| {
        let (kind, number, other) = op.numbers();
        let choice = usize::from(kind) + 1 == super::catalogue::KINDS.len();
        let (keep, first) = if choice { (0, i16::from(other) + 1) } else { (other.into(), 0) };
        vec![i16::from(kind) + 1, number.into(), keep, first]
    });
    Table::new("effects", names(&["kind", "number", "keep", "first_option"]), rows.collect())
}

fn options(catalogue: &Catalogue) -> Table {
    let rows =
        catalogue.options.iter().map(|&(start, end)| vec![i16::from(start) + 1, i16::from(end - start)]);
    Table::new("options", names(&["first_effect", "effects"]), rows.collect())
}

/// Light-blue symbols: alethiometer, Magisterium, ally, dust; a free choice is all four.
fn axes(catalogue: &Catalogue) -> Table {
    let rows = catalogue.axes.iter().map(|axis| {
        let shows = |blue| i16::from(axis.blue == blue || axis.blue == Blue::FreeChoice);
        vec![
            axis.draw.into(),
            axis.advance.into(),
            shows(Blue::Alethiometer),
            shows(Blue::Magisterium),
            shows(Blue::Ally),
            shows(Blue::Dust),
            i16::try_from(axis.weight).unwrap_or(i16::MAX),
        ]
    });
    let columns = ["draw", "advance", "alethiometer", "magisterium", "ally", "dust", "weight"];
    Table::new("axes", names(&columns), rows.collect())
}

fn tiles(catalogue: &Catalogue) -> Table {
    let rows = catalogue.tiles.iter().map(|&(value, count)| vec![value.into(), count.into()]);
    Table::new("tiles", names(&["value", "count"]), rows.collect())
}

fn cities(catalogue: &Catalogue) -> Table {
    let rows = catalogue.cities.iter().enumerate().map(|(at, city)| {
        let (first, last) = city.spaces;
        vec![small(at / 2) + 1, first.into(), last.into(), city.slots.into(), i16::from(at < COLLECTING)]
    });
    let columns = ["period", "first_space", "last_space", "places", "collects"];
    Table::new("cities", names(&columns), rows.collect())
}

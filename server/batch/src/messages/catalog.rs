//! Converts games and tables to messages.

use boardwire_api::{Error, v1};
use boardwire_kernel::{
    ActionSpec, Axis, AxisOrder, Column, ColumnKind, Field, FieldKind, OptionKind, OptionSpec, ViewLayout,
};

use super::{options, to_u32};
use crate::names::NamePermutation;
use crate::registry::GameFacts;
use crate::tables::{Table, Tables};

/// Returns the description of the table that a request names, and the rules of its game.
///
/// # Errors
/// The game is unknown, or it does not have these seats or options.
pub fn get_game(tables: &Tables, request: &v1::GetGameRequest) -> Result<v1::GetGameResponse, Error> {
    let facts = tables.game_facts(&request.game)?;
    let seats = if request.seats == 0 { (*facts.game_type.seats.start()).into() } else { request.seats };
    let options = request.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let table = tables.table(&request.game, seats, options)?;
    let mut response = v1::GetGameResponse {
        spec: Some(spec(&facts, &table)),
        rules: facts.game_type.rules.to_owned(),
        how_to_play: facts.game_type.how_to_play().to_owned(),
    };
    if let Some(seed) = request.label_seed {
        let permutation = NamePermutation::new(&*table.game, seed);
        permutation.apply(&mut response.rules);
        permutation.apply(&mut response.how_to_play);
    }
    Ok(response)
}

/// Returns the networks of the policies, with the tables that they were trained for.
#[must_use]
pub fn policies(tables: &Tables) -> Vec<v1::PolicySpec> {
    let described = tables.policy_tables().iter().map(|(name, digest, table)| {
        let info = table.as_ref().map(|table| table.game.info());
        v1::PolicySpec {
            name: name.clone(),
            spec_digest: digest.clone(),
            game: info.map(|info| info.id.to_owned()).unwrap_or_default(),
            seats: info.map(|info| info.seats.into()).unwrap_or_default(),
            options: info.map(options).unwrap_or_default(),
        }
    });
    described.collect()
}

/// Returns a game with its possible seats and options.
#[must_use]
pub fn game(facts: &GameFacts) -> v1::Game {
    let game_type = &facts.game_type;
    v1::Game {
        id: game_type.id.to_owned(),
        name: game_type.name.to_owned(),
        rules_version: game_type.rules_version,
        min_seats: (*game_type.seats.start()).into(),
        max_seats: (*game_type.seats.end()).into(),
        options: game_type.options.iter().map(option).collect(),
        catalogue_digest: facts.catalogue.to_string(),
    }
}

fn option(spec: &OptionSpec) -> v1::GameOption {
    let (choices, min, max) = match spec.kind {
        OptionKind::Choice(choices) => (choices, None, None),
        OptionKind::Flag => (["false", "true"].as_slice(), None, None),
        OptionKind::Int(min, max) => ([].as_slice(), Some(min), Some(max)),
    };
    v1::GameOption {
        name: spec.name.to_owned(),
        description: spec.doc.to_owned(),
        default_value: spec.default.to_owned(),
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
        min,
        max,
    }
}

/// Returns the description of a table.
#[must_use]
pub fn spec(facts: &GameFacts, table: &Table) -> v1::GameSpec {
    let info = table.game.info();
    v1::GameSpec {
        game: Some(game(facts)),
        seats: info.seats.into(),
        options: options(info),
        actions: info.actions.all().iter().map(action).collect(),
        fields: fields(&info.layout),
        view_bytes: to_u32(info.layout.bytes()),
        mask_bytes: to_u32(info.actions.mask_bytes()),
        tables: info.tables.iter().map(component_table).collect(),
        max_plies: info.max_plies,
        min_score: info.scores.0,
        max_score: info.scores.1,
        spec_digest: table.digest.to_string(),
        public_fields: fields(&info.public_layout),
        public_view_bytes: to_u32(info.public_layout.bytes()),
    }
}

fn action(spec: &ActionSpec) -> v1::Action {
    v1::Action {
        label: spec.label.clone(),
        verb: spec.verb.to_owned(),
        table: spec.table.unwrap_or_default().to_owned(),
        row: spec.row.into(),
    }
}

fn fields(layout: &ViewLayout) -> Vec<v1::ViewField> {
    let axis = |axis: &Axis| v1::Axis {
        name: axis.name.to_owned(),
        size: axis.size.into(),
        order: match axis.order {
            AxisOrder::None => v1::AxisOrder::None,
            AxisOrder::Sequence => v1::AxisOrder::Sequence,
            AxisOrder::Places => v1::AxisOrder::Places,
        }
        .into(),
        table: axis.table.unwrap_or_default().to_owned(),
    };
    let field = |(offset, field): (usize, &Field)| {
        let (kind, table, names) = match &field.kind {
            FieldKind::Id { table } => (v1::ValueKind::Id, *table, vec![]),
            FieldKind::Count => (v1::ValueKind::Count, "", vec![]),
            FieldKind::Flag => (v1::ValueKind::Flag, "", vec![]),
            FieldKind::Seat => (v1::ValueKind::Seat, "", vec![]),
            FieldKind::Category { names } => (v1::ValueKind::Category, "", names.clone()),
        };
        v1::ViewField {
            name: field.name.to_owned(),
            offset: to_u32(offset),
            axes: field.axes.iter().map(axis).collect(),
            max: field.max.into(),
            kind: kind.into(),
            table: table.to_owned(),
            names,
            description: field.doc.to_owned(),
            usual_max: field.usual_max.into(),
            copies: field.copies.into(),
        }
    };
    layout.with_offsets().map(field).collect()
}

fn component_table(table: &boardwire_kernel::Table) -> v1::ComponentTable {
    let column = |column: &Column| {
        let (kind, table, names) = match &column.kind {
            ColumnKind::Id { table } => (v1::ValueKind::Id, *table, vec![]),
            ColumnKind::Count => (v1::ValueKind::Count, "", vec![]),
            ColumnKind::Flag => (v1::ValueKind::Flag, "", vec![]),
            ColumnKind::Category { names } => (v1::ValueKind::Category, "", names.clone()),
        };
        v1::Column { name: column.name.clone(), kind: kind.into(), table: table.to_owned(), names }
    };
    v1::ComponentTable {
        name: table.name.to_owned(),
        columns: table.columns.iter().map(column).collect(),
        rows: to_u32(table.rows.len()),
        values: table.rows.iter().flatten().map(|&value| value.into()).collect(),
    }
}

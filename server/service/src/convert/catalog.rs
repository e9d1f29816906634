//! Games and servers as messages.

use std::time::Duration;

use boardwire_api::v1;
use boardwire_batch::tables::{Served, Table};
use boardwire_kernel::{
    ActionSpec, Axis, AxisOrder, Column, ColumnKind, Field, FieldKind, OptionKind, OptionSpec, ViewLayout,
};

use super::{count, options};
use crate::batches::Batches;
use crate::edge::Origin;
use crate::matches::Matches;
use crate::run::MAX_MESSAGE_BYTES;

/// What it speaks.
const PROTOCOLS: [&str; 2] = ["boardwire.v1", "dm_env_rpc.v1"];
/// The server takes snapshots of others with the same key.
const LASTING_SNAPSHOTS: &str = "lasting_snapshots";

/// What `origin` is told of the server.
pub(crate) fn server(matches: &Matches, batches: &Batches, origin: Origin) -> v1::Server {
    let quotas = origin.quotas();
    let (match_limits, batch_limits) = (matches.limits(), batches.limits());
    // What does not fit is more than any server has.
    let duration = |time: Duration| prost_types::Duration::try_from(time).unwrap_or_default();
    let features = batches.has_lasting_snapshots().then(|| LASTING_SNAPSHOTS.to_owned());
    v1::Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocols: PROTOCOLS.map(str::to_owned).into(),
        features: features.into_iter().collect(),
        limits: Some(v1::Limits {
            message_bytes: count(MAX_MESSAGE_BYTES),
            matches: count(match_limits.matches),
            matches_per_caller: count(quotas.matches.unwrap_or(match_limits.per_caller)),
            waiting_calls: count(match_limits.waiting),
            match_idle_timeout: Some(duration(match_limits.idle)),
            batches: count(batch_limits.batches),
            environments: count(batch_limits.environments),
            environments_per_caller: count(quotas.environments.unwrap_or(batch_limits.per_caller)),
            batch_idle_timeout: Some(duration(batch_limits.idle)),
        }),
    }
}

pub(crate) fn game(served: &Served) -> v1::Game {
    let game_type = &served.game_type;
    let provenance = served
        .provenance
        .iter()
        .map(|row| v1::Provenance { section: row.section.clone(), source: row.source.clone() });
    v1::Game {
        id: game_type.id.to_owned(),
        name: game_type.name.to_owned(),
        rules_version: game_type.rules_version,
        min_seats: (*game_type.seats.start()).into(),
        max_seats: (*game_type.seats.end()).into(),
        options: game_type.options.iter().map(option).collect(),
        catalogue_digest: served.catalogue.to_string(),
        provenance: provenance.collect(),
    }
}

fn option(spec: &OptionSpec) -> v1::GameOption {
    let (choices, min, max) = match spec.kind {
        OptionKind::Choice(words) => (words, None, None),
        OptionKind::Flag => (["false", "true"].as_slice(), None, None),
        OptionKind::Int(min, max) => ([].as_slice(), Some(min), Some(max)),
    };
    v1::GameOption {
        name: spec.name.to_owned(),
        description: spec.doc.to_owned(),
        default_value: spec.default.to_owned(),
        choices: choices.iter().map(|&word| word.to_owned()).collect(),
        min,
        max,
    }
}

pub(crate) fn spec(served: &Served, table: &Table) -> v1::GameSpec {
    let info = table.rules.info();
    v1::GameSpec {
        game: Some(game(served)),
        seats: info.seats.into(),
        options: options(info),
        actions: info.actions.all().iter().map(action).collect(),
        fields: fields(&info.layout),
        view_bytes: count(info.layout.bytes()),
        mask_bytes: count(info.actions.mask_bytes()),
        tables: info.tables.iter().map(component_table).collect(),
        max_plies: info.max_plies,
        min_score: info.scores.0,
        max_score: info.scores.1,
        spec_digest: table.digest.to_string(),
        chance_streams: served.game_type.streams.iter().map(|&name| name.to_owned()).collect(),
        public_fields: fields(&info.public_layout),
        public_view_bytes: count(info.public_layout.bytes()),
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
        order: axis_order(axis.order).into(),
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
            offset: count(offset),
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

fn axis_order(order: AxisOrder) -> v1::AxisOrder {
    match order {
        AxisOrder::None => v1::AxisOrder::None,
        AxisOrder::Sequence => v1::AxisOrder::Sequence,
        AxisOrder::Places => v1::AxisOrder::Places,
    }
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
        rows: count(table.rows.len()),
        values: table.rows.iter().flatten().map(|&value| value.into()).collect(),
    }
}

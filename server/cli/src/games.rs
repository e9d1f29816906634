//! `games`: shows the games of this build, as text or as JSON.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use boardwire_batch::messages;
use boardwire_batch::registry::{GameFacts, Registry};
use boardwire_batch::tables::Tables;
use boardwire_kernel::{Axis, AxisOrder, Column, ColumnKind, Field, FieldKind, GameInfo, ViewLayout};
use clap::Args;
use serde_json::Value;

use crate::flags::{Catalogues, parse_name_value};
use crate::json;

#[derive(Debug, Args)]
pub(super) struct Games {
    /// The game to show in full.
    game: Option<String>,
    /// The number of seats; the game's minimum by default.
    #[arg(long, requires = "game")]
    seats: Option<u32>,
    /// Sets an option of the game; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_name_value, requires = "game")]
    options: Vec<(String, String)>,
    /// Prints JSON: the protocol's `Game` of each game, or the `GameSpec` of one.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    catalogues: Catalogues,
}

impl Games {
    pub(super) fn run(self, games: &Registry) -> anyhow::Result<ExitCode> {
        let tables = Tables::new(self.catalogues.load(games)?);
        let mut out = String::new();
        if let Some(game) = &self.game {
            let facts = tables.game_facts(game)?;
            let seats = self.seats.unwrap_or_else(|| (*facts.game_type.seats.start()).into());
            let options = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let table = tables.table(game, seats, options)?;
            if self.json {
                out = format!("{}\n", json::write("GameSpec", &messages::spec(&facts, &table), true)?);
            } else {
                type_text(&mut out, &facts);
                table_text(&mut out, table.game.info(), &facts);
            }
        } else if self.json {
            let game = |id| json::write("Game", &messages::game(&tables.game_facts(id)?), true);
            out = format!("{}\n", tables.registry().ids().map(game).collect::<anyhow::Result<Value>>()?);
        } else {
            for id in tables.registry().ids() {
                type_text(&mut out, &tables.game_facts(id)?);
            }
        }
        std::io::stdout().write_all(out.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn type_text(out: &mut String, facts: &GameFacts) {
    let game_type = &facts.game_type;
    let (min, max) = (game_type.seats.start(), game_type.seats.end());
    let _ = writeln!(out, "{:<16} {}, {min} to {max} seats", game_type.id, game_type.name);
    for option in game_type.options {
        let (name, kind, default, doc) = (option.name, &option.kind, option.default, option.doc);
        let _ = writeln!(out, "    {name}: {kind} (default {default}). {doc}");
    }
}

fn table_text(out: &mut String, info: &GameInfo, facts: &GameFacts) {
    let how_to_play = facts.game_type.how_to_play();
    if !how_to_play.is_empty() {
        let _ = writeln!(out, "\nhow to play\n\n{how_to_play}");
    }
    let options = info.options.all().iter().map(|(name, value)| format!("{name}={value}"));
    let _ = writeln!(out, "\nat {} seats, {}", info.seats, options.collect::<Vec<_>>().join(", "));
    let _ = writeln!(out, "rules version {}, catalogue {}", info.rules_version, info.catalogue);
    let _ = writeln!(out, "spec {}", info.digest());
    let _ = writeln!(out, "at most {} plies, scores {} to {}", info.max_plies, info.scores.0, info.scores.1);
    let _ = writeln!(out, "\nthe catalogue");
    for row in &facts.provenance {
        let _ = writeln!(out, "    {:<24} {}", row.section, row.source);
    }
    layout_text(out, "a seat's view", &info.layout);
    layout_text(out, "the public's view", &info.public_layout);
    let _ = writeln!(out, "\ntables");
    for table in &info.tables {
        let columns = table.columns.iter().map(column).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "    {}, {} rows: {columns}", table.name, table.rows.len());
    }
    let _ = writeln!(out, "\nactions, {} of them", info.actions.count());
    for (index, action) in info.actions.all().iter().enumerate() {
        let on = action.table.map_or_else(String::new, |table| format!(" (row {} of {table})", action.row));
        let _ = writeln!(out, "    {index:>4} {}: {}{on}", action.label, action.verb);
    }
}

fn layout_text(out: &mut String, whose: &str, layout: &ViewLayout) {
    let _ = writeln!(out, "\n{whose}, {} bytes (axes in braces have no order)", layout.bytes());
    for (offset, field) in layout.with_offsets() {
        let Field { name, max, doc, .. } = field;
        let (shape, kind) = (shape(field), kind(&field.kind));
        let _ = writeln!(out, "    {offset:>4} {name:<24} {shape:<10} 0..={max:<5} {kind}. {doc}");
    }
}

/// Formats a shape: `[2 seat, 8 round]`, or `[1 other seat, {3 card}]` if the cards have no order.
fn shape(field: &Field) -> String {
    let axis = |axis: &Axis| {
        let text = format!("{} {}", axis.size, axis.name);
        if axis.order == AxisOrder::None { format!("{{{text}}}") } else { text }
    };
    format!("[{}]", field.axes.iter().map(axis).collect::<Vec<_>>().join(", "))
}

fn kind(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Id { table } => format!("row of {table}"),
        FieldKind::Count => "count".to_owned(),
        FieldKind::Flag => "flag".to_owned(),
        FieldKind::Seat => "seat".to_owned(),
        FieldKind::Category { names } => format!("one of {}", names.join(", ")),
    }
}

fn column(column: &Column) -> String {
    match &column.kind {
        ColumnKind::Id { table } => format!("{} (row of {table})", column.name),
        ColumnKind::Count => column.name.clone(),
        ColumnKind::Flag => format!("{} (flag)", column.name),
        ColumnKind::Category { names } => format!("{} (one of {})", column.name, names.join(", ")),
    }
}

//! `export-efg`: writes a small game for solvers.

use std::io::Write as _;
use std::process::ExitCode;

use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use clap::Args;

use crate::flags::{Catalogues, parse_name_value};

/// Prints a small game in Gambit's EFG format, which `OpenSpiel` reads with `load_efg_game`.
///
/// Payoffs are scores. The name of an information set is the seat's view in hexadecimal.
#[derive(Debug, Args)]
pub(super) struct ExportEfg {
    /// The game's id.
    game: String,
    /// The number of seats; the game's minimum by default.
    #[arg(long)]
    seats: Option<u32>,
    /// Sets an option of the game; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_name_value)]
    options: Vec<(String, String)>,
    /// The maximum number of nodes. A larger game is refused.
    #[arg(long, default_value_t = 1_000_000)]
    max_nodes: u64,
    #[command(flatten)]
    catalogues: Catalogues,
}

impl ExportEfg {
    pub(super) fn run(self, games: &Registry) -> anyhow::Result<ExitCode> {
        let tables = Tables::new(self.catalogues.load(games)?);
        let facts = tables.game_facts(&self.game)?;
        let seats = self.seats.unwrap_or_else(|| (*facts.game_type.seats.start()).into());
        let options = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let table = tables.table(&self.game, seats, options)?;
        std::io::stdout().write_all(table.game.efg(self.max_nodes)?.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

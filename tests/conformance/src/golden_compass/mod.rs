//! The Golden Compass: recorded games. There are no scoring cases.
//!
//! `events` has the format of a record, `components` the components by name. `outcomes` has the random outcomes of a
//! record. `replay` plays the choices of a record and compares its facts with the engine's; `turn`, `effects` and
//! `period` do this for each event. `table` is the state of the table according to the record.

mod components;
mod effects;
mod events;
mod outcomes;
mod period;
mod replay;
mod table;
#[cfg(test)]
mod tests;
mod turn;

use std::sync::Arc;

use boardwire_games::golden_compass::GoldenCompass;
use boardwire_kernel::catalogue::{CatalogueResult, read};
use boardwire_kernel::{CatalogueError, Setup, set_up};

use crate::GameCatalogue;
use crate::play::ReplayResult;
use components::Components;
use events::Line;
use replay::Replay;

/// Replays a record and compares every fact in it.
pub(crate) fn replay(game: &GameCatalogue<GoldenCompass>, line: &str) -> CatalogueResult<ReplayResult> {
    let line: Line = read(line)?;
    let table = set_up::<GoldenCompass>(Arc::clone(&game.loaded), line.players.into(), []);
    let table = table.map_err(|error| CatalogueError::new("players", error.to_string()))?;
    let components = Components::read(table.info(), &game.text)?;
    let outcomes = outcomes::compute(&components, &line.log)?;
    Ok(Replay::deal(table, &components, &line.log, outcomes).and_then(Replay::run))
}

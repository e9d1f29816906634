//! The Golden Compass: recorded games. There are no scoring cases.
//!
//! `events` has the format of a record, `printed` the components by name, `outcomes` the random outcomes of a record.
//! `replay` plays the choices of a record and compares its facts with the engine's; `turn`, `effects` and `period` do this
//! for each event. `table` is the state of the table according to the record.

mod effects;
mod events;
mod outcomes;
mod period;
mod printed;
mod replay;
mod table;
#[cfg(test)]
mod tests;
mod turn;

use std::sync::Arc;

use boardwire_games::golden_compass::GoldenCompass;
use boardwire_kernel::catalogue::{Checked, read};
use boardwire_kernel::{CatalogueError, Setup, set_up};

use crate::Components;
use crate::play::Replayed;
use events::Line;
use printed::Printed;
use replay::Replay;

/// Replays a record and compares every fact in it.
pub(crate) fn replay(game: &Components<GoldenCompass>, line: &str) -> Checked<Replayed> {
    let line: Line = read(line)?;
    let table = set_up::<GoldenCompass>(Arc::clone(&game.loaded), line.players.into(), []);
    let table = table.map_err(|error| CatalogueError::new("players", error.to_string()))?;
    let printed = Printed::read(table.info(), &game.text)?;
    let outcomes = outcomes::of(&printed, &line.log)?;
    Ok(Replay::deal(table, &printed, &line.log, outcomes).and_then(Replay::run))
}

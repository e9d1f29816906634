//! The Golden Compass: recorded games; there are no scoring cases.
//!
//! `events` is a line as read, `printed` the components by name, `outcomes` the chance of the line. `replay` plays its
//! choices and compares its facts with the engine's, `turn`, `effects` and `period` event by event; `table` is the
//! table as the record has told it so far.

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

/// Plays a record and compares every fact it states.
pub(crate) fn replay(game: &Components<GoldenCompass>, line: &str) -> Checked<Replayed> {
    let line: Line = read(line)?;
    let table = set_up::<GoldenCompass>(Arc::clone(&game.loaded), line.players.into(), []);
    let table = table.map_err(|error| CatalogueError::new("players", error.to_string()))?;
    let printed = Printed::read(table.info(), &game.text)?;
    let outcomes = outcomes::of(&printed, &line.log)?;
    Ok(Replay::deal(table, &printed, &line.log, outcomes).and_then(Replay::run))
}

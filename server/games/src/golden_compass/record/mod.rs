//! Recorded games: lines that tell whole games event by event.
//!
//! `events` is a line as read, `names` checks it against the catalogue, `outcomes` is its chance. `replay` plays
//! its choices and compares its facts with the engine's, `turn`, `effects` and `period` event by event; `table` is the
//! table as the record has told it so far.

mod effects;
mod events;
mod names;
mod outcomes;
mod period;
mod replay;
mod table;
mod turn;

use std::sync::Arc;

use boardwire_kernel::record::{LineError, ReplayFormat, Replayed};
use boardwire_kernel::{Loaded, set_up};
use serde_json::Value;

use super::{Catalogue, GoldenCompass};
use events::{Event, Line};
use names::Names;
use replay::Replay;

/// How recorded games are written; there are no scoring cases.
pub(super) const FORMAT: ReplayFormat<Catalogue> = ReplayFormat { score: None, replay };

fn replay(catalogue: &Arc<Loaded<Catalogue>>, line: &str) -> Result<Replayed, LineError> {
    let line: Line = serde_json::from_str(line)?;
    let table = set_up::<GoldenCompass>(Arc::clone(catalogue), line.players.into(), []);
    let game = Arc::new(table.map_err(|error| LineError(format!("players: {error}")))?);
    let names = Names { catalogue: &catalogue.value, seats: line.players };
    let log = (0..).zip(line.log).map(|(at, event)| read(names, at, event));
    let log = log.collect::<Result<Vec<_>, _>>()?;
    let outcomes = outcomes::of(names, &log)?;
    Ok(Replay::deal(game, names, &log, outcomes).and_then(Replay::run).into())
}

fn read(names: Names, at: u32, event: Value) -> Result<Event, LineError> {
    let located = |problem: String| LineError(format!("event {at}: {problem}"));
    names.check(&event).map_err(|LineError(problem)| located(problem))?;
    let event: Event = serde_json::from_value(event).map_err(|error| located(error.to_string()))?;
    if let Event::Setup(setup) = &event {
        names.check_setup(setup).map_err(|LineError(problem)| located(problem))?;
    }
    Ok(event)
}

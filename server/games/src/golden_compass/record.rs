//! ReplayFormat games: lines that tell whole games event by event.
//!
//! `script` is the line as read, `names` checks it against the catalogue, `fates` is its chance. `replay`
//! plays its choices and compares its facts, with `told` as the table so far, `turn` and `effects` for what
//! happens in a turn, `period` and `draft` for what frames the turns.

mod draft;
mod effects;
mod fates;
mod names;
mod period;
mod replay;
mod script;
mod told;
mod turn;

use std::sync::Arc;

use boardwire_kernel::{Loaded, set_up};
use serde_json::Value;

use super::{Catalogue, GoldenCompass};
use crate::{LineError, ReplayFormat, Replayed, Scorer};

impl ReplayFormat for GoldenCompass {
    const SCORER: Option<Scorer<Catalogue>> = None;

    fn replay(catalogue: &Arc<Loaded<Catalogue>>, line: &str) -> Result<Replayed, LineError> {
        let line: script::Line = serde_json::from_str(line)?;
        let table = set_up::<Self>(Arc::clone(catalogue), line.players.into(), []);
        let game = Arc::new(table.map_err(|error| LineError(format!("players: {error}")))?);
        let lexicon = names::Lexicon { catalogue: &catalogue.value, seats: line.players };
        let log = (0usize..).zip(line.log).map(|(at, event)| read(lexicon, at, event));
        let log = log.collect::<Result<Vec<_>, _>>()?;
        let chance = fates::Fates::of(lexicon, &log)?;
        let played = replay::Replayer::new(game, lexicon, &log, chance).and_then(replay::Replayer::run);
        Ok(match played {
            Ok(scores) => Replayed::Same { scores },
            Err(difference) => Replayed::Differs(*difference),
        })
    }
}

fn read(lexicon: names::Lexicon, at: usize, event: Value) -> Result<script::Event, LineError> {
    let located = |error: String| LineError(format!("event {at}: {error}"));
    let event: script::Event = serde_json::from_value(event).map_err(|error| located(error.to_string()))?;
    lexicon.check(&event).map_err(|LineError(error)| located(error))?;
    Ok(event)
}

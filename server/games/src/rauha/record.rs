//! Checked from outside: scoring cases and recorded games, as lines of JSON.

mod cases;
mod lines;
mod log;
mod position;
mod replay;
mod rows;

use std::sync::Arc;

use boardwire_kernel::Loaded;

use super::{Catalogue, Rauha};
use crate::{LineError, ReplayFormat, Replayed, Scorer};

impl ReplayFormat for Rauha {
    const SCORER: Option<Scorer<Catalogue>> = Some(cases::answer);

    fn replay(catalogue: &Arc<Loaded<Catalogue>>, line: &str) -> Result<Replayed, LineError> {
        replay::replay(catalogue, &log::Record::read(line, &catalogue.value)?)
    }
}

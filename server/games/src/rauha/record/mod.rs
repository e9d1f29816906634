//! Checked from outside: scoring cases and recorded games, as lines of JSON.

mod cases;
mod lines;
mod log;
mod position;
mod replay;
mod rows;

use boardwire_kernel::record::ReplayFormat;

use super::Catalogue;

pub(super) const FORMAT: ReplayFormat<Catalogue> = ReplayFormat {
    score: Some(cases::answer),
    replay: |catalogue, line| replay::replay(catalogue, &log::Record::read(line, &catalogue.value)?),
};

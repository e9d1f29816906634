//! What is kept of deals: in a file, in a recording, and at hand until they are counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use boardwire_batch::tables::Table;
use serde_json::Value;

use super::deal::{Deal, Played};
use super::ledger::Ledger;
use super::recording::Recording;
use super::schedule::Schedule;

/// What is kept of deals.
pub(super) struct Books {
    /// Those that need not be played any more.
    pub(super) known: BTreeMap<u64, Deal>,
    ledger: Ledger,
    recording: Option<Recording>,
}

impl Books {
    /// What there is of earlier runs of `what`, in the file `out` and the folder `record`. What is in no recording that
    /// is asked for is played again.
    ///
    /// # Errors
    /// A file or a folder that cannot be read or written, or is of something else; a recording of deals that are not in
    /// the file.
    pub(super) fn open(
        (out, record): (Option<&Path>, Option<&Path>),
        table: &Arc<Table>,
        schedule: &Schedule,
        seed: u64,
        what: &Value,
    ) -> anyhow::Result<Self> {
        let (ledger, mut known) = Ledger::open(out, what)?;
        let Some(folder) = record else { return Ok(Self { known, ledger, recording: None }) };
        let recording = Recording::open(folder, table, schedule, seed, what)?;
        let deals = recording.deals();
        anyhow::ensure!(
            (0..deals).all(|deal| known.contains_key(&deal)),
            "{} has {deals} deals already, which are not in the file of --out: give the one with which it was \
             written, or name another folder",
            folder.display()
        );
        known.retain(|&number, _| number < deals);
        Ok(Self { known, ledger, recording: Some(recording) })
    }

    /// Keeps a deal, and how it was played.
    pub(super) fn add(&mut self, deal: Deal, played: Played) -> anyhow::Result<()> {
        self.ledger.add(&deal)?;
        self.known.insert(deal.number, deal);
        let is_due = self.recording.as_mut().is_some_and(|recording| recording.add(played));
        if is_due { self.write() } else { Ok(()) }
    }

    /// Writes what waits for the recording. It goes on with deals that are in the file alone, so the file comes first.
    pub(super) fn write(&mut self) -> anyhow::Result<()> {
        let Some(recording) = &mut self.recording else { return Ok(()) };
        self.ledger.sync()?;
        recording.write()
    }
}

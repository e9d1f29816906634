//! `verify`: checks an episode that somebody has been shown.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use boardwire_api::v1;
use boardwire_batch::tables::Tables;
use clap::Args;

use crate::json;
use crate::table::Catalogues;
use boardwire_server::hex::hex;
use boardwire_server::record::{Verified, verify};
use boardwire_server::secret::SeedSource;

/// Plays a recorded episode once more from its key, and compares commitment, decisions, views, chain and result.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The canonical JSON of a `boardwire.v1.Replay`, as clients save it; `-` for standard input.
    file: PathBuf,
    #[command(flatten)]
    catalogues: Catalogues,
}

impl Verify {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let tables = Tables::new(self.catalogues.load()?);
        let about = || self.file.display().to_string();
        let replay: v1::Replay = json::read("Replay", &self.file).with_context(about)?;
        let Verified { decisions, source, contributed, head, scores } =
            verify(&replay, &tables).with_context(about)?;
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}: episode {} of match {} is as it should be",
            replay.config.as_ref().map_or("", |config| &config.game),
            replay.episode,
            replay.match_id
        )?;
        writeln!(out, "the key is the one that was committed to before the first decision")?;
        match source {
            SeedSource::Drawn if contributed.is_empty() => writeln!(out, "the server drew it")?,
            SeedSource::Drawn => {
                writeln!(out, "nobody could choose it: the server and seats {contributed} had a hand in it")?;
            }
            SeedSource::Given(seed) => writeln!(out, "it follows from seed {seed}, which somebody gave")?,
        }
        writeln!(out, "all {decisions} decisions could be made, and led to the views that were shown")?;
        writeln!(out, "they chain up to {}", hex(&head))?;
        if !scores.is_empty() {
            writeln!(out, "the scores are {scores:?}")?;
        }
        let outcome = replay.frames.last().and_then(|frame| frame.outcome.as_ref());
        let is_forfeited =
            outcome.is_some_and(|outcome| outcome.forfeits().any(|why| why != v1::Forfeit::Unspecified));
        let forfeit = if is_forfeited { ", that a seat forfeited the episode" } else { "" };
        writeln!(
            out,
            "said by the server, and not proven: which bots played, how decisions came about, times{forfeit}"
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

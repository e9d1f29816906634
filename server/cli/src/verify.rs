//! `verify`: checks a recorded episode.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use boardwire_api::v1;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use clap::Args;

use crate::flags::Catalogues;
use crate::json;
use boardwire_server::hex::hex;
use boardwire_server::record::{Verified, verify};
use boardwire_server::secret::SeedSource;

/// Plays a recorded episode again from its key. Compares commitment, decisions, views, hash chain and result.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The canonical JSON of a `boardwire.v1.Replay`, as clients save it; `-` for standard input.
    file: PathBuf,
    #[command(flatten)]
    catalogues: Catalogues,
}

impl Verify {
    pub(super) fn run(self, games: &Registry) -> anyhow::Result<ExitCode> {
        let tables = Tables::new(self.catalogues.load(games)?);
        let about = || self.file.display().to_string();
        let replay: v1::Replay = json::read("Replay", &self.file).with_context(about)?;
        let Verified { decisions, source, contributed, head, scores } =
            verify(&replay, &tables).with_context(about)?;
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}: episode {} of match {} verified",
            replay.config.as_ref().map_or("", |config| &config.game),
            replay.episode,
            replay.match_id
        )?;
        writeln!(out, "the key matches the commitment that was made before the first decision")?;
        let origin = match source {
            SeedSource::Drawn if contributed.is_empty() => "the server drew the key".to_owned(),
            SeedSource::Drawn => {
                format!("the server and seats {contributed} drew the key: none could choose it")
            }
            SeedSource::Given(seed) => format!("the key follows from seed {seed}, which a caller gave"),
        };
        writeln!(out, "{origin}")?;
        writeln!(out, "all {decisions} decisions are legal and lead to the recorded views")?;
        writeln!(out, "the hash chain of the decisions ends with {}", hex(&head))?;
        if !scores.is_empty() {
            writeln!(out, "the scores are {scores:?}")?;
        }
        let outcome = replay.frames.last().and_then(|frame| frame.outcome.as_ref());
        let is_forfeited =
            outcome.is_some_and(|outcome| outcome.forfeits().any(|why| why != v1::Forfeit::Unspecified));
        let forfeit = if is_forfeited { ", that a seat forfeited the episode" } else { "" };
        writeln!(
            out,
            "not proven, but reported by the server: which bots played, the causes of decisions, times{forfeit}"
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

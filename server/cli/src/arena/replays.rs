//! A folder of replays: every match of an arena, and what was played.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use boardwire_api::v1;
use serde_json::Value;

use crate::json;

/// The file that says what was played.
const WHAT: &str = "arena.json";

/// A folder of replays.
#[derive(Debug)]
pub(super) struct Replays {
    folder: PathBuf,
    /// How many matches each deal has.
    ways: usize,
}

impl Replays {
    /// Opens the folder for an arena that plays `what`; it is made if it is not there.
    ///
    /// # Errors
    /// A folder that cannot be made, read or written, or that has the replays of another arena.
    pub(super) fn open(folder: &Path, ways: usize, what: &Value) -> anyhow::Result<Self> {
        let path = folder.join(WHAT);
        let about = || path.display().to_string();
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                put(&path, &format!("{what}\n")).with_context(about)?;
            }
            text => {
                let held: Value = serde_json::from_str(&text.with_context(about)?).with_context(about)?;
                anyhow::ensure!(
                    &held == what,
                    "{} is of another arena, {held}: this one is {what}; name another folder",
                    path.display()
                );
            }
        }
        Ok(Self { folder: folder.to_owned(), ways })
    }

    /// Whether there is every match of a deal.
    pub(super) fn has(&self, deal: u64) -> bool {
        (0..self.ways).all(|way| self.file(deal, way).is_file())
    }

    /// Keeps a match; its file is there when it is whole.
    pub(super) fn keep(&self, deal: u64, way: usize, replay: &v1::Replay) -> anyhow::Result<()> {
        let path = self.file(deal, way);
        put(&path, &json::write("Replay", replay, false)?.to_string())
            .with_context(|| path.display().to_string())
    }

    fn file(&self, deal: u64, way: usize) -> PathBuf {
        self.folder.join(format!("deal-{deal:09}-way-{way}.json"))
    }
}

/// Writes a file, which is there when it is whole.
fn put(path: &Path, text: &str) -> std::io::Result<()> {
    let aside = path.with_extension("new");
    std::fs::write(&aside, text)?;
    std::fs::rename(&aside, path)
}

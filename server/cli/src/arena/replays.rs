//! Stores the replays of an arena in a folder. A later run of the same arena continues from them.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use boardwire_api::v1;
use serde_json::Value;

use super::deal::{MatchResult, PlayedDeal};
use crate::json;

/// The file with the arena's settings. An arena locks it while it uses the folder.
const SETTINGS: &str = "arena.json";

#[derive(Debug)]
pub(super) struct Replays {
    folder: PathBuf,
    line_ups: usize,
    settings: File,
}

/// Returns the seed of the arena whose replays are in a folder, or `None` if it has no replays.
pub(super) fn seed_of(folder: &Path) -> Option<u64> {
    // If the file is invalid, `Replays::open` reports it.
    let settings: Value = serde_json::from_slice(&std::fs::read(folder.join(SETTINGS)).ok()?).ok()?;
    settings["seed"].as_u64()
}

impl Replays {
    /// Opens the folder for an arena with these settings. Creates the folder if it does not exist.
    ///
    /// # Errors
    /// The folder is not accessible, it has replays of another arena, or another arena uses it.
    pub(super) fn open(folder: &Path, line_ups: usize, settings: &Value) -> anyhow::Result<Self> {
        let path = folder.join(SETTINGS);
        let about = || path.display().to_string();
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut file =
            File::options().read(true).append(true).create(true).open(&path).with_context(about)?;
        // On a file system without locks, two arenas can write to the folder at the same time.
        let is_locked = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        anyhow::ensure!(
            !is_locked,
            "another arena writes to {}: wait for its end, or name another folder",
            folder.display()
        );
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(about)?;
        if text.is_empty() {
            writeln!(file, "{settings}").with_context(about)?;
        } else {
            let old: Value = serde_json::from_str(&text).with_context(about)?;
            anyhow::ensure!(
                &old == settings,
                "{} belongs to another arena, {old}: this one is {settings}; name another folder",
                about()
            );
        }
        Ok(Self { folder: folder.to_owned(), line_ups, settings: file })
    }

    /// Returns the deals that have a replay for every line-up, by number.
    ///
    /// # Errors
    /// A file cannot be read, or is not the replay of a finished episode.
    pub(super) fn read(&self) -> anyhow::Result<BTreeMap<u64, PlayedDeal>> {
        let mut deals = BTreeMap::new();
        for file in std::fs::read_dir(&self.folder).with_context(|| self.folder.display().to_string())? {
            let name = file?.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_prefix("deal-")?.strip_suffix("-way-0.json"));
            let Some(number) = number.and_then(|number| number.parse().ok()) else { continue };
            if (0..self.line_ups).all(|line_up| self.file(number, line_up).is_file()) {
                let results = (0..self.line_ups).map(|line_up| self.result(number, line_up));
                deals.insert(number, PlayedDeal { number, results: results.collect::<Result<_, _>>()? });
            }
        }
        Ok(deals)
    }

    fn result(&self, deal: u64, line_up: usize) -> anyhow::Result<MatchResult> {
        let path = self.file(deal, line_up);
        let about = || format!("{}: delete it, and the deal is played again", path.display());
        let mut replay: v1::Replay = json::read("Replay", &path).with_context(about)?;
        let last = replay.frames.pop().with_context(about)?;
        Ok(MatchResult::from_outcome(last.ply, last.outcome.with_context(about)?))
    }

    /// Saves the replay of a match atomically.
    pub(super) fn save(&self, deal: u64, line_up: usize, replay: &v1::Replay) -> anyhow::Result<()> {
        let path = self.file(deal, line_up);
        let temporary = path.with_extension("new");
        let written = std::fs::write(&temporary, json::write("Replay", replay, false)?.to_string());
        written.and_then(|()| std::fs::rename(&temporary, &path)).with_context(|| path.display().to_string())
    }

    fn file(&self, deal: u64, line_up: usize) -> PathBuf {
        self.folder.join(format!("deal-{deal:09}-way-{line_up}.json"))
    }
}

impl Drop for Replays {
    /// Unlocks explicitly: a child process between fork and exec still has the file open, which keeps the lock.
    fn drop(&mut self) {
        let _ = self.settings.unlock();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_arenas_do_not_write_to_one_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = json!({"seed": 1});
        let first = Replays::open(folder.path(), 2, &settings).expect("a new folder");
        let refused =
            Replays::open(folder.path(), 2, &settings).expect_err("the folder is locked").to_string();
        assert!(refused.starts_with("another arena writes to "), "{refused}");
        drop(first);
        Replays::open(folder.path(), 2, &settings).expect("the lock is free");
        assert_eq!(seed_of(folder.path()), Some(1));
    }
}

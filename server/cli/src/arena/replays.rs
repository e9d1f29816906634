//! A folder of replays: every match of an arena, and what was played. A later run goes on with it.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use boardwire_api::v1;
use serde_json::Value;

use super::deal::{End, Played};
use crate::json;

/// The file that says what was played. It is locked as long as an arena writes to the folder.
const WHAT: &str = "arena.json";

/// A folder of replays.
#[derive(Debug)]
pub(super) struct Replays {
    folder: PathBuf,
    /// How many matches each deal has.
    ways: usize,
    what: File,
}

/// The seed of the arena whose replays are in a folder, if it holds any.
pub(super) fn seed_of(folder: &Path) -> Option<u64> {
    // A folder of something else is refused when it is opened.
    let what: Value = serde_json::from_slice(&std::fs::read(folder.join(WHAT)).ok()?).ok()?;
    what["seed"].as_u64()
}

impl Replays {
    /// Opens the folder for an arena that plays `what`; it is made if it is not there.
    ///
    /// # Errors
    /// A folder that cannot be made, read or written, that has the replays of another arena, or that another arena writes to.
    pub(super) fn open(folder: &Path, ways: usize, what: &Value) -> anyhow::Result<Self> {
        let path = folder.join(WHAT);
        let about = || path.display().to_string();
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut file =
            File::options().read(true).append(true).create(true).open(&path).with_context(about)?;
        // Where a file system knows no locks, two arenas are not kept apart.
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let folder = folder.to_owned();
        anyhow::ensure!(
            !is_taken,
            "another arena writes to {}: wait for its end, or name another folder",
            folder.display()
        );
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(about)?;
        if text.is_empty() {
            writeln!(file, "{what}").with_context(about)?;
        } else {
            let held: Value = serde_json::from_str(&text).with_context(about)?;
            anyhow::ensure!(
                &held == what,
                "{} is of another arena, {held}: this one is {what}; name another folder",
                about()
            );
        }
        Ok(Self { folder, ways, what: file })
    }

    /// The deals of which every match is there, by their numbers.
    ///
    /// # Errors
    /// A file that cannot be read, or is no replay of a match that has ended.
    pub(super) fn read(&self) -> anyhow::Result<BTreeMap<u64, Played>> {
        let mut deals = BTreeMap::new();
        for file in std::fs::read_dir(&self.folder).with_context(|| self.folder.display().to_string())? {
            let name = file?.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_prefix("deal-")?.strip_suffix("-way-0.json"));
            let Some(number) = number.and_then(|number| number.parse().ok()) else { continue };
            if (0..self.ways).all(|way| self.file(number, way).is_file()) {
                let ends = (0..self.ways).map(|way| self.end(number, way)).collect::<Result<_, _>>()?;
                deals.insert(number, Played { number, ends });
            }
        }
        Ok(deals)
    }

    /// How a match ended.
    fn end(&self, deal: u64, way: usize) -> anyhow::Result<End> {
        let path = self.file(deal, way);
        let about = || format!("{}: delete it, and it is played again", path.display());
        let mut replay: v1::Replay = json::read("Replay", &path).with_context(about)?;
        let last = replay.frames.pop().with_context(about)?;
        Ok(End::of(last.ply, last.outcome.with_context(about)?))
    }

    /// Keeps a match; its file is there when it is whole.
    pub(super) fn keep(&self, deal: u64, way: usize, replay: &v1::Replay) -> anyhow::Result<()> {
        let path = self.file(deal, way);
        let aside = path.with_extension("new");
        let written = std::fs::write(&aside, json::write("Replay", replay, false)?.to_string());
        written.and_then(|()| std::fs::rename(&aside, &path)).with_context(|| path.display().to_string())
    }

    fn file(&self, deal: u64, way: usize) -> PathBuf {
        self.folder.join(format!("deal-{deal:09}-way-{way}.json"))
    }
}

impl Drop for Replays {
    /// A child that is being started may have the file open a moment longer, and with it the lock.
    fn drop(&mut self) {
        let _ = self.what.unlock();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_arenas_do_not_write_to_one_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let what = json!({"seed": 1});
        let first = Replays::open(folder.path(), 2, &what).expect("a new folder");
        let refused = Replays::open(folder.path(), 2, &what).expect_err("it is taken").to_string();
        assert!(refused.starts_with("another arena writes to "), "{refused}");
        drop(first);
        Replays::open(folder.path(), 2, &what).expect("it is free");
        assert_eq!(seed_of(folder.path()), Some(1));
    }
}

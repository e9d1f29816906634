//! The tail: a file beside the journal that lists the lines in `SQLite`'s write-ahead log.
//!
//! If the log is damaged or missing, `SQLite` silently restores an older state of the database. A line that the tail lists
//! and the database lacks is lost, and the server must report it.
//!
//! The first line says when the tail is valid. `always`: at any time. `boot` and the system's boot id: until the next boot,
//! because a loss of power may remove lines that were not synced. Each further line has a match id, the number of one of its
//! lines, and whether the match was `open` or `closed` after that line.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::{Entry, Sync};
use crate::secret;

/// How many lines of a match were written, and whether it was open after them.
#[derive(Debug)]
pub(super) struct TailCount {
    pub(super) lines: i64,
    pub(super) open: bool,
}

/// The open tail file.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    path: PathBuf,
    header: String,
    /// The length of the file.
    pub(super) bytes: u64,
}

fn path_of(journal: &Path) -> PathBuf {
    let mut path = journal.to_owned().into_os_string();
    path.push("-tail");
    path.into()
}

/// Returns the first line of a tail that the server creates now.
pub(super) fn header(sync: Sync) -> String {
    match sync {
        Sync::Always => "always\n".to_owned(),
        Sync::Interval => {
            // Only Linux has a boot id. On other systems the tail is never valid for a later server.
            let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
            let boot = boot.unwrap_or_else(|_| secret::random_hex());
            format!("boot {}\n", boot.trim())
        }
    }
}

/// Reads how many lines of each match the last server wrote to the log of `journal`.
pub(super) fn tail_counts(journal: &Path) -> io::Result<HashMap<String, TailCount>> {
    let bytes = match std::fs::read(path_of(journal)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashMap::new()),
        bytes => bytes?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut counts = HashMap::new();
    let holds = [Sync::Always, Sync::Interval].iter().any(|sync| text.starts_with(&header(*sync)));
    // A killed server may have left an incomplete line.
    let Some((complete, _)) = text.rsplit_once('\n').filter(|_| holds) else { return Ok(counts) };
    for line in complete.lines().skip(1) {
        if let [id, number, state, ..] = *line.split(' ').collect::<Vec<_>>()
            && let Ok(number) = number.parse::<u32>()
        {
            counts.insert(id.to_owned(), TailCount { lines: i64::from(number) + 1, open: state == "open" });
        }
    }
    Ok(counts)
}

impl Tail {
    /// Creates an empty tail. The log must be empty.
    pub(super) fn create(journal: &Path, sync: Sync) -> io::Result<Self> {
        let path = path_of(journal);
        let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path)?;
        Ok(Self { file, path, header: header(sync), bytes: 0 })
    }

    /// Adds entries that are now in the log. A retry after a failure overwrites the same bytes.
    pub(super) fn add(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut text = if self.bytes == 0 { self.header.clone() } else { String::new() };
        for Entry { id, number, open, .. } in entries {
            let state = if *open { "open" } else { "closed" };
            writeln!(text, "{id} {number} {state}").expect("writing to a string succeeds");
        }
        self.file.write_all_at(text.as_bytes(), self.bytes)?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Empties the tail after a checkpoint of the log.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.bytes = 0;
        Ok(())
    }

    /// Removes the tail after the last checkpoint, when the server stops.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(self.path)
    }
}

//! A file beside the journal that names the lines which stand only in `SQLite`'s write-ahead log.
//!
//! Where the log is damaged or missing, `SQLite` restores an older state of the database without a word. Lines that this file
//! names and the database lacks are lost, and the server must not start without telling.
//!
//! The first line of the file says when the rest is true: `always`, or `boot` and the number of the system's start, since
//! lines that were not yet safe from a loss of power may be missing after one. Each other line is a match, the number of one
//! of its lines, and whether the match was `open` or `closed` then.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::{Entry, Sync};
use crate::secret;

/// How many lines of a match were written, and whether it was open then.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) lines: i64,
    pub(super) open: bool,
}

/// The open file.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    path: PathBuf,
    header: String,
    bytes: u64,
}

fn path_of(journal: &Path) -> PathBuf {
    let mut path = journal.to_owned().into_os_string();
    path.push("-tail");
    path.into()
}

/// When what is written now stays true.
pub(super) fn header(sync: Sync) -> String {
    match sync {
        Sync::Always => "always\n".to_owned(),
        Sync::Interval => {
            // Elsewhere than on Linux no later server believes it.
            let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
            let boot = boot.unwrap_or_else(|_| secret::word());
            format!("boot {}\n", boot.trim())
        }
    }
}

/// What the last server wrote to the log of `journal`, by match.
pub(super) fn claims(journal: &Path) -> io::Result<HashMap<String, Claim>> {
    let bytes = match std::fs::read(path_of(journal)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashMap::new()),
        bytes => bytes?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut claims = HashMap::new();
    let is_true = [Sync::Always, Sync::Interval].iter().any(|sync| text.starts_with(&header(*sync)));
    // A server that was killed may have left half a line.
    let Some((whole, _)) = text.rsplit_once('\n').filter(|_| is_true) else { return Ok(claims) };
    for line in whole.lines().skip(1) {
        let mut words = line.split(' ');
        if let (Some(id), Some(Ok(number)), Some(state)) =
            (words.next(), words.next().map(str::parse::<u32>), words.next())
        {
            let claim = Claim { lines: i64::from(number) + 1, open: state == "open" };
            claims.insert(id.to_owned(), claim);
        }
    }
    Ok(claims)
}

impl Tail {
    /// An empty one, when everything stands in the database.
    pub(super) fn create(journal: &Path, sync: Sync) -> io::Result<Self> {
        let path = path_of(journal);
        let options = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path);
        Ok(Self { file: options?, path, header: header(sync), bytes: 0 })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Names entries that the log has now. A second call after a failure writes them in the same place.
    pub(super) fn add(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut text = if self.bytes == 0 { self.header.clone() } else { String::new() };
        for Entry { id, number, open, .. } in entries {
            let state = if *open { "open" } else { "closed" };
            writeln!(text, "{id} {number} {state}").expect("a string takes all");
        }
        self.file.write_all_at(text.as_bytes(), self.bytes)?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Empties it, when everything stands in the database.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.bytes = 0;
        Ok(())
    }

    /// Removes it: the server stops, and everything stands in the database.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(self.path)
    }
}

//! The deals that have been played, in a file that a later run goes on with.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::deal::Deal;

/// The most bytes of the line that says what is played.
const MOST_BYTES: u64 = 1 << 20;

/// A file of JSON lines: first what is played, then a deal a line as they are finished.
#[derive(Debug)]
pub(super) struct Ledger(Option<File>);

/// The seed of the arena whose deals are in a file, if it holds one.
pub(super) fn seed_of(path: &Path) -> anyhow::Result<Option<u64>> {
    let about = || path.display().to_string();
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.with_context(about)?,
    };
    let mut line = String::new();
    // A file of something else is refused when it is opened to be continued.
    BufReader::new(file.take(MOST_BYTES)).read_line(&mut line).with_context(about)?;
    Ok(serde_json::from_str::<Value>(&line).ok().and_then(|what| what["seed"].as_u64()))
}

impl Ledger {
    /// Opens the file, if there is to be one; gives the deals that it holds.
    ///
    /// # Errors
    /// When the file cannot be read or written, is of something else, or another arena writes to it. A last line that was
    /// cut off is dropped.
    pub(super) fn open(path: Option<&Path>, what: &Value) -> anyhow::Result<(Self, BTreeMap<u64, Deal>)> {
        let Some(path) = path else { return Ok((Self(None), BTreeMap::new())) };
        let told = || path.display().to_string();
        let mut file = File::options().read(true).append(true).create(true).open(path).with_context(told)?;
        // Where a file system knows no locks, nobody is kept apart.
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        anyhow::ensure!(
            !is_taken,
            "another arena writes to {}: wait for its end, or name another file",
            told()
        );
        let (mut deals, mut whole, mut lines) = (BTreeMap::new(), 0, 0_u64);
        let mut reader = BufReader::new(&file);
        let mut line = String::new();
        while reader.read_line(&mut line).with_context(told)? > 0 {
            if !line.ends_with('\n') {
                let is_ours = lines > 0 || what.to_string().starts_with(&line);
                anyhow::ensure!(is_ours, "{} is no file of an arena: name another file", told());
                break;
            }
            lines += 1;
            if lines == 1 {
                let holds: Value = serde_json::from_str(&line).with_context(told)?;
                anyhow::ensure!(
                    &holds == what,
                    "{} holds another arena, {holds}: this one is {what}; name another file",
                    told()
                );
            } else {
                let deal: Deal =
                    serde_json::from_str(&line).with_context(|| format!("{}, line {lines}", told()))?;
                deals.insert(deal.number, deal);
            }
            whole += line.len() as u64;
            line.clear();
        }
        drop(reader);
        file.set_len(whole).with_context(told)?;
        if lines == 0 {
            writeln!(file, "{what}").with_context(told)?;
        }
        Ok((Self(Some(file)), deals))
    }

    /// Adds a deal.
    pub(super) fn add(&mut self, deal: &Deal) -> anyhow::Result<()> {
        if let Some(file) = &mut self.0 {
            let mut line = serde_json::to_string(deal)?;
            line.push('\n');
            file.write_all(line.as_bytes()).context("the file of deals")?;
        }
        Ok(())
    }
}

impl Drop for Ledger {
    /// A child that is being started may have the file open a moment longer, and with it the lock.
    fn drop(&mut self) {
        if let Self(Some(file)) = self {
            let _ = file.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deal(number: u64) -> Deal {
        Deal { number, decisions: 7, tallies: vec![], ahead: vec![] }
    }

    #[test]
    fn a_later_run_goes_on_where_an_earlier_one_was_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deals.jsonl");
        let what = json!({"game": "faraway"});
        let (mut ledger, found) = Ledger::open(Some(&path), &what).expect("a new file");
        assert!(found.is_empty());
        for number in [1, 0, 5] {
            ledger.add(&deal(number)).expect("room");
        }
        drop(ledger);
        let mut cut = File::options().append(true).open(&path).expect("the file");
        cut.write_all(b"{\"number\": 9, \"deci").expect("room");
        let (mut ledger, found) = Ledger::open(Some(&path), &what).expect("the same file");
        assert_eq!(found.into_values().collect::<Vec<_>>(), [0, 1, 5].map(deal));
        ledger.add(&deal(2)).expect("room");
        drop(ledger);
        let (_, found) = Ledger::open(Some(&path), &what).expect("the same file");
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn two_arenas_do_not_write_to_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deals.jsonl");
        let what = json!({"seed": 1});
        let (first, _) = Ledger::open(Some(&path), &what).expect("a new file");
        let refused = Ledger::open(Some(&path), &what).expect_err("it is taken").to_string();
        assert!(refused.starts_with("another arena writes to "), "{refused}");
        drop(first);
        Ledger::open(Some(&path), &what).expect("it is free");
    }

    #[test]
    fn a_line_of_something_else_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.json");
        let what = json!({"seed": 1});
        std::fs::write(&path, "[1, 2]").expect("room");
        let refused = Ledger::open(Some(&path), &what).expect_err("another file").to_string();
        assert!(refused.contains("name another file"), "{refused}");
        assert_eq!(std::fs::read(&path).expect("the file"), b"[1, 2]");
        // A first line that was cut off is written again.
        std::fs::write(&path, "{\"se").expect("room");
        assert!(Ledger::open(Some(&path), &what).is_ok());
        assert_eq!(std::fs::read(&path).expect("the file"), b"{\"seed\":1}\n");
    }

    #[test]
    fn a_file_of_another_arena_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deals.jsonl");
        Ledger::open(Some(&path), &json!({"seed": 1})).expect("a new file");
        let before = std::fs::read(&path).expect("the file");
        let refused = Ledger::open(Some(&path), &json!({"seed": 2})).expect_err("another arena").to_string();
        assert!(
            refused.contains("holds another arena") && refused.contains("name another file"),
            "{refused}"
        );
        assert_eq!(std::fs::read(&path).expect("the file"), before);
    }
}

//! Small files of the operator: keys, certificates, accounts and settings.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The maximum size in bytes of a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads a file.
///
/// # Errors
/// The file cannot be read, or is larger than 1 MiB.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 1 MiB"));
    }
    Ok(bytes)
}

/// Reads a text file.
///
/// # Errors
/// As [`read_file`]; the file is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_file(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns the text of an error about a file of this kind.
pub(crate) fn file_error(kind: &str, path: &Path, problem: impl Display) -> String {
    format!("{kind} {}: {problem}", path.display())
}

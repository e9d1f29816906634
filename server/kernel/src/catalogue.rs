//! Catalogues: reading JSON into rows, and checks of rows.
//!
//! A game describes its rows as serde types. [`read`] names the row and field that it cannot read. The other functions
//! check what a type cannot express. Each of their errors names the place.

use std::fmt::Display;

use borsh::BorshSerialize;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use crate::Digest;

/// A problem in a catalogue, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct CatalogueError {
    /// The section, row and field: `regions[12].quest.points`; or `line 3 column 7` of invalid JSON.
    pub place: String,
    /// The problem there, and the allowed values.
    pub problem: String,
}

impl CatalogueError {
    /// Creates the error that `problem` is at `place`.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }
}

/// A checked value of the catalogue, or the error in it.
pub type CatalogueResult<T = ()> = Result<T, CatalogueError>;

/// The printed components of a game. [`provenance`](Self::provenance) is optional.
pub trait Components: Sized + Send + Sync + 'static {
    /// Reads and validates a catalogue.
    ///
    /// # Errors
    /// The section, row and field with a problem, and the allowed values.
    fn read(json: &str) -> CatalogueResult<Self>;

    /// Returns the source of the values of each section.
    fn provenance(&self) -> Vec<Provenance> {
        Vec::new()
    }
}

impl Components for () {
    /// Ignores the text: a game without components does not read its catalogue.
    fn read(_: &str) -> CatalogueResult {
        Ok(())
    }
}

/// The source of the values of one catalogue section.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct Provenance {
    /// The section's name in the catalogue.
    pub section: String,
    /// The source of its values, in a few words.
    pub source: String,
}

/// Reads JSON into rows.
///
/// # Errors
/// The field that cannot be read, or the line and column of invalid JSON.
pub fn read<T: DeserializeOwned>(json: &str) -> CatalogueResult<T> {
    let mut text = serde_json::Deserializer::from_str(json);
    let read = serde_path_to_error::deserialize(&mut text).map_err(|error| {
        let (path, cause) = (error.path().to_string(), error.into_inner());
        let (place, problem) =
            (format!("line {} column {}", cause.line(), cause.column()), cause.to_string());
        let problem = problem.strip_suffix(&format!(" at {place}")).unwrap_or(&problem).to_owned();
        match (cause.is_data(), path.as_str()) {
            (true, "." | "?") => CatalogueError::new("catalogue", problem),
            (true, _) => CatalogueError::new(path, problem),
            (false, "." | "?") => CatalogueError::new(place, problem),
            (false, _) => CatalogueError::new(path, format!("{problem} at {place}")),
        }
    })?;
    text.end().map_err(|error| {
        CatalogueError::new(format!("line {} column {}", error.line(), error.column()), error.to_string())
    })?;
    Ok(read)
}

/// Returns an error for a catalogue.
///
/// # Errors
/// Always: the problem, and its place.
pub fn refuse<T>(place: impl Into<String>, problem: impl Into<String>) -> CatalogueResult<T> {
    Err(CatalogueError::new(place, problem))
}

/// Returns an error for a catalogue unless `holds`.
///
/// # Errors
/// The problem, and its place.
pub fn require(holds: bool, place: impl Into<String>, problem: impl FnOnce() -> String) -> CatalogueResult {
    if holds { Ok(()) } else { refuse(place, problem()) }
}

/// Returns the number if it is from `min` to `max`, both included.
///
/// # Errors
/// The number, and the allowed range.
pub fn check_range<T: PartialOrd + Copy + Display>(
    place: impl Into<String>,
    value: T,
    min: T,
    max: T,
) -> CatalogueResult<T> {
    require(min <= value && value <= max, place, || format!("must be {min} to {max}; got {value}"))?;
    Ok(value)
}

/// Refuses a value other than `expected`, the only one that the rules support.
///
/// # Errors
/// The value, and the value that it must be.
pub fn check_equals<T: PartialEq + Display + Copy>(
    place: impl Into<String>,
    value: T,
    expected: T,
) -> CatalogueResult {
    require(value == expected, place, || format!("must be {expected}; got {value}"))
}

/// Returns the index of a word in the list of known words.
///
/// # Errors
/// The word, and the known words.
pub fn parse_word(place: impl Into<String>, word: &str, known: &[&str]) -> CatalogueResult<usize> {
    match known.iter().position(|&name| name == word) {
        Some(at) => Ok(at),
        None => refuse(place, format!("must be one of {}; got `{word}`", known.join(", "))),
    }
}

/// Refuses rows if two of them have the same value of a field.
///
/// # Errors
/// The field of the later row, and the row with the same value.
pub fn unique<T, K: PartialEq + Display>(
    section: &str,
    field: &str,
    rows: &[T],
    key: impl Fn(&T) -> K,
) -> CatalogueResult {
    for (at, row) in rows.iter().enumerate() {
        let value = key(row);
        if let Some(first) = rows[..at].iter().position(|other| key(other) == value) {
            let place = format!("{section}[{at}].{field}");
            return refuse(place, format!("is `{value}`, as in {section}[{first}]"));
        }
    }
    Ok(())
}

/// A number from `MIN` to `MAX`. The type of a field states which numbers it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedU8<const MIN: u8, const MAX: u8>(u8);

impl<const MIN: u8, const MAX: u8> BoundedU8<MIN, MAX> {
    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl<'de, const MIN: u8, const MAX: u8> Deserialize<'de> for BoundedU8<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
        let fits = number.filter(|number| (MIN..=MAX).contains(number));
        fits.map(Self).ok_or_else(|| {
            D::Error::custom(format!("must be a whole number from {MIN} to {MAX}; got {value}"))
        })
    }
}

/// A catalogue with the digest of its text.
#[derive(Debug)]
pub struct LoadedCatalogue<C> {
    /// The components.
    pub components: C,
    /// The digest of the text.
    pub digest: Digest,
}

impl<C: Components> LoadedCatalogue<C> {
    /// Reads a catalogue from JSON.
    ///
    /// # Errors
    /// The problem, and its place.
    pub fn read(json: &str) -> CatalogueResult<Self> {
        Ok(Self { components: C::read(json)?, digest: Digest::of_bytes(json.as_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TestRow {
        id: BoundedU8<1, 9>,
    }

    #[derive(Deserialize)]
    struct TestFile {
        rows: Vec<TestRow>,
    }

    fn refusal(json: &str) -> String {
        read::<TestFile>(json).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn read_errors_name_row_and_field() {
        assert_eq!(read::<TestFile>(r#"{"rows": [{"id": 9}]}"#).map(|file| file.rows[0].id.get()), Ok(9));
        assert_eq!(
            refusal(r#"{"rows": [{"id": 1}, {"id": 10}]}"#),
            "rows[1].id: must be a whole number from 1 to 9; got 10"
        );
        assert!(refusal(r#"{"rows": [{"id": 1, "no": 2}]}"#).starts_with("rows[0].no: unknown field"));
        assert!(refusal("{").starts_with("line 1 column 1: EOF"));
        assert!(refusal(r#"{"rows": []} x"#).starts_with("line 1 column 14"));
    }

    #[test]
    fn unique_names_both_rows() {
        let twice = unique("rows", "id", &[1, 2, 1], |&id| id);
        assert_eq!(twice.map_err(|error| error.to_string()), Err("rows[2].id: is `1`, as in rows[0]".into()));
    }
}

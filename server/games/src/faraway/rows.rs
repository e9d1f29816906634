//! Rows of a JSON catalogue, read field by field so that an error can name both.

use boardwire_kernel::CatalogueError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A JSON object whose fields are taken out one by one.
pub(super) struct Row {
    place: String,
    fields: Map<String, Value>,
}

impl Row {
    /// The row at `place`.
    pub(super) fn new(place: impl Into<String>, value: Value) -> Result<Self, CatalogueError> {
        let place = place.into();
        match value {
            Value::Object(fields) => Ok(Self { place, fields }),
            other => Err(CatalogueError::new(place, format!("is {other}, and should be an object"))),
        }
    }

    fn at(&self, field: &str) -> String {
        if self.place.is_empty() { field.to_owned() } else { format!("{}.{field}", self.place) }
    }

    /// Says what is wrong with a field.
    pub(super) fn wrong(&self, field: &str, problem: impl Into<String>) -> CatalogueError {
        CatalogueError::new(self.at(field), problem)
    }

    /// Whether the row still has the field.
    pub(super) fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// Whether the field is there and null.
    pub(super) fn is_null(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(Value::is_null)
    }

    /// Takes a field out.
    pub(super) fn take<T: DeserializeOwned>(&mut self, field: &str) -> Result<T, CatalogueError> {
        let value = self.fields.remove(field).ok_or_else(|| self.wrong(field, "is missing"))?;
        serde_json::from_value(value).map_err(|error| self.wrong(field, error.to_string()))
    }

    /// Takes out a number in `min..=max`.
    pub(super) fn number(&mut self, field: &str, min: u8, max: u8) -> Result<u8, CatalogueError> {
        let value: Value = self.take(field)?;
        let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.wrong(field, format!("is {value}, not a whole number from {min} to {max}")))
    }

    /// Takes out one of `words`, as its place among them.
    pub(super) fn word(&mut self, field: &str, words: &[&str]) -> Result<usize, CatalogueError> {
        let word: Value = self.take(field)?;
        words
            .iter()
            .position(|known| word.as_str() == Some(known))
            .ok_or_else(|| self.wrong(field, format!("is {word}, not one of {}", words.join(", "))))
    }

    /// Takes out a list of `min` to `max` different `words`, as their places among them.
    pub(super) fn words(
        &mut self,
        field: &str,
        words: &[&str],
        min: usize,
        max: usize,
    ) -> Result<Vec<usize>, CatalogueError> {
        let given: Vec<String> = self.take(field)?;
        let mut places: Vec<usize> =
            given.iter().filter_map(|word| words.iter().position(|known| known == word)).collect();
        let known = places.len() == given.len();
        places.sort_unstable();
        places.dedup();
        if known && places.len() == given.len() && (min..=max).contains(&places.len()) {
            return Ok(places);
        }
        let right = words.join(", ");
        Err(self.wrong(field, format!("is {given:?}, not {min} to {max} different ones of {right}")))
    }

    /// Takes out an object.
    pub(super) fn nested(&mut self, field: &str) -> Result<Self, CatalogueError> {
        let value = self.take(field)?;
        Self::new(self.at(field), value)
    }

    /// Makes sure that nothing is left.
    pub(super) fn finish(&self) -> Result<(), CatalogueError> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(field) => Err(self.wrong(field, "is not a field of this row")),
        }
    }
}

/// Takes out a section of exactly `count` rows.
pub(super) fn rows(file: &mut Row, section: &str, count: u8) -> Result<Vec<Row>, CatalogueError> {
    let values: Vec<Value> = file.take(section)?;
    if values.len() != usize::from(count) {
        return Err(file.wrong(section, format!("has {} rows, not {count}", values.len())));
    }
    (0..).zip(values).map(|(at, value): (usize, _)| Row::new(format!("{section}[{at}]"), value)).collect()
}

//! What a seat may know, as named byte fields.
//!
//! A view is a run of bytes cut into [`Field`]s. One layout serves all seats of a game at one seat count;
//! what belongs to seats stands viewer first, then clockwise. A value whose maximum exceeds 255 takes two
//! bytes, low first. Card ids count from 1; id 0 is "none" and names the all-zero row 0 of its table.

use borsh::BorshSerialize;

/// What the values of a field mean, so that clients can turn them into features without knowing the game.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub enum Meaning {
    /// A row of the table with this name; 0 is none.
    Id {
        /// The table's name.
        table: &'static str,
    },
    /// A number of things, or a track's position.
    Count,
    /// 0 or 1.
    Flag,
    /// A seat relative to the viewer: 0 none, 1 the viewer, 2 the next seat clockwise, and so on.
    Seat,
    /// One of a few named values, in order: value `i` is `names[i]`.
    Code {
        /// The names, by value.
        names: Vec<String>,
    },
}

/// One named field of a view.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct Field {
    /// The name, in `snake_case`: `lines`.
    pub name: &'static str,
    /// The sizes, slowest first: `[seats, 8]`; empty for a single value.
    pub shape: Vec<u16>,
    /// The largest value; above 255 each value takes two bytes.
    pub max: u16,
    /// What the values mean.
    pub meaning: Meaning,
    /// One sentence for people, with the order of rows and columns.
    pub doc: &'static str,
}

impl Field {
    /// How many values the field holds.
    #[must_use]
    pub fn values(&self) -> usize {
        self.shape.iter().map(|&size| usize::from(size)).product()
    }

    /// Bytes of one value: 1, or 2 where the maximum exceeds 255.
    #[must_use]
    pub fn width(&self) -> usize {
        if self.max > 255 { 2 } else { 1 }
    }

    /// Bytes of the field.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.values() * self.width()
    }
}

/// The fields of a view, in order, without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Default, BorshSerialize)]
pub struct ViewLayout {
    /// The fields, in the order of their bytes.
    pub fields: Vec<Field>,
}

impl ViewLayout {
    /// Bytes of a view.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.fields.iter().map(Field::bytes).sum()
    }

    /// The fields with the byte at which each begins.
    pub fn with_offsets(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.fields.iter().scan(0, |next, field| {
            let offset = *next;
            *next += field.bytes();
            Some((offset, field))
        })
    }

    /// The first value of `view` that breaks its field's maximum or flag or code range, as words.
    ///
    /// # Errors
    /// The field's name and the value, or that the length is wrong.
    pub fn check(&self, view: &[u8]) -> Result<(), String> {
        if view.len() != self.bytes() {
            return Err(format!("a view of {} bytes, not {}", view.len(), self.bytes()));
        }
        for (offset, field) in self.with_offsets() {
            let bytes = &view[offset..offset + field.bytes()];
            for (at, value) in bytes.chunks(field.width()).enumerate() {
                let value = value.iter().rev().fold(0, |wide, &byte| wide << 8 | u16::from(byte));
                if value > field.max {
                    return Err(format!("{}[{at}] is {value}, above {}", field.name, field.max));
                }
            }
        }
        Ok(())
    }
}

/// Writes a view's values in layout order into memory the caller owns.
#[derive(Debug)]
pub struct ViewWriter<'a> {
    /// What is still to be written, all zero.
    rest: &'a mut [u8],
}

impl<'a> ViewWriter<'a> {
    /// Begins at the first byte of `out`.
    #[must_use]
    pub fn new(out: &'a mut [u8]) -> Self {
        out.fill(0);
        Self { rest: out }
    }

    /// The next bytes, all zero, for values that are not written in their order.
    ///
    /// # Panics
    /// When the view is not so long.
    pub fn zeros(&mut self, bytes: usize) -> &'a mut [u8] {
        let (field, rest) = std::mem::take(&mut self.rest).split_at_mut(bytes);
        self.rest = rest;
        field
    }

    /// Writes a one-byte value.
    pub fn put(&mut self, value: u8) {
        self.zeros(1)[0] = value;
    }

    /// Writes a two-byte value, low byte first.
    pub fn put_wide(&mut self, value: u16) {
        self.put_all(&value.to_le_bytes());
    }

    /// Writes one-byte values.
    #[inline]
    pub fn put_all(&mut self, values: &[u8]) {
        self.zeros(values.len()).copy_from_slice(values);
    }

    /// Writes the ids in their order, then zeros up to `places` bytes.
    ///
    /// # Panics
    /// When there are more ids than places.
    pub fn put_ids(&mut self, ids: impl IntoIterator<Item = u8>, places: usize) {
        let mut field = self.zeros(places).iter_mut();
        ids.into_iter().for_each(|id| match field.next() {
            Some(place) => *place = id,
            None => panic!("more ids than the {places} places of the field"),
        });
    }

    /// Ends the view.
    ///
    /// # Panics
    /// When not every byte has been written: the layout and the writing differ.
    pub fn finish(self) {
        assert!(self.rest.is_empty(), "the view's layout and its writing differ");
    }
}

/// The catalogue as an integer matrix: row `i` describes id `i`, row 0 is all zero.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct Table {
    /// The table's name, which fields refer to.
    pub name: &'static str,
    /// What each column holds.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<i16>>,
}

impl Table {
    /// A table from its rows, to which the all-zero row 0 is added.
    ///
    /// # Panics
    /// When a row's length differs from the number of columns: a game's mistake.
    #[must_use]
    pub fn new(name: &'static str, columns: Vec<String>, rows: Vec<Vec<i16>>) -> Self {
        let width = columns.len();
        let rows: Vec<_> = std::iter::once(vec![0; width]).chain(rows).collect();
        assert!(rows.iter().all(|row| row.len() == width), "a row of {name} is not {width} wide");
        Self { name, columns, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> ViewLayout {
        let field =
            |name, shape: &[u16], max, meaning| Field { name, shape: shape.to_vec(), max, meaning, doc: "" };
        ViewLayout {
            fields: vec![
                field("round", &[], 8, Meaning::Count),
                field("fame", &[2], 300, Meaning::Count),
                field("chosen", &[2], 1, Meaning::Flag),
            ],
        }
    }

    #[test]
    fn wide_values_take_two_bytes_low_first() {
        let mut view = [9; 7];
        let mut writer = ViewWriter::new(&mut view);
        writer.put(8);
        writer.put_wide(258);
        writer.put_wide(0);
        writer.put_ids([1], 2);
        writer.finish();
        assert_eq!(view, [8, 2, 1, 0, 0, 1, 0]);
        assert_eq!(layout().check(&view), Ok(()));
    }

    #[test]
    fn a_value_above_its_maximum_is_named() {
        let wrong = [8, 0, 0, 45, 1, 0, 0];
        assert_eq!(layout().check(&wrong), Err("fame[1] is 301, above 300".into()));
        assert!(layout().check(&wrong[1..]).is_err());
    }
}

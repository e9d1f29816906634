//! What a viewer may know, as named byte fields.
//!
//! A view is a run of bytes cut into [`Field`]s. One layout serves all seats of a game at one seat count, and one
//! the public; what belongs to seats stands viewer first, then clockwise. A value whose maximum exceeds 255 takes
//! two bytes, low first. Card ids count from 1; id 0 is "none" and names the all-zero row 0 of its table.

mod describe;

use borsh::BorshSerialize;

pub use describe::{FieldSink, FieldSpec, FieldWriter, LayoutBuilder, ViewWriter};

/// What the values of a field mean, so that clients can turn them into features without knowing the game.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub enum FieldKind {
    /// A row of the table with this name; 0 is none.
    Id {
        /// The table's name.
        table: &'static str,
    },
    /// A number of things, or a track's position.
    Count,
    /// 0 or 1.
    Flag,
    /// A seat relative to the viewer: 0 none, 1 the viewer, 2 the next seat clockwise, and so on; for the
    /// public 1 is the first seat.
    Seat,
    /// One of a few named values, in order: value `i` is `names[i]`.
    Category {
        /// The names, by value.
        names: Vec<String>,
    },
}

/// One dimension of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize)]
pub struct Axis {
    /// What is counted along it: `seat`, `round`.
    pub name: &'static str,
    /// How many there are.
    pub size: u16,
}

impl Axis {
    /// An axis of so many.
    #[must_use]
    pub const fn new(name: &'static str, size: u8) -> Self {
        Self { name, size: size as u16 }
    }
}

/// One named field of a view.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct Field {
    /// The name, in `snake_case`: `lines`.
    pub name: &'static str,
    /// The dimensions, slowest first; none for a single value.
    pub axes: Vec<Axis>,
    /// The largest value; above 255 each value takes two bytes.
    pub max: u16,
    /// What the values mean.
    pub kind: FieldKind,
    /// One sentence for people, with the order of rows and columns.
    pub doc: &'static str,
}

impl Field {
    /// The sizes of the dimensions, slowest first: `[seats, 8]`; empty for a single value.
    pub fn shape(&self) -> impl Iterator<Item = u16> {
        self.axes.iter().map(|axis| axis.size)
    }

    /// How many values the field holds.
    #[must_use]
    pub fn values(&self) -> usize {
        self.shape().map(usize::from).product()
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

    /// The first value of `view` that exceeds its field's maximum, as words.
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

#[cfg(test)]
mod tests;

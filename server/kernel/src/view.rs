//! What a viewer may know, as named byte fields.
//!
//! A view is a run of bytes cut into [`Field`]s. One layout serves all seats of a game at one seat count, and one
//! the public; what belongs to seats stands viewer first, then clockwise. A value whose maximum exceeds 255 takes
//! two bytes, low first. Card ids count from 1; id 0 is "none" and names the all-zero row 0 of its table.

mod check;
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

/// What the places along an axis say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize)]
pub enum AxisOrder {
    /// Nothing: the values are a bag, which no other field refers to by place. They ascend, and what is empty (0)
    /// comes last.
    None,
    /// Sooner and later: rounds, turns.
    Sequence,
    /// Which it is: seats, cells of a board, rows of a table.
    Places,
}

/// One dimension of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize)]
pub struct Axis {
    /// What is counted along it: `seat`, `round`.
    pub name: &'static str,
    /// How many there are.
    pub size: u16,
    /// What its places say.
    pub order: AxisOrder,
    /// The table whose rows 1, 2, ... are counted along it.
    pub table: Option<&'static str>,
}

/// What the protocol calls axes of seats.
const SEAT: &str = "seat";
const OTHER_SEAT: &str = "other seat";

impl Axis {
    /// An axis of so many, each of which is a place of its own.
    #[must_use]
    pub const fn new(name: &'static str, size: u8) -> Self {
        Self { name, size: size as u16, order: AxisOrder::Places, table: None }
    }

    /// An axis of so many, one after the other.
    #[must_use]
    pub const fn sequence(name: &'static str, size: u8) -> Self {
        Self { order: AxisOrder::Sequence, ..Self::new(name, size) }
    }

    /// An axis of so many whose order says nothing.
    #[must_use]
    pub const fn unordered(name: &'static str, size: u8) -> Self {
        Self { order: AxisOrder::None, ..Self::new(name, size) }
    }

    /// An axis of the first so many rows of a table, without row 0.
    #[must_use]
    pub const fn rows(name: &'static str, table: &'static str, size: u8) -> Self {
        Self { table: Some(table), ..Self::new(name, size) }
    }

    /// An axis of all seats, the viewer first.
    #[must_use]
    pub const fn seats(count: u8) -> Self {
        Self::new(SEAT, count)
    }

    /// An axis of all seats but the viewer's, clockwise.
    #[must_use]
    pub const fn other_seats(count: u8) -> Self {
        Self::new(OTHER_SEAT, count)
    }

    /// Whether it is one of these two.
    #[must_use]
    pub fn is_of_seats(&self) -> bool {
        matches!(self.name, SEAT | OTHER_SEAT)
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
    /// What few values exceed in ordinary play, to scale by; at most `max`.
    pub usual_max: u16,
    /// How many values of one seat can be the same row at once, for ids.
    pub copies: u8,
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

    /// Whether every field of `view` is as it is described.
    ///
    /// # Errors
    /// The first field that is not, and why; or that the length is wrong.
    pub fn check(&self, view: &[u8]) -> Result<(), String> {
        if view.len() != self.bytes() {
            return Err(format!("a view of {} bytes, not {}", view.len(), self.bytes()));
        }
        for (offset, field) in self.with_offsets() {
            let bytes = view[offset..offset + field.bytes()].chunks(field.width());
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |high, &low| high << 8 | u16::from(low));
            field.check(&bytes.map(number).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Views: what a viewer may know of a position, as named byte fields.
//!
//! A view is a sequence of bytes, divided into [`Field`]s. For one seat count, a game has one layout for all seats and
//! one for the public. Values of seats stand viewer first, then clockwise. A value whose maximum exceeds 255 takes
//! two bytes, low byte first. Card ids count from 1. Id 0 is "none" and refers to the all-zero row 0 of its table.

mod check;
mod describe;

use borsh::BorshSerialize;

pub use describe::{FieldSink, FieldSpec, FieldWriter, LayoutBuilder, ViewWriter};

/// The meaning of a field's values. Clients use it to build features without knowledge of the game.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub enum FieldKind {
    /// A row of the table with this name; 0 is none.
    Id {
        /// The table's name.
        table: &'static str,
    },
    /// A number of things, or a position on a track.
    Count,
    /// 0 or 1.
    Flag,
    /// A seat relative to the viewer: 0 is none, 1 is the viewer, 2 is the next seat clockwise, and so on. For the
    /// public, 1 is the first seat.
    Seat,
    /// One of several named values: value `i` is `names[i]`.
    Category {
        /// The names, indexed by value.
        names: Vec<String>,
    },
}

/// The meaning of the positions along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize)]
pub enum AxisOrder {
    /// No meaning: the values are a multiset, and no other field refers to their positions. They ascend, and empty
    /// values (0) come last.
    None,
    /// Order in time: rounds, turns.
    Sequence,
    /// Identity: seats, cells of a board, rows of a table.
    Places,
}

/// One dimension of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize)]
pub struct Axis {
    /// The unit that the axis counts, such as `seat` or `round`.
    pub name: &'static str,
    /// The number of positions.
    pub size: u16,
    /// The meaning of the positions.
    pub order: AxisOrder,
    /// The table whose rows 1, 2, ... are the positions, if any.
    pub table: Option<&'static str>,
}

/// The names of seat axes in the protocol.
const SEAT: &str = "seat";
const OTHER_SEAT: &str = "other seat";

impl Axis {
    /// Creates an axis of `size` positions, each with its own identity.
    #[must_use]
    pub const fn new(name: &'static str, size: u8) -> Self {
        Self { name, size: size as u16, order: AxisOrder::Places, table: None }
    }

    /// Creates an axis of `size` positions in time order.
    #[must_use]
    pub const fn sequence(name: &'static str, size: u8) -> Self {
        Self { order: AxisOrder::Sequence, ..Self::new(name, size) }
    }

    /// Creates an axis of `size` positions whose order has no meaning.
    #[must_use]
    pub const fn unordered(name: &'static str, size: u8) -> Self {
        Self { order: AxisOrder::None, ..Self::new(name, size) }
    }

    /// Creates an axis of the first `size` rows of a table, without row 0.
    #[must_use]
    pub const fn rows(name: &'static str, table: &'static str, size: u8) -> Self {
        Self { table: Some(table), ..Self::new(name, size) }
    }

    /// Creates an axis of all seats, the viewer first.
    #[must_use]
    pub const fn seats(count: u8) -> Self {
        Self::new(SEAT, count)
    }

    /// Creates an axis of all seats but the viewer's, clockwise.
    #[must_use]
    pub const fn other_seats(count: u8) -> Self {
        Self::new(OTHER_SEAT, count)
    }

    /// Returns whether this is an axis of seats: all, or all but the viewer's.
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
    /// The dimensions, outermost first; empty for a single value.
    pub axes: Vec<Axis>,
    /// The largest value. Above 255, each value takes two bytes.
    pub max: u16,
    /// The value that ordinary play seldom exceeds, for scaling; at most `max`.
    pub usual_max: u16,
    /// For ids, how many values of one seat can be the same row at the same time.
    pub copies: u8,
    /// The meaning of the values.
    pub kind: FieldKind,
    /// A sentence for people. It states the order of rows and columns.
    pub doc: &'static str,
}

impl Field {
    /// Returns the sizes of the dimensions, outermost first: `[seats, 8]`; empty for a single value.
    pub fn shape(&self) -> impl Iterator<Item = u16> {
        self.axes.iter().map(|axis| axis.size)
    }

    /// Returns the number of values in the field.
    #[must_use]
    pub fn values(&self) -> usize {
        self.shape().map(usize::from).product()
    }

    /// Returns the bytes of one value: 1, or 2 if the maximum exceeds 255.
    #[must_use]
    pub fn width(&self) -> usize {
        if self.max > 255 { 2 } else { 1 }
    }

    /// Returns the bytes of the field.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.values() * self.width()
    }
}

/// The layout of a view: its fields, in order, without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Default, BorshSerialize)]
pub struct ViewLayout {
    /// The fields, in the order of their bytes.
    pub fields: Vec<Field>,
}

impl ViewLayout {
    /// Returns the bytes of a view.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.fields.iter().map(Field::bytes).sum()
    }

    /// Returns the fields, each with the offset of its first byte.
    pub fn with_offsets(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.fields.iter().scan(0, |next, field| {
            let offset = *next;
            *next += field.bytes();
            Some((offset, field))
        })
    }

    /// Checks that every field of `view` agrees with its description.
    ///
    /// # Errors
    /// The first field that does not agree, and why; or a wrong length.
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

//! Fields described once: the layout and the bytes of a view come from the same code.
//!
//! A game lists its fields in one generic function. For each field, the function passes a [`FieldSpec`] to a
//! [`FieldSink`], with a closure that writes the field from a position `P`. A [`LayoutBuilder`] keeps the descriptions
//! and calls no closure. A [`ViewWriter`] gives each closure exactly the bytes of its field. So the two always agree.

use super::{Axis, Field, FieldKind, ViewLayout};

/// The maximum number of dimensions of a field.
const MAX_AXES: usize = 2;

/// The description of one field. It must be cheap to create, because every ply creates it to write views.
#[derive(Debug, Clone, Copy)]
pub struct FieldSpec<'a> {
    name: &'static str,
    axes: [Axis; MAX_AXES],
    rank: usize,
    kind: Kind<'a>,
    max: u16,
    usual_max: u16,
    copies: u8,
    is_private: bool,
    doc: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    Id(&'static str),
    Count,
    Flag,
    Seat,
    Words(&'static [&'static str]),
    Names(&'a [String]),
}

impl<'a> FieldSpec<'a> {
    #[inline]
    const fn new(name: &'static str, kind: Kind<'a>, max: u16, doc: &'static str) -> Self {
        let axes = [Axis::new("", 1); MAX_AXES];
        Self { name, axes, rank: 0, kind, max, usual_max: max, copies: 1, is_private: false, doc }
    }

    /// Describes rows of a table that has `last` rows besides row 0; 0 is none.
    #[must_use]
    #[inline]
    pub const fn id(name: &'static str, table: &'static str, last: u8, doc: &'static str) -> Self {
        Self::new(name, Kind::Id(table), last as u16, doc)
    }

    /// Describes numbers of things.
    #[must_use]
    #[inline]
    pub const fn count(name: &'static str, max: u16, doc: &'static str) -> Self {
        Self::new(name, Kind::Count, max, doc)
    }

    /// Describes zeros and ones.
    #[must_use]
    #[inline]
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Flag, 1, doc)
    }

    /// Describes seats of a table of `seats`, counted from the viewer; 0 is none.
    #[must_use]
    #[inline]
    pub const fn seat(name: &'static str, seats: u8, doc: &'static str) -> Self {
        Self::new(name, Kind::Seat, seats as u16, doc)
    }

    /// Describes values that are each one of these words.
    ///
    /// # Panics
    /// When there are no words.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a list of words in the code is short")]
    pub const fn category(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Self {
        Self::new(name, Kind::Words(words), words.len() as u16 - 1, doc)
    }

    /// Describes a field whose values are names from this list of the catalogue.
    ///
    /// # Panics
    /// When there are no names, or more than 65,536.
    #[must_use]
    #[inline]
    pub fn names(name: &'static str, names: &'a [String], doc: &'static str) -> Self {
        let max = names.len().checked_sub(1).and_then(|max| u16::try_from(max).ok());
        Self::new(name, Kind::Names(names), max.expect("a category has some names"), doc)
    }

    /// Adds the next dimension. It varies faster than the dimensions before it.
    ///
    /// # Panics
    /// When the field already has two.
    #[must_use]
    #[inline]
    pub const fn axis(mut self, axis: Axis) -> Self {
        self.axes[self.rank] = axis;
        self.rank += 1;
        self
    }

    /// Sets the value that ordinary play seldom exceeds. Use it if the maximum is much greater.
    #[must_use]
    #[inline]
    pub const fn usual_max(mut self, maximum: u16) -> Self {
        self.usual_max = if maximum < self.max { maximum } else { self.max };
        self
    }

    /// Sets how many values of one seat can be the same row at the same time. The default is 1.
    #[must_use]
    #[inline]
    pub const fn max_copies(mut self, maximum: u8) -> Self {
        self.copies = maximum;
        self
    }

    /// Marks the field as known only to the viewer: the public has no such field.
    #[must_use]
    #[inline]
    pub const fn private(mut self) -> Self {
        self.is_private = true;
        self
    }

    #[inline]
    fn is_wide(&self) -> bool {
        self.max > 255
    }

    #[inline]
    fn bytes(&self) -> usize {
        let values = self.axes.iter().map(|axis| usize::from(axis.size)).product::<usize>();
        if self.is_wide() { 2 * values } else { values }
    }

    fn field(&self) -> Field {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let kind = match self.kind {
            Kind::Id(table) => FieldKind::Id { table },
            Kind::Count => FieldKind::Count,
            Kind::Flag => FieldKind::Flag,
            Kind::Seat => FieldKind::Seat,
            Kind::Words(words) => FieldKind::Category { names: owned(words) },
            Kind::Names(names) => FieldKind::Category { names: names.to_vec() },
        };
        Field {
            name: self.name,
            axes: self.axes[..self.rank].to_vec(),
            max: self.max,
            usual_max: self.usual_max,
            copies: self.copies,
            kind,
            doc: self.doc,
        }
    }
}

/// Receives the fields of a view one after another.
pub trait FieldSink<P> {
    /// Receives the next field, and the closure that writes it from a position.
    fn field(&mut self, spec: FieldSpec<'_>, write: impl FnOnce(&P, &mut FieldWriter<'_>));
}

/// Builds the layout of a view. It needs no position.
#[derive(Debug)]
pub struct LayoutBuilder {
    is_public: bool,
    fields: Vec<Field>,
}

impl LayoutBuilder {
    /// Starts the layout for seats, which has every field.
    #[must_use]
    pub fn for_seats() -> Self {
        Self { is_public: false, fields: Vec::new() }
    }

    /// Starts the layout for the public, which omits the fields that only a seat may know.
    #[must_use]
    pub fn for_public() -> Self {
        Self { is_public: true, fields: Vec::new() }
    }

    /// Returns whether this is the layout for the public.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.is_public
    }

    /// Returns the layout of the received fields.
    ///
    /// # Panics
    /// When two fields share a name. This is a bug of the game.
    #[must_use]
    pub fn finish(self) -> ViewLayout {
        for (at, field) in self.fields.iter().enumerate() {
            let twice = self.fields[..at].iter().any(|other| other.name == field.name);
            assert!(!twice, "two fields are called {}", field.name);
        }
        ViewLayout { fields: self.fields }
    }
}

impl<P> FieldSink<P> for LayoutBuilder {
    fn field(&mut self, spec: FieldSpec<'_>, _: impl FnOnce(&P, &mut FieldWriter<'_>)) {
        if !(self.is_public && spec.is_private) {
            self.fields.push(spec.field());
        }
    }
}

/// Writes the view of a game position into the caller's buffer.
#[derive(Debug)]
pub struct ViewWriter<'a, P> {
    position: &'a P,
    is_public: bool,
    /// The bytes that are still to be written, all zero.
    rest: &'a mut [u8],
}

impl<'a, P> ViewWriter<'a, P> {
    /// Clears `out` and starts at its first byte.
    #[must_use]
    #[inline]
    pub fn new(position: &'a P, is_public: bool, out: &'a mut [u8]) -> Self {
        out.fill(0);
        Self { position, is_public, rest: out }
    }

    /// Ends the view.
    ///
    /// # Panics
    /// When the buffer is longer than the fields.
    #[inline]
    pub fn finish(self) {
        assert!(self.rest.is_empty(), "a view is {} bytes shorter than its memory", self.rest.len());
    }
}

impl<P> FieldSink<P> for ViewWriter<'_, P> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with the description inlined, only the writing is left of it")]
    fn field(&mut self, spec: FieldSpec<'_>, write: impl FnOnce(&P, &mut FieldWriter<'_>)) {
        if self.is_public && spec.is_private {
            return;
        }
        let (bytes, rest) = std::mem::take(&mut self.rest).split_at_mut(spec.bytes());
        self.rest = rest;
        write(self.position, &mut FieldWriter { rest: bytes, is_wide: spec.is_wide() });
    }
}

/// Writes the values of one field in order. Values that are not written are zero.
///
/// Every method panics when there are more values than the field has. With debug assertions, all but `write_value` also
/// panic in a field of two-byte values. Both are bugs of the game.
#[derive(Debug)]
pub struct FieldWriter<'a> {
    rest: &'a mut [u8],
    is_wide: bool,
}

impl FieldWriter<'_> {
    /// Returns the bytes of the field that are not written yet, for values that a game writes out of order.
    #[inline]
    pub fn rest(&mut self) -> &mut [u8] {
        self.check_narrow();
        self.rest
    }

    /// Writes a one-byte value.
    #[inline]
    pub fn write_byte(&mut self, value: u8) {
        self.write_bytes(&[value]);
    }

    /// Writes a value in as many bytes as the field's maximum needs.
    #[inline]
    pub fn write_value(&mut self, value: u16) {
        if self.is_wide {
            self.write(&value.to_le_bytes());
        } else {
            self.write_byte(u8::try_from(value).expect("a value above 255 in a field of bytes"));
        }
    }

    /// Writes one-byte values.
    #[inline]
    pub fn write_bytes(&mut self, values: &[u8]) {
        self.check_narrow();
        self.write(values);
    }

    #[inline]
    fn check_narrow(&self) {
        debug_assert!(!self.is_wide, "a field of two-byte values needs write_value");
    }

    #[inline]
    fn write(&mut self, values: &[u8]) {
        let (bytes, rest) = std::mem::take(&mut self.rest).split_at_mut(values.len());
        bytes.copy_from_slice(values);
        self.rest = rest;
    }

    /// Writes ids in order.
    #[inline]
    pub fn write_ids(&mut self, ids: impl IntoIterator<Item = u8>) {
        self.check_narrow();
        let mut written = 0;
        for id in ids {
            self.rest[written] = id;
            written += 1;
        }
        self.rest = &mut std::mem::take(&mut self.rest)[written..];
    }
}

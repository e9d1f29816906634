//! The fields of a view, decoded by its layout.

use boardwire_kernel::{Axis, AxisOrder, Field, GameInfo, ViewLayout, Viewer};

/// A field and its values, or the part of both that belongs to one seat.
#[derive(Debug, Clone)]
pub(crate) struct FieldValues<'a> {
    pub(crate) spec: &'a Field,
    /// The remaining dimension, if there is more than one value.
    pub(crate) axis: Option<Axis>,
    pub(crate) values: Vec<u16>,
}

impl FieldValues<'_> {
    /// Returns the value, if there is only one.
    pub(crate) fn only_value(&self) -> Option<u16> {
        if self.axis.is_none() { self.values.first().copied() } else { None }
    }

    /// Returns the number of cells in a row, if these are the cells of a square board.
    pub(crate) fn square(&self) -> Option<u32> {
        let axis = self.axis.filter(|axis| axis.order == AxisOrder::Places && axis.table.is_none())?;
        let side = u32::from(axis.size).isqrt();
        (side > 1 && side * side == u32::from(axis.size)).then_some(side)
    }

    /// Returns whether all values are 0.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.iter().all(|&value| value == 0)
    }
}

/// All fields of a view, grouped by owner.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    /// The fields without an owner.
    pub(crate) common: Vec<FieldValues<'a>>,
    /// The fields of each seat, the viewer first.
    pub(crate) seats: Vec<Vec<FieldValues<'a>>>,
}

impl<'a> Fields<'a> {
    /// Decodes the view of `viewer`.
    pub(crate) fn read(info: &'a GameInfo, viewer: Viewer, view: &[u8]) -> Result<Self, String> {
        let layout = info.layout_for(viewer);
        layout.check(view)?;
        let seats = usize::from(info.seats);
        let mut fields = Self { common: Vec::new(), seats: vec![Vec::new(); seats] };
        for (offset, field) in layout.with_offsets() {
            let bytes = view[offset..offset + field.bytes()].chunks(field.width());
            let values =
                bytes.map(|bytes| bytes.iter().rev().fold(0, |high, &low| high << 8 | u16::from(low)));
            fields.add(field, values.collect(), &info.public_layout);
        }
        Ok(fields)
    }

    fn add(&mut self, field: &'a Field, values: Vec<u16>, public: &ViewLayout) {
        let is_own = public.fields.iter().all(|known| known.name != field.name);
        match field.axes.split_first() {
            Some((first, rest)) if first.is_of_seats() => {
                // The axis has all seats, or all but the viewer's.
                let skipped = self.seats.len() - usize::from(first.size);
                let each = rest.iter().map(|axis| usize::from(axis.size)).product();
                for (seat, part) in self.seats[skipped..].iter_mut().zip(values.chunks(each)) {
                    seat.push(FieldValues {
                        spec: field,
                        axis: rest.first().copied(),
                        values: part.to_vec(),
                    });
                }
            }
            other => {
                let axis = other.map(|(first, _)| *first);
                let owner = if is_own { &mut self.seats[0] } else { &mut self.common };
                owner.push(FieldValues { spec: field, axis, values });
            }
        }
    }
}

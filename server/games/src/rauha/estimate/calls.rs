//! Computes for all Entities together which of them the cells of a board call.

use crate::rauha::state::EntitySet;

/// A small number for every Entity, in the byte of its id. One addition covers all Entities.
#[derive(Debug, Clone, Copy)]
pub(in crate::rauha) struct ByEntity(u64);

impl ByEntity {
    /// The number 0 for every Entity.
    pub(super) const NONE: Self = Self(0);

    /// Returns 1 for the Entities in the set, 0 for the others.
    pub(super) fn flags(entities: EntitySet) -> Self {
        let mut flags = [0; 8];
        entities.write_flags(&mut flags);
        Self(u64::from_le_bytes(flags))
    }

    /// Returns 1 where the number is at least `least`. Both must be at most 3.
    pub(super) fn at_least(self, least: u8) -> Self {
        Self((self.0 + u64::from_le_bytes([0x80 - least; 8])) >> 7 & u64::from_le_bytes([1; 8]))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    /// Returns 1 where either number is 1. Both are flags.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the sum of the numbers where `flags` is 0. The sum must be below 256.
    pub(super) fn sum_without(self, flags: Self) -> i32 {
        let rest = self.0 & !(flags.0 * 0xff);
        i32::from(rest.wrapping_mul(u64::from_le_bytes([1; 8])).to_le_bytes()[7])
    }

    /// Returns the ids of the Entities whose number is 1. All other numbers must be 0.
    #[inline]
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let id = left.trailing_zeros() / 8;
            left &= left.wrapping_sub(1);
            (id < 8).then_some(id as usize)
        })
    }
}

/// How often each Entity is called in each row and column.
pub(super) struct Lines {
    pub(super) calls: [ByEntity; 6],
    /// The number of lines in which at least two cells call the Entity.
    pub(super) pairs: ByEntity,
}

impl Lines {
    /// Returns the value per turn of lines that lack at most one cell for an Entity not held.
    pub(super) fn line_potential(&self, held: ByEntity) -> i32 {
        6 * self.pairs.sum_without(held)
    }

    /// Returns the Entities called after the calls of a cell change from `old` to `new`, and the line potential then.
    pub(super) fn replace(&self, cell: u8, old: ByEntity, new: ByEntity, held: ByEntity) -> (ByEntity, i32) {
        let row = self.calls[usize::from(cell / 3)];
        let column = self.calls[usize::from(3 + cell % 3)];
        let (new_row, new_column) = (row.minus(old).plus(new), column.minus(old).plus(new));
        let called = new_row.at_least(3).or(new_column.at_least(3));
        let old_pairs = row.at_least(2).plus(column.at_least(2));
        let new_pairs = new_row.at_least(2).plus(new_column.at_least(2));
        (called, 6 * self.pairs.minus(old_pairs).plus(new_pairs).sum_without(held.or(called)))
    }
}

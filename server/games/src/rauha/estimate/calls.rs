//! Which Entities the cells of a board call, for all Entities at once.

use crate::rauha::state::EntitySet;

/// A small number for every Entity, in the byte of its id: so that what cells call is added up for all at once.
#[derive(Debug, Clone, Copy)]
pub(in crate::rauha) struct ByEntity(u64);

impl ByEntity {
    /// 0 for all.
    pub(super) const NONE: Self = Self(0);

    /// 1 for those in the set.
    pub(super) fn flags(entities: EntitySet) -> Self {
        let mut flags = [0; 8];
        entities.write_flags(&mut flags);
        Self(u64::from_le_bytes(flags))
    }

    /// 1 where the number is at least `least`, which is at most 3 as are the numbers.
    pub(super) fn at_least(self, least: u8) -> Self {
        Self((self.0 + u64::from_le_bytes([0x80 - least; 8])) >> 7 & u64::from_le_bytes([1; 8]))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    /// 1 where either is 1.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The sum of the numbers where `flags` is 0; it is below 256.
    pub(super) fn sum_without(self, flags: Self) -> i32 {
        let rest = self.0 & !(flags.0 * 0xff);
        i32::from(rest.wrapping_mul(u64::from_le_bytes([1; 8])).to_le_bytes()[7])
    }

    /// The ids of the Entities whose number is 1; the others are 0.
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
    /// In how many of them two cells at least call it.
    pub(super) pairs: ByEntity,
}

impl Lines {
    /// What lines that lack one cell for an Entity not held are worth in a turn.
    pub(super) fn promise(&self, held: ByEntity) -> i32 {
        6 * self.pairs.sum_without(held)
    }

    /// The Entities called when a cell calls others than before, and the promise then.
    pub(super) fn replace(&self, cell: u8, old: ByEntity, new: ByEntity, held: ByEntity) -> (ByEntity, i32) {
        let row = self.calls[usize::from(cell / 3)];
        let column = self.calls[usize::from(3 + cell % 3)];
        let (new_row, new_column) = (row.minus(old).plus(new), column.minus(old).plus(new));
        let called = new_row.at_least(3).or(new_column.at_least(3));
        let gone = row.at_least(2).plus(column.at_least(2));
        let come = new_row.at_least(2).plus(new_column.at_least(2));
        (called, 6 * self.pairs.minus(gone).plus(come).sum_without(held.or(called)))
    }
}

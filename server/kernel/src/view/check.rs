//! The check of a field's values.

use std::collections::BTreeMap;

use super::{Axis, AxisOrder, Field, FieldKind};

impl Field {
    /// Checks that no value exceeds the field's maximum, that values ascend along unordered axes, and that no row occurs
    /// more often than `copies` allows.
    pub(super) fn check(&self, values: &[u16]) -> Result<(), String> {
        let name = self.name;
        if let Some(at) = values.iter().position(|&value| value > self.max) {
            return Err(format!("{name}[{at}] is {}, above {}", values[at], self.max));
        }
        for (at, axis) in self.axes.iter().enumerate() {
            if axis.order != AxisOrder::None {
                continue;
            }
            for line in self.groups(values, |other, _| other == at) {
                // Empty values (0) come last.
                if !line.is_sorted_by_key(|value| value.wrapping_sub(1)) {
                    return Err(format!("{name} is {line:?} along {}, not ascending", axis.name));
                }
            }
        }
        if let FieldKind::Id { .. } = self.kind {
            for owned in self.groups(values, |_, axis| !axis.is_of_seats()) {
                let count = |id| owned.iter().filter(|&&other| other == id).count();
                if let Some(id) = owned.iter().find(|&&id| id > 0 && count(id) > self.copies.into()) {
                    return Err(format!("{name} has more than {} of {id}: {owned:?}", self.copies));
                }
            }
        }
        Ok(())
    }

    /// Groups the values. The positions of one group differ only along the chosen axes.
    fn groups(
        &self,
        values: &[u16],
        is_chosen: impl Fn(usize, &Axis) -> bool,
    ) -> impl Iterator<Item = Vec<u16>> {
        let mut groups = BTreeMap::<Vec<usize>, Vec<u16>>::new();
        for (place, &value) in values.iter().enumerate() {
            let (mut rest, mut key) = (place, Vec::new());
            for (at, axis) in self.axes.iter().enumerate().rev() {
                let size = usize::from(axis.size);
                if !is_chosen(at, axis) {
                    key.push(rest % size);
                }
                rest /= size;
            }
            groups.entry(key).or_default().push(value);
        }
        groups.into_values()
    }
}

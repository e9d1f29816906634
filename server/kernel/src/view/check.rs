//! What a field promises of its values.

use std::collections::BTreeMap;

use super::{Axis, AxisOrder, Field, FieldKind};

impl Field {
    /// Whether these can be the field's values: none above its maximum, ascending along unordered axes, and no row
    /// more often than it has copies.
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
                // What is empty comes last.
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

    /// The values in groups: together are those whose places differ along the chosen axes alone.
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

//! Which environments a request is about.

use std::ops::Range;

use super::plan::bit;
use super::{Actions, Batch};
use crate::refused::Refused;

impl Batch {
    /// The environments from `first` on.
    pub(super) fn run_of(&self, first: u32, count: u32) -> Result<Range<usize>, Refused> {
        let (environments, first) = (self.opening.environments, first as usize);
        if first >= environments {
            return Err(Refused::BadField {
                field: "first",
                value: first.to_string(),
                expected: format!("below {environments}"),
            });
        }
        let left = environments - first;
        match count as usize {
            0 => Ok(first..environments),
            count if count <= left => Ok(first..first + count),
            count => Err(Refused::BadField {
                field: "count",
                value: count.to_string(),
                expected: format!("at most {left} from environment {first}"),
            }),
        }
    }

    /// The run that actions are for.
    pub(super) fn run_for(&self, first: u32, count: u32, actions: &Actions) -> Result<Range<usize>, Refused> {
        let range = self.run_of(first, count)?;
        if actions.indices.len() != range.len() {
            return Err(Refused::BadField {
                field: "actions",
                value: format!("{} bytes", actions.indices.len()),
                expected: format!("one byte for each of {} environments", range.len()),
            });
        }
        check_mask(&actions.mask, range.len())?;
        Ok(range)
    }

    /// How many environments a mask chooses; all for an empty one.
    ///
    /// # Errors
    /// A mask of the wrong length.
    pub fn count(&self, mask: &[u8]) -> Result<usize, Refused> {
        self.chosen(mask).map(|chosen| chosen.len())
    }

    /// The environments of a mask, ascending; all of an empty one.
    pub(super) fn chosen(&self, mask: &[u8]) -> Result<Vec<usize>, Refused> {
        let environments = self.opening.environments;
        check_mask(mask, environments)?;
        Ok(self.all().filter(|&at| mask.is_empty() || bit(mask, at)).collect())
    }
}

/// Refuses a mask that is neither empty nor of so many environments.
pub(super) fn check_mask(mask: &[u8], environments: usize) -> Result<(), Refused> {
    let bad = |value, expected| Err(Refused::BadField { field: "mask", value, expected });
    if mask.is_empty() {
        return Ok(());
    }
    if mask.len() != environments.div_ceil(8) {
        let expected = format!("a bit for each of {environments} environments");
        return bad(format!("{} bytes", mask.len()), expected);
    }
    match (environments..8 * mask.len()).find(|&at| bit(mask, at)) {
        Some(at) => {
            let expected =
                format!("a bit for each of {environments} environments, and 0 in the bits after them");
            bad(format!("1 in bit {at}"), expected)
        }
        None => Ok(()),
    }
}

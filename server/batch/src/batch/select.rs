//! Selects the environments of a request.

use std::ops::Range;

use super::options::mask_contains;
use super::{Actions, Batch};
use boardwire_api::Error;

impl Batch {
    /// Returns the range of `count` environments from `first` on; a `count` of 0 means all of them.
    fn range_of(&self, first: u32, count: u32) -> Result<Range<usize>, Error> {
        let (environments, first) = (self.options.environments, first as usize);
        if first >= environments {
            return Err(Error::field("first", first, format!("below {environments}")));
        }
        let remaining = environments - first;
        match count as usize {
            0 => Ok(first..environments),
            count if count <= remaining => Ok(first..first + count),
            count => {
                Err(Error::field("count", count, format!("at most {remaining} from environment {first}")))
            }
        }
    }

    /// Returns the range, and checks that the actions fit it.
    pub(super) fn range_for_actions(
        &self,
        first: u32,
        count: u32,
        actions: &Actions,
    ) -> Result<Range<usize>, Error> {
        let range = self.range_of(first, count)?;
        if actions.indices.len() != range.len() {
            let expected = format!("one byte for each of {} environments", range.len());
            return Err(Error::field("actions", format!("{} bytes", actions.indices.len()), expected));
        }
        check_mask(&actions.mask, range.len())?;
        Ok(range)
    }

    /// Returns how many environments a mask chooses. An empty mask means all.
    ///
    /// # Errors
    /// The mask is not valid.
    pub fn count(&self, mask: &[u8]) -> Result<usize, Error> {
        self.mask_environments(mask).map(|environments| environments.len())
    }

    /// Returns the environments of a mask in ascending order. An empty mask means all.
    pub(super) fn mask_environments(&self, mask: &[u8]) -> Result<Vec<usize>, Error> {
        let environments = self.options.environments;
        check_mask(mask, environments)?;
        Ok(self.all().filter(|&index| mask.is_empty() || mask_contains(mask, index)).collect())
    }
}

/// Refuses a mask that is not empty and does not have one bit for each of this many environments.
fn check_mask(mask: &[u8], environments: usize) -> Result<(), Error> {
    if mask.is_empty() {
        return Ok(());
    }
    let expected = || format!("one bit for each of {environments} environments, padded with zeros");
    if mask.len() != environments.div_ceil(8) {
        return Err(Error::field("mask", format!("{} bytes", mask.len()), expected()));
    }
    match (environments..8 * mask.len()).find(|&index| mask_contains(mask, index)) {
        Some(index) => Err(Error::field("mask", format!("1 in bit {index}"), expected())),
        None => Ok(()),
    }
}

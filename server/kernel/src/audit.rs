//! Helpers for audits: checks of conditions, and of components that must each be in one place.

use crate::BitSet;

/// Nothing, or the condition that does not hold.
pub type CheckResult = Result<(), String>;

/// Returns an error unless `holds`.
///
/// # Errors
/// The message that `broken` returns.
#[inline]
pub fn ensure<S: Into<String>>(holds: bool, broken: impl FnOnce() -> S) -> CheckResult {
    if holds { Ok(()) } else { Err(broken().into()) }
}

/// A tally of the components found so far. Each may be in one place only.
///
/// ```
/// use boardwire_kernel::{BitSet, ComponentTally};
///
/// let mut cards = ComponentTally::<1>::new("card");
/// cards.add([1, 3]).expect("nothing twice");
/// assert_eq!(cards.add([3]), Err("card 3 is in two places".into()));
/// assert_eq!(cards.check_complete(&BitSet::below(4)), Err("card 0 is missing".into()));
/// ```
#[derive(Debug, Clone)]
pub struct ComponentTally<const W: usize> {
    what: &'static str,
    seen: BitSet<W>,
}

impl<const W: usize> ComponentTally<W> {
    /// Creates an empty tally of components that are called `what`.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        Self { what, seen: BitSet::EMPTY }
    }

    /// Adds the components of one place.
    ///
    /// # Errors
    /// A component that was found before, or whose id does not fit.
    pub fn add(&mut self, ids: impl IntoIterator<Item = u8>) -> CheckResult {
        for id in ids {
            ensure(usize::from(id) < 64 * W, || format!("{} {id} does not exist", self.what))?;
            ensure(!self.seen.contains(id), || format!("{} {id} is in two places", self.what))?;
            self.seen.insert(id);
        }
        Ok(())
    }

    /// Checks that the components found are exactly `all`.
    ///
    /// # Errors
    /// A component that is missing, or that does not exist.
    pub fn check_complete(&self, all: &BitSet<W>) -> CheckResult {
        let missing = all.difference(self.seen).lowest();
        missing.map_or(Ok(()), |id| Err(format!("{} {id} is missing", self.what)))?;
        let unknown = self.seen.difference(*all).lowest();
        unknown.map_or(Ok(()), |id| Err(format!("{} {id} does not exist", self.what)))
    }
}

//! Helpers for audits: checks of conditions, and of components that must each be in one place.

use crate::BitSet;

/// Nothing, or the condition that does not hold.
pub type Audit = Result<(), String>;

/// Returns an error unless `holds`.
///
/// # Errors
/// The message that `broken` returns.
#[inline]
pub fn ensure<S: Into<String>>(holds: bool, broken: impl FnOnce() -> S) -> Audit {
    if holds { Ok(()) } else { Err(broken().into()) }
}

/// A record of the components found so far. Each may be in one place only.
///
/// ```
/// use boardwire_kernel::{BitSet, Conserved};
///
/// let mut cards = Conserved::<1>::new("card");
/// cards.found([1, 3]).expect("nothing twice");
/// assert_eq!(cards.found([3]), Err("card 3 is in two places".into()));
/// assert_eq!(cards.are_all(&BitSet::first(4)), Err("card 0 is nowhere".into()));
/// ```
#[derive(Debug, Clone)]
pub struct Conserved<const W: usize> {
    what: &'static str,
    seen: BitSet<W>,
}

impl<const W: usize> Conserved<W> {
    /// Creates an empty record of components that are called `what`.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        Self { what, seen: BitSet::EMPTY }
    }

    /// Adds the components of one place.
    ///
    /// # Errors
    /// A component that was found before, or whose id does not fit.
    pub fn found(&mut self, ids: impl IntoIterator<Item = u8>) -> Audit {
        for id in ids {
            ensure(usize::from(id) < 64 * W, || format!("there is no {} {id}", self.what))?;
            ensure(!self.seen.contains(id), || format!("{} {id} is in two places", self.what))?;
            self.seen.insert(id);
        }
        Ok(())
    }

    /// Checks that the components found are exactly `all`.
    ///
    /// # Errors
    /// A component that is missing, or that does not exist.
    pub fn are_all(&self, all: &BitSet<W>) -> Audit {
        let missing = all.difference(self.seen).lowest();
        missing.map_or(Ok(()), |id| Err(format!("{} {id} is nowhere", self.what)))?;
        let strange = self.seen.difference(*all).lowest();
        strange.map_or(Ok(()), |id| Err(format!("there is no {} {id}", self.what)))
    }
}

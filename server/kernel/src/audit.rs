//! What audits have in common: what must hold, and components that are each in one place.

use crate::BitSet;

/// Nothing, or what does not hold.
pub type Audit = Result<(), String>;

/// Says what is broken unless `holds`.
///
/// # Errors
/// What `broken` says.
#[inline]
pub fn ensure<S: Into<String>>(holds: bool, broken: impl FnOnce() -> S) -> Audit {
    if holds { Ok(()) } else { Err(broken().into()) }
}

/// Components counted as they are found: each may be in one place only.
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
    /// Nothing found yet of what is called `what`.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        Self { what, seen: BitSet::EMPTY }
    }

    /// Counts what lies in one place.
    ///
    /// # Errors
    /// A component that has been found before, or whose id does not fit.
    pub fn found(&mut self, ids: impl IntoIterator<Item = u8>) -> Audit {
        for id in ids {
            ensure(usize::from(id) < 64 * W, || format!("there is no {} {id}", self.what))?;
            ensure(!self.seen.contains(id), || format!("{} {id} is in two places", self.what))?;
            self.seen.insert(id);
        }
        Ok(())
    }

    /// Whether what has been found is exactly `all`.
    ///
    /// # Errors
    /// A component that is missing, or that there is not.
    pub fn are_all(&self, all: &BitSet<W>) -> Audit {
        let missing = all.difference(self.seen).lowest();
        missing.map_or(Ok(()), |id| Err(format!("{} {id} is nowhere", self.what)))?;
        let strange = self.seen.difference(*all).lowest();
        strange.map_or(Ok(()), |id| Err(format!("there is no {} {id}", self.what)))
    }
}

//! Actions as clients see them: dense indices in ranges and sets, and what each action does to which component.

use borsh::BorshSerialize;

use crate::BitSet;

/// The maximum number of actions of a game.
pub const MAX_ACTIONS: usize = 256;

/// A set of action indices: the legal actions of one seat.
pub type ActionSet = BitSet<4>;

/// A range of actions with successive indices that apply one verb to different things: "draft" each of 80 cards.
///
/// The things have numbers. If the range names a table, the number is a row of it. The ranges of a game follow one
/// another, so their order determines every index.
///
/// ```
/// use boardwire_kernel::ActionRange;
///
/// const DRAFT: ActionRange = ActionRange::rows("draft", "cards", 80);
/// const PLACE: ActionRange = ActionRange::numbers("place", 0, 8).after(&DRAFT);
/// assert_eq!((DRAFT.index(1), PLACE.index(0), PLACE.number(88)), (0, 80, Some(8)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionRange {
    verb: &'static str,
    table: Option<&'static str>,
    first_number: u8,
    start: u8,
    len: u8,
}

impl ActionRange {
    /// Creates the range of a verb for rows 1 to `last` of a table, beginning at index 0.
    #[must_use]
    pub const fn rows(verb: &'static str, table: &'static str, last: u8) -> Self {
        Self { verb, table: Some(table), first_number: 1, start: 0, len: last }
    }

    /// Creates the range of action indices for a verb with the numbers `first` to `last`. The range begins at index 0.
    ///
    /// # Panics
    /// When there are no numbers or more than 255.
    #[must_use]
    pub const fn numbers(verb: &'static str, first: u8, last: u8) -> Self {
        assert!(first <= last && last - first < u8::MAX, "a range has 1 to 255 actions");
        Self { verb, table: None, first_number: first, start: 0, len: last - first + 1 }
    }

    /// Creates a range of one action with number 0, at index 0.
    #[must_use]
    pub const fn single(verb: &'static str) -> Self {
        Self::numbers(verb, 0, 0)
    }

    /// Returns the same range, beginning where `previous` ends.
    ///
    /// # Panics
    /// When an index would not fit a byte.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the remainder of 256 fits a byte")]
    pub const fn after(mut self, previous: &Self) -> Self {
        let start = previous.start as usize + previous.len as usize;
        assert!(start + self.len as usize <= MAX_ACTIONS, "the action space has at most 256 actions");
        // Only an empty range can begin at 256. Its start is never used.
        self.start = (start % MAX_ACTIONS) as u8;
        self
    }

    /// Returns the number of actions.
    #[must_use]
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// Returns whether the range has no actions.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the index of the action on `number`.
    ///
    /// # Panics
    /// With debug assertions, when the number is not in the range. This is a bug of the game.
    #[must_use]
    #[inline]
    pub const fn index(&self, number: u8) -> u8 {
        debug_assert!(
            number >= self.first_number && number - self.first_number < self.len,
            "the number is not in the range"
        );
        self.start + (number - self.first_number)
    }

    /// Returns the number that the action with this index applies to, if the index is in the range.
    #[must_use]
    #[inline]
    pub const fn number(&self, index: u8) -> Option<u8> {
        if index >= self.start && index - self.start < self.len {
            Some(index - self.start + self.first_number)
        } else {
            None
        }
    }

    /// Returns the actions on these numbers.
    ///
    /// # Panics
    /// With debug assertions, when a number is not in the range. This is a bug of the game.
    #[must_use]
    #[inline]
    pub fn actions_for<const W: usize>(&self, numbers: BitSet<W>) -> ActionSet {
        let actions = numbers.renumbered(self.first_number, self.start);
        debug_assert!(actions.difference(self.all()).is_empty(), "a number is not in the range");
        actions
    }

    /// Returns all actions of the range.
    #[must_use]
    pub fn all(&self) -> ActionSet {
        BitSet::<4>::below(self.len.into()).renumbered(0, self.start)
    }

    /// Returns the numbers in the range, ascending.
    pub fn iter_numbers(&self) -> impl Iterator<Item = u8> + use<> {
        let first = self.first_number;
        (0..self.len).map(move |step| first + step)
    }
}

/// One action: its label, its verb, and the table row that the verb applies to.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct ActionSpec {
    /// The label, unique among the actions of the game.
    pub label: String,
    /// The verb, such as `draft`.
    pub verb: &'static str,
    /// The table of the component that the verb applies to, if it applies to a component.
    pub table: Option<&'static str>,
    /// The row of the table; without a table, the number of the thing.
    pub row: u8,
}

/// The actions of a game, in index order.
#[derive(Debug, Clone, PartialEq, Eq, Default, BorshSerialize)]
pub struct ActionSpace(Vec<ActionSpec>);

impl ActionSpace {
    /// Creates a space without actions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the space of these actions, in index order.
    #[must_use]
    pub fn of(actions: Vec<ActionSpec>) -> Self {
        Self(actions)
    }

    /// Adds the next range. `label` returns the label of a number.
    ///
    /// # Panics
    /// When the range does not begin where the last one ends, or a label repeats. This is a bug of the game.
    #[must_use]
    pub fn add_range(mut self, range: ActionRange, label: impl Fn(u8) -> String) -> Self {
        assert!(
            range.is_empty() || usize::from(range.start) == self.0.len(),
            "{} does not begin where the range before it ends",
            range.verb
        );
        for number in range.iter_numbers() {
            let label = label(number);
            assert!(self.parse(&label).is_none(), "two actions share the label {label}");
            self.0.push(ActionSpec { label, verb: range.verb, table: range.table, row: number });
        }
        self
    }

    /// Returns the number of actions. Every index is below it.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the size in bytes of a legal mask with one bit per action.
    #[must_use]
    pub fn mask_bytes(&self) -> usize {
        self.0.len().div_ceil(8)
    }

    /// Returns the label of the action with this index.
    #[must_use]
    pub fn label(&self, index: u8) -> Option<&str> {
        self.0.get(usize::from(index)).map(|action| action.label.as_str())
    }

    /// Returns the index of the action with this label.
    #[must_use]
    pub fn parse(&self, label: &str) -> Option<u8> {
        self.0.iter().position(|known| known.label == label).and_then(|index| u8::try_from(index).ok())
    }

    /// Returns all actions, in index order.
    #[must_use]
    pub fn all(&self) -> &[ActionSpec] {
        &self.0
    }

    /// Returns all labels, in index order.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|action| action.label.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKE: ActionRange = ActionRange::rows("take", "cards", 3);
    const STEP: ActionRange = ActionRange::numbers("step", 0, 4).after(&TAKE);
    const END: ActionRange = ActionRange::single("end").after(&STEP);

    #[test]
    fn ranges_follow_one_another() {
        let space = ActionSpace::new()
            .add_range(TAKE, |card| format!("take {card}"))
            .add_range(STEP, |steps| format!("go {steps}"))
            .add_range(END, |_| "end".to_owned());
        assert_eq!(space.labels().collect::<Vec<_>>()[2..5], ["take 3", "go 0", "go 1"]);
        assert_eq!(space.parse("end"), Some(8));
        assert_eq!((space.all()[1].row, space.all()[1].table), (2, Some("cards")));
        let owners = |index| [TAKE, STEP, END].map(|range| range.number(index));
        assert_eq!(owners(2), [Some(3), None, None]);
        assert_eq!(owners(3), [None, Some(0), None]);
        assert_eq!(owners(9), [None; 3]);
    }

    #[test]
    fn a_set_of_numbers_becomes_a_set_of_actions() {
        let cards: BitSet<1> = [1, 3].into_iter().collect();
        assert_eq!(TAKE.actions_for(cards).iter().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(STEP.all().iter().collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    }

    #[test]
    #[should_panic(expected = "is not in the range")]
    fn a_number_outside_a_range_panics() {
        let _ = TAKE.index(4);
    }

    #[test]
    #[should_panic(expected = "is not in the range")]
    fn a_set_with_a_number_outside_a_range_panics() {
        let _ = TAKE.actions_for(BitSet::<1>::single(4u8));
    }

    #[test]
    #[should_panic(expected = "does not begin where")]
    fn a_gap_between_ranges_panics() {
        let _ = ActionSpace::new().add_range(STEP, |steps| steps.to_string());
    }
}

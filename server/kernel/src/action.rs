//! Actions on the wire: dense indices, sets of them, and their labels.

use crate::BitSet;

/// The most actions a game's action space may have.
pub const MAX_ACTIONS: usize = 256;

/// A set of action indices: the legal actions of one seat.
pub type ActionSet = BitSet<4>;

/// The labels of an action space, in index order: what people and logs read.
///
/// Labels are unique, so an action's text names its index.
#[derive(Debug, Clone, PartialEq, Eq, borsh::BorshSerialize)]
pub struct ActionLabels(Vec<String>);

impl ActionLabels {
    /// Takes the labels in index order.
    ///
    /// # Panics
    /// When there are none, more than [`MAX_ACTIONS`], or two are alike: a game's mistake.
    #[must_use]
    pub fn new(labels: Vec<String>) -> Self {
        assert!((1..=MAX_ACTIONS).contains(&labels.len()), "{} actions", labels.len());
        let mut sorted: Vec<&String> = labels.iter().collect();
        sorted.sort();
        assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "two actions share a label: {labels:?}");
        Self(labels)
    }

    /// How many actions the space has: indices are below this.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Bytes of a legal mask with one bit an action.
    #[must_use]
    pub fn mask_bytes(&self) -> usize {
        self.0.len().div_ceil(8)
    }

    /// The label of the action with this index.
    #[must_use]
    pub fn get(&self, index: u8) -> Option<&str> {
        self.0.get(usize::from(index)).map(String::as_str)
    }

    /// The index of the action with this label.
    #[must_use]
    pub fn parse(&self, label: &str) -> Option<u8> {
        self.0.iter().position(|known| known == label).and_then(|index| u8::try_from(index).ok())
    }

    /// All labels, in index order.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.0
    }
}

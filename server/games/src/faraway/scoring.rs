//! Fame: the line is turned up from its last region to its first, each region seeing what lies to its
//! right and every sanctuary of its seat.

use super::card::{Card, Symbols, lane};
use super::catalogue::Catalogue;

/// What each card of one seat pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fame {
    /// By place in the line, first played first.
    pub regions: [u16; 8],
    /// By place among the sanctuaries given.
    pub sanctuaries: [u16; 7],
}

impl Fame {
    /// The sum over all cards.
    #[must_use]
    pub fn total(&self) -> u16 {
        self.regions.iter().chain(&self.sanctuaries).sum()
    }
}

/// Scores a line and sanctuaries, at most 8 and 7 ids; id 0 is no card.
pub(super) fn fame(catalogue: &Catalogue, line: &[u8], sanctuaries: &[u8]) -> Fame {
    let mut fame = Fame::default();
    let placed = || sanctuaries.iter().map(|&id| &catalogue.sanctuaries[usize::from(id)]);
    // FA-6.1: the sanctuaries are visible from the first step on.
    let mut visible = placed().fold([0; 9], with);
    for (at, &id) in line.iter().enumerate().rev() {
        let card = &catalogue.regions[usize::from(id)];
        visible = with(visible, card);
        fame.regions[at] = card.pays(&visible);
    }
    for (points, card) in fame.sanctuaries.iter_mut().zip(placed()) {
        *points = card.pays(&visible);
    }
    fame
}

/// The symbols seen with one more card.
pub(super) fn with(mut seen: Symbols, card: &Card) -> Symbols {
    for (count, &more) in seen.iter_mut().zip(&card.symbols) {
        *count += more;
    }
    seen
}

impl Card {
    /// Whether the wonders its quest asks for are among those visible.
    pub(super) fn is_met(&self, visible: &Symbols) -> bool {
        self.prerequisite.iter().zip(visible).all(|(need, seen)| need <= seen)
    }

    /// The fame of the card when this is visible, itself included.
    pub(super) fn pays(&self, visible: &Symbols) -> u16 {
        if self.is_met(visible) { self.quest_pays(visible) } else { 0 }
    }

    /// The fame of its quest, prerequisite aside.
    pub(super) fn quest_pays(&self, visible: &Symbols) -> u16 {
        let quest = &self.quest;
        let sets = visible[lane::RIVER..].iter().min().copied().unwrap_or(0);
        quest
            .per
            .iter()
            .zip(visible)
            .map(|(&points, &count)| u16::from(points) * u16::from(count))
            .sum::<u16>()
            + u16::from(quest.flat)
            + u16::from(quest.per_set) * u16::from(sets)
    }
}

/// No line of 8 regions with 7 sanctuaries pays more than this.
///
/// Each card is given the most of every symbol that any 15 cards show, and the best 8 and 7 are added.
pub(super) fn most(catalogue: &Catalogue) -> i32 {
    let parts = [(&catalogue.regions, 8), (&catalogue.sanctuaries, 7)];
    let mut visible: Symbols = [0; 9];
    for (at, count) in visible.iter_mut().enumerate() {
        *count = parts
            .iter()
            .map(|(cards, number)| greatest(cards.iter().map(|card| card.symbols[at].into()), *number))
            .sum::<u16>()
            .try_into()
            .unwrap_or(u8::MAX);
    }
    // Fifteen cards hold at most three whole sets.
    let sets = visible[lane::RIVER..].iter().min().copied().unwrap_or(0);
    let pays = |card: &Card| {
        card.quest_pays(&visible) - u16::from(card.quest.per_set) * u16::from(sets.saturating_sub(3))
    };
    parts.iter().map(|(cards, number)| i32::from(greatest(cards.iter().map(pays), *number))).sum()
}

/// The sum of the `number` greatest values.
fn greatest(values: impl Iterator<Item = u16>, number: usize) -> u16 {
    let mut values: Vec<u16> = values.collect();
    values.sort_unstable_by(|a, b| b.cmp(a));
    values.iter().take(number).sum()
}

//! How the quests of a line stand, as views show it: the wonders of a card are compared in one word.

use boardwire_kernel::Seat;

use super::Faraway;
use super::catalogue::{Card, Catalogue};
use super::state::{RegionId, SanctuaryId, State};

/// How the quest of a place in a line can stand, in the order of the values that views show.
pub(super) const STANDINGS: [&str; 6] =
    ["no_region", "met", "lacks_stone", "lacks_chimera", "lacks_thistle", "lacks_more"];

/// The highest bit of each number in a word of wonders, which none of them reaches: 15 cards show 75 of one at most.
const HIGH: u32 = 0x80_80_80;

/// Three numbers of wonders as the bytes of a word, stones lowest.
type Wonders = u32;

/// What is shown and asked for, by the numbers of cards; there is a place for every byte, so that no index is checked.
#[derive(Debug, Clone)]
pub(super) struct Quests {
    /// What a region shows, and what its quest asks for.
    regions: [(Wonders, Wonders); 256],
    /// What a sanctuary shows.
    sanctuaries: [Wonders; 256],
}

impl Faraway {
    /// How the quest of each region of a seat's line stands.
    pub(super) fn standings(&self, state: &State, seat: Seat) -> [u8; 8] {
        let placed = SanctuaryId::rows(state.placed[seat]);
        self.quests.standings(RegionId::rows(state.lines[seat]), placed)
    }
}

impl Quests {
    /// The tables of a catalogue.
    pub(super) fn of(catalogue: &Catalogue) -> Self {
        let mut tables = Self { regions: [(0, 0); 256], sanctuaries: [0; 256] };
        let shown = |card: &Card| word(card.symbols.wonders());
        for (region, card) in tables.regions.iter_mut().zip(&catalogue.regions) {
            *region = (shown(card), word(&card.prerequisite));
        }
        for (sanctuary, card) in tables.sanctuaries.iter_mut().zip(&catalogue.sanctuaries) {
            *sanctuary = shown(card);
        }
        tables
    }

    /// How the quest of each region of a line stands (FA-6.2) as if the line were finished, as places in `STANDINGS`.
    #[inline]
    pub(super) fn standings(&self, line: [u8; 8], sanctuaries: [u8; 7]) -> [u8; 8] {
        // FA-6.1: the sanctuaries are visible from the first step on.
        let mut visible: Wonders = sanctuaries.iter().map(|&id| self.sanctuaries[usize::from(id)]).sum();
        let mut standings = [0; 8];
        for (standing, id) in standings.iter_mut().zip(line).rev().filter(|&(_, id)| id > 0) {
            let (shown, asked) = self.regions[usize::from(id)];
            visible += shown;
            *standing = standing_of(lacking(asked, visible));
        }
        standings
    }
}

/// What is asked for and not visible, wonder by wonder.
#[inline]
fn lacking(asked: Wonders, visible: Wonders) -> Wonders {
    // The highest bit stays where at least as many are asked for as are visible.
    let difference = (asked | HIGH) - visible;
    let kept = difference & HIGH;
    difference & (kept - (kept >> 7))
}

/// How a quest stands that lacks this: no branch, since what it lacks is hardly ever what the last one lacked.
#[inline]
fn standing_of(lacking: Wonders) -> u8 {
    let is = |lack: Wonders, value: u8| u8::from(lacking == lack) * (5 - value);
    5 - is(0, 1) - is(0x1, 2) - is(0x1_00, 3) - is(0x1_00_00, 4)
}

/// Three numbers as a word; more than 127 are never visible, so as many mean the same.
fn word(numbers: &[u8]) -> Wonders {
    numbers.iter().rev().fold(0, |word, &number| word << 8 | Wonders::from(number.min(127)))
}

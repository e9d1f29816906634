//! The status of each quest in a line, as observations show it. One word comparison covers all wonders of a card.

use boardwire_kernel::Seat;

use super::Faraway;
use super::catalogue::{Card, Catalogue};
use super::state::{RegionId, SanctuaryId, State};

/// The possible statuses of a quest in a line, in the order of their values in observations.
pub(super) const QUEST_STATUSES: [&str; 6] =
    ["no_region", "met", "lacks_stone", "lacks_chimera", "lacks_thistle", "lacks_more"];

/// The highest bit of each byte in a word of wonder counts. No count reaches it: 15 cards show at most 75 of one.
const HIGH: u32 = 0x80_80_80;

/// Three wonder counts as the bytes of a word, stones in the lowest byte.
type Wonders = u32;

/// What cards show and ask for, by id. The tables have a row for every byte value, so indexing needs no bounds check.
#[derive(Debug, Clone)]
pub(super) struct Quests {
    /// What a region shows, and what its quest asks for.
    regions: [(Wonders, Wonders); 256],
    /// What a sanctuary shows.
    sanctuaries: [Wonders; 256],
}

impl Faraway {
    /// Returns the quest status of each region in a seat's line.
    pub(super) fn quest_statuses(&self, state: &State, seat: Seat) -> [u8; 8] {
        let placed = SanctuaryId::to_rows(state.placed[seat]);
        self.quests.quest_statuses(RegionId::to_rows(state.lines[seat]), placed)
    }
}

impl Quests {
    /// Builds the tables from a catalogue.
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

    /// Returns the quest status of each region (FA-6.2) as if the line were finished, as indices into `QUEST_STATUSES`.
    #[inline]
    pub(super) fn quest_statuses(&self, line: [u8; 8], sanctuaries: [u8; 7]) -> [u8; 8] {
        // FA-6.1: the sanctuaries are visible from the first step on.
        let mut visible: Wonders = sanctuaries.iter().map(|&id| self.sanctuaries[usize::from(id)]).sum();
        let mut statuses = [0; 8];
        for (status, id) in statuses.iter_mut().zip(line).rev().filter(|&(_, id)| id > 0) {
            let (shown, asked) = self.regions[usize::from(id)];
            visible += shown;
            *status = quest_status(lacking(asked, visible));
        }
        statuses
    }
}

/// Returns for each wonder how many more are asked for than visible, at least 0.
#[inline]
fn lacking(asked: Wonders, visible: Wonders) -> Wonders {
    // The highest bit of a byte stays set where at least as many are asked for as are visible.
    let difference = (asked | HIGH) - visible;
    let kept = difference & HIGH;
    difference & (kept - (kept >> 7))
}

/// Returns the status for the missing wonders. It has no branch, because the value is hard to predict from the last one.
#[inline]
fn quest_status(lacking: Wonders) -> u8 {
    let is = |lack: Wonders, value: u8| u8::from(lacking == lack) * (5 - value);
    5 - is(0, 1) - is(0x1, 2) - is(0x1_00, 3) - is(0x1_00_00, 4)
}

/// Packs three numbers into a word. It caps them at 127: more are never visible, so larger values mean the same.
fn word(numbers: &[u8]) -> Wonders {
    numbers.iter().rev().fold(0, |word, &number| word << 8 | Wonders::from(number.min(127)))
}

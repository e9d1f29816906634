//! Fame: the line is turned up from its last region to its first. Each region counts itself, the regions to its right
//! and every sanctuary of its seat.

use boardwire_kernel::{Outcome, ScoreLine, Scoring, Seat};

use super::catalogue::{Card, Catalogue, Symbols};
use super::state::{MAX_SEATS, Phase, RegionId, SanctuaryId, State};
use super::{Action, Faraway};

/// The fame that each card of one seat pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fame {
    /// By index in the line, first played first.
    pub regions: [u16; 8],
    /// By index in the sanctuaries given.
    pub sanctuaries: [u16; 7],
}

impl Fame {
    /// Returns the sum over all cards.
    #[must_use]
    pub fn total(&self) -> u16 {
        self.regions.iter().chain(&self.sanctuaries).sum()
    }
}

impl Scoring for Faraway {
    fn outcome(&self, state: &State) -> Option<Outcome> {
        if state.phase != Phase::Over {
            return None;
        }
        let (mut scores, mut shortest) = ([0; MAX_SEATS], [0; MAX_SEATS]);
        for seat in Seat::all(self.seats) {
            scores[seat.index()] = self.fame(state, seat).total().into();
            // FA-R11: the shortest region of the line breaks ties.
            let least = state.line(seat).min();
            shortest[seat.index()] = -i32::from(RegionId::to_row(least));
        }
        let seats = usize::from(self.seats);
        Some(Outcome::ranked(&scores[..seats], &shortest[..seats]))
    }

    fn explain(&self, state: &State, seat: Seat) -> Vec<ScoreLine> {
        let fame = self.fame(state, seat);
        let regions = state.lines[seat].map(|id| id.map(Action::Region)).into_iter().zip(fame.regions);
        let sanctuaries =
            state.placed[seat].map(|id| id.map(Action::Sanctuary)).into_iter().zip(fame.sanctuaries);
        let line = |(card, points): (Option<Action>, u16)| {
            card.map(|card| ScoreLine { source: card.to_string(), points: points.into() })
        };
        regions.chain(sanctuaries).filter_map(line).collect()
    }
}

impl Faraway {
    /// Returns what each card of a seat pays, as if its line were finished; sanctuaries by round.
    #[must_use]
    pub fn fame(&self, state: &State, seat: Seat) -> Fame {
        let line = RegionId::to_rows(state.lines[seat]);
        fame(self.cards(), &line, &SanctuaryId::to_rows(state.placed[seat]))
    }
}

/// Scores a line of at most 8 ids and at most 7 sanctuary ids; id 0 means no card.
#[must_use]
pub fn fame(catalogue: &Catalogue, line: &[u8], sanctuaries: &[u8]) -> Fame {
    let mut fame = Fame::default();
    let placed = || sanctuaries.iter().map(|&id| &catalogue.sanctuaries[usize::from(id)]);
    // FA-6.1: the sanctuaries are visible from the first step on.
    let mut visible = placed().fold(Symbols::default(), |seen, card| seen.with(&card.symbols));
    for (at, &id) in line.iter().enumerate().rev() {
        let card = &catalogue.regions[usize::from(id)];
        visible = visible.with(&card.symbols);
        fame.regions[at] = card.fame_for(&visible);
    }
    for (points, card) in fame.sanctuaries.iter_mut().zip(placed()) {
        *points = card.fame_for(&visible);
    }
    fame
}

impl Card {
    /// Returns whether the visible wonders meet the prerequisite.
    pub(super) fn is_met(&self, visible: &Symbols) -> bool {
        self.prerequisite.iter().zip(visible.wonders()).all(|(need, seen)| need <= seen)
    }

    /// Returns the fame of the card for the visible symbols, its own included.
    pub(super) fn fame_for(&self, visible: &Symbols) -> u16 {
        if self.is_met(visible) { self.quest_fame_for(visible) } else { 0 }
    }

    /// Returns the fame of the quest without its prerequisite.
    pub(super) fn quest_fame_for(&self, visible: &Symbols) -> u16 {
        let quest = &self.quest;
        let sets = visible.biomes().iter().min().copied().unwrap_or(0);
        let symbols = quest.per.0.iter().zip(visible.0);
        symbols.map(|(&points, count)| u16::from(points) * u16::from(count)).sum::<u16>()
            + u16::from(quest.flat)
            + u16::from(quest.per_set) * u16::from(sets)
    }
}

/// Returns an upper bound for the fame of 8 regions and 7 sanctuaries.
///
/// It assumes for every symbol the most that any 15 cards show, then adds the best 8 regions and 7 sanctuaries.
pub(super) fn score_upper_bound(catalogue: &Catalogue) -> i32 {
    let parts = [(&catalogue.regions, 8), (&catalogue.sanctuaries, 7)];
    let mut visible = Symbols::default();
    for (at, count) in visible.0.iter_mut().enumerate() {
        let maximum: u16 = parts
            .iter()
            .map(|(cards, number)| {
                sum_of_greatest(cards.iter().map(|card| card.symbols.0[at].into()), *number)
            })
            .sum();
        *count = u8::try_from(maximum).expect("15 cards with at most 5 of a symbol each");
    }
    // Fifteen cards have at most three complete sets.
    let sets = visible.biomes().iter().min().copied().unwrap_or(0);
    let pays = |card: &Card| {
        card.quest_fame_for(&visible) - u16::from(card.quest.per_set) * u16::from(sets.saturating_sub(3))
    };
    parts.iter().map(|(cards, number)| i32::from(sum_of_greatest(cards.iter().map(pays), *number))).sum()
}

/// Returns the sum of the `number` greatest values.
fn sum_of_greatest(values: impl Iterator<Item = u16>, number: usize) -> u16 {
    let mut values: Vec<u16> = values.collect();
    values.sort_unstable_by(|a, b| b.cmp(a));
    values.iter().take(number).sum()
}

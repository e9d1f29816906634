//! A rough worth of a position: the fame to be expected when the hand is played on in its best order and
//! the rest of the line and of the sanctuaries is as cards are on average.

use boardwire_kernel::{Estimate, Seat};

use super::Faraway;
use super::catalogue::{Card, Catalogue, Symbol};
use super::legal::choosable;
use super::state::{RegionId, Regions, State};

/// Symbols, sanctuaries and fame are counted in 64ths.
const ONE: i32 = 64;

/// Half as much again as the average card shows: a seat chooses what suits it.
const CHOSEN: i32 = 96;

/// What one card is expected to show, in 64ths.
type Expected = [i32; 9];

/// The symbols expected of a card that is not known yet.
#[derive(Debug, Clone)]
pub(super) struct Rates {
    region: Expected,
    sanctuary: Expected,
}

impl Rates {
    /// The rates of a catalogue.
    pub(super) fn of(catalogue: &Catalogue) -> Self {
        let rate = |cards: &[Card]| {
            let number = i32::try_from(cards.len()).unwrap_or(1);
            std::array::from_fn(|at| {
                cards.iter().map(|card| i32::from(card.symbols.0[at])).sum::<i32>() * CHOSEN / number
            })
        };
        Self { region: rate(&catalogue.regions[1..]), sanctuary: rate(&catalogue.sanctuaries[1..]) }
    }
}

/// A line in the making.
#[derive(Debug, Clone, Copy)]
struct Plan {
    line: [u8; 8],
    len: usize,
}

impl Plan {
    fn line(&self) -> &[u8] {
        &self.line[..self.len]
    }

    fn push(&mut self, id: u8) {
        self.line[self.len] = id;
        self.len += 1;
    }
}

impl Estimate for Faraway {
    /// In 64ths of fame.
    fn estimate(&self, state: &State, seat: Seat) -> i32 {
        let mut plan = Plan { line: RegionId::rows(state.lines[seat]), len: state.line(seat).count() };
        let mut hand = choosable(state, seat);
        let chosen = state.chosen[seat];
        // A hidden choice counts as played.
        if let Some(id) = chosen {
            plan.push(id.get());
            hand.remove(id);
        }
        let found = i32::from(!state.found(seat).is_empty() || chosen.is_some() && climbs(plan.line()));
        self.best_order(state, seat, plan, hand, found)
    }
}

impl Faraway {
    /// The worth of the best order in which the first cards of the hand can follow the plan.
    fn best_order(&self, state: &State, seat: Seat, plan: Plan, hand: Regions, found: i32) -> i32 {
        let planned = plan.len - state.line(seat).count();
        if plan.len == 8 || hand.is_empty() || planned >= 3 {
            return self.prospect(state, seat, &plan, found);
        }
        hand.iter()
            .map(|id| {
                let (mut next, mut rest) = (plan, hand);
                next.push(id);
                rest.remove(id);
                let found = found + i32::from(climbs(next.line()));
                self.best_order(state, seat, next, rest, found)
            })
            .max()
            .unwrap_or(0)
    }

    /// The fame to be expected of a planned line with `found` sanctuaries still to be placed for it.
    fn prospect(&self, state: &State, seat: Seat, plan: &Plan, found: i32) -> i32 {
        let open = i32::try_from(8 - plan.len).unwrap_or(0);
        // Every second region not planned yet will climb.
        let finds = found * ONE + open * ONE / 2;
        let mut visible: Expected =
            std::array::from_fn(|at| open * self.rates.region[at] + finds * self.rates.sanctuary[at] / ONE);
        let mut sure = [0; 3];
        let placed = || state.placed[seat].iter().flatten().map(|&id| self.sanctuary(id));
        for card in placed() {
            see(&mut visible, &mut sure, card);
        }
        let mut worth = 0;
        for &id in plan.line().iter().rev() {
            let card = &self.cards().regions[usize::from(id)];
            see(&mut visible, &mut sure, card);
            worth += likelihood(card, sure, &visible) * expected_fame(card, &visible) / ONE;
        }
        worth += placed().map(|card| expected_fame(card, &visible)).sum::<i32>();
        worth + finds * (4 + visible[Symbol::Clue as usize] / ONE / 2)
    }
}

/// Whether the last region of a line lasts longer than the one before.
fn climbs(line: &[u8]) -> bool {
    matches!(line, [.., previous, last] if last > previous)
}

fn see(visible: &mut Expected, sure: &mut [u8; 3], card: &Card) {
    for (count, more) in visible.iter_mut().zip(card.symbols.0) {
        *count += i32::from(more) * ONE;
    }
    for (count, more) in sure.iter_mut().zip(card.symbols.0) {
        *count += more;
    }
}

/// How likely a prerequisite will be met, in 64ths: by what is expected of what is still missing.
fn likelihood(card: &Card, sure: [u8; 3], visible: &Expected) -> i32 {
    let mut likely = ONE;
    for ((&need, sure), &visible) in card.prerequisite.iter().zip(sure).zip(visible) {
        if need > sure {
            let (missing, coming) = (i32::from(need - sure), visible - i32::from(sure) * ONE);
            likely = likely * (coming / missing).min(ONE) / ONE;
        }
    }
    likely
}

/// What a quest pays for the symbols expected, in 64ths.
fn expected_fame(card: &Card, visible: &Expected) -> i32 {
    let quest = &card.quest;
    let sets = visible[Symbol::River as usize..].iter().min().copied().unwrap_or(0);
    let symbols: i32 =
        quest.per.0.iter().zip(visible).map(|(&points, &count)| i32::from(points) * count).sum();
    symbols + i32::from(quest.flat) * ONE + i32::from(quest.per_set) * sets
}

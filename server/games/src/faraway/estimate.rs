//! A rough worth of a position: the fame to be expected when the hand is played on in its best order and
//! the rest of the line and of the sanctuaries is as cards are on average.

use boardwire_kernel::{BitSet, Seat};

use super::Faraway;
use super::card::{Card, lane};
use super::catalogue::Catalogue;
use super::state::{Phase, State};

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
                cards.iter().map(|card| i32::from(card.symbols[at])).sum::<i32>() * CHOSEN / number
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

impl Faraway {
    /// The worth of the position to a seat, in 64ths of fame.
    pub(super) fn worth(&self, state: &State, seat: Seat) -> i32 {
        let at = seat.index();
        let mut plan = Plan { line: state.lines[at], len: state.line(at).len() };
        let mut hand = state.hands[at];
        // A hidden choice counts as played.
        if state.chosen[at] > 0 {
            plan.push(state.chosen[at]);
            hand.remove(state.chosen[at]);
        }
        if state.phase == Phase::SetAside {
            for id in state.aside[at] {
                hand.remove(id);
            }
        }
        let found = i32::from(!state.before(at).is_empty() || state.chosen[at] > 0 && climbs(plan.line()));
        self.best_order(state, at, plan, hand, found)
    }

    /// The worth of the best order in which the first cards of the hand can follow the plan.
    fn best_order(&self, state: &State, at: usize, plan: Plan, hand: BitSet<2>, found: i32) -> i32 {
        let planned = plan.len - state.line(at).len();
        if plan.len == 8 || hand.is_empty() || planned >= 3 {
            return self.prospect(state, at, &plan, found);
        }
        hand.iter()
            .map(|id| {
                let (mut next, mut rest) = (plan, hand);
                next.push(id);
                rest.remove(id);
                let found = found + i32::from(climbs(next.line()));
                self.best_order(state, at, next, rest, found)
            })
            .max()
            .unwrap_or(0)
    }

    /// The fame to be expected of a planned line with `found` sanctuaries still to be placed for it.
    fn prospect(&self, state: &State, at: usize, plan: &Plan, found: i32) -> i32 {
        let open = i32::try_from(8 - plan.len).unwrap_or(0);
        // Every second region not planned yet will climb.
        let finds = found * ONE + open * ONE / 2;
        let mut visible: Expected =
            std::array::from_fn(|at| open * self.rates.region[at] + finds * self.rates.sanctuary[at] / ONE);
        let mut sure = [0; 3];
        let placed = || state.placed[at].iter().filter(|&&id| id > 0).map(|&id| self.sanctuary(id));
        for card in placed() {
            see(&mut visible, &mut sure, card);
        }
        let mut worth = 0;
        for &id in plan.line().iter().rev() {
            let card = self.region(id);
            see(&mut visible, &mut sure, card);
            worth += likelihood(card, sure, &visible) * expected_fame(card, &visible) / ONE;
        }
        worth += placed().map(|card| expected_fame(card, &visible)).sum::<i32>();
        worth + finds * (4 + visible[lane::CLUE] / ONE / 2)
    }
}

/// Whether the last region of a line lasts longer than the one before.
fn climbs(line: &[u8]) -> bool {
    matches!(line, [.., before, last] if last > before)
}

fn see(visible: &mut Expected, sure: &mut [u8; 3], card: &Card) {
    for (count, &more) in visible.iter_mut().zip(&card.symbols) {
        *count += i32::from(more) * ONE;
    }
    for (count, &more) in sure.iter_mut().zip(&card.symbols) {
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
    let sets = visible[lane::RIVER..].iter().min().copied().unwrap_or(0);
    let symbols: i32 = quest.per.iter().zip(visible).map(|(&points, &count)| i32::from(points) * count).sum();
    symbols + i32::from(quest.flat) * ONE + i32::from(quest.per_set) * sets
}

//! A heuristic value of a state: the expected fame if the seat plays its hand in the best order. Cards that are not
//! known yet count as average cards.

use boardwire_kernel::{Estimate, Seat};

use super::Faraway;
use super::catalogue::{Card, Catalogue, Symbol};
use super::legal::choosable;
use super::state::{RegionId, Regions, SanctuaryId, State};

/// Symbols, sanctuaries and fame are fixed-point numbers in 64ths.
const FIXED_POINT_ONE: i32 = 64;

/// The factor 1.5, in 64ths, for the symbols of the average card: a seat chooses cards that suit it.
const CHOICE_FACTOR: i32 = 96;

/// Symbol counts in 64ths, one SIMD lane for each symbol; the lanes beyond the nine symbols are 0.
///
/// Fifteen cards with at most five of a symbol stay far below the limits. Lane arithmetic wraps, because an overflow
/// check for every lane would prevent vectorization.
type Lanes = [i16; 16];

/// The card data that estimates need, computed once.
#[derive(Debug, Clone)]
pub(super) struct EstimateTables {
    /// The symbols expected of an unknown region, and of an unknown sanctuary.
    region: [i32; 9],
    sanctuary: [i32; 9],
    sanctuary_lanes: Lanes,
    /// The regions by duration, the sanctuaries by id.
    regions: Vec<CardLanes>,
    sanctuaries: Vec<CardLanes>,
}

/// One card as numbers in lanes.
#[derive(Debug, Clone, Copy)]
struct CardLanes {
    shows: Lanes,
    /// The one or two symbols it pays for, with the fame for each. No quest names more.
    pays: [(usize, i32); 2],
    flat: i32,
    per_set: i32,
    prerequisite: [u8; 3],
}

impl EstimateTables {
    /// Computes the tables from a catalogue.
    pub(super) fn of(catalogue: &Catalogue) -> Self {
        let rate = |cards: &[Card]| {
            let number = i32::try_from(cards.len()).expect("at most 68 cards");
            std::array::from_fn(|at| {
                cards.iter().map(|card| i32::from(card.symbols.0[at])).sum::<i32>() * CHOICE_FACTOR / number
            })
        };
        let sanctuary: [i32; 9] = rate(&catalogue.sanctuaries[1..]);
        let mut sanctuary_lanes = [0; 16];
        for (lane, &rate) in sanctuary_lanes.iter_mut().zip(&sanctuary) {
            *lane = i16::try_from(rate).expect("a card shows few symbols");
        }
        Self {
            region: rate(&catalogue.regions[1..]),
            sanctuary,
            sanctuary_lanes,
            regions: catalogue.regions.iter().map(CardLanes::of).collect(),
            sanctuaries: catalogue.sanctuaries.iter().map(CardLanes::of).collect(),
        }
    }
}

impl CardLanes {
    fn of(card: &Card) -> Self {
        let quest = &card.quest;
        let mut card_lanes = Self {
            shows: [0; 16],
            pays: [(0, 0); 2],
            flat: i32::from(quest.flat) * FIXED_POINT_ONE,
            per_set: quest.per_set.into(),
            prerequisite: card.prerequisite,
        };
        for at in 0..card.symbols.0.len() {
            card_lanes.shows[at] = i16::from(card.symbols.0[at]) * 64;
        }
        let paid = quest.per.0.iter().enumerate().filter(|(_, points)| **points > 0);
        for (pays, (symbol, &points)) in card_lanes.pays.iter_mut().zip(paid) {
            *pays = (symbol, points.into());
        }
        card_lanes
    }

    /// Returns what the quest pays for the expected symbols, in 64ths.
    #[inline]
    fn fame(&self, visible: &Lanes) -> i32 {
        let [first, second] = self.pays.map(|(symbol, points)| points * i32::from(visible[symbol]));
        let biomes = &visible[Symbol::River as usize..=Symbol::Desert as usize];
        let sets = if self.per_set > 0 { biomes.iter().min().copied().unwrap_or(0) } else { 0 };
        first + second + self.flat + self.per_set * i32::from(sets)
    }

    /// Returns the probability that the prerequisite will be met, in 64ths, from expected and missing wonders.
    #[inline]
    fn likelihood(&self, expected: &Lanes, visible: &Lanes) -> i32 {
        if self.prerequisite == [0; 3] {
            return FIXED_POINT_ONE;
        }
        let mut likely = FIXED_POINT_ONE;
        for (wonder, &need) in self.prerequisite.iter().enumerate() {
            let coming = i32::from(expected[wonder]);
            let missing = i32::from(need) - (i32::from(visible[wonder]) - coming) / FIXED_POINT_ONE;
            if missing > 0 {
                likely = likely * (coming / missing).min(FIXED_POINT_ONE) / FIXED_POINT_ONE;
            }
        }
        likely
    }
}

#[inline]
fn see(visible: &mut Lanes, card: &CardLanes) {
    for (count, more) in visible.iter_mut().zip(card.shows) {
        *count = count.wrapping_add(more);
    }
}

/// The part of a seat's area that is the same for every order of its next regions.
struct PlanContext<'a> {
    tables: &'a EstimateTables,
    /// The regions in the line.
    explored: &'a [u8],
    placed: [&'a CardLanes; 7],
    /// The symbols expected of unknown cards, without sanctuaries found. `visible` also has those of placed sanctuaries.
    expected: Lanes,
    visible: Lanes,
    /// The number of regions in the line that are neither played nor planned.
    open: i32,
    /// A cache by the number of sanctuaries found: the value without the planned regions. Their order does not change it.
    /// None if the plans differ in their regions.
    value_cache: Option<[Option<i32>; 16]>,
}

/// The next regions to play, in order.
#[derive(Debug, Clone, Copy)]
struct Plan {
    regions: [u8; 3],
    len: usize,
    last: u8,
    /// The sanctuaries found by the planned line and not placed yet.
    found: u8,
}

impl Plan {
    /// Returns the plan with one more region.
    fn with(mut self, id: u8) -> Self {
        self.found += u8::from(self.last > 0 && id > self.last);
        self.last = id;
        self.regions[self.len] = id;
        self.len += 1;
        self
    }
}

/// The inputs of a seat's estimate: the cards it has played and the cards it can play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EstimateInput {
    line: [Option<RegionId>; 8],
    placed: [Option<SanctuaryId>; 7],
    /// The regions in hand that are neither chosen nor set aside.
    hand: Regions,
    /// The hidden choice, which counts as played.
    chosen: Option<RegionId>,
    /// Whether the seat has sanctuaries to choose from or is owed some. If so, it will place one.
    has_found: bool,
    explored: u8,
}

impl Estimate for Faraway {
    type Features = EstimateInput;

    fn features(&self, state: &State, seat: Seat) -> Option<EstimateInput> {
        let chosen = state.chosen[seat];
        let mut hand = choosable(state, seat);
        hand.remove(RegionId::to_row(chosen));
        Some(EstimateInput {
            line: state.lines[seat],
            placed: state.placed[seat],
            hand,
            chosen,
            has_found: !state.found(seat).is_empty() || state.owed[seat] > 0,
            explored: state.explored(),
        })
    }

    /// Returns the estimate in 64ths of fame.
    fn estimate(&self, input: &EstimateInput) -> i32 {
        let explored = usize::from(input.explored);
        let line = RegionId::to_rows(input.line);
        let last = if explored == 0 { 0 } else { line[explored - 1] };
        let mut plan = Plan { regions: [0; 3], len: 0, last, found: input.has_found.into() };
        if let Some(id) = input.chosen {
            plan = plan.with(id.get());
        }
        let choices = plan.len + input.hand.len() as usize;
        let length = choices.min(3).min(8 - explored);
        let mut context =
            self.estimate_tables.plan_context(&line[..explored], SanctuaryId::to_rows(input.placed), length);
        context.value_cache = (choices == length).then_some([None; 16]);
        context.best_order(plan, input.hand, length)
    }

    fn reduce_for_playouts(&self, state: &mut State) {
        state.quests_disabled = true;
    }
}

impl EstimateTables {
    /// Returns the context for plans of `length` regions.
    fn plan_context<'a>(&'a self, explored: &'a [u8], placed: [u8; 7], length: usize) -> PlanContext<'a> {
        let open = i32::try_from(8 - explored.len() - length).expect("a line has 8 places");
        let mut expected = [0; 16];
        for (at, count) in expected.iter_mut().take(self.region.len()).enumerate() {
            // Assumption: half of the unplanned regions find a sanctuary.
            let coming =
                open * self.region[at] + open * FIXED_POINT_ONE / 2 * self.sanctuary[at] / FIXED_POINT_ONE;
            *count = i16::try_from(coming).expect("15 cards show few symbols");
        }
        let placed = placed.map(|id| &self.sanctuaries[usize::from(id)]);
        let mut visible = expected;
        for card in placed {
            see(&mut visible, card);
        }
        PlanContext { tables: self, explored, placed, expected, visible, open, value_cache: None }
    }
}

impl PlanContext<'_> {
    /// Returns the value of the best order in which cards of the hand can complete the plan.
    fn best_order(&mut self, plan: Plan, hand: Regions, length: usize) -> i32 {
        if plan.len == length {
            return self.plan_value(&plan);
        }
        let mut best = i32::MIN;
        for id in hand {
            let mut rest = hand;
            rest.remove(id);
            best = best.max(self.best_order(plan.with(id), rest, length));
        }
        best
    }

    /// Returns the expected fame of a planned line.
    fn plan_value(&mut self, plan: &Plan) -> i32 {
        let (mut expected, mut visible) = (self.expected, self.visible);
        for (at, shown) in self.tables.sanctuary_lanes.iter().enumerate() {
            let more = shown.wrapping_mul(plan.found.into());
            expected[at] = expected[at].wrapping_add(more);
            visible[at] = visible[at].wrapping_add(more);
        }
        let tables = self.tables;
        let mut pay = |id: &u8| {
            let card = &tables.regions[usize::from(*id)];
            see(&mut visible, card);
            card.likelihood(&expected, &visible) * card.fame(&visible) / FIXED_POINT_ONE
        };
        let planned: i32 = plan.regions[..plan.len].iter().rev().map(&mut pay).sum();
        if let Some(cached) = self.value_cache.and_then(|cache| cache[usize::from(plan.found)]) {
            return planned + cached;
        }
        let mut value: i32 = self.explored.iter().rev().map(&mut pay).sum();
        value += self.placed.iter().map(|card| card.fame(&visible)).sum::<i32>();
        let finds = i32::from(plan.found) * FIXED_POINT_ONE + self.open * FIXED_POINT_ONE / 2;
        value += finds * (4 + i32::from(visible[Symbol::Clue as usize]) / FIXED_POINT_ONE / 2);
        if let Some(cache) = &mut self.value_cache {
            cache[usize::from(plan.found)] = Some(value);
        }
        planned + value
    }
}

//! A rough worth of a position, for the one-ply bot.
//!
//! A board is worth its points and what it will still yield. With a card kept it is worth what the best use of the
//! card makes of it. Bots ask this very often, so what the uses have in common is reckoned once.

use std::sync::Arc;

use boardwire_kernel::{BySeat, Estimate, Seat};

use super::Rauha;
use super::catalogue::{Ability, BIOMES, Biome, ENTITIES, Effect, LINES, Per, Stop, Symbols};
use super::state::{Activation, BiomeId, Board, ByBiome, CELLS, CellSet, EntitySet, Phase, SEATS, State};

/// One point of Life Energy, in units of the estimate.
const POINT: i32 = 100;

/// What a crystal is worth, by the number of turns to come.
const CRYSTAL: [i32; 13] = [0, 12, 22, 30, 36, 40, 42, 44, 46, 48, 50, 50, 50];

/// What estimates need to know of the catalogue.
#[derive(Debug, Clone)]
pub(super) struct Prospects {
    /// What is to come, by the number of stops that are over.
    futures: Arc<[Future]>,
    /// The Entities that biomes call.
    calls: ByBiome<ByEntity>,
}

/// What is still to come when some stops are over, and what effects are worth then.
#[derive(Debug)]
struct Future {
    /// Line activations to come, by cell.
    lines: [i32; CELLS as usize],
    /// Quarters of activations to come of a cell: without and with a Spore.
    times: [[i32; CELLS as usize]; 2],
    scorings: i32,
    turns: i32,
    /// What a crystal is worth.
    crystal: i32,
    /// What one activation of a biome gives.
    biomes: ByBiome<Yield>,
    /// The same of Entities, by id.
    entities: [Yield; 1 + ENTITIES as usize],
    /// What a biome on a cell will still give if its yield is fixed: without and with a Spore.
    fixed: [[ByBiome<i16>; CELLS as usize]; 2],
}

/// Quarters of so many activations: an effect to come may be covered, or be passed over for want of crystals.
const fn quarters(times: i32) -> i32 {
    if times > 0 { 3 * times + 1 } else { 0 }
}

impl Prospects {
    pub(super) fn new(
        biomes: &ByBiome<Biome>,
        abilities: &[Ability; 1 + ENTITIES as usize],
        track: &[Stop],
    ) -> Self {
        let future = |over: usize| Future::new(biomes, abilities, &track[over..]);
        let calls = biomes.up_to(BIOMES).iter().map(|biome| ByEntity::flags(biome.calls));
        Self { futures: (0..=track.len()).map(future).collect(), calls: ByBiome::new(calls, ByEntity(0)) }
    }
}

impl Future {
    /// What is to come at these stops.
    fn new(biomes: &ByBiome<Biome>, abilities: &[Ability; 1 + ENTITIES as usize], stops: &[Stop]) -> Self {
        let count = |is_counted: &dyn Fn(&Stop) -> bool| {
            i32::try_from(stops.iter().filter(|stop| is_counted(stop)).count()).expect("sixteen stops")
        };
        let (scorings, turns) = (count(&|stop| stop.is_scoring()), count(&|stop| !stop.is_scoring()));
        let crystal = CRYSTAL[usize::try_from(turns).expect("a number of turns")];
        let crystal = if scorings > 0 { crystal.max(5) } else { 0 };
        let mut lines = [0; CELLS as usize];
        for (cell, lines) in (0..CELLS).zip(&mut lines) {
            *lines = count(&|stop| stop.line.contains(cell));
        }
        let yields = biomes.up_to(BIOMES).iter().map(|biome| Yield::new(biome.ability.effect, crystal));
        let yields = ByBiome::new(yields, Yield::NONE);
        let times = [0, scorings].map(|scorings| lines.map(|lines| quarters(lines + scorings)));
        let fixed = |times: i32| {
            let worths = yields.up_to(BIOMES).iter().map(|yields| match yields.fixed() {
                Some(units) => i16::try_from(times * units / 4).expect("at most 49 quarters of 20 points"),
                None => 0,
            });
            ByBiome::new(worths, 0)
        };
        Self {
            lines,
            times,
            scorings,
            turns,
            crystal,
            biomes: yields,
            entities: abilities.map(|ability| Yield::new(ability.effect, crystal)),
            fixed: times.map(|times| times.map(fixed)),
        }
    }

    /// What a board is worth apart from what is activated.
    #[inline]
    fn worth_at_rest(&self, points: u16, crystals: u16, counted: &Counted, promise: i32) -> i32 {
        let water = counted[Per::Water as usize].min(9) * self.scorings * POINT * 3 / 4;
        let spores = counted[Per::Spore as usize] * self.scorings * 4;
        let crystals = i32::from(crystals).min(30) * self.crystal;
        POINT * i32::from(points) + crystals + spores + water + promise * self.turns
    }

    /// What the biomes of a board with fixed yields will still give, and the cells with the others.
    #[inline]
    fn fixed_worth(&self, board: &Board) -> (i32, CellSet) {
        let (mut worth, mut varying) = (0, CellSet::EMPTY);
        for cell in 0..CELLS {
            let (at, id) = (usize::from(cell), board.at(cell));
            worth += i32::from(self.fixed[usize::from(board.spores.contains(cell))][at][id]);
            if self.biomes[id].fixed().is_none() {
                varying.insert(cell);
            }
        }
        (worth, varying)
    }

    /// What the Entities held will still give to a seat that is not activating now.
    fn worth_of_entities(&self, held: ByEntity, crystals: u16, counted: &Counted) -> i32 {
        held.iter().map(|entity| 3 * self.scorings * self.entities[entity].on(crystals, counted) / 4).sum()
    }
}

/// What one activation gives, in units: something fixed, or something for each thing counted.
#[derive(Debug, Clone, Copy)]
struct Yield {
    /// The crystals that it costs.
    cost: u8,
    /// What is counted, as an index into [`Counted`].
    counted: u8,
    /// The units for each thing counted; 0 for a yield that is fixed.
    each: i16,
    /// What it gives to a board that has the crystals.
    affordable: i16,
    /// What it is reckoned to give to one that has not.
    unaffordable: i16,
}

/// How many of each thing that effects count are on a board, by [`Per`]; of the last two none.
type Counted = [i32; 8];

impl Yield {
    const NONE: Self = Self { cost: 0, counted: 7, each: 0, affordable: 0, unaffordable: 0 };

    /// The yield of an effect where a crystal is worth so much.
    fn new(effect: Effect, crystal: i32) -> Self {
        let small = |units| i16::try_from(units).expect("the numbers of an effect are at most 20");
        let fixed = |units| Self { affordable: small(units), unaffordable: small(units), ..Self::NONE };
        match effect {
            Effect::None | Effect::Water(_) => Self::NONE,
            Effect::Gain(crystals) => fixed(i32::from(crystals) * crystal),
            Effect::Score(points) => fixed(i32::from(points) * POINT),
            Effect::PointsPer(per, points) => {
                Self { counted: per as u8, each: small(i32::from(points) * POINT), ..Self::NONE }
            }
            Effect::BuyPoints { cost, points } => {
                let gain = i32::from(points) * POINT - i32::from(cost) * crystal;
                Self { cost, affordable: small(gain), unaffordable: small(gain / 2), ..Self::NONE }
            }
            Effect::BuySpore { cost } => fixed((2 * POINT - i32::from(cost) * crystal).max(0)),
        }
    }

    /// The yield, if it is the same for every board.
    fn fixed(self) -> Option<i32> {
        (self.cost == 0 && self.each == 0).then_some(self.affordable.into())
    }

    /// The yield for a board with so many crystals and things.
    #[inline]
    fn on(self, crystals: u16, counted: &Counted) -> i32 {
        let is_affordable = crystals >= u16::from(self.cost);
        let fixed = if is_affordable { self.affordable } else { self.unaffordable };
        i32::from(fixed) + i32::from(self.each) * counted[usize::from(self.counted & 7)]
    }
}

/// A small number for every Entity, in the byte of its id: so that what cells call is added up for all at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByEntity(u64);

impl ByEntity {
    /// 1 for those in the set.
    pub(super) fn flags(entities: EntitySet) -> Self {
        let mut flags = [0; 8];
        entities.write_flags(&mut flags);
        Self(u64::from_le_bytes(flags))
    }

    /// 1 where the number is at least `least`, which is at most 3 as are the numbers.
    fn at_least(self, least: u8) -> Self {
        Self((self.0 + u64::from_le_bytes([0x80 - least; 8])) >> 7 & u64::from_le_bytes([1; 8]))
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    /// 1 where either is 1.
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The sum of the numbers where `flags` is 0; it is below 256.
    fn sum_without(self, flags: Self) -> i32 {
        let rest = self.0 & !(flags.0 * 0xff);
        i32::from(rest.wrapping_mul(u64::from_le_bytes([1; 8])).to_le_bytes()[7])
    }

    /// The ids of the Entities whose number is 1; the others are 0.
    #[inline]
    fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let id = left.trailing_zeros() / 8;
            left &= left.wrapping_sub(1);
            (id < 8).then_some(id as usize)
        })
    }
}

/// How often each Entity is called in each row and column.
struct Lines {
    calls: [ByEntity; 6],
    /// In how many of them two cells at least call it.
    pairs: ByEntity,
}

/// What a seat has still to come.
struct Prospect<'a> {
    future: &'a Future,
    /// The cells it has activated at this stop.
    used: CellSet,
    /// The Entities it has activated in this scoring.
    spent: EntitySet,
    /// The Entities that it may still activate in this turn.
    welcomed: EntitySet,
}

/// What of a position the worth to a seat depends on: all but the cards in packs and decks, and those others keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    seat: Seat,
    stop: u8,
    phase: Phase,
    first: Seat,
    done: u8,
    used: Activation,
    welcomed: EntitySet,
    boards: BySeat<Board, SEATS>,
    /// The card the seat keeps.
    kept: Option<BiomeId>,
}

impl Estimate for Rauha {
    type Outlook = Outlook;

    fn outlook(&self, state: &State, seat: Seat) -> Outlook {
        let State { stop, phase, first, done, used, welcomed, boards, .. } = *state;
        Outlook { seat, stop, phase, first, done, used, welcomed, boards, kept: state.kept[seat] }
    }

    /// In hundredths of Life Energy: twice a seat's own less the best of the others.
    fn estimate(&self, outlook: &Outlook) -> i32 {
        let seat = outlook.seat;
        let prospect = self.prospect(outlook, seat);
        let board = &outlook.boards[seat];
        let own = match outlook.kept {
            Some(card) => self.worth_with_card(prospect.future, board, card),
            None => self.worth_of_board(&prospect, board),
        };
        let others = Seat::all(self.seats).filter(|&other| other != seat);
        let worths =
            others.map(|other| self.worth_of_board(&self.prospect(outlook, other), &outlook.boards[other]));
        2 * own - worths.max().expect("at least two seats")
    }
}

impl Rauha {
    fn prospect(&self, at: &Outlook, seat: Seat) -> Prospect<'_> {
        let (number, first) = (seat.number(), at.first.number());
        let place = if number >= first { number - first } else { number + self.seats - first };
        let has_finished = place < at.done || at.phase == Phase::Over;
        let future = &self.catalogue.value.prospects.futures[usize::from(at.stop - u8::from(!has_finished))];
        let is_activating = matches!(at.phase, Phase::Activate | Phase::Spore);
        let none = EntitySet::EMPTY;
        if has_finished || place != at.done || !is_activating {
            Prospect { future, used: CellSet::EMPTY, spent: none, welcomed: none }
        } else if at.stop.is_multiple_of(4) {
            Prospect { future, used: at.used.cells, spent: at.used.entities, welcomed: none }
        } else {
            let welcomed = at.welcomed.difference(at.used.entities);
            Prospect { future, used: at.used.cells, spent: none, welcomed }
        }
    }

    fn worth_of_board(&self, prospect: &Prospect<'_>, board: &Board) -> i32 {
        let future = prospect.future;
        let held = ByEntity::flags(board.entities);
        let counted = self.counted(self.symbols(board), board.spores, held);
        let promise = self.lines(board).promise(held);
        let mut worth = future.worth_at_rest(board.points(), board.crystals, &counted, promise);
        let (fixed, varying) = future.fixed_worth(board);
        worth += fixed;
        for cell in varying {
            let times = future.times[usize::from(board.spores.contains(cell))][usize::from(cell)];
            worth += times * future.biomes[board.at(cell)].on(board.crystals, &counted) / 4;
        }
        for cell in prospect.used {
            let (at, has_spore) = (usize::from(cell), board.spores.contains(cell));
            let yields = future.biomes[board.at(cell)].on(board.crystals, &counted);
            let scorings = if has_spore { future.scorings } else { 0 };
            worth -= future.times[usize::from(has_spore)][at] * yields / 4;
            worth += quarters(future.lines[at] + scorings - 1) * yields / 4;
        }
        for entity in board.entities {
            let yields = future.entities[usize::from(entity)].on(board.crystals, &counted);
            worth += prospect.times_of_entity(entity) * yields / 4;
        }
        worth
    }

    /// The worth with the best use of a card that is kept; the seat activates nothing meanwhile.
    fn worth_with_card(&self, future: &Future, board: &Board, card: BiomeId) -> i32 {
        let prospect =
            Prospect { future, used: CellSet::EMPTY, spent: EntitySet::EMPTY, welcomed: EntitySet::EMPTY };
        let crystals = board.crystals + u16::from(self.catalogue.value.discard);
        let discarded = self.worth_of_board(&prospect, &Board { crystals, ..*board });
        let spread = self.worth_with_spore(future, board);
        let placed = self.worth_with_card_placed(future, board, card);
        discarded.max(spread.unwrap_or(discarded)).max(placed.unwrap_or(discarded))
    }

    /// The worth with one more Spore, on the best cell.
    fn worth_with_spore(&self, future: &Future, board: &Board) -> Option<i32> {
        let held = ByEntity::flags(board.entities);
        let mut counted = self.counted(self.symbols(board), board.spores, held);
        counted[Per::Spore as usize] += 1;
        let promise = self.lines(board).promise(held);
        let mut worth = future.worth_at_rest(board.points(), board.crystals, &counted, promise)
            + future.worth_of_entities(held, board.crystals, &counted);
        let mut best = None;
        for (cell, &id) in board.cells.iter().enumerate() {
            let yields = future.biomes[id].on(board.crystals, &counted);
            let [without, with] = future.times.map(|times| times[cell] * yields / 4);
            if board.spores.contains(u8::try_from(cell).expect("nine cells")) {
                worth += with;
            } else {
                worth += without;
                best = best.max(Some(with - without));
            }
        }
        best.map(|more| worth + more)
    }

    /// The worth with the card placed on the best cell.
    fn worth_with_card_placed(&self, future: &Future, board: &Board, card: BiomeId) -> Option<i32> {
        let cells = self.cells_for(board, card);
        if cells.is_empty() {
            return None;
        }
        let crystals = board.crystals - u16::from(self.biome(card).cost);
        let (symbols, lines, held) =
            (self.symbols(board), self.lines(board), ByEntity::flags(board.entities));
        // What does not depend on the place of the card; yields that do are reckoned for each place.
        let (mut fixed, mut fixed_sum, mut times) = ([0; CELLS as usize], 0, [0; CELLS as usize]);
        let mut counting = CellSet::EMPTY;
        for (cell, &id) in (0..).zip(&board.cells) {
            let (at, yields) = (usize::from(cell), future.biomes[id]);
            times[at] = future.times[usize::from(board.spores.contains(cell))][at];
            if yields.each == 0 {
                fixed[at] = times[at] * yields.on(crystals, &[0; 8]) / 4;
                fixed_sum += fixed[at];
            } else {
                counting.insert(cell);
            }
        }
        let shown = &self.catalogue.value.prospects.calls;
        let worths = cells.iter().map(|cell| {
            let (at, covered) = (usize::from(cell), board.at(cell));
            let (called, promise) = lines.replace(cell, shown[covered], shown[card], held);
            let held = held.or(called);
            let symbols = symbols.replace(self.biome(covered).symbols, self.biome(card).symbols);
            let counted = self.counted(symbols, board.spores, held);
            let mut worth = future.worth_at_rest(board.points(), crystals, &counted, promise)
                + future.worth_of_entities(held, crystals, &counted);
            worth += fixed_sum - fixed[at] + times[at] * future.biomes[card].on(crystals, &counted) / 4;
            for other in counting.iter().filter(|&other| other != cell) {
                let yields = future.biomes[board.at(other)].on(crystals, &counted);
                worth += times[usize::from(other)] * yields / 4;
            }
            worth
        });
        worths.max()
    }

    #[inline]
    fn counted(&self, symbols: Symbols, spores: CellSet, held: ByEntity) -> Counted {
        let [flying, land, marine] = symbols.animals();
        let [flying, land, marine] = [i32::from(flying), i32::from(land), i32::from(marine)];
        let spores = i32::try_from(spores.len()).expect("nine cells");
        let water =
            held.iter().map(|id| i32::from(self.catalogue.value.abilities[id].effect.water())).sum::<i32>();
        let water = water + i32::from(symbols.water());
        [flying, land, marine, spores, water, flying.max(land).max(marine), 0, 0]
    }

    #[inline]
    fn lines(&self, board: &Board) -> Lines {
        let (mut calls, mut pairs) = ([ByEntity(0); 6], ByEntity(0));
        for (calls, [a, b, c]) in calls.iter_mut().zip(LINES) {
            let called_by = |cell| self.catalogue.value.prospects.calls[board.at(cell)];
            *calls = called_by(a).plus(called_by(b)).plus(called_by(c));
            pairs = pairs.plus(calls.at_least(2));
        }
        Lines { calls, pairs }
    }
}

impl Lines {
    /// What lines that lack one cell for an Entity not held are worth in a turn.
    fn promise(&self, held: ByEntity) -> i32 {
        6 * self.pairs.sum_without(held)
    }

    /// The Entities called when a cell calls others than before, and the promise then.
    fn replace(&self, cell: u8, old: ByEntity, new: ByEntity, held: ByEntity) -> (ByEntity, i32) {
        let row = self.calls[usize::from(cell / 3)];
        let column = self.calls[usize::from(3 + cell % 3)];
        let (new_row, new_column) = (row.minus(old).plus(new), column.minus(old).plus(new));
        let called = new_row.at_least(3).or(new_column.at_least(3));
        let gone = row.at_least(2).plus(column.at_least(2));
        let come = new_row.at_least(2).plus(new_column.at_least(2));
        (called, 6 * self.pairs.minus(gone).plus(come).sum_without(held.or(called)))
    }
}

impl Prospect<'_> {
    /// Quarters of activations to come of an Entity held.
    #[inline]
    fn times_of_entity(&self, entity: u8) -> i32 {
        let now = i32::from(self.welcomed.contains(entity)) - i32::from(self.spent.contains(entity));
        3 * self.future.scorings + 4 * now
    }
}

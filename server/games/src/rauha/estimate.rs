//! A rough worth of a position, for the one-ply bot.

use boardwire_kernel::Seat;

use super::Rauha;
use super::catalogue::{BIOMES, Catalogue, ENTITIES, Effect, LINES, Per};
use super::state::{Board, CELLS, Phase, State};

/// One point of Life Energy, in units of the estimate.
const POINT: i32 = 100;

/// What a crystal is worth, by the number of turns to come.
const CRYSTAL: [i32; 13] = [0, 12, 22, 30, 36, 40, 42, 44, 46, 48, 50, 50, 50];

/// What is still to come when some stops are over, and what effects are worth then.
#[derive(Debug, Clone)]
pub(super) struct Outlook {
    /// Line activations to come, by cell.
    lines: [i32; CELLS as usize],
    scorings: i32,
    turns: i32,
    /// What a crystal is worth.
    crystal: i32,
    /// What one activation of a biome gives, by id less one.
    biomes: [Yield; BIOMES as usize],
    /// The same of Entities.
    entities: [Yield; ENTITIES as usize],
}

/// What one activation gives, in units: something fixed, and something for each thing counted.
#[derive(Debug, Clone, Copy)]
struct Yield {
    /// The crystals that it costs.
    cost: u8,
    /// What is counted, as an index into [`Counted`].
    counted: u8,
    /// The units for each thing counted.
    each: i16,
    /// What it gives to a board that has the crystals.
    affordable: i16,
    /// What it is reckoned to give to one that has not.
    unaffordable: i16,
}

/// How many of each thing that effects count are on a board, by [`Per`]; the last is none.
type Counted = [i32; 7];

impl Outlook {
    /// What is to come after so many stops.
    pub(super) fn new(catalogue: &Catalogue, over: u8) -> Self {
        let stops = &catalogue.track[usize::from(over)..];
        let count = |is_counted: &dyn Fn(&super::catalogue::Stop) -> bool| {
            i32::try_from(stops.iter().filter(|stop| is_counted(stop)).count()).expect("sixteen stops")
        };
        let (scorings, turns) = (count(&|stop| stop.is_scoring()), count(&|stop| !stop.is_scoring()));
        let crystal = CRYSTAL[usize::try_from(turns).expect("a number of turns")];
        let crystal = if scorings > 0 { crystal.max(5) } else { 0 };
        let mut cells = 0..CELLS;
        Self {
            lines: [(); CELLS as usize].map(|()| {
                let cell = cells.next().expect("nine cells");
                count(&|stop| stop.line.contains(cell))
            }),
            scorings,
            turns,
            crystal,
            biomes: catalogue.biomes.map(|biome| Yield::new(biome.effect, crystal)),
            entities: std::array::from_fn(|entity| Yield::new(catalogue.entities[entity].effect, crystal)),
        }
    }
}

impl Yield {
    /// The yield of an effect where a crystal is worth so much.
    fn new(effect: Effect, crystal: i32) -> Self {
        let none = Self { cost: 0, counted: 6, each: 0, affordable: 0, unaffordable: 0 };
        let small = |units| i16::try_from(units).expect("the numbers of an effect are at most 20");
        let fixed = |units| Self { affordable: small(units), unaffordable: small(units), ..none };
        match effect {
            Effect::None | Effect::Water(_) => none,
            Effect::Gain(crystals) => fixed(i32::from(crystals) * crystal),
            Effect::Score(points) => fixed(i32::from(points) * POINT),
            Effect::PointsPer(per, points) => {
                Self { counted: per as u8, each: small(i32::from(points) * POINT), ..none }
            }
            Effect::BuyPoints { cost, points } => {
                let gain = i32::from(points) * POINT - i32::from(cost) * crystal;
                Self { cost, affordable: small(gain), unaffordable: small(gain / 2), ..none }
            }
            Effect::BuySpore { cost } => fixed((2 * POINT - i32::from(cost) * crystal).max(0)),
        }
    }

    /// The yield on a board.
    #[inline]
    fn on(self, board: &Board, counted: &Counted) -> i32 {
        let is_affordable = board.crystals >= u16::from(self.cost);
        let fixed = if is_affordable { self.affordable } else { self.unaffordable };
        i32::from(fixed) + i32::from(self.each) * counted[usize::from(self.counted)]
    }
}

/// What a seat has still to come.
struct Prospect<'a> {
    outlook: &'a Outlook,
    /// Whether the seat is activating now.
    is_acting: bool,
}

impl Rauha {
    pub(super) fn estimate(&self, state: &State, seat: Seat) -> i32 {
        let own = self.worth_of_seat(state, seat);
        let others = Seat::all(self.seats).filter(|&other| other != seat);
        let best = others
            .map(|other| self.worth_of_board(state, &self.prospect(state, other), &state.boards[other]));
        2 * own - best.max().expect("at least two seats")
    }

    fn prospect(&self, state: &State, seat: Seat) -> Prospect<'_> {
        let (seat, first) = (seat.number(), state.first.number());
        let place = if seat >= first { seat - first } else { seat + self.seats - first };
        let has_finished = place < state.done || state.phase == Phase::Over;
        let is_activating = matches!(state.phase, Phase::Activate | Phase::Spore);
        Prospect {
            outlook: &self.outlooks[usize::from(state.stop - u8::from(!has_finished))],
            is_acting: !has_finished && place == state.done && is_activating,
        }
    }

    /// The board's worth, with the best use of the card still kept.
    fn worth_of_seat(&self, state: &State, seat: Seat) -> i32 {
        let board = &state.boards[seat];
        let prospect = self.prospect(state, seat);
        let worth = |board: &Board| self.worth_of_board(state, &prospect, board);
        let Some(kept) = state.kept[seat] else {
            return worth(board);
        };
        let discard = u16::from(self.catalogue.value.discard);
        let mut best = worth(&Board { crystals: board.crystals + discard, ..*board });
        for cell in self.cells_for(board, kept) {
            let mut placed = *board;
            placed.crystals -= u16::from(self.biome(kept).cost);
            placed.cells[usize::from(cell)] = kept;
            placed.entities = placed.entities.union(self.called(&placed, cell));
            best = best.max(worth(&placed));
        }
        for cell in board.cells_without_spore() {
            let mut spread = *board;
            spread.spores.insert(cell);
            best = best.max(worth(&spread));
        }
        best
    }

    fn worth_of_board(&self, state: &State, prospect: &Prospect<'_>, board: &Board) -> i32 {
        let outlook = prospect.outlook;
        let counted = self.counted(board);
        let mut worth = POINT * i32::from(board.points());
        worth += i32::from(board.crystals).min(30) * outlook.crystal;
        for cell in 0..CELLS {
            let has_spore = board.spores.contains(cell);
            let times = prospect.times_of_cell(state, cell, has_spore);
            worth += times * outlook.biomes[board.at(cell).index() - 1].on(board, &counted) / 4;
            worth += i32::from(has_spore) * outlook.scorings * 4;
        }
        for entity in board.entities {
            let times = prospect.times_of_entity(state, entity);
            worth += times * outlook.entities[usize::from(entity - 1)].on(board, &counted) / 4;
        }
        worth += counted[Per::Water as usize].min(9) * outlook.scorings * POINT * 3 / 4;
        worth + self.promise(board) * outlook.turns
    }

    fn counted(&self, board: &Board) -> Counted {
        let [flying, land, marine] = self.symbols(board).animals().map(i32::from);
        let spores = i32::try_from(board.spores.len()).expect("nine cells");
        [flying, land, marine, spores, self.water(board).into(), flying.max(land).max(marine), 0]
    }

    /// Lines that lack one cell for an Entity not held.
    fn promise(&self, board: &Board) -> i32 {
        let calls = |cell: u8| self.biome(board.at(cell)).calls.difference(board.entities);
        let pairs = LINES.iter().map(|line| {
            let [a, b, c] = line.map(calls);
            a.intersection(b).union(b.intersection(c)).union(a.intersection(c)).len()
        });
        6 * i32::try_from(pairs.sum::<u32>()).expect("six lines")
    }
}

impl Prospect<'_> {
    /// Quarters of activations to come of a cell.
    fn times_of_cell(&self, state: &State, cell: u8, has_spore: bool) -> i32 {
        let is_used = self.is_acting && state.used.cells.contains(cell);
        let scorings = if has_spore { self.outlook.scorings } else { 0 };
        let times = self.outlook.lines[usize::from(cell)] + scorings - i32::from(is_used);
        // An effect to come may be covered, or be passed over for want of crystals.
        (3 * times + i32::from(times > 0)).min(4 * times)
    }

    /// Quarters of activations to come of an Entity held.
    fn times_of_entity(&self, state: &State, entity: u8) -> i32 {
        if !self.is_acting {
            return 3 * self.outlook.scorings;
        }
        let is_used = state.used.entities.contains(entity);
        let now = if state.is_scoring() {
            -i32::from(is_used)
        } else {
            i32::from(state.welcomed.contains(entity) && !is_used)
        };
        3 * self.outlook.scorings + 4 * now
    }
}

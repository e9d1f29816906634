//! A rough worth of a position, for the one-ply bot.

use boardwire_kernel::Seat;

use super::Rules;
use super::pieces::{CELLS, Effect, LINES, members};
use super::state::{Board, Phase, State};
use super::turn::free;

/// One point of Life Energy, in units of the estimate.
const POINT: i32 = 100;

impl Rules {
    pub(super) fn worth(&self, state: &State, seat: Seat) -> i32 {
        let own = self.worth_of_seat(state, seat);
        let best = Seat::all(self.seats)
            .filter(|&other| other != seat)
            .map(|other| self.worth_of_board(state, other, &state.boards[other.index()]))
            .max()
            .unwrap_or(0);
        2 * own - best
    }

    /// The board's worth, with the best use of the card still kept.
    fn worth_of_seat(&self, state: &State, seat: Seat) -> i32 {
        let board = &state.boards[seat.index()];
        let kept = state.kept[seat.index()];
        if kept == 0 {
            return self.worth_of_board(state, seat, board);
        }
        let mut crystals = *board;
        crystals.crystals += self.discard;
        let mut best = self.worth_of_board(state, seat, &crystals);
        for cell in members(self.fitting(board, kept)) {
            let mut placed = *board;
            placed.crystals -= u16::from(self.biomes[usize::from(kept)].cost);
            placed.cells[usize::from(cell)] = kept;
            placed.entities |= self.called(&placed, cell);
            best = best.max(self.worth_of_board(state, seat, &placed));
        }
        for cell in members(free(board)) {
            let mut spread = *board;
            spread.spores |= 1 << cell;
            best = best.max(self.worth_of_board(state, seat, &spread));
        }
        best
    }

    fn worth_of_board(&self, state: &State, seat: Seat, board: &Board) -> i32 {
        let now = Remaining::of(self, state, seat);
        let mut worth = POINT * i32::from(board.points());
        worth += i32::from(board.crystals).min(30) * now.crystal;
        for cell in 0..CELLS {
            let effect = self.biomes[usize::from(board.cells[usize::from(cell)])].effect;
            let spore = board.spores >> cell & 1 == 1;
            let times = now.cell(state, cell, spore);
            worth += times * self.yields(board, effect, now.crystal) / 4;
            if spore {
                worth += now.scorings * 4;
            }
        }
        for entity in members(board.entities.into()) {
            let effect = self.entities[usize::from(entity)];
            let times = now.entity(state, entity);
            worth += times * self.yields(board, effect, now.crystal) / 4;
        }
        worth += i32::from(self.sources(board)).min(9) * now.scorings * POINT * 3 / 4;
        worth + self.promise(board) * now.turns
    }

    /// What one activation gives, in units.
    fn yields(&self, board: &Board, effect: Effect, crystal: i32) -> i32 {
        match effect {
            Effect::None | Effect::Water(_) => 0,
            Effect::Gain(crystals) => i32::from(crystals) * crystal,
            Effect::Score(points) => i32::from(points) * POINT,
            Effect::PointsPer(per, points) => i32::from(self.count(board, per) * u16::from(points)) * POINT,
            Effect::BuyPoints { cost, points } => {
                let gain = i32::from(points) * POINT - i32::from(cost) * crystal;
                if board.crystals >= u16::from(cost) { gain } else { gain / 2 }
            }
            Effect::BuySpore { cost } => (2 * POINT - i32::from(cost) * crystal).max(0),
        }
    }

    /// Lines that lack one cell for an Entity not held.
    fn promise(&self, board: &Board) -> i32 {
        let calls =
            |cell: u8| self.biomes[usize::from(board.cells[usize::from(cell)])].calls & !board.entities;
        LINES
            .iter()
            .map(|&[a, b, c]| {
                let (a, b, c) = (calls(a), calls(b), calls(c));
                let pairs = (a & b | b & c | a & c).count_ones();
                i32::try_from(pairs).unwrap_or(0) * 6
            })
            .sum()
    }
}

/// How often things can still be activated.
struct Remaining {
    /// Line activations to come, by cell, this stop's included while the seat has not finished.
    lines: [i32; 9],
    scorings: i32,
    turns: i32,
    /// What a crystal is worth.
    crystal: i32,
    /// Whether the seat is activating now.
    acting: bool,
}

impl Remaining {
    fn of(rules: &Rules, state: &State, seat: Seat) -> Self {
        let place = (seat.number() + rules.seats - state.first) % rules.seats;
        let finished = place < state.done || state.phase == Phase::Over;
        let acting =
            !finished && place == state.done && matches!(state.phase, Phase::Activate | Phase::Spore);
        let next = usize::from(state.stop) - usize::from(!finished);
        let mut lines = [0; 9];
        let (mut scorings, mut turns) = (0, 0);
        for stop in &rules.track[next.min(rules.track.len())..] {
            members(stop.line).for_each(|cell| lines[usize::from(cell)] += 1);
            scorings += i32::from(stop.is_scoring());
            turns += i32::from(!stop.is_scoring());
        }
        let crystal =
            [0, 12, 22, 30, 36, 40, 42, 44, 46, 48, 50, 50, 50][usize::try_from(turns).unwrap_or(0)];
        let crystal = if scorings > 0 { crystal.max(5) } else { 0 };
        Self { lines, scorings, turns, crystal, acting }
    }

    /// Quarters of activations to come of a cell.
    fn cell(&self, state: &State, cell: u8, spore: bool) -> i32 {
        let used = self.acting && state.used_cells >> cell & 1 == 1;
        let scoring = if spore { self.scorings } else { 0 };
        let lines = self.lines[usize::from(cell)];
        let times = lines + scoring - i32::from(used);
        // An effect to come may be covered, or be passed over for want of crystals.
        (3 * times + i32::from(times > 0)).min(4 * times)
    }

    /// Quarters of activations to come of an Entity held.
    fn entity(&self, state: &State, entity: u8) -> i32 {
        let bit = |mask: u8| i32::from(mask >> entity & 1);
        if !self.acting {
            return 3 * self.scorings;
        }
        let now = if state.is_scoring() {
            -bit(state.used_entities)
        } else {
            bit(state.fresh & !state.used_entities)
        };
        3 * self.scorings + 4 * now
    }
}

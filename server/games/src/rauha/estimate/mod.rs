//! A heuristic value of a state, for the one-ply bot.
//!
//! The value of a board is its points plus its expected yield. With a kept card it is the value after the best use of
//! the card. Bots call this very often, so everything that the uses share is computed once.

mod calls;
mod future;

use boardwire_kernel::{BySeat, Estimate, Seat};

use super::Rauha;
use super::catalogue::{LINES, Per, Symbols};
use super::state::{BiomeId, Board, CELLS, CellSet, EntitySet, Phase, SEATS, State};
use calls::{ByEntity, Lines};
use future::{Counted, Future, quarters};

pub(super) use future::EstimateTables;

/// The remaining activations of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ToCome {
    /// The number of stops that are over for the seat.
    over: u8,
    /// The cells it has activated at this stop.
    used: CellSet,
    /// The Entities it has activated in this scoring.
    spent: EntitySet,
    /// The Entities that it can still activate in this turn.
    welcomed: EntitySet,
    /// Whether it has bought a Spore and must still put it on a cell.
    owes_spore: bool,
}

/// The inputs of a seat's estimate: all boards with their remaining activations, and the card the seat keeps. Cards
/// that other seats keep do not show on their boards, so they are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    seat: Seat,
    kept: Option<BiomeId>,
    boards: BySeat<Option<(ToCome, Board)>, SEATS>,
}

impl Estimate for Rauha {
    type Outlook = Outlook;

    fn outlook(&self, state: &State, seat: Seat) -> Option<Outlook> {
        let mut boards = BySeat::default();
        for other in Seat::all(self.seats) {
            boards[other] = Some((self.to_come(state, other), state.boards[other]));
        }
        Some(Outlook { seat, kept: state.kept[seat], boards })
    }

    /// Returns hundredths of Life Energy: twice the seat's own value minus the best value of another seat.
    fn estimate(&self, outlook: &Outlook) -> i32 {
        let (mut own, mut best_other) = (0, i32::MIN);
        for seat in Seat::all(self.seats) {
            let (to_come, board) = outlook.boards[seat].as_ref().expect("every seat has a board");
            let kept = outlook.kept.filter(|_| seat == outlook.seat);
            let worth = match kept {
                Some(card) => self.worth_with_card(*to_come, board, card),
                None => self.worth_of_board(*to_come, board),
            };
            if seat == outlook.seat {
                own = worth;
            } else {
                best_other = best_other.max(worth);
            }
        }
        2 * own - best_other
    }
}

impl Rauha {
    #[inline]
    fn to_come(&self, state: &State, seat: Seat) -> ToCome {
        let place = state.first.steps_to(seat, self.seats);
        let has_finished = place < state.done || state.phase == Phase::Over;
        let is_activating = matches!(state.phase, Phase::Activate | Phase::Spore);
        let none = EntitySet::EMPTY;
        let over = state.stop - u8::from(!has_finished);
        let idle = ToCome { over, used: CellSet::EMPTY, spent: none, welcomed: none, owes_spore: false };
        if has_finished || place != state.done || !is_activating {
            return idle;
        }
        let active = ToCome { used: state.used.cells, owes_spore: state.phase == Phase::Spore, ..idle };
        if state.is_scoring() {
            ToCome { spent: state.used.entities, ..active }
        } else {
            ToCome { welcomed: state.welcomed.difference(state.used.entities), ..active }
        }
    }

    #[inline]
    fn future(&self, to_come: ToCome) -> &Future {
        &self.catalogue.value.estimate_tables.futures[usize::from(to_come.over)]
    }

    fn worth_of_board(&self, to_come: ToCome, board: &Board) -> i32 {
        if to_come.owes_spore {
            return self.worth_with_spore_put(to_come, board);
        }
        let future = self.future(to_come);
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
        for cell in to_come.used {
            let (at, has_spore) = (usize::from(cell), board.spores.contains(cell));
            let yields = future.biomes[board.at(cell)].on(board.crystals, &counted);
            let scorings = if has_spore { future.scorings } else { 0 };
            worth -= future.times[usize::from(has_spore)][at] * yields / 4;
            worth += quarters(future.lines[at] + scorings - 1) * yields / 4;
        }
        for entity in board.entities {
            let yields = future.entities[usize::from(entity)].on(board.crystals, &counted);
            let now =
                i32::from(to_come.welcomed.contains(entity)) - i32::from(to_come.spent.contains(entity));
            worth += (3 * future.scorings + 4 * now) * yields / 4;
        }
        worth
    }

    /// Returns the value after putting the bought Spore on the best cell.
    fn worth_with_spore_put(&self, to_come: ToCome, board: &Board) -> i32 {
        let worths = board.cells_without_spore().into_iter().map(|cell| {
            let mut spores = board.spores;
            spores.insert(cell);
            self.worth_of_board(ToCome { owes_spore: false, ..to_come }, &Board { spores, ..*board })
        });
        worths.max().expect("a Spore is bought only for a cell without one")
    }

    /// Returns the value after the best use of the kept card. The seat must not be activating.
    fn worth_with_card(&self, to_come: ToCome, board: &Board, card: BiomeId) -> i32 {
        let crystals = board.crystals + u16::from(self.catalogue.value.discard);
        let discarded = self.worth_of_board(to_come, &Board { crystals, ..*board });
        let spread = self.worth_with_spore(self.future(to_come), board);
        let placed = self.worth_with_card_placed(self.future(to_come), board, card);
        discarded.max(spread.unwrap_or(discarded)).max(placed.unwrap_or(discarded))
    }

    /// Returns the value with one more Spore, on the best cell.
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

    /// Returns the value with the card placed on the best cell.
    fn worth_with_card_placed(&self, future: &Future, board: &Board, card: BiomeId) -> Option<i32> {
        let cells = self.cells_for(board, card);
        if cells.is_empty() {
            return None;
        }
        let crystals = board.crystals - u16::from(self.biome(card).cost);
        let (symbols, lines, held) =
            (self.symbols(board), self.lines(board), ByEntity::flags(board.entities));
        // These do not depend on the place of the card. Yields that depend on it are computed for each place.
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
        let shown = &self.catalogue.value.estimate_tables.calls;
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
        let mut called_by = [ByEntity::NONE; CELLS as usize];
        for (calls, &id) in called_by.iter_mut().zip(&board.cells) {
            *calls = self.catalogue.value.estimate_tables.calls[id];
        }
        let (mut calls, mut pairs) = ([ByEntity::NONE; 6], ByEntity::NONE);
        for (calls, line) in calls.iter_mut().zip(LINES) {
            let [a, b, c] = line.map(|cell: u8| called_by[usize::from(cell)]);
            *calls = a.plus(b).plus(c);
            pairs = pairs.plus(calls.at_least(2));
        }
        Lines { calls, pairs }
    }
}

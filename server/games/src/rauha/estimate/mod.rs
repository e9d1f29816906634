//! A heuristic value of a state, for the one-ply bot.
//!
//! The value of a board is its points plus the expected value of its activations. With a kept card it is the value
//! after the best use of the card. Bots call this very often, so everything that the uses share is computed once.

mod calls;
mod remaining_game;

use boardwire_kernel::{BySeat, Estimate, Seat};

use super::Rauha;
use super::catalogue::{LINES, Per, Symbols};
use super::state::{BiomeId, Board, CELL_COUNT, CellSet, EntitySet, MAX_SEATS, Phase, State};
use calls::{ByEntity, Lines};
use remaining_game::{Counted, RemainingGame, quarters};

pub(super) use remaining_game::EstimateTables;

/// The remaining activations of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RemainingActivations {
    /// The number of stops that are over for the seat.
    stops_over: u8,
    /// The cells it has activated at this stop.
    activated_cells: CellSet,
    /// The Entities it has activated in this scoring.
    activated_entities: EntitySet,
    /// The Entities that it can still activate in this turn.
    welcomed: EntitySet,
    /// Whether it has bought a Spore and must still put it on a cell.
    owes_spore: bool,
}

/// The inputs of a seat's estimate: all boards with their remaining activations, and the card the seat keeps. Cards
/// that other seats keep do not show on their boards, so they are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EstimateInput {
    seat: Seat,
    kept: Option<BiomeId>,
    boards: BySeat<Option<(RemainingActivations, Board)>, MAX_SEATS>,
}

impl Estimate for Rauha {
    type Features = EstimateInput;

    fn features(&self, state: &State, seat: Seat) -> Option<EstimateInput> {
        let mut boards = BySeat::default();
        for other in Seat::all(self.seats) {
            boards[other] = Some((self.remaining_activations(state, other), state.boards[other]));
        }
        Some(EstimateInput { seat, kept: state.kept[seat], boards })
    }

    /// Returns hundredths of Life Energy: twice the seat's own value minus the best value of another seat.
    fn estimate(&self, input: &EstimateInput) -> i32 {
        let (mut own, mut best_other) = (0, i32::MIN);
        for seat in Seat::all(self.seats) {
            let (activations, board) = input.boards[seat].as_ref().expect("every seat has a board");
            let kept = input.kept.filter(|_| seat == input.seat);
            let value = match kept {
                Some(card) => self.value_with_card(*activations, board, card),
                None => self.board_value(*activations, board),
            };
            if seat == input.seat {
                own = value;
            } else {
                best_other = best_other.max(value);
            }
        }
        2 * own - best_other
    }
}

impl Rauha {
    #[inline]
    fn remaining_activations(&self, state: &State, seat: Seat) -> RemainingActivations {
        let place = state.first_seat.steps_to(seat, self.seats);
        let has_finished = place < state.seats_done || state.phase == Phase::Over;
        let is_activating = matches!(state.phase, Phase::Activate | Phase::Spore);
        let none = EntitySet::EMPTY;
        let stops_over = state.stop - u8::from(!has_finished);
        let idle = RemainingActivations {
            stops_over,
            activated_cells: CellSet::EMPTY,
            activated_entities: none,
            welcomed: none,
            owes_spore: false,
        };
        if has_finished || place != state.seats_done || !is_activating {
            return idle;
        }
        let active = RemainingActivations {
            activated_cells: state.activated.cells,
            owes_spore: state.phase == Phase::Spore,
            ..idle
        };
        if state.is_scoring() {
            RemainingActivations { activated_entities: state.activated.entities, ..active }
        } else {
            RemainingActivations { welcomed: state.welcomed.difference(state.activated.entities), ..active }
        }
    }

    #[inline]
    fn remaining_game(&self, activations: RemainingActivations) -> &RemainingGame {
        &self.catalogue.components.estimate_tables.remaining_games[usize::from(activations.stops_over)]
    }

    fn board_value(&self, activations: RemainingActivations, board: &Board) -> i32 {
        if activations.owes_spore {
            return self.value_with_spore_put(activations, board);
        }
        let remaining = self.remaining_game(activations);
        let held = ByEntity::flags(board.entities);
        let counted = self.counted(self.symbols(board), board.spores, held);
        let line_potential = self.lines(board).line_potential(held);
        let mut value = remaining.static_value(board.points(), board.crystals, &counted, line_potential);
        let (fixed, varying) = remaining.fixed_value(board);
        value += fixed;
        for cell in varying {
            let times = remaining.times[usize::from(board.spores.contains(cell))][usize::from(cell)];
            value += times * remaining.biomes[board.at(cell)].on(board.crystals, &counted) / 4;
        }
        for cell in activations.activated_cells {
            let (at, has_spore) = (usize::from(cell), board.spores.contains(cell));
            let gain = remaining.biomes[board.at(cell)].on(board.crystals, &counted);
            let scorings = if has_spore { remaining.scorings } else { 0 };
            value -= remaining.times[usize::from(has_spore)][at] * gain / 4;
            value += quarters(remaining.lines[at] + scorings - 1) * gain / 4;
        }
        for entity in board.entities {
            let gain = remaining.entities[usize::from(entity)].on(board.crystals, &counted);
            let now = i32::from(activations.welcomed.contains(entity))
                - i32::from(activations.activated_entities.contains(entity));
            value += (3 * remaining.scorings + 4 * now) * gain / 4;
        }
        value
    }

    /// Returns the value after putting the bought Spore on the best cell.
    fn value_with_spore_put(&self, activations: RemainingActivations, board: &Board) -> i32 {
        let values = board.cells_without_spore().into_iter().map(|cell| {
            let mut spores = board.spores;
            spores.insert(cell);
            self.board_value(
                RemainingActivations { owes_spore: false, ..activations },
                &Board { spores, ..*board },
            )
        });
        values.max().expect("a Spore is bought only for a cell without one")
    }

    /// Returns the value after the best use of the kept card. The seat must not be activating.
    fn value_with_card(&self, activations: RemainingActivations, board: &Board, card: BiomeId) -> i32 {
        let crystals = board.crystals + u16::from(self.catalogue.components.discard);
        let discarded = self.board_value(activations, &Board { crystals, ..*board });
        let with_spore = self.value_with_spore(self.remaining_game(activations), board);
        let placed = self.value_with_card_placed(self.remaining_game(activations), board, card);
        discarded.max(with_spore.unwrap_or(discarded)).max(placed.unwrap_or(discarded))
    }

    /// Returns the value with one more Spore, on the best cell.
    fn value_with_spore(&self, remaining: &RemainingGame, board: &Board) -> Option<i32> {
        let held = ByEntity::flags(board.entities);
        let mut counted = self.counted(self.symbols(board), board.spores, held);
        counted[Per::Spore as usize] += 1;
        let line_potential = self.lines(board).line_potential(held);
        let mut value = remaining.static_value(board.points(), board.crystals, &counted, line_potential)
            + remaining.entities_value(held, board.crystals, &counted);
        let mut best = None;
        for (cell, &id) in board.cells.iter().enumerate() {
            let gain = remaining.biomes[id].on(board.crystals, &counted);
            let [without, with] = remaining.times.map(|times| times[cell] * gain / 4);
            if board.spores.contains(u8::try_from(cell).expect("nine cells")) {
                value += with;
            } else {
                value += without;
                best = best.max(Some(with - without));
            }
        }
        best.map(|more| value + more)
    }

    /// Returns the value with the card placed on the best cell.
    fn value_with_card_placed(&self, remaining: &RemainingGame, board: &Board, card: BiomeId) -> Option<i32> {
        let cells = self.cells_for(board, card);
        if cells.is_empty() {
            return None;
        }
        let crystals = board.crystals - u16::from(self.biome(card).cost);
        let (symbols, lines, held) =
            (self.symbols(board), self.lines(board), ByEntity::flags(board.entities));
        // These do not depend on the place of the card. Values that depend on it are computed for each place.
        let (mut fixed, mut fixed_sum, mut times) = ([0; CELL_COUNT as usize], 0, [0; CELL_COUNT as usize]);
        let mut counting = CellSet::EMPTY;
        for (cell, &id) in (0..).zip(&board.cells) {
            let (at, activation_value) = (usize::from(cell), remaining.biomes[id]);
            times[at] = remaining.times[usize::from(board.spores.contains(cell))][at];
            if activation_value.each == 0 {
                fixed[at] = times[at] * activation_value.on(crystals, &[0; 8]) / 4;
                fixed_sum += fixed[at];
            } else {
                counting.insert(cell);
            }
        }
        let shown = &self.catalogue.components.estimate_tables.calls;
        let values = cells.iter().map(|cell| {
            let (at, covered) = (usize::from(cell), board.at(cell));
            let (called, line_potential) = lines.replace(cell, shown[covered], shown[card], held);
            let held = held.or(called);
            let symbols = symbols.replace(self.biome(covered).symbols, self.biome(card).symbols);
            let counted = self.counted(symbols, board.spores, held);
            let mut value = remaining.static_value(board.points(), crystals, &counted, line_potential)
                + remaining.entities_value(held, crystals, &counted);
            value += fixed_sum - fixed[at] + times[at] * remaining.biomes[card].on(crystals, &counted) / 4;
            for other in counting.iter().filter(|&other| other != cell) {
                let gain = remaining.biomes[board.at(other)].on(crystals, &counted);
                value += times[usize::from(other)] * gain / 4;
            }
            value
        });
        values.max()
    }

    #[inline]
    fn counted(&self, symbols: Symbols, spores: CellSet, held: ByEntity) -> Counted {
        let [flying, land, marine] = symbols.animals();
        let [flying, land, marine] = [i32::from(flying), i32::from(land), i32::from(marine)];
        let spores = i32::try_from(spores.len()).expect("nine cells");
        let water = held
            .iter()
            .map(|id| i32::from(self.catalogue.components.abilities[id].effect.water()))
            .sum::<i32>();
        let water = water + i32::from(symbols.water());
        [flying, land, marine, spores, water, flying.max(land).max(marine), 0, 0]
    }

    #[inline]
    fn lines(&self, board: &Board) -> Lines {
        let mut called_by = [ByEntity::NONE; CELL_COUNT as usize];
        for (calls, &id) in called_by.iter_mut().zip(&board.cells) {
            *calls = self.catalogue.components.estimate_tables.calls[id];
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

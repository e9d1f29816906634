//! Legal actions.

use boardwire_kernel::{ActionSet, Choices, Seat};

use super::Rauha;
use super::action::{
    ACTIVATE_CELL, ACTIVATE_ENTITY, Action, DRAFT, END, PLACE, PUT_SPORE, TAKE_CRYSTALS, TAKE_SPORE,
};
use super::catalogue::Ability;
use super::state::{ActivationSet, BiomeId, Board, CellSet, EntityId, Phase, State};
use super::turn::set_of;

impl Choices for Rauha {
    #[inline]
    fn encode(&self, action: Action) -> u8 {
        action.index()
    }

    #[inline]
    fn decode(&self, index: u8) -> Option<Action> {
        Action::at(index)
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        if !self.must_decide(state, seat) {
            return ActionSet::EMPTY;
        }
        let board = &state.boards[seat];
        match state.phase {
            Phase::Draft => DRAFT.actions_for(set_of(self.hand(state, seat))),
            Phase::UseCard => {
                let kept = state.kept[seat].expect("step 2 begins with a kept card");
                let mut legal = PLACE.actions_for(self.cells_for(board, kept));
                legal.insert(TAKE_CRYSTALS.index(0));
                legal.union(TAKE_SPORE.actions_for(board.cells_without_spore()))
            }
            Phase::Activate => {
                let possible = self.activatable(state);
                let mut legal = ACTIVATE_CELL.actions_for(possible.cells);
                legal.insert(END.index(0));
                legal.union(ACTIVATE_ENTITY.actions_for(possible.entities))
            }
            Phase::Spore => PUT_SPORE.actions_for(board.cells_without_spore()),
            Phase::StopFinished | Phase::Over => ActionSet::EMPTY,
        }
    }

    fn is_legal(&self, state: &State, seat: Seat, action: Action) -> bool {
        if !self.must_decide(state, seat) {
            return false;
        }
        let board = &state.boards[seat];
        match action {
            Action::Draft { card } => self.hand(state, seat).contains(&card),
            Action::Place { cell } => {
                state.phase == Phase::UseCard
                    && state.kept[seat].is_some_and(|card| self.cells_for(board, card).contains(cell))
            }
            Action::TakeCrystals => state.phase == Phase::UseCard,
            Action::TakeSpore { cell } => state.phase == Phase::UseCard && !board.spores.contains(cell),
            Action::ActivateCell { cell } => {
                state.phase == Phase::Activate
                    && self.unused_items(state).cells.contains(cell)
                    && can_activate(self.biome(board.at(cell)).ability, board)
            }
            Action::ActivateEntity { entity } => {
                state.phase == Phase::Activate
                    && self.unused_items(state).entities.contains(entity)
                    && can_activate(self.ability_of(entity), board)
            }
            Action::PutSpore { cell } => state.phase == Phase::Spore && !board.spores.contains(cell),
            Action::End => state.phase == Phase::Activate,
        }
    }
}

impl Rauha {
    /// Returns whether the table has this seat and the seat has a pending decision.
    fn must_decide(&self, state: &State, seat: Seat) -> bool {
        seat.number() < self.seats
            && match state.phase {
                Phase::Draft => state.kept[seat].is_none(),
                Phase::UseCard | Phase::Activate | Phase::Spore => seat == self.acting_seat(state),
                Phase::StopFinished | Phase::Over => false,
            }
    }

    /// Returns the cells on which the board can place `card`.
    pub(super) fn cells_for(&self, board: &Board, card: BiomeId) -> CellSet {
        let biome = self.biome(card);
        if board.crystals >= u16::from(biome.cost) { biome.cells } else { CellSet::EMPTY }
    }

    /// Returns the cells and Entities of the acting seat's activation that are not activated yet.
    pub(super) fn unused_items(&self, state: &State) -> ActivationSet {
        match state.phase {
            Phase::Activate | Phase::Spore => self.activation_items(state).without(state.activated),
            Phase::Draft | Phase::UseCard | Phase::StopFinished | Phase::Over => ActivationSet::default(),
        }
    }

    /// Returns all cells and Entities of the acting seat's activation, activated or not.
    pub(super) fn activation_items(&self, state: &State) -> ActivationSet {
        if state.is_scoring() {
            let board = &state.boards[self.acting_seat(state)];
            ActivationSet { cells: board.spores, entities: board.entities }
        } else {
            ActivationSet { cells: self.current_stop(state).line, entities: state.welcomed }
        }
    }

    /// Returns the cells and Entities that the acting seat can activate now.
    pub(super) fn activatable(&self, state: &State) -> ActivationSet {
        self.possible_now(&state.boards[self.acting_seat(state)], self.unused_items(state))
    }

    /// Returns the cells and Entities of `items` whose effect is possible on this board now.
    pub(super) fn possible_now(&self, board: &Board, items: ActivationSet) -> ActivationSet {
        let cell = |&cell: &u8| can_activate(self.biome(board.at(cell)).ability, board);
        let entity = |&entity: &u8| can_activate(self.ability_of(EntityId::new(entity)), board);
        ActivationSet {
            cells: items.cells.iter().filter(cell).collect(),
            entities: items.entities.iter().filter(entity).collect(),
        }
    }

    /// Returns whether the acting seat can activate anything now.
    pub(super) fn can_activate_something(&self, state: &State) -> bool {
        let (board, items) = (&state.boards[self.acting_seat(state)], self.unused_items(state));
        items.cells.iter().any(|cell| can_activate(self.biome(board.at(cell)).ability, board))
            || items.entities.iter().any(|entity| can_activate(self.ability_of(EntityId::new(entity)), board))
    }
}

/// Returns whether an effect is possible on this board now.
#[inline]
pub(super) fn can_activate(ability: Ability, board: &Board) -> bool {
    board.crystals >= ability.crystals && !(ability.needs_cell && board.cells_without_spore().is_empty())
}

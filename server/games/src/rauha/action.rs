//! The actions of Rauha and their indices.
//!
//! A draft action names the card, not its place in the pack. So an index means the same in every state. A recorded
//! action is readable without the state, and a policy learns the value of a card once.

use boardwire_kernel::{ActionRange, ActionSpace};

use super::catalogue::{CELL_NAMES, Catalogue, ENTITY_COUNT};
use super::state::{BiomeId, CARD_COUNT, CELL_COUNT, EntityId};

/// An action. Cells are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Keep this card of the pack in hand.
    Draft {
        /// The card.
        card: BiomeId,
    },
    /// Place the kept card on a cell.
    Place {
        /// The cell, 0 to 8.
        cell: u8,
    },
    /// Discard the kept card for crystals.
    TakeCrystals,
    /// Discard the kept card for a Spore on a cell.
    TakeSpore {
        /// The cell, 0 to 8.
        cell: u8,
    },
    /// Activate the biome on a cell.
    ActivateCell {
        /// The cell, 0 to 8.
        cell: u8,
    },
    /// Activate an Entity.
    ActivateEntity {
        /// The Entity.
        entity: EntityId,
    },
    /// Put the Spore just bought on a cell.
    PutSpore {
        /// The cell, 0 to 8.
        cell: u8,
    },
    /// End the activation.
    End,
}

/// Returns the actions that apply one verb to each cell.
const fn cells(verb: &'static str, previous: &ActionRange) -> ActionRange {
    ActionRange::numbers(verb, 0, CELL_COUNT - 1).after(previous)
}

pub(super) const DRAFT: ActionRange = ActionRange::rows("draft", "biomes", CARD_COUNT);
pub(super) const PLACE: ActionRange = cells("place", &DRAFT);
pub(super) const TAKE_CRYSTALS: ActionRange = ActionRange::single("take_crystals").after(&PLACE);
pub(super) const TAKE_SPORE: ActionRange = cells("take_spore", &TAKE_CRYSTALS);
pub(super) const ACTIVATE_CELL: ActionRange = cells("activate_cell", &TAKE_SPORE);
pub(super) const ACTIVATE_ENTITY: ActionRange =
    ActionRange::rows("activate_entity", "entities", ENTITY_COUNT).after(&ACTIVATE_CELL);
pub(super) const PUT_SPORE: ActionRange = cells("put_spore", &ACTIVATE_ENTITY);
pub(super) const END: ActionRange = ActionRange::single("end").after(&PUT_SPORE);

/// Returns the whole action space.
pub(super) fn actions(catalogue: &Catalogue) -> ActionSpace {
    let name = |cell: u8| CELL_NAMES[usize::from(cell)];
    ActionSpace::new()
        .add_range(DRAFT, |card| format!("draft {}", catalogue.code(BiomeId::new(card))))
        .add_range(PLACE, |cell| format!("place the kept card on cell {}", name(cell)))
        .add_range(TAKE_CRYSTALS, |_| "discard the kept card for crystals".into())
        .add_range(TAKE_SPORE, |cell| format!("discard the kept card for a Spore on cell {}", name(cell)))
        .add_range(ACTIVATE_CELL, |cell| format!("activate cell {}", name(cell)))
        .add_range(ACTIVATE_ENTITY, |entity| {
            format!("activate {}", catalogue.entity(EntityId::new(entity)).name)
        })
        .add_range(PUT_SPORE, |cell| format!("put the bought Spore on cell {}", name(cell)))
        .add_range(END, |_| "end the activation".into())
}

impl Action {
    #[inline]
    pub(super) fn index(self) -> u8 {
        match self {
            Self::Draft { card } => DRAFT.index(card.get()),
            Self::Place { cell } => PLACE.index(cell),
            Self::TakeCrystals => TAKE_CRYSTALS.index(0),
            Self::TakeSpore { cell } => TAKE_SPORE.index(cell),
            Self::ActivateCell { cell } => ACTIVATE_CELL.index(cell),
            Self::ActivateEntity { entity } => ACTIVATE_ENTITY.index(entity.get()),
            Self::PutSpore { cell } => PUT_SPORE.index(cell),
            Self::End => END.index(0),
        }
    }

    #[inline]
    pub(super) fn at(index: u8) -> Option<Self> {
        Some(if let Some(card) = DRAFT.number(index) {
            Self::Draft { card: BiomeId::new(card) }
        } else if let Some(cell) = PLACE.number(index) {
            Self::Place { cell }
        } else if let Some(cell) = TAKE_SPORE.number(index) {
            Self::TakeSpore { cell }
        } else if let Some(cell) = ACTIVATE_CELL.number(index) {
            Self::ActivateCell { cell }
        } else if let Some(entity) = ACTIVATE_ENTITY.number(index) {
            Self::ActivateEntity { entity: EntityId::new(entity) }
        } else if let Some(cell) = PUT_SPORE.number(index) {
            Self::PutSpore { cell }
        } else if TAKE_CRYSTALS.number(index).is_some() {
            Self::TakeCrystals
        } else {
            END.number(index)?;
            Self::End
        })
    }
}

//! The choices of Rauha and their indices.
//!
//! A draft names its card, not its place in the pack: so an index means the same in every position, a
//! recorded action can be read without the position, and a policy can learn a card's worth once.

use super::catalogue::Catalogue;
use super::pieces::{CARDS, CELLS, ENTITIES};

/// A choice. Cards and cells are numbered as in the state: cards from 1, cells and Entities from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Keep this card of the pack in hand.
    Draft {
        /// The card's id, 1 to 80.
        card: u8,
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
    /// Activate a Divine Entity.
    ActivateEntity {
        /// The Entity, 0 to 6.
        entity: u8,
    },
    /// Put the Spore just bought on a cell.
    PutSpore {
        /// The cell, 0 to 8.
        cell: u8,
    },
    /// Activate nothing more.
    End,
}

pub(super) const PLACE: u8 = CARDS;
pub(super) const TAKE_CRYSTALS: u8 = PLACE + CELLS;
pub(super) const TAKE_SPORE: u8 = TAKE_CRYSTALS + 1;
pub(super) const ACTIVATE_CELL: u8 = TAKE_SPORE + CELLS;
pub(super) const ACTIVATE_ENTITY: u8 = ACTIVATE_CELL + CELLS;
pub(super) const PUT_SPORE: u8 = ACTIVATE_ENTITY + ENTITIES;
pub(super) const END: u8 = PUT_SPORE + CELLS;

impl Action {
    /// The index of the choice.
    pub(super) fn index(self) -> u8 {
        match self {
            Self::Draft { card } => card - 1,
            Self::Place { cell } => PLACE + cell,
            Self::TakeCrystals => TAKE_CRYSTALS,
            Self::TakeSpore { cell } => TAKE_SPORE + cell,
            Self::ActivateCell { cell } => ACTIVATE_CELL + cell,
            Self::ActivateEntity { entity } => ACTIVATE_ENTITY + entity,
            Self::PutSpore { cell } => PUT_SPORE + cell,
            Self::End => END,
        }
    }

    /// The choice with this index.
    pub(super) fn of(index: u8) -> Option<Self> {
        Some(match index {
            0..PLACE => Self::Draft { card: index + 1 },
            PLACE..TAKE_CRYSTALS => Self::Place { cell: index - PLACE },
            TAKE_CRYSTALS => Self::TakeCrystals,
            TAKE_SPORE..ACTIVATE_CELL => Self::TakeSpore { cell: index - TAKE_SPORE },
            ACTIVATE_CELL..ACTIVATE_ENTITY => Self::ActivateCell { cell: index - ACTIVATE_CELL },
            ACTIVATE_ENTITY..PUT_SPORE => Self::ActivateEntity { entity: index - ACTIVATE_ENTITY },
            PUT_SPORE..END => Self::PutSpore { cell: index - PUT_SPORE },
            END => Self::End,
            _ => return None,
        })
    }

    /// The choice in words.
    fn label(self, catalogue: &Catalogue) -> String {
        match self {
            Self::Draft { card } => format!("draft {}", catalogue.codes[usize::from(card)]),
            Self::Place { cell } => format!("place on cell {cell}"),
            Self::TakeCrystals => "discard for crystals".into(),
            Self::TakeSpore { cell } => format!("discard for a Spore on cell {cell}"),
            Self::ActivateCell { cell } => format!("activate cell {cell}"),
            Self::ActivateEntity { entity } => {
                format!("activate {}", catalogue.entities[usize::from(entity)].name)
            }
            Self::PutSpore { cell } => format!("put the Spore on cell {cell}"),
            Self::End => "end activation".into(),
        }
    }
}

/// The labels of the whole action space.
pub(super) fn labels(catalogue: &Catalogue) -> Vec<String> {
    (0..=END).filter_map(Action::of).map(|action| action.label(catalogue)).collect()
}

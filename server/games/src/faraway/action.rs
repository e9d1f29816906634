//! Actions: to choose a region or a sanctuary; the phase tells what for.

use boardwire_kernel::ActionLabels;

use super::catalogue::{REGIONS, SANCTUARIES};

/// A choice of one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sets aside, plays or takes the region with this duration.
    Region(u8),
    /// Places the sanctuary with this id.
    Sanctuary(u8),
}

/// The index of the first sanctuary.
const FIRST_SANCTUARY: u8 = REGIONS;

impl Action {
    /// Its index: regions first, then sanctuaries.
    pub(super) fn index(self) -> u8 {
        match self {
            Self::Region(id) => id - 1,
            Self::Sanctuary(id) => FIRST_SANCTUARY + id - 1,
        }
    }

    /// The action with this index.
    pub(super) fn at(index: u8) -> Option<Self> {
        match index {
            0..FIRST_SANCTUARY => Some(Self::Region(index + 1)),
            index if index < FIRST_SANCTUARY + SANCTUARIES => {
                Some(Self::Sanctuary(index - FIRST_SANCTUARY + 1))
            }
            _ => None,
        }
    }

    /// The labels of all actions, in index order.
    pub(super) fn labels() -> ActionLabels {
        let regions = (1..=REGIONS).map(|id| format!("region {id}"));
        let sanctuaries = (1..=SANCTUARIES).map(|id| format!("sanctuary {id}"));
        ActionLabels::new(regions.chain(sanctuaries).collect())
    }
}

//! Actions: the choice of a region or of a sanctuary. The phase defines what the choice does.

use std::fmt;

use boardwire_kernel::{ActionRange, ActionSpace};

use super::catalogue::{REGION_COUNT, SANCTUARY_COUNT};
use super::state::{RegionId, SanctuaryId};

/// The choice of one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sets aside, explores or takes the region with this duration.
    Region(RegionId),
    /// Places the sanctuary with this id.
    Sanctuary(SanctuaryId),
}

/// The actions that choose a region.
pub(super) const REGION: ActionRange = ActionRange::rows("choose", "regions", REGION_COUNT);
/// The actions that choose a sanctuary.
pub(super) const SANCTUARY: ActionRange =
    ActionRange::rows("place", "sanctuaries", SANCTUARY_COUNT).after(&REGION);

/// Returns all actions with their labels.
pub(super) fn actions() -> ActionSpace {
    ActionSpace::new()
        .add_range(REGION, |id| format!("choose {}", Action::Region(RegionId::new(id))))
        .add_range(SANCTUARY, |id| format!("place {}", Action::Sanctuary(SanctuaryId::new(id))))
}

impl Action {
    #[inline]
    pub(super) fn index(self) -> u8 {
        match self {
            Self::Region(id) => REGION.index(id.get()),
            Self::Sanctuary(id) => SANCTUARY.index(id.get()),
        }
    }

    #[inline]
    pub(super) fn at(index: u8) -> Option<Self> {
        let region = REGION.number(index).map(|id| Self::Region(RegionId::new(id)));
        region.or_else(|| SANCTUARY.number(index).map(|id| Self::Sanctuary(SanctuaryId::new(id))))
    }
}

/// Writes the code of the chosen card, as in all texts: `R36` for a region, `S8` for a sanctuary.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Region(id) => write!(f, "R{id}"),
            Self::Sanctuary(id) => write!(f, "S{id}"),
        }
    }
}

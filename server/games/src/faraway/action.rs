//! Actions: the choice of a region or of a sanctuary. The phase defines what the choice does.

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
        .add_range(REGION, |id| format!("region {id}"))
        .add_range(SANCTUARY, |id| format!("sanctuary {id}"))
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

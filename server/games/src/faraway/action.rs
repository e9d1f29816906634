//! Actions: to choose a region or a sanctuary; the phase tells what for.

use boardwire_kernel::{ActionRange, ActionSpace};

use super::Faraway;
use super::catalogue::{REGIONS, SANCTUARIES};
use super::state::{RegionId, SanctuaryId};

/// A choice of one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sets aside, explores or takes the region with this duration.
    Region(RegionId),
    /// Places the sanctuary with this id.
    Sanctuary(SanctuaryId),
}

/// The choices of a region.
pub(super) const REGION: ActionRange = ActionRange::rows("choose", "regions", REGIONS);
/// The choices of a sanctuary.
pub(super) const SANCTUARY: ActionRange =
    ActionRange::rows("place", "sanctuaries", SANCTUARIES).after(&REGION);

/// Every action with its label.
pub(super) fn actions() -> ActionSpace {
    ActionSpace::new()
        .with(REGION, |id| format!("region {id}"))
        .with(SANCTUARY, |id| format!("sanctuary {id}"))
}

impl Faraway {
    #[inline]
    pub(super) fn encode(action: Action) -> u8 {
        match action {
            Action::Region(id) => REGION.index(id.get()),
            Action::Sanctuary(id) => SANCTUARY.index(id.get()),
        }
    }

    #[inline]
    pub(super) fn decode(index: u8) -> Option<Action> {
        let region = REGION.number(index).map(|id| Action::Region(RegionId::new(id)));
        region.or_else(|| SANCTUARY.number(index).map(|id| Action::Sanctuary(SanctuaryId::new(id))))
    }
}

//! The game Faraway: eight rounds of exploration, scored from the last region to the first.
//!
//! In each round all seats secretly choose one of three regions and reveal them at the same time. A seat finds
//! sanctuaries if its new region has a longer duration than its previous one. Then the seats act by ascending
//! duration: each takes a region from the display and places one of the sanctuaries it found. At the end each line
//! is scored from the last region to the first, so the first region played counts the whole line.
//!
//! `turn` has the course of play, `legal` the legal actions, `scoring` the fame. `memory` has what seats remember of
//! hands and sanctuaries. `resample` samples what a seat cannot know. `docs/rules/faraway.md` restates the rules
//! clause by clause; the ids `FA-…` refer to it.

mod action;
mod audit;
mod catalogue;
mod estimate;
mod legal;
mod memory;
mod paths;
mod quests;
mod resample;
mod scoring;
mod state;
mod text;
mod turn;
mod view;

use std::sync::Arc;

use boardwire_kernel::{
    GameInfo, GameType, LoadedCatalogue, OptionKind, OptionSpec, Options, Setup, SetupError,
};

pub use action::Action;
pub use catalogue::{Card, Catalogue, Kind, Quest, REGION_COUNT, SANCTUARY_COUNT, Symbol, Symbols};
pub use scoring::{Fame, fame};
pub use state::{Phase, RegionId, Regions, Sanctuaries, SanctuaryId, State};

/// The stream of random numbers for draws of regions.
const REGION_STREAM: usize = 0;
/// The stream of random numbers for draws of sanctuaries.
const SANCTUARY_STREAM: usize = 1;

/// The rules of Faraway with one seat count, variant and catalogue.
#[derive(Debug, Clone)]
pub struct Faraway {
    catalogue: Arc<LoadedCatalogue<Catalogue>>,
    info: GameInfo,
    estimate_tables: estimate::EstimateTables,
    quests: quests::Quests,
    seats: u8,
    advanced: bool,
}

impl Faraway {
    fn cards(&self) -> &Catalogue {
        &self.catalogue.components
    }

    fn region(&self, id: RegionId) -> &Card {
        &self.cards().regions[id.index()]
    }

    fn sanctuary(&self, id: SanctuaryId) -> &Card {
        &self.cards().sanctuaries[id.index()]
    }
}

impl Setup for Faraway {
    type State = State;
    type Action = Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = GameType {
        id: "faraway",
        name: "Faraway",
        rules_version: 1,
        seats: 2..=6,
        options: &[OptionSpec {
            name: "variant",
            kind: OptionKind::Choice(&["basic", "advanced"]),
            default: "basic",
            doc: "basic deals 3 regions to each seat; advanced deals 5, of which each sets 2 aside",
        }],
        streams: &["regions", "sanctuaries"],
        catalogue: include_str!("../../catalogues/faraway.json"),
        rules: include_str!("../../rules/faraway.md"),
    };

    fn new(
        catalogue: Arc<LoadedCatalogue<Catalogue>>,
        seats: u8,
        options: &Options,
    ) -> Result<Self, SetupError> {
        let advanced = options.word("variant") == "advanced";
        let [layout, public_layout] = Self::layouts(seats);
        let info = GameInfo {
            actions: action::actions(),
            // 8 regions played, 7 taken, up to 7 sanctuaries placed, 2 regions set aside.
            max_plies: u32::from(seats) * if advanced { 24 } else { 22 },
            layout,
            public_layout,
            tables: catalogue.components.tables(),
            scores: (0, scoring::score_upper_bound(&catalogue.components)),
            ..GameInfo::new::<Self>(&catalogue, seats, options)
        };
        let cards = &catalogue.components;
        let (estimate_tables, quests) = (estimate::EstimateTables::of(cards), quests::Quests::of(cards));
        Ok(Self { catalogue, info, estimate_tables, quests, seats, advanced })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests;

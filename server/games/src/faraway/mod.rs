//! Faraway: eight rounds of travel, scored backwards.
//!
//! Every round all seats secretly choose one of three regions and turn them up at once. A region that lasts
//! longer than its seat's previous one finds sanctuaries. Then, shortest duration first, each seat takes a
//! region from the display and places one of the sanctuaries it found. At the end a line is scored from
//! the last region to the first, so that the first region played sees the whole line.
//!
//! `turn` holds the course of play, `legal` what may be chosen, `scoring` the fame, `memory` what can be
//! remembered of the sanctuary deck, `resample` how the unknown is drawn anew. The rules are restated, clause by
//! clause, in `docs/rules/faraway.md`; the ids `FA-…` refer to it.

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

use boardwire_kernel::{GameInfo, GameType, Loaded, OptionKind, OptionSpec, Options, Setup, SetupError};

pub use action::Action;
pub use catalogue::{Card, Catalogue, Kind, Quest, REGIONS, SANCTUARIES, Symbol, Symbols};
pub use scoring::{Fame, fame};
pub use state::{Phase, RegionId, Regions, Sanctuaries, SanctuaryId, State};

/// The stream that draws regions.
const REGION_STREAM: usize = 0;
/// The stream that draws sanctuaries.
const SANCTUARY_STREAM: usize = 1;

/// The rules of Faraway at one table.
#[derive(Debug, Clone)]
pub struct Faraway {
    catalogue: Arc<Loaded<Catalogue>>,
    info: GameInfo,
    forecast: estimate::Forecast,
    quests: quests::Quests,
    seats: u8,
    advanced: bool,
}

impl Faraway {
    fn cards(&self) -> &Catalogue {
        &self.catalogue.value
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
    };

    fn new(catalogue: Arc<Loaded<Catalogue>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let advanced = options.word("variant") == "advanced";
        let [layout, public_layout] = Self::layouts(seats);
        let info = GameInfo {
            actions: action::actions(),
            // 8 regions played, 7 taken, up to 7 sanctuaries placed, 2 regions set aside.
            max_plies: u32::from(seats) * if advanced { 24 } else { 22 },
            layout,
            public_layout,
            tables: catalogue.value.tables(),
            scores: (0, scoring::most(&catalogue.value)),
            ..GameInfo::new::<Self>(&catalogue, seats, options)
        };
        let cards = &catalogue.value;
        let (forecast, quests) = (estimate::Forecast::of(cards), quests::Quests::of(cards));
        Ok(Self { catalogue, info, forecast, quests, seats, advanced })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests;

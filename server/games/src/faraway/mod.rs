//! Faraway: eight rounds of travel, scored backwards.
//!
//! Every round all seats secretly choose one of three regions and turn them up at once. A region that lasts
//! longer than its seat's previous one finds sanctuaries. Then, shortest duration first, each seat takes a
//! region from the display and places one of the sanctuaries it found. At the end a line is scored from
//! the last region to the first, so that the first region played sees the whole line.
//!
//! `turn` holds the course of play, `scoring` the fame, `memory` what can be remembered of the
//! sanctuary deck, `resample` how the unknown is drawn anew. The rules are restated, clause by clause, in
//! `docs/rules/faraway.md`; the ids `FA-…` refer to it.

mod action;
mod audit;
mod card;
mod catalogue;
mod estimate;
mod memory;
mod record;
mod replay;
mod resample;
mod rows;
mod scoring;
mod state;
mod text;
mod turn;
mod view;

use std::fmt;
use std::sync::Arc;

use boardwire_kernel::{
    ActionSet, CatalogueError, Chance, Game, GameInfo, GameType, Loaded, OptionKind, OptionSpec, Options,
    Outcome, Provenance, RngStream, ScoreLine, Seat, SeatSet, SetupError,
};

pub use action::Action;
pub use card::{Card, Kind, Quest, Symbols};
pub use catalogue::{Catalogue, REGIONS, SANCTUARIES};
pub use scoring::Fame;
pub use state::{Phase, Regions, Sanctuaries, State};

/// The stream that draws regions.
const REGION_STREAM: usize = 0;
/// The stream that draws sanctuaries.
const SANCTUARY_STREAM: usize = 1;

/// The rules of Faraway at one table.
#[derive(Debug, Clone)]
pub struct Faraway {
    catalogue: Arc<Loaded<Catalogue>>,
    info: GameInfo,
    rates: estimate::Rates,
    seats: u8,
    advanced: bool,
}

impl Faraway {
    fn cards(&self) -> &Catalogue {
        &self.catalogue.value
    }

    fn region(&self, id: u8) -> &Card {
        &self.cards().regions[usize::from(id)]
    }

    fn sanctuary(&self, id: u8) -> &Card {
        &self.cards().sanctuaries[usize::from(id)]
    }

    /// What each card of a seat pays, as if its line were finished; sanctuaries by round.
    #[must_use]
    pub fn fame(&self, state: &State, seat: Seat) -> Fame {
        let seat = seat.index();
        scoring::fame(self.cards(), state.line(seat), &state.placed[seat])
    }
}

impl Game for Faraway {
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

    fn catalogue(json: &str) -> Result<Catalogue, CatalogueError> {
        Catalogue::read(json)
    }

    fn provenance(catalogue: &Catalogue) -> Vec<Provenance> {
        catalogue.provenance()
    }

    fn new(catalogue: Arc<Loaded<Catalogue>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let advanced = options.word("variant") == "advanced";
        // 8 regions played, 7 taken, up to 7 sanctuaries placed, 2 regions set aside.
        let longest = u32::from(seats) * if advanced { 24 } else { 22 };
        let info = GameInfo {
            id: Self::TYPE.id,
            rules_version: Self::TYPE.rules_version,
            catalogue: catalogue.digest,
            seats,
            options: options.clone(),
            actions: Action::labels(),
            max_plies: longest,
            layout: view::layout(seats),
            tables: catalogue.value.tables(),
            scores: (0, scoring::most(&catalogue.value)),
        };
        Ok(Self { rates: estimate::Rates::of(&catalogue.value), catalogue, info, seats, advanced })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn deal(&self, chance: &mut Chance) -> State {
        self.opening(chance)
    }

    fn pending(&self, state: &State) -> SeatSet {
        self.owing(state)
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        self.choices(state, seat)
    }

    fn advance(&self, state: &mut State, seat: Seat, action: Action, chance: &mut Chance) {
        self.carry_out(state, seat, action, chance);
    }

    fn view(&self, state: &State, viewer: Seat, out: &mut [u8]) {
        self.write_view(state, viewer, out);
    }

    fn text(&self, state: &State, viewer: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        self.describe(state, viewer, out)
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        if state.phase != Phase::Over {
            return None;
        }
        let (mut scores, mut shortest) = ([0; state::SEATS], [0; state::SEATS]);
        for seat in Seat::all(self.seats) {
            scores[seat.index()] = self.fame(state, seat).total().into();
            // FA-R11: the shortest region of the line breaks ties.
            let least = state.lines[seat.index()].iter().min();
            shortest[seat.index()] = -least.map_or(0, |&id| i32::from(id));
        }
        let seats = usize::from(self.seats);
        Some(Outcome::ranked(&scores[..seats], &shortest[..seats]))
    }

    fn explain(&self, state: &State, seat: Seat) -> Vec<ScoreLine> {
        let fame = self.fame(state, seat);
        let line = |word: &str, id: u8, points: u16| ScoreLine {
            source: format!("{word} {id}"),
            points: points.into(),
        };
        let regions = state.line(seat.index()).iter().zip(fame.regions);
        let placed = state.placed[seat.index()].iter().zip(fame.sanctuaries);
        regions
            .map(|(&id, points)| line("region", id, points))
            .chain(placed.filter(|(id, _)| **id > 0).map(|(&id, points)| line("sanctuary", id, points)))
            .collect()
    }

    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.redraw(state, viewer, rng);
    }

    fn estimate(&self, state: &State, seat: Seat) -> i32 {
        self.worth(state, seat)
    }

    fn audit(&self, state: &State) -> Result<(), String> {
        self.check(state)
    }

    fn encode(&self, action: Action) -> u8 {
        action.index()
    }

    fn decode(&self, index: u8) -> Option<Action> {
        Action::at(index)
    }
}

#[cfg(test)]
mod tests;

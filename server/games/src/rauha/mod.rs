//! Rauha: two to five shamans shape a world of nine biomes each.
//!
//! An Avatar walks around every board, all at the same pace: sixteen stops, four rounds of three turns and a
//! scoring. In a turn all seats draft a card at once from one of the two packs beside them, and then, from
//! the leader clockwise, each places or discards it, welcomes the Divine Entities whose line it completes,
//! and activates the Avatar's row or column. A scoring activates what has a Spore, the Entities held, and
//! compares Water Sources.
//!
//! [`rules`] are the facts the rules need, [`state`] is the position, [`turn`] how play goes on, [`scoring`] what activations give, [`memory`] what a
//! seat knows of the drafts; the rest reads, shows, checks and estimates. Clauses are those of
//! `docs/rules/rauha.md`.

mod action;
mod audit;
mod catalogue;
mod effects;
mod estimate;
mod memory;
mod pieces;
mod record;
mod resample;
mod rules;
mod scoring;
mod state;
mod tables;
mod text;
mod turn;
mod view;

use std::fmt;
use std::sync::Arc;

use boardwire_kernel::{
    ActionLabels, ActionSet, CatalogueError, Chance, Game, GameInfo, GameType, Loaded, OptionKind,
    OptionSpec, Options, Outcome, Provenance, RngStream, ScoreLine, Seat, SeatSet, SetupError,
};

pub use action::Action;
pub use catalogue::Catalogue;
pub use state::State;

use rules::Rules;

/// The rules of one table with its catalogue and facts.
#[derive(Debug)]
pub struct Rauha {
    catalogue: Arc<Loaded<Catalogue>>,
    info: GameInfo,
    rules: Rules,
}

const SIDE: OptionSpec = OptionSpec {
    name: "side",
    kind: OptionKind::Choice(&["A", "B"]),
    default: "A",
    doc: "The side of the player boards everybody plays on.",
};

/// Decisions of one seat in a whole game, at most: 12 drafts and 12 cards; in a turn three cells, seven
/// Entities and an end; in a scoring nine cells, seven Entities and an end; and nine Spores to put.
const PLIES_OF_A_SEAT: u32 = 12 * (1 + 1 + 3 + 7 + 1) + 4 * (9 + 7 + 1) + 9;

impl Game for Rauha {
    type State = State;
    type Action = Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = GameType {
        id: "rauha",
        name: "Rauha",
        rules_version: 1,
        seats: 2..=5,
        options: &[SIDE],
        streams: &["the cards of Age 1", "the cards of Age 2", "the first leader"],
        catalogue: include_str!("../../catalogues/rauha.json"),
    };

    fn catalogue(json: &str) -> Result<Catalogue, CatalogueError> {
        Catalogue::read(json)
    }

    fn provenance(catalogue: &Catalogue) -> Vec<Provenance> {
        catalogue.provenance()
    }

    fn new(catalogue: Arc<Loaded<Catalogue>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let facts = &catalogue.value;
        let info = GameInfo {
            id: Self::TYPE.id,
            rules_version: Self::TYPE.rules_version,
            catalogue: catalogue.digest,
            seats,
            options: options.clone(),
            actions: ActionLabels::new(action::labels(facts)),
            max_plies: PLIES_OF_A_SEAT * u32::from(seats),
            layout: view::layout(seats, facts),
            tables: tables::tables(facts),
            scores: (0, i32::try_from(facts.most_points()).unwrap_or(i32::MAX)),
        };
        let side = u8::from(options.word("side") == "B");
        let rules = Rules::new(facts, seats, side);
        Ok(Self { catalogue, info, rules })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn deal(&self, chance: &mut Chance) -> State {
        self.rules.opening(chance)
    }

    fn pending(&self, state: &State) -> SeatSet {
        self.rules.owing(state)
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        self.rules.choices(state, seat)
    }

    fn advance(&self, state: &mut State, seat: Seat, action: Action, chance: &mut Chance) {
        self.rules.choose(state, seat, action);
        while self.rules.proceed(state, chance).is_some() {}
    }

    fn view(&self, state: &State, viewer: Seat, out: &mut [u8]) {
        self.rules.write_view(state, viewer, out);
    }

    fn text(&self, state: &State, viewer: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        self.write_text(state, viewer, out)
    }

    fn outcome(&self, state: &State) -> Option<Outcome> {
        self.rules.result(state)
    }

    fn explain(&self, state: &State, seat: Seat) -> Vec<ScoreLine> {
        scoring::sources_of(&state.boards[seat.index()])
    }

    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.rules.redraw(state, viewer, rng);
    }

    fn estimate(&self, state: &State, seat: Seat) -> i32 {
        self.rules.worth(state, seat)
    }

    fn audit(&self, state: &State) -> Result<(), String> {
        self.rules.check(state)
    }

    fn encode(&self, action: Action) -> u8 {
        action.index()
    }

    fn decode(&self, index: u8) -> Option<Action> {
        Action::of(index)
    }
}

#[cfg(test)]
mod tests;

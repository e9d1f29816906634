//! The game Rauha: two to five players, each with a board of nine biomes.
//!
//! The Avatars of all seats stand on the same one of sixteen stops: four rounds of three turns and a scoring. In a turn
//! all seats simultaneously draft a card from one of the two packs beside them. Then the seats act from the
//! leader clockwise: each places or discards its card, welcomes the Entities whose line it completes, and
//! activates the Avatar's row or column. In a scoring, seats activate biomes with a Spore and Entities held, and
//! compare their Water Sources.
//!
//! [`state`] has the state, [`turn`] the course of play, [`scoring`] the effects of activations, and [`memory`] what a
//! seat knows of the drafts. Clause ids such as RA-1.1 refer to `docs/rules/rauha.md`.

mod action;
mod audit;
mod catalogue;
mod estimate;
mod legal;
mod memory;
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
pub use catalogue::{Catalogue, Per};
pub use state::{
    ActivationSet, BiomeId, Board, CardSet, CellSet, EntityId, EntitySet, Pack, Phase, Source, State,
};

use catalogue::{CARDS_PER_AGE, STOP_COUNT, Stop, printed_biome};
use state::{CARD_COUNT, ROUND_COUNT};
use turn::Drafts;
use view::Maxima;

/// The rules with one seat count, option and catalogue. It also caches the catalogue data that every ply needs.
#[derive(Debug)]
pub struct Rauha {
    catalogue: Arc<LoadedCatalogue<Catalogue>>,
    info: GameInfo,
    seats: u8,
    track: [Stop; STOP_COUNT as usize],
    drafts: [Drafts; ROUND_COUNT],
    /// The cards of each Age.
    ages: [CardSet; 2],
    /// The initial board of every seat.
    opening_board: Board,
    maxima: Maxima,
}

const SIDE: OptionSpec = OptionSpec {
    name: "side",
    kind: OptionKind::Choice(&["A", "B"]),
    default: "A",
    doc: "The side of the player boards, the same for all seats.",
};

/// The most decisions of one seat in a game: 12 drafts and 12 kept cards; in each turn three cells, seven Entities
/// and an end; in each scoring nine cells, seven Entities and an end; and nine Spores to put.
const PLIES_OF_A_SEAT: u32 = 12 * (1 + 1 + 3 + 7 + 1) + 4 * (9 + 7 + 1) + 9;

impl Setup for Rauha {
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
        rules: include_str!("../../rules/rauha.md"),
    };

    fn new(
        catalogue: Arc<LoadedCatalogue<Catalogue>>,
        seats: u8,
        options: &Options,
    ) -> Result<Self, SetupError> {
        let facts = &catalogue.components;
        let maxima = Maxima::new(facts);
        let (layout, public_layout) = view::layouts(seats, maxima);
        let info = GameInfo {
            actions: action::actions(facts),
            max_plies: PLIES_OF_A_SEAT * u32::from(seats),
            layout,
            public_layout,
            tables: catalogue::tables(facts),
            scores: (0, maxima.points.into()),
            ..GameInfo::new::<Self>(&catalogue, seats, options)
        };
        let side = u8::from(options.word("side") == "B");
        let cells = std::array::from_fn(|cell| printed_biome(side, u8::try_from(cell).expect("nine cells")));
        Ok(Self {
            info,
            seats,
            track: facts.track,
            drafts: std::array::from_fn(|round| Drafts::new(&facts.track[4 * round..], seats)),
            ages: [(1..=CARDS_PER_AGE).collect(), (CARDS_PER_AGE + 1..=CARD_COUNT).collect()],
            opening_board: Board::new(cells, facts.start.into()),
            maxima,
            catalogue,
        })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests;

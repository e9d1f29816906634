//! The Golden Compass: all seats move one Lyra figure through three periods.
//!
//! In a turn the needle shows a red and a light-blue symbol, and the active seat carries out one of them. Red draws cards
//! and moves Lyra. Light blue is an action, then card sets. Sets take experience tokens, lay compass tiles or steal
//! tokens. When Lyra reaches the objective of a period, compass tiles decide the order of the draft of truth tiles. In
//! the last period seats lay tokens out; only those tokens score.
//!
//! `turn` is the course of the game. Its parts are `effects` (light-blue actions and allies), `sets` (card sets),
//! `period` (allies, truth tiles, clean-up) and `hands` (cards and tokens that change hands). `legal` computes the legal
//! actions, `card_sets` the cards that form a set. `observe` computes what a seat sees when cards and tokens change
//! hands, and `memory` stores it. `view` and `text` show the memory; `resample` samples the rest. Rulings are cited by
//! number (R19), clauses as in `docs/rules/golden_compass.md`.

mod action;
mod audit;
mod card_sets;
mod catalogue;
mod estimate;
mod legal;
mod limits;
mod memory;
mod observe;
mod resample;
mod scoring;
mod state;
mod text;
mod turn;
mod view;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use boardwire_kernel::{
    CatalogueError, Estimate, GameInfo, GameType, LoadedCatalogue, OptionKind, OptionSpec, Options, Seat,
    Setup, SetupError, Viewer,
};

pub use action::Action;
pub use catalogue::Catalogue;
pub use state::{SetKind, State};

use card_sets::CardSets;
use catalogue::{AxisId, CharacterId, TokenSet, tables, with_ids};
use limits::{CARD_TYPES, CARDS, CHARACTERS, TOKENS};
use memory::Block;

/// The streams of random numbers, one for each purpose.
mod streams {
    /// The first seat: `below(seats)`.
    pub(super) const FIRST: usize = 0;
    /// Lyra cards: `below(cards in the draw pile)`, a rank in the order of card types.
    pub(super) const CARDS: usize = 1;
    /// Characters: a draw from the characters of the period that are not dealt yet.
    pub(super) const CHARACTERS: usize = 2;
    /// The wheel: `below(sum of weights)`, axes in order.
    pub(super) const WHEEL: usize = 3;
    /// Tokens taken unseen: a draw from the tokens at the city.
    pub(super) const TOKENS: usize = 4;
    /// Truth tiles: `below(truth and passage tiles in the bag)`, by value, passage tiles last.
    pub(super) const TRUTH: usize = 5;
    /// Cards taken from a hand: `below(cards in the hand)`, in the order of card types.
    pub(super) const STOLEN_CARDS: usize = 6;
    /// Stolen tokens: a draw from the victim's tokens with the named back.
    pub(super) const STOLEN_TOKENS: usize = 7;
    /// The purpose of each stream, by index.
    pub(super) const NAMES: [&str; 8] = [
        "first seat",
        "Lyra cards",
        "characters",
        "wheel",
        "experience tokens",
        "truth tiles",
        "cards taken from hands",
        "tokens stolen",
    ];
}

/// The option of the stall guard. Its default value means that the catalogue decides.
const GUARD: &str = "stall_guard_turns";
const GUARD_DEFAULT: i64 = 20;
/// A match without stall guard is truncated after this number of plies.
const UNGUARDED_PLIES: u32 = 100_000;

const OPTIONS: &[OptionSpec] = &[OptionSpec {
    name: GUARD,
    kind: OptionKind::Int(0, 1000),
    default: "20",
    doc: "Turns without a step after which Lyra advances one space. 0: never. 20 (default): as the catalogue says.",
}];

/// The rules of The Golden Compass for one table.
///
/// The flat arrays, indexed by row, cache what every ply reads. They follow from the catalogue.
#[derive(Debug)]
pub struct GoldenCompass {
    loaded: Arc<LoadedCatalogue<Catalogue>>,
    info: GameInfo,
    /// Every action, by index.
    actions: Vec<Action>,
    seats: u8,
    guard: Option<u16>,
    /// The axis for every rank of the wheel draw.
    wheel: Vec<AxisId>,
    card_sets: CardSets,
    /// The range of the copies of every card type in `last_seen` of a memory.
    blocks: [Block; CARD_TYPES + 1],
    /// The number of Lyra cards in play, and the type of each copy.
    copies: u8,
    copy_types: [u8; CARDS],
    sizes: view::Sizes,
    /// Pairs of equal tokens. Sorting the two codes of each pair, pair by pair, sorts all their codes.
    equal_token_pairs: Vec<(u8, u8)>,
    /// The worth of each unplaced token, in hundredths of a point.
    token_worths: [i32; TOKENS + 1],
    /// The number of Magisterium symbols on every character.
    symbols: [u8; CHARACTERS + 1],
    /// At the first token of each kind: the set of equal tokens, itself included. At other tokens: the empty set.
    equal_tokens: [TokenSet; TOKENS + 1],
}

impl GoldenCompass {
    fn catalogue(&self) -> &Catalogue {
        &self.loaded.components
    }

    fn all_seats(&self) -> impl Iterator<Item = Seat> + use<> {
        Seat::all(self.seats)
    }

    /// Returns all seats except `seat`.
    fn others(&self, seat: Seat) -> impl Iterator<Item = Seat> + Clone + use<> {
        Seat::all(self.seats).filter(move |&other| other != seat)
    }

    fn left_of(&self, seat: Seat) -> Seat {
        seat.clockwise(1, self.seats)
    }
}

/// Returns the axis for every rank of the wheel draw: each axis as often as its weight.
fn wheel(catalogue: &Catalogue) -> Vec<AxisId> {
    let axes = with_ids(&catalogue.axes, AxisId::new);
    axes.flat_map(|(id, axis)| std::iter::repeat_n(id, axis.weight as usize)).collect()
}

fn blocks(catalogue: &Catalogue, seats: u8) -> [Block; CARD_TYPES + 1] {
    let mut blocks = [Block::default(); CARD_TYPES + 1];
    let mut start = 0;
    for (block, len) in blocks[1..].iter_mut().zip(catalogue.copies(seats)) {
        *block = Block { start, len };
        start += len;
    }
    blocks
}

fn copy_types(catalogue: &Catalogue, seats: u8) -> [u8; CARDS] {
    let mut types = [0; CARDS];
    let copies = (1..).zip(catalogue.copies(seats));
    let copies = copies.flat_map(|(card, count)| std::iter::repeat_n(card, count.into()));
    types.iter_mut().zip(copies).for_each(|(place, card)| *place = card);
    types
}

fn symbols(catalogue: &Catalogue) -> [u8; CHARACTERS + 1] {
    let mut symbols = [0; CHARACTERS + 1];
    for (id, card) in with_ids(&catalogue.characters, CharacterId::new) {
        symbols[id.index()] = card.magisterium;
    }
    symbols
}

fn equal_tokens(catalogue: &Catalogue) -> [TokenSet; TOKENS + 1] {
    let mut equal = [TokenSet::EMPTY; TOKENS + 1];
    for (id, token) in (1u8..).zip(&catalogue.tokens) {
        equal[token.kind.index()].insert(id);
    }
    equal
}

impl Setup for GoldenCompass {
    type State = State;
    type Action = Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = GameType {
        id: "golden_compass",
        name: "The Golden Compass",
        rules_version: 1,
        seats: 2..=4,
        options: OPTIONS,
        streams: &streams::NAMES,
        catalogue: include_str!("../../catalogues/golden_compass.json"),
        rules: include_str!("../../rules/golden_compass.md"),
    };

    fn new(
        loaded: Arc<LoadedCatalogue<Catalogue>>,
        seats: u8,
        options: &Options,
    ) -> Result<Self, SetupError> {
        let catalogue = &loaded.components;
        let (min, max) = catalogue.seats;
        if !(min..=max).contains(&seats) {
            let problem = format!("this catalogue is for {min} to {max} seats, not {seats}");
            return Err(CatalogueError::new("setup", problem).into());
        }
        let guard = match options.int(GUARD) {
            0 => None,
            GUARD_DEFAULT => catalogue.guard,
            turns => Some(u16::try_from(turns).expect("the option is at most 1000")),
        };
        let [layout, public_layout] = view::layouts(catalogue, seats);
        let info = GameInfo {
            actions: action::actions(catalogue),
            max_plies: guard.map_or(UNGUARDED_PLIES, |guard| catalogue.max_plies(seats, guard)),
            layout,
            public_layout,
            tables: tables::tables(catalogue, seats),
            scores: (0, scoring::score_upper_bound(catalogue)),
            ..GameInfo::new::<Self>(&loaded, seats, options)
        };
        Ok(Self {
            info,
            actions: action::in_order(),
            seats,
            guard,
            wheel: wheel(catalogue),
            card_sets: CardSets::new(catalogue),
            blocks: blocks(catalogue, seats),
            copies: catalogue.copies(seats).sum(),
            copy_types: copy_types(catalogue, seats),
            sizes: view::Sizes::new(catalogue, Viewer::Seat(Seat::FIRST), seats),
            equal_token_pairs: view::equal_token_pairs(catalogue),
            token_worths: estimate::token_worths(catalogue),
            symbols: symbols(catalogue),
            equal_tokens: equal_tokens(catalogue),
            loaded,
        })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

impl Estimate for GoldenCompass {
    /// The estimate itself: two samples rarely have equal hands.
    type Features = i32;

    fn features(&self, state: &State, seat: Seat) -> Option<i32> {
        Some(Self::estimate(self, state, seat))
    }

    fn estimate(&self, features: &i32) -> i32 {
        *features
    }

    fn reduce_for_playouts(&self, state: &mut State) {
        state.memories_disabled = true;
    }
}

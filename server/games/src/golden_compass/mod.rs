//! The Golden Compass: one Lyra for all, three periods, and what each seat makes of her journey.
//!
//! A turn is a spin of the needle: the active seat carries out either its red end (draw cards, move Lyra)
//! or its light-blue end (an action, then card sets). Sets take experience tokens, lay compass tiles or
//! steal; when Lyra reaches the objective of a period, compass tiles decide who drafts truth tiles first.
//! In the last period tokens are laid out, and only those score.
//!
//! `turn` is the course of a turn, `effect` what light-blue actions and allies do, `sets` the card sets,
//! `period` what frames the turns, `cards` how cards and tokens change hands. `memory` is what a seat
//! remembers of hidden things; `view` and `text` show it, `resample` draws the rest anew. `record` plays
//! recorded games. Rulings are cited by their number (R19), clauses as in `docs/rules/golden_compass.md`.

mod action;
mod audit;
mod cards;
mod catalogue;
mod effect;
mod estimate;
mod facts;
mod layout;
mod limits;
mod memory;
mod period;
mod record;
mod resample;
mod scoring;
mod sets;
mod state;
mod tables;
mod text;
mod turn;
mod view;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use boardwire_kernel::{
    ActionSet, CatalogueError, Chance, Game, GameInfo, GameType, Loaded, OptionKind, OptionSpec, Options,
    Outcome, Provenance, RngStream, ScoreLine, Seat, SeatSet, SetupError,
};

pub use action::Action;
pub use catalogue::Catalogue;
pub use state::State;

use action::Layout;
use memory::Block;
use state::{Kind, Step, bits};

/// The streams of chance, one a purpose.
mod streams {
    /// The first seat: `below(seats)`.
    pub(super) const FIRST: usize = 0;
    /// Lyra cards: `below(cards in the draw pile)`, a rank among them in the order of their types.
    pub(super) const CARDS: usize = 1;
    /// Characters: a draw from those of the period not dealt yet.
    pub(super) const CHARACTERS: usize = 2;
    /// The wheel: `below(sum of weights)`, the axes in order.
    pub(super) const WHEEL: usize = 3;
    /// Tokens taken unseen: a draw from those lying at the city.
    pub(super) const TOKENS: usize = 4;
    /// Truth tiles: `below(tiles and passage tiles in the bag)`, by value, passage tiles last.
    pub(super) const TRUTH: usize = 5;
    /// Cards taken from a hand: `below(its cards)`, in the order of their types.
    pub(super) const STOLEN_CARDS: usize = 6;
    /// Tokens stolen: a draw from those with the back named.
    pub(super) const STOLEN_TOKENS: usize = 7;
    /// What each is for.
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

/// The option whose value at its default leaves the word to the catalogue.
const GUARD: &str = "stall_guard_turns";
const GUARD_DEFAULT: i64 = 20;
/// Plies after which a match without stall guard is cut.
const UNGUARDED_PLIES: u32 = 100_000;

const OPTIONS: &[OptionSpec] = &[OptionSpec {
    name: GUARD,
    kind: OptionKind::Int(0, 1000),
    default: "20",
    doc: "Turns without a step after which Lyra advances by herself; 0 is never, 20 what the catalogue says (20).",
}];

/// What the rules ask of a card type, at a glance.
#[derive(Debug, Clone, Copy)]
struct Face {
    daemon: u8,
    symbol: u8,
    is_ordinary: bool,
    is_joker: bool,
    is_spy: bool,
}

/// The rules of The Golden Compass for one table.
#[derive(Debug)]
pub struct GoldenCompass {
    loaded: Arc<Loaded<Catalogue>>,
    info: GameInfo,
    layout: Layout,
    seats: u8,
    guard: Option<u16>,
    daemons: u8,
    symbols: u8,
    weights: u32,
    faces: Vec<Face>,
    blocks: Vec<Block>,
    /// Lyra cards in play.
    copies: usize,
    /// Of every token, the one before it that equals it.
    alike: Vec<Option<u8>>,
}

impl GoldenCompass {
    fn printed(&self) -> &Catalogue {
        &self.loaded.value
    }

    fn legal_now(&self, s: &State, mut offer: impl FnMut(Action)) {
        match s.step {
            Step::Keep => (0..2).for_each(|which| offer(Action::Keep(which))),
            Step::Colour => [Action::Red, Action::Blue].into_iter().for_each(offer),
            Step::Action => {
                offer(Action::GiveUp);
                self.blue_actions(s).for_each(offer);
            }
            Step::Target(aim) => {
                let left = |seat: u8| (seat + self.seats - s.active) % self.seats;
                self.targets(s, aim).iter().for_each(|seat| offer(Action::Opponent(left(seat))));
            }
            Step::Back { victim } => self.backs(s, victim).iter().for_each(|city| offer(Action::Back(city))),
            Step::Choose { first, count } => {
                self.options(s, first, count, 0).iter().for_each(|option| offer(Action::Choose(option)));
            }
            Step::Cost(_) => [Action::Pay, Action::Decline].into_iter().for_each(offer),
            Step::Pay { .. } | Step::Limit => {
                s.own().hand.types().iter().for_each(|card| offer(Action::Card(card)));
            }
            Step::Drop { .. } => s.fresh.types().iter().for_each(|card| offer(Action::Card(card))),
            Step::Steps { max } => (0..=max).for_each(|steps| offer(Action::Steps(steps))),
            Step::Lay => {
                let kinds = bits(s.own().tokens).map(|token| self.printed().tokens[usize::from(token)].kind);
                kinds.for_each(|kind| offer(Action::Token(kind)));
            }
            Step::Sets => {
                offer(Action::EndTurn);
                self.sets(s, |kind: Kind| offer(kind.action()));
            }
            Step::Fill(begun) => self.completing(s, begun).iter().for_each(|card| offer(Action::Card(card))),
            Step::Airship => {
                let holder = s.airship - 1;
                offer(Action::GiveTile);
                if s.place(holder).hand.len() >= self.ransom(s, holder) {
                    offer(Action::PayCards); // R23
                }
            }
            Step::Ransom { .. } => {
                let hand = &s.place(s.airship - 1).hand;
                hand.types().iter().for_each(|card| offer(Action::Card(card)));
            }
            Step::Truth { .. } => {
                let open = (0u8..).zip(&s.open).filter(|(_, count)| **count > 0);
                open.for_each(|(value, _)| offer(Action::Tile(value)));
            }
            Step::Over => {}
        }
    }
}

impl Game for GoldenCompass {
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
    };

    fn catalogue(json: &str) -> Result<Catalogue, CatalogueError> {
        let catalogue = Catalogue::read(json)?;
        Layout::new(&catalogue)?;
        Ok(catalogue)
    }

    fn provenance(catalogue: &Catalogue) -> Vec<Provenance> {
        catalogue.sections.clone()
    }

    fn new(loaded: Arc<Loaded<Catalogue>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let catalogue = &loaded.value;
        let (min, max) = catalogue.seats;
        if !(min..=max).contains(&seats) {
            let problem = format!("this catalogue is for {min} to {max} seats, not {seats}");
            return Err(CatalogueError::new("setup", problem).into());
        }
        let guard = match options.int(GUARD) {
            0 => None,
            GUARD_DEFAULT => catalogue.guard,
            turns => u16::try_from(turns).ok(),
        };
        let layout = Layout::new(catalogue)?;
        let size = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        let info = GameInfo {
            id: Self::TYPE.id,
            rules_version: Self::TYPE.rules_version,
            catalogue: loaded.digest,
            seats,
            options: options.clone(),
            actions: layout.labels(catalogue),
            max_plies: facts::longest(catalogue, seats, guard),
            layout: layout::layout(catalogue, seats),
            tables: tables::tables(catalogue, seats),
            scores: (0, scoring::most(catalogue)),
        };
        Ok(Self {
            info,
            layout,
            seats,
            guard,
            daemons: size(catalogue.daemons.len()),
            symbols: size(catalogue.symbols.len()),
            weights: catalogue.axes.iter().map(|axis| axis.weight).sum(),
            faces: facts::faces(catalogue),
            blocks: facts::blocks(catalogue, seats),
            alike: facts::alike(catalogue),
            copies: facts::blocks(catalogue, seats).iter().map(|block| usize::from(block.len)).sum(),
            loaded,
        })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn deal(&self, chance: &mut Chance) -> State {
        self.deal_all(chance)
    }

    fn pending(&self, s: &State) -> SeatSet {
        match s.step {
            Step::Keep => Seat::all(self.seats).filter(|seat| s.place(seat.number()).kept == 0).collect(),
            _ => s.chooser().map_or(SeatSet::EMPTY, |seat| SeatSet::only(Seat::new(seat))),
        }
    }

    fn legal(&self, s: &State, seat: Seat) -> ActionSet {
        let mut legal = ActionSet::EMPTY;
        if self.pending(s).contains(seat) {
            self.legal_now(s, |action| legal.insert(self.layout.encode(action)));
        }
        legal
    }

    fn advance(&self, s: &mut State, seat: Seat, action: Action, chance: &mut Chance) {
        match (s.step, action) {
            (_, Action::Keep(which)) => self.keep(s, seat.number(), which, chance),
            (Step::Airship | Step::Ransom { .. }, _) => self.settle_airship(s, seat.number(), action, chance),
            (_, Action::Tile(value)) => self.take_tile(s, value, chance),
            _ => self.play(s, action, chance),
        }
    }

    fn view(&self, s: &State, viewer: Seat, out: &mut [u8]) {
        self.write_view(s, viewer.number(), out);
    }

    fn text(&self, s: &State, viewer: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        self.write_text(s, viewer.number(), out)
    }

    fn outcome(&self, s: &State) -> Option<Outcome> {
        self.result(s)
    }

    fn explain(&self, s: &State, seat: Seat) -> Vec<ScoreLine> {
        self.score_lines(s, seat.number())
    }

    fn resample(&self, s: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.redraw(s, viewer.number(), rng);
    }

    fn estimate(&self, s: &State, seat: Seat) -> i32 {
        self.worth(s, seat.number())
    }

    fn audit(&self, s: &State) -> Result<(), String> {
        self.check(s)
    }

    fn encode(&self, action: Action) -> u8 {
        self.layout.encode(action)
    }

    fn decode(&self, index: u8) -> Option<Action> {
        self.layout.decode(index)
    }
}

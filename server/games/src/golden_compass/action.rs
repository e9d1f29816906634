//! Choices, and their indices laid out from the catalogue's sizes.
//!
//! The order is fixed, the sizes are the catalogue's: two characters, two colours, five light-blue
//! choices, opponents, token backs, sets, card types, tokens, airship, truth tiles, steps, options, cost.

use boardwire_kernel::{ActionLabels, CatalogueError, MAX_ACTIONS};

use super::catalogue::Catalogue;
use super::limits::{COLLECTING, SEATS};
use super::state::Kind;

/// A choice of The Golden Compass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Keep the first or second character dealt.
    Keep(u8),
    /// Carry out the red symbol.
    Red,
    /// Carry out the light-blue symbol.
    Blue,
    /// Lay a compass tile on the objective.
    Alethiometer,
    /// Name who takes the airship.
    Magisterium,
    /// Use the ally's power.
    Ally,
    /// Take a dust tile.
    Dust,
    /// Give up the light-blue action.
    GiveUp,
    /// Name the opponent so many seats to the left.
    Opponent(u8),
    /// Steal a token with the back of this city.
    Back(u8),
    /// Play a pair of this daemon.
    Pair(u8),
    /// Play a triplet of this symbol.
    Triplet(u8),
    /// Play two flying spies.
    Spies,
    /// Play any two cards as a pair.
    Wild,
    /// Play two cards of this symbol as a triplet.
    Short(u8),
    /// End the turn.
    EndTurn,
    /// A Lyra card of this type: for a set, a cost, or the discard pile.
    Card(u8),
    /// Lay out a token like this one.
    Token(u8),
    /// Pay cards for the airship.
    PayCards,
    /// Give up a truth tile for the airship.
    GiveTile,
    /// Take a truth tile of this value, as its place in the catalogue.
    Tile(u8),
    /// Advance Lyra so many spaces.
    Steps(u8),
    /// Choose this option of an effect.
    Choose(u8),
    /// Pay the cost.
    Pay,
    /// Decline the cost.
    Decline,
}

/// The first indices of the groups of actions, and their sizes.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) pair: u8,
    pub(super) triplet: u8,
    spies: u8,
    short: u8,
    pub(super) card: u8,
    pub(super) token: u8,
    airship: u8,
    pub(super) tile: u8,
    steps: u8,
    options: u8,
    cost: u8,
    count: u8,
}

const COLOUR: u8 = 2;
const BLUE: u8 = 4;
const OPPONENT: u8 = 9;
const BACK: u8 = OPPONENT + 3;
const PAIR: u8 = BACK + 4;
const _: () = assert!(SEATS == 4 && COLLECTING == 4);

/// Steps of a free advance that always have an index, and options of an effect.
const LEAST_STEPS: usize = 4;
const LEAST_OPTIONS: usize = 2;

impl Layout {
    /// Lays the action space out.
    ///
    /// # Errors
    /// When the catalogue's sizes do not fit the greatest action space.
    pub(super) fn new(catalogue: &Catalogue) -> Result<Self, CatalogueError> {
        let most = catalogue.ops.iter().map(|op| match *op {
            super::catalogue::Op::ChooseOne { count, .. } => usize::from(count),
            _ => 0,
        });
        let options = most.max().unwrap_or(0).max(LEAST_OPTIONS);
        let steps = LEAST_STEPS.max(usize::from(catalogue.free_steps()) + 1);
        let sizes = [
            usize::from(PAIR),
            catalogue.daemons.len(),
            catalogue.symbols.len(),
            2,
            catalogue.symbols.len() + 1,
            catalogue.cards.len(),
            catalogue.tokens.len(),
            2,
            catalogue.tiles.len(),
            steps,
            options,
            2,
        ];
        let count: usize = sizes.iter().sum();
        if count >= MAX_ACTIONS {
            let problem =
                format!("daemons, symbols, cards and tokens make {count} actions, not below {MAX_ACTIONS}");
            return Err(CatalogueError::new("lyra_deck", problem));
        }
        let mut starts = [0u8; 13];
        for (group, size) in sizes.iter().enumerate() {
            starts[group + 1] = u8::try_from(usize::from(starts[group]) + size).unwrap_or(u8::MAX);
        }
        Ok(Self {
            pair: starts[1],
            triplet: starts[2],
            spies: starts[3],
            short: starts[4],
            card: starts[5],
            token: starts[6],
            airship: starts[7],
            tile: starts[8],
            steps: starts[9],
            options: starts[10],
            cost: starts[11],
            count: starts[12],
        })
    }

    pub(super) fn encode(&self, action: Action) -> u8 {
        match action {
            Action::Keep(which) => which,
            Action::Red => COLOUR,
            Action::Blue => COLOUR + 1,
            Action::Alethiometer => BLUE,
            Action::Magisterium => BLUE + 1,
            Action::Ally => BLUE + 2,
            Action::Dust => BLUE + 3,
            Action::GiveUp => BLUE + 4,
            Action::Opponent(left) => OPPONENT + left - 1,
            Action::Back(city) => BACK + city,
            Action::Pair(daemon) => self.pair + daemon,
            Action::Triplet(symbol) => self.triplet + symbol,
            Action::Spies => self.spies,
            Action::Wild => self.spies + 1,
            Action::Short(symbol) => self.short + symbol,
            Action::EndTurn => self.card - 1,
            Action::Card(card) => self.card + card,
            Action::Token(token) => self.token + token,
            Action::PayCards => self.airship,
            Action::GiveTile => self.airship + 1,
            Action::Tile(tile) => self.tile + tile,
            Action::Steps(steps) => self.steps + steps,
            Action::Choose(option) => self.options + option,
            Action::Pay => self.cost,
            Action::Decline => self.cost + 1,
        }
    }

    pub(super) fn decode(&self, index: u8) -> Option<Action> {
        Some(match index {
            0 | 1 => Action::Keep(index),
            2 => Action::Red,
            3 => Action::Blue,
            4 => Action::Alethiometer,
            5 => Action::Magisterium,
            6 => Action::Ally,
            7 => Action::Dust,
            8 => Action::GiveUp,
            i if i < BACK => Action::Opponent(i - OPPONENT + 1),
            i if i < PAIR => Action::Back(i - BACK),
            i if i < self.triplet => Action::Pair(i - self.pair),
            i if i < self.spies => Action::Triplet(i - self.triplet),
            i if i == self.spies => Action::Spies,
            i if i < self.short => Action::Wild,
            i if i < self.card - 1 => Action::Short(i - self.short),
            i if i < self.card => Action::EndTurn,
            i if i < self.token => Action::Card(i - self.card),
            i if i < self.airship => Action::Token(i - self.token),
            i if i == self.airship => Action::PayCards,
            i if i < self.tile => Action::GiveTile,
            i if i < self.steps => Action::Tile(i - self.tile),
            i if i < self.options => Action::Steps(i - self.steps),
            i if i < self.cost => Action::Choose(i - self.options),
            i if i == self.cost => Action::Pay,
            i if i < self.count => Action::Decline,
            _ => return None,
        })
    }

    /// The label of every action, in index order.
    pub(super) fn labels(&self, catalogue: &Catalogue) -> ActionLabels {
        let actions = (0..self.count).filter_map(|index| self.decode(index));
        ActionLabels::new(actions.map(|action| label(catalogue, action)).collect())
    }
}

/// What people read of an action.
fn label(catalogue: &Catalogue, action: Action) -> String {
    let at = usize::from;
    match action {
        Action::Keep(0) => "keep the first character".into(),
        Action::Keep(_) => "keep the second character".into(),
        Action::Red => "choose red".into(),
        Action::Blue => "choose light blue".into(),
        Action::Alethiometer => "alethiometer: lay a compass tile".into(),
        Action::Magisterium => "Magisterium: name who takes the airship".into(),
        Action::Ally => "use the ally's power".into(),
        Action::Dust => "take a dust tile".into(),
        Action::GiveUp => "give up the action".into(),
        Action::Opponent(left) => format!("name the seat {left} to the left"),
        Action::Back(city) => format!("steal a token of {}", catalogue.cities[at(city)].name),
        Action::Pair(daemon) => format!("play a pair of {}", catalogue.daemons[at(daemon)]),
        Action::Triplet(symbol) => format!("play a triplet of {}", catalogue.symbols[at(symbol)]),
        Action::Spies => "play two flying spies".into(),
        Action::Wild => "play any two cards as a pair".into(),
        Action::Short(symbol) => format!("play two {} as a triplet", catalogue.symbols[at(symbol)]),
        Action::EndTurn => "end the turn".into(),
        Action::Card(card) => format!("card {}", catalogue.cards[at(card)].name),
        Action::Token(token) => {
            let own = &catalogue.tokens[at(token)];
            match token - own.kind {
                0 => format!("lay out {}", own.name),
                _ => format!("lay out {} (copy {token})", own.name),
            }
        }
        Action::PayCards => "airship: pay cards".into(),
        Action::GiveTile => "airship: give up a truth tile".into(),
        Action::Tile(tile) => format!("take a truth tile of {}", catalogue.tiles[at(tile)].0),
        Action::Steps(steps) => format!("advance Lyra by {steps}"),
        Action::Choose(option) => format!("option {}", option + 1),
        Action::Pay => "pay the cost".into(),
        Action::Decline => "decline the cost".into(),
    }
}

impl Kind {
    /// The action that starts a set of this kind.
    pub(super) fn action(self) -> Action {
        match self {
            Self::Pair(daemon) => Action::Pair(daemon),
            Self::Triplet(symbol) => Action::Triplet(symbol),
            Self::Spies => Action::Spies,
            Self::Wild => Action::Wild,
            Self::Short(symbol) => Action::Short(symbol),
        }
    }
}

/// The kind of set an action starts.
pub(super) fn set_of(action: Action) -> Option<Kind> {
    Some(match action {
        Action::Pair(daemon) => Kind::Pair(daemon),
        Action::Triplet(symbol) => Kind::Triplet(symbol),
        Action::Spies => Kind::Spies,
        Action::Wild => Kind::Wild,
        Action::Short(symbol) => Kind::Short(symbol),
        _ => return None,
    })
}

//! The components: read from JSON, validated, and laid out flat for the rules.
//!
//! `raw` holds the rows as they stand in the file; `check`, `faces` and `effects` turn them into the
//! [`Catalogue`] or say which row and field cannot be. Every size comes from the file, within the limits
//! of [`super::limits`]. Values that the rulebook does not print are designed; each section says so and
//! [`Catalogue::sections`] keeps its word.

mod check;
mod effects;
mod faces;
mod raw;

use boardwire_kernel::{CatalogueError, Provenance};

pub(super) use effects::{KINDS, Op};

use super::limits::{CITIES, PERIODS};

/// A light-blue symbol of the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blue {
    Alethiometer,
    Magisterium,
    Ally,
    Dust,
    FreeChoice,
}

/// One clear resting position of the needle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) draw: u8,
    pub(super) advance: u8,
    pub(super) blue: Blue,
    pub(super) weight: u32,
}

/// A type of Lyra card.
#[derive(Debug, Clone)]
pub(super) struct CardType {
    /// `hawk.baby`, `joker` or `spy`.
    pub(super) name: String,
    pub(super) daemon: Option<u8>,
    pub(super) symbol: Option<u8>,
    pub(super) joker: bool,
    pub(super) spy: bool,
    /// Copies in one deck.
    pub(super) count: u8,
}

/// An experience token; equal tokens of a city share `kind`.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// `london.4` or `london.alethiometer`.
    pub(super) name: String,
    /// The city of its back.
    pub(super) city: u8,
    /// Its points; 0 on an alethiometer.
    pub(super) value: u8,
    pub(super) alethiometer: bool,
    /// The first token equal to this one.
    pub(super) kind: u8,
}

/// A city and its spaces of the path.
#[derive(Debug, Clone)]
pub(super) struct City {
    pub(super) id: String,
    pub(super) name: String,
    /// First and last space, in steps from the start.
    pub(super) spaces: (u8, u8),
    /// Tokens of its back, as bits; none for a city where tokens are laid.
    pub(super) tokens: u32,
    /// Places for tokens.
    pub(super) slots: u8,
}

/// A character card.
#[derive(Debug, Clone)]
pub(super) struct Character {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) period: u8,
    pub(super) magisterium: u8,
    /// Its effects: a range of [`Catalogue::ops`].
    pub(super) list: (u8, u8),
    pub(super) text: String,
}

/// The printed components of The Golden Compass and the values of its rules.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub(super) sections: Vec<Provenance>,
    pub(super) seats: (u8, u8),
    pub(super) starting_hand: u8,
    /// Decks by seat count.
    pub(super) decks: [u8; 5],
    pub(super) hand_limit: u8,
    pub(super) triplet_compass: u8,
    pub(super) action_compass: u8,
    pub(super) tiles_drawn: u8,
    pub(super) tiles_each: u8,
    pub(super) ransom: u8,
    pub(super) compass: u8,
    pub(super) dust: u8,
    pub(super) passages: u8,
    pub(super) periods: Vec<String>,
    /// Cities in travelling order, two a period.
    pub(super) cities: Vec<City>,
    /// The objective of each period, in steps from the start.
    pub(super) objectives: [u8; PERIODS],
    pub(super) axes: Vec<Axis>,
    pub(super) daemons: Vec<String>,
    pub(super) symbols: Vec<String>,
    pub(super) cards: Vec<CardType>,
    pub(super) tokens: Vec<Token>,
    /// Values and counts, ascending.
    pub(super) tiles: Vec<(u8, u8)>,
    pub(super) characters: Vec<Character>,
    pub(super) ops: Vec<Op>,
    /// Lists of the options of every `choose_one`.
    pub(super) options: Vec<(u8, u8)>,
    /// Ruling R36: turns without a step after which Lyra advances.
    pub(super) guard: Option<u16>,
}

impl Catalogue {
    /// Reads and validates.
    pub(super) fn read(json: &str) -> Result<Self, CatalogueError> {
        check::catalogue(json)
    }

    /// The city whose tokens count while Lyra stands at `lyra` in `period`; none on its objective.
    pub(super) fn current_city(&self, period: u8, lyra: u8) -> Option<u8> {
        let second = period * 2 + 1;
        if lyra == self.objectives[usize::from(period)] {
            None
        } else if lyra >= self.cities[usize::from(second)].spaces.0 {
            Some(second)
        } else {
            Some(second - 1)
        }
    }

    /// Where the last objective lies: the steps of the whole path.
    pub(super) fn steps(&self) -> u8 {
        self.objectives[PERIODS - 1]
    }

    /// A bound on the plies of a list of effects.
    pub(super) fn plies_of(&self, list: (u8, u8)) -> u32 {
        let effects = &self.ops[usize::from(list.0)..usize::from(list.1)];
        let plies = effects.iter().map(|op| match *op {
            Op::Draw(count) | Op::StealCard(count) | Op::Spend(count) => 1 + u32::from(count),
            Op::DrawKeep { draw, .. } => 2 * u32::from(draw),
            Op::ChooseOne { first, count } => {
                let options = &self.options[usize::from(first)..usize::from(first + count)];
                1 + options.iter().map(|&option| self.plies_of(option)).max().unwrap_or(0)
            }
            _ => 2,
        });
        plies.sum()
    }

    /// The largest number of cards a hand gains at once.
    pub(super) fn gain(&self) -> u8 {
        let effects = self.ops.iter().map(|op| match *op {
            Op::Draw(count) | Op::DrawKeep { draw: count, .. } | Op::StealCard(count) => count,
            _ => 0,
        });
        effects.chain(self.axes.iter().map(|axis| axis.draw)).max().unwrap_or(0)
    }

    /// The longest free advance.
    pub(super) fn free_steps(&self) -> u8 {
        let steps = self.ops.iter().map(|op| if let Op::Advance(steps) = *op { steps } else { 0 });
        steps.max().unwrap_or(0)
    }

    /// The most cards `draw_keep` draws.
    pub(super) fn looked_at(&self) -> u8 {
        let drawn = self.ops.iter().map(|op| if let Op::DrawKeep { draw, .. } = *op { draw } else { 0 });
        drawn.max().unwrap_or(0)
    }
}

const _: () = assert!(CITIES == 2 * PERIODS);

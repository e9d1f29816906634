//! The components: read from JSON, validated, and stored in flat arrays for the rules.
//!
//! `rows` holds the rows as they are in the file. `check`, `faces` and `effects` convert them into the [`Catalogue`], or
//! name the row and field that is invalid. `tables` shows the catalogue to clients. Numbers come from the file; the
//! action space and most fields have the sizes of the box (see `limits`). Values that the rulebook does not print are
//! designed. Each section says so, and [`Catalogue::sections`] stores it.

mod check;
mod effects;
mod faces;
mod rows;
pub(super) mod tables;

use boardwire_kernel::{BitSet, Provenance};

pub(super) use effects::{EffectList, KINDS, Op};
pub(super) use rows::Blue;

use super::limits::{CITIES, COLLECTING, MAX_SEATS, PERIODS, to_byte};

boardwire_kernel::ids! {
    /// A type of Lyra card.
    pub CardId,
    /// An experience token.
    pub TokenId,
    /// A character card.
    pub CharacterId,
    /// An effect of the characters' powers.
    pub EffectId,
    /// A resting position of the needle.
    pub AxisId,
    /// A city, in travelling order.
    pub CityId,
    /// A kind of daemon.
    pub DaemonId,
    /// An alethiometer symbol.
    pub SymbolId,
    /// A value of truth tiles, ascending.
    pub TileId,
}

/// A set of experience tokens.
pub(super) type TokenSet = BitSet<1>;

/// One unambiguous resting position of the needle.
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
    /// `hawk baby`, `joker` or `flying spy`.
    pub(super) name: String,
    pub(super) daemon: Option<DaemonId>,
    pub(super) symbol: Option<SymbolId>,
    pub(super) is_joker: bool,
    pub(super) is_spy: bool,
    /// Copies in one deck.
    pub(super) count: u8,
}

/// An experience token; equal tokens of a city share `kind`.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// `London token worth 4` or `London alethiometer token`.
    pub(super) name: String,
    /// The city whose back it has.
    pub(super) city: CityId,
    /// Its points; 0 for an alethiometer.
    pub(super) value: u8,
    pub(super) is_alethiometer: bool,
    /// The first token equal to this one.
    pub(super) kind: TokenId,
}

/// A city and its spaces on the path.
#[derive(Debug, Clone)]
pub(super) struct City {
    pub(super) id: String,
    pub(super) name: String,
    /// First and last space, in steps from the start.
    pub(super) spaces: (u8, u8),
    /// The tokens with its back. Empty for a city where tokens are laid out.
    pub(super) tokens: TokenSet,
    /// Places for tokens.
    pub(super) slots: u8,
}

/// A character card.
#[derive(Debug, Clone)]
pub(super) struct Character {
    pub(super) name: String,
    /// Its period, from 0.
    pub(super) period: u8,
    pub(super) magisterium: u8,
    pub(super) power: EffectList,
}

/// The truth tiles of one value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiles {
    pub(super) value: u8,
    pub(super) count: u8,
}

/// The printed components of The Golden Compass and the values of its rules.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub(super) sections: Vec<Provenance>,
    /// Fewest and most seats.
    pub(super) seats: (u8, u8),
    pub(super) starting_hand: u8,
    /// The number of decks by seat count.
    pub(super) decks: [u8; MAX_SEATS + 1],
    pub(super) hand_limit: u8,
    pub(super) triplet_compass: u8,
    pub(super) action_compass: u8,
    pub(super) tiles_drawn: u8,
    pub(super) tiles_each: u8,
    /// The cards that the holder of the airship pays beyond its Magisterium value.
    pub(super) airship_extra_cards: u8,
    pub(super) compass: u8,
    pub(super) dust: u8,
    pub(super) passages: u8,
    pub(super) periods: Vec<String>,
    /// Cities in travelling order, two per period.
    pub(super) cities: Vec<City>,
    /// The objective of each period, in steps from the start.
    pub(super) objectives: [u8; PERIODS],
    pub(super) axes: Vec<Axis>,
    pub(super) daemons: Vec<String>,
    pub(super) symbols: Vec<String>,
    pub(super) cards: Vec<CardType>,
    pub(super) tokens: Vec<Token>,
    /// Ascending by value.
    pub(super) tiles: Vec<Tiles>,
    pub(super) characters: Vec<Character>,
    pub(super) ops: Vec<Op>,
    /// The option lists of all `choose_one` effects.
    pub(super) options: Vec<EffectList>,
    /// Ruling R36: the number of turns without a step after which Lyra advances.
    pub(super) guard: Option<u16>,
}

pub(super) fn count_of<T>(rows: &[T]) -> u8 {
    to_byte(rows.len())
}

/// Returns the rows with their ids, counted from 1.
pub(super) fn with_ids<T, I>(rows: &[T], id: impl Fn(u8) -> I) -> impl Iterator<Item = (I, &T)> {
    (1..).map(id).zip(rows)
}

impl Catalogue {
    pub(super) fn card(&self, card: CardId) -> &CardType {
        &self.cards[card.index() - 1]
    }

    pub(super) fn token(&self, token: TokenId) -> &Token {
        &self.tokens[token.index() - 1]
    }

    pub(super) fn character(&self, character: CharacterId) -> &Character {
        &self.characters[character.index() - 1]
    }

    pub(super) fn axis(&self, axis: AxisId) -> Axis {
        self.axes[axis.index() - 1]
    }

    pub(super) fn city(&self, city: CityId) -> &City {
        &self.cities[city.index() - 1]
    }

    /// Returns the cities where tokens are collected.
    pub(super) fn collecting(&self) -> &[City] {
        &self.cities[..COLLECTING]
    }

    /// Returns the cities where tokens are laid out.
    pub(super) fn placing(&self) -> &[City] {
        &self.cities[COLLECTING..]
    }

    pub(super) fn effect(&self, effect: EffectId) -> Op {
        self.ops[effect.index() - 1]
    }

    /// Returns the city whose tokens count while Lyra is at `lyra` in `period`. `None` on the objective of the period.
    pub(super) fn current_city(&self, period: u8, lyra: u8) -> Option<CityId> {
        let second = CityId::new(period * 2 + 2);
        if lyra == self.objectives[usize::from(period)] {
            None
        } else if lyra >= self.city(second).spaces.0 {
            Some(second)
        } else {
            Some(CityId::new(period * 2 + 1))
        }
    }

    /// Returns the number of steps of the whole path: the position of the last objective.
    pub(super) fn steps(&self) -> u8 {
        self.objectives[PERIODS - 1]
    }

    /// Returns the number of Lyra cards of each type in play at a table of `seats`.
    pub(super) fn copies(&self, seats: u8) -> impl Iterator<Item = u8> {
        let decks = self.decks[usize::from(seats)];
        self.cards.iter().map(move |card| card.count * decks)
    }

    /// Returns the number of cards that a hand can hold at any moment.
    pub(super) fn hand_places(&self) -> u8 {
        self.hand_limit + self.max_cards_gained()
    }

    /// Returns the largest number of cards that a hand gains together.
    fn max_cards_gained(&self) -> u8 {
        let effects = self.ops.iter().map(|op| match *op {
            Op::Draw(count) | Op::DrawKeep { draw: count, .. } | Op::StealCard(count) => count,
            _ => 0,
        });
        effects.chain(self.axes.iter().map(|axis| axis.draw)).max().expect("the wheel has an axis")
    }

    /// Returns the most cards that one `draw_keep` draws.
    pub(super) fn max_draw_keep(&self) -> u8 {
        let max_draw_keep =
            self.ops.iter().map(|op| if let Op::DrawKeep { draw, .. } = *op { draw } else { 0 });
        max_draw_keep.max().expect("every character has an effect")
    }

    /// Returns an upper bound of the plies of a match: the guard's turns times the plies of the longest turn.
    pub(super) fn max_plies(&self, seats: u8, guard: u16) -> u32 {
        // Colour, action and target; one or two choices and the cards of every effect; sets; the end of the turn.
        let power = self.characters.iter().map(|card| self.plies_of(card.power)).max();
        let played = u32::from(self.hand_limit) / 2 * 6;
        let blue = 3 + power.expect("there are characters") + played + 1;
        let red = 1 + u32::from(self.max_cards_gained());
        let turns = u32::from(self.steps()) * u32::from(guard);
        let magisterium = self.characters.iter().map(|card| card.magisterium).max();
        let magisterium = magisterium.expect("there are characters");
        let scoring = 1 + 2 * u32::from(magisterium) + u32::from(self.airship_extra_cards);
        let plies_outside_turns = u32::from(seats) * (1 + u32::from(self.tiles_each)) + scoring;
        turns * blue.max(red) + 3 * plies_outside_turns
    }

    /// Returns an upper bound of the plies of a list of effects.
    fn plies_of(&self, list: EffectList) -> u32 {
        let plies = list.of(&self.ops).iter().map(|op| match *op {
            Op::Draw(count) | Op::StealCard(count) | Op::Spend(count) => 1 + u32::from(count),
            Op::DrawKeep { draw, .. } => 2 * u32::from(draw),
            Op::ChooseOne { first, count } => {
                let options = &self.options[usize::from(first)..usize::from(first + count)];
                1 + options.iter().map(|&option| self.plies_of(option)).max().expect("there are options")
            }
            _ => 2,
        });
        plies.sum()
    }
}

const _: () = assert!(CITIES == 2 * PERIODS);

//! The components as the rules use them: biomes, Entities, the stops of the Avatar.

use serde::Deserialize;

use crate::rauha::state::{CELL_COUNT, CellSet, EntitySet};

/// The three rows, then the three columns.
pub(in crate::rauha) const LINES: [[u8; 3]; 6] =
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]];

/// The names of the lines, in the order of [`LINES`].
pub(in crate::rauha) const LINE_NAMES: [&str; 6] =
    ["N row", "mid row", "S row", "W column", "mid column", "E column"];

/// The names of the cells.
pub(in crate::rauha) const CELL_NAMES: [&str; CELL_COUNT as usize] =
    ["NW", "N", "NE", "W", "mid", "E", "SW", "S", "SE"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::rauha) enum Type {
    /// The crystal symbol. Texts call it quartz, because seats pay with crystals.
    #[serde(rename = "crystal")]
    Quartz,
    Forest,
    Mushroom,
    Mountain,
    /// Calls no Entity, and is on no card.
    Desert,
}

/// The names of the types, in the order of [`Type`].
pub(in crate::rauha) const TYPES: [&str; 5] = ["quartz", "forest", "mushroom", "mountain", "desert"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::rauha) enum Animal {
    Flying,
    Land,
    Marine,
}

/// The names of the animals, in the order of [`Animal`].
pub(in crate::rauha) const ANIMALS: [&str; 3] = ["flying", "land", "marine"];

/// What a `points_per` effect counts on the seat's own board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Flying animals.
    Flying,
    /// Land animals.
    Land,
    /// Marine animals.
    Marine,
    /// Spores.
    Spore,
    /// Water Sources, including those of an Entity.
    Water,
    /// The most frequent kind of animal.
    BestAnimal,
}

impl Per {
    /// All values.
    pub(in crate::rauha) const ALL: [Self; 6] =
        [Self::Flying, Self::Land, Self::Marine, Self::Spore, Self::Water, Self::BestAnimal];

    /// Returns the name of the thing counted, as in the columns of the tables.
    pub(in crate::rauha) fn words(self) -> &'static str {
        ["flying", "land", "marine", "Spore", "water", "best animal"][self as usize]
    }

    /// Returns the name of the thing counted in texts.
    fn thing(self) -> &'static str {
        ["flying", "land", "marine", "Spore", "Water Source", "animal of the most frequent kind"]
            [self as usize]
    }
}

/// Returns a number of things as text.
pub(in crate::rauha) fn number(number: impl Into<u16>, thing: &str) -> String {
    let number = number.into();
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The effect of activating a biome or an Entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rauha) enum Effect {
    /// Nothing to activate.
    None,
    /// Takes crystals.
    Gain(u8),
    /// Gains points.
    Score(u8),
    /// Gains points for each thing counted.
    PointsPer(Per, u8),
    /// Pays crystals for points.
    BuyPoints { cost: u8, points: u8 },
    /// Pays crystals for one Spore.
    BuySpore { cost: u8 },
    /// Adds Water Sources while held; never activated.
    Water(u8),
}

/// An effect and the conditions for activating it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rauha) struct Ability {
    pub(in crate::rauha) effect: Effect,
    /// The crystals needed. If the effect cannot be activated, a number that no seat can have.
    pub(in crate::rauha) crystals: u16,
    /// Whether it needs a cell without a Spore.
    pub(in crate::rauha) needs_cell: bool,
}

impl From<Effect> for Ability {
    fn from(effect: Effect) -> Self {
        let needs_cell = matches!(effect, Effect::BuySpore { .. });
        Self { effect, crystals: effect.cost().map_or(u16::MAX, u16::from), needs_cell }
    }
}

impl Effect {
    /// Returns the cost in crystals; none if the effect cannot be activated.
    pub(in crate::rauha) fn cost(self) -> Option<u8> {
        match self {
            Self::None | Self::Water(_) => None,
            Self::Gain(_) | Self::Score(_) | Self::PointsPer(..) => Some(0),
            Self::BuyPoints { cost, .. } | Self::BuySpore { cost } => Some(cost),
        }
    }

    /// Returns the crystals of a seat after the effect. The seat must meet its cost.
    pub(in crate::rauha) fn crystals_after(self, crystals: u16) -> u16 {
        match self {
            Self::Gain(gain) => crystals + u16::from(gain),
            Self::BuyPoints { cost, .. } | Self::BuySpore { cost } => crystals - u16::from(cost),
            Self::None | Self::Score(_) | Self::PointsPer(..) | Self::Water(_) => crystals,
        }
    }

    /// Returns the Water Sources it adds while held.
    pub(in crate::rauha) fn water(self) -> u8 {
        match self {
            Self::Water(sources) => sources,
            Self::None
            | Self::Gain(_)
            | Self::Score(_)
            | Self::PointsPer(..)
            | Self::BuyPoints { .. }
            | Self::BuySpore { .. } => 0,
        }
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::None => f.write_str("no effect"),
            Self::Gain(crystals) => write!(f, "+{}", number(crystals, "crystal")),
            Self::Score(points) => write!(f, "+{}", number(points, "point")),
            Self::PointsPer(per, points) => write!(f, "+{} per {}", number(points, "point"), per.thing()),
            Self::BuyPoints { cost, points } => {
                write!(f, "pay {}, +{}", number(cost, "crystal"), number(points, "point"))
            }
            Self::BuySpore { cost } => write!(f, "pay {}, +1 Spore", number(cost, "crystal")),
            Self::Water(sources) => write!(f, "{} while held", number(sources, "Water Source")),
        }
    }
}

/// Counts of each animal and of Water Sources in one or more biomes, a byte each: eight additions count nine biomes.
///
/// A biome shows at most 3 animals and 9 sources, so no byte overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rauha) struct Symbols(u32);

impl Symbols {
    /// Creates the counts of one biome.
    pub(in crate::rauha) fn new(animals: [u8; 3], water: u8) -> Self {
        let [flying, land, marine] = animals;
        Self(u32::from_le_bytes([flying, land, marine, water]))
    }

    /// Returns the sum of the counts of several biomes.
    pub(in crate::rauha) fn sum(all: impl Iterator<Item = Self>) -> Self {
        Self(all.map(|symbols| symbols.0).sum())
    }

    /// Returns the counts with one biome replaced by another.
    #[inline]
    pub(in crate::rauha) fn replace(self, old: Self, new: Self) -> Self {
        Self(self.0 - old.0 + new.0)
    }

    /// Returns the number of each animal.
    pub(in crate::rauha) fn animals(self) -> [u8; 3] {
        let [flying, land, marine, _] = self.0.to_le_bytes();
        [flying, land, marine]
    }

    pub(in crate::rauha) fn water(self) -> u8 {
        self.0.to_le_bytes()[3]
    }
}

/// One biome: a card, or a printed cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rauha) struct Biome {
    /// The Age of a card; 0 for a printed cell.
    pub(in crate::rauha) age: u8,
    /// Whether it has each of [`TYPES`].
    pub(in crate::rauha) types: [bool; 5],
    /// The animals and Water Sources it shows.
    pub(in crate::rauha) symbols: Symbols,
    /// The crystals paid to place it.
    pub(in crate::rauha) cost: u8,
    /// The cells on which it may be placed.
    pub(in crate::rauha) cells: CellSet,
    /// The effect of activating it.
    pub(in crate::rauha) ability: Ability,
    /// The Entities whose symbol it shows.
    pub(in crate::rauha) calls: EntitySet,
}

impl Biome {
    /// No biome: it shows nothing and cannot be placed.
    pub(in crate::rauha) const NONE: Self = Self {
        age: 0,
        types: [false; 5],
        symbols: Symbols(0),
        cost: 0,
        cells: CellSet::EMPTY,
        ability: Ability { effect: Effect::None, crystals: u16::MAX, needs_cell: false },
        calls: EntitySet::EMPTY,
    };
}

/// Writes the biome's symbols, Water Sources and effect.
impl std::fmt::Display for Biome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let types = TYPES.into_iter().zip(self.types).filter(|(_, is_shown)| *is_shown);
        let types = types.map(|(kind, _)| kind.to_owned());
        let animals = ANIMALS.into_iter().zip(self.symbols.animals()).filter(|(_, times)| *times > 0);
        let animals = animals.map(|(animal, times)| match times {
            1 => animal.to_owned(),
            times => format!("{times} {animal}"),
        });
        let water = Some(self.symbols.water()).filter(|&water| water > 0);
        let water = water.map(|water| number(water, "Water Source"));
        let shown: Vec<String> = types.chain(animals).chain(water).collect();
        f.write_str(&shown.join(", "))?;
        if self.ability.effect == Effect::None { Ok(()) } else { write!(f, ": {}", self.ability.effect) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::rauha) struct Entity {
    /// The key in example cases and records, such as `kiteet`.
    pub(in crate::rauha) key: String,
    /// The name on the tile.
    pub(in crate::rauha) name: String,
    /// The symbol that must fill a row or a column.
    pub(in crate::rauha) called_by: Symbol,
    /// The effect of activating it.
    pub(in crate::rauha) effect: Effect,
}

/// A symbol that calls an Entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rauha) enum Symbol {
    Type(Type),
    Animal(Animal),
}

impl Symbol {
    pub(in crate::rauha) fn name(self) -> &'static str {
        match self {
            Self::Type(kind) => TYPES[kind as usize],
            Self::Animal(animal) => ANIMALS[animal as usize],
        }
    }

    /// Returns whether `biome` shows the symbol.
    pub(in crate::rauha) fn is_on(self, biome: &Biome) -> bool {
        match self {
            Self::Type(kind) => biome.types[kind as usize],
            Self::Animal(animal) => biome.symbols.animals()[animal as usize] > 0,
        }
    }
}

/// The side of a Satellite, which selects the Satellite that a turn drafts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::rauha) enum Side {
    /// Selects the Satellite on the left of a seat.
    Moon,
    /// Selects the Satellite on the right of a seat.
    Star,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rauha) struct Stop {
    /// The round, 1 to 4.
    pub(in crate::rauha) round: u8,
    /// The turn of the round, 1 to 3; 4 is the scoring.
    pub(in crate::rauha) turn: u8,
    /// Selects the Satellite to draft from; none in a scoring.
    pub(in crate::rauha) side: Option<Side>,
    /// The cells activated; none in a scoring.
    pub(in crate::rauha) line: CellSet,
}

impl Stop {
    /// Returns whether the stop is a corner.
    pub(in crate::rauha) fn is_scoring(self) -> bool {
        self.turn == 4
    }
}

//! The pieces as the rules use them: biomes, Divine Entities, the stops of the Avatar.
//!
//! Every biome has one id: 1..=80 the cards (catalogue id + 1), 81..=89 the printed cells of side A, 90..=98
//! those of side B; 0 is none. Sets of cells and of Entities are bit masks.

/// Cells of a player board.
pub(super) const CELLS: u8 = 9;
/// All nine cells.
pub(super) const ALL_CELLS: u16 = 0x1ff;
/// The biome cards of both Ages; their ids are 1..=`CARDS`.
pub(super) const CARDS: u8 = 80;
/// The biome cards of one Age.
pub(super) const CARDS_OF_AGE: u8 = 40;
/// Every biome with an id, and the none.
pub(super) const BIOMES: usize = 99;
/// The Divine Entities.
pub(super) const ENTITIES: u8 = 7;
/// The stops of the Avatar.
pub(super) const STOPS: u8 = 16;
/// Cards dealt on a Satellite at the start of a round.
pub(super) const PACK: usize = 4;

/// The three rows, then the three columns.
pub(super) const LINES: [[u8; 3]; 6] = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]];

/// The symbols of a biome's type, in the order of the bits of [`Biome::types`]; desert calls nobody.
pub(super) const TYPES: [&str; 5] = ["crystal", "forest", "mushroom", "mountain", "desert"];
/// The animals, in the order of [`Biome::animals`].
pub(super) const ANIMALS: [&str; 3] = ["flying", "land", "marine"];

/// The id of the cell `cell` printed on side A (`side` 0) or B (1).
pub(super) const fn printed(side: u8, cell: u8) -> u8 {
    CARDS + 1 + side * CELLS + cell
}

/// The members of a bit mask, ascending.
pub(super) fn members(mut mask: u16) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let lowest = u8::try_from(mask.trailing_zeros()).ok().filter(|&bit| bit < 16)?;
        mask &= mask - 1;
        Some(lowest)
    })
}

/// The mask of some cells.
pub(super) fn mask(cells: &[u8]) -> u16 {
    cells.iter().fold(0, |mask, cell| mask | 1 << cell)
}

/// What a `points_per` effect counts on the own board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Per {
    /// Animal symbols of one kind: an index into [`ANIMALS`].
    Animal(u8),
    /// The most frequent kind of animal symbol.
    BestAnimal,
    /// Spores.
    Spore,
    /// Water Sources, those of an Entity included.
    Water,
}

/// What activating a biome or an Entity does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
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

/// One biome: a card, or a printed cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Biome {
    /// The Age of a card, 0 for a printed cell.
    pub(super) age: u8,
    /// Its types, as bits in the order of [`TYPES`].
    pub(super) types: u8,
    /// How often it shows each of [`ANIMALS`].
    pub(super) animals: [u8; 3],
    /// Crystals to pay when it is placed.
    pub(super) cost: u8,
    /// The cells on which it may be placed.
    pub(super) cells: u16,
    /// Water Sources printed on it.
    pub(super) water: u8,
    /// What activating it does.
    pub(super) effect: Effect,
    /// The Entities whose symbol it shows.
    pub(super) calls: u8,
}

impl Biome {
    /// The none: it shows nothing and fits nowhere.
    pub(super) const NONE: Self = Self {
        age: 0,
        types: 0,
        animals: [0; 3],
        cost: 0,
        cells: 0,
        water: 0,
        effect: Effect::None,
        calls: 0,
    };
}

/// Which symbol calls an Entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    /// A type: an index into [`TYPES`].
    Type(u8),
    /// An animal: an index into [`ANIMALS`].
    Animal(u8),
}

impl Symbol {
    /// The symbol in one word.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Type(index) => TYPES[usize::from(index)],
            Self::Animal(index) => ANIMALS[usize::from(index)],
        }
    }

    /// Whether `biome` shows it.
    pub(super) fn is_on(self, biome: &Biome) -> bool {
        match self {
            Self::Type(index) => biome.types >> index & 1 == 1,
            Self::Animal(index) => biome.animals[usize::from(index)] > 0,
        }
    }
}

/// The Satellite a turn drafts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The one on the left of a seat: Satellite p + 1.
    Moon,
    /// The one on the right of a seat: Satellite p.
    Star,
}

/// One stop of the Avatar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    /// The round, 1 to 4.
    pub(super) round: u8,
    /// The turn of the round, 1 to 3; 4 is the scoring.
    pub(super) turn: u8,
    /// Which Satellite is drafted from; a scoring drafts from none.
    pub(super) side: Side,
    /// The cells activated; none in a scoring.
    pub(super) line: u16,
}

impl Stop {
    /// Whether the stop is a corner.
    pub(super) fn is_scoring(self) -> bool {
        self.turn == 4
    }

    /// The Age of the stop's round: 0 or 1, the number of its chance stream.
    pub(super) fn age(self) -> u8 {
        (self.round - 1) / 2
    }
}

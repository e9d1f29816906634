//! The symbols and payments of a card, as numbers.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::Deserialize;

/// A symbol that is printed on cards and counted in scoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// The first wonder.
    Stone,
    /// The second wonder.
    Chimera,
    /// The third wonder.
    Thistle,
    /// A clue.
    Clue,
    /// Night.
    Night,
    /// A biome, and the first of the four biomes.
    River,
    /// A biome.
    City,
    /// A biome.
    Forest,
    /// A biome.
    Desert,
}

/// The names of the symbols, in the order of [`Symbol`].
pub(in super::super) const SYMBOLS: [&str; 9] =
    ["stone", "chimera", "thistle", "clue", "night", "river", "city", "forest", "desert"];
/// The names of the wonders: the first three symbols.
pub(in super::super) const WONDERS: [&str; 3] = ["stone", "chimera", "thistle"];
/// The names of the biomes: the last four symbols.
pub(in super::super) const BIOMES: [&str; 4] = ["river", "city", "forest", "desert"];

/// One number for each symbol: the visible count, or the fame for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Symbols(pub [u8; 9]);

impl Symbols {
    /// Returns the numbers of the three wonders.
    #[must_use]
    pub fn wonders(&self) -> &[u8] {
        &self.0[..WONDERS.len()]
    }

    /// Returns the numbers of the four biomes.
    #[must_use]
    pub fn biomes(&self) -> &[u8] {
        &self.0[Symbol::River as usize..]
    }

    /// Returns the sum with the symbols of one more card; of at most 15 cards in all.
    #[must_use]
    #[inline]
    pub fn with(mut self, more: &Self) -> Self {
        for (count, more) in self.0.iter_mut().zip(more.0) {
            // No card shows more than five of a symbol. An overflow check for every count would prevent vectorization.
            *count = count.wrapping_add(more);
        }
        self
    }
}

impl Index<Symbol> for Symbols {
    type Output = u8;

    #[inline]
    fn index(&self, symbol: Symbol) -> &u8 {
        &self.0[symbol as usize]
    }
}

impl IndexMut<Symbol> for Symbols {
    fn index_mut(&mut self, symbol: Symbol) -> &mut u8 {
        &mut self.0[symbol as usize]
    }
}

/// A region or a sanctuary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Card {
    /// The duration of a region, or the number of a sanctuary; 0 for the blank card.
    pub id: u8,
    /// The symbols on the card.
    pub symbols: Symbols,
    /// The wonders that the quest requires.
    pub prerequisite: [u8; 3],
    /// What the card pays.
    pub quest: Quest,
}

/// A quest as numbers: its fame for every visible symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quest {
    /// The kind in the catalogue.
    pub kind: Kind,
    /// The fixed fame.
    pub flat: u8,
    /// The fame for each visible symbol.
    pub per: Symbols,
    /// The fame for each complete set of the four biomes.
    pub per_set: u8,
}

/// The kinds of quest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No quest.
    #[default]
    None,
    /// A fixed amount.
    Flat,
    /// Pays for symbols of one wonder.
    PerWonder,
    /// Pays for clues.
    PerClue,
    /// Pays for night symbols.
    PerNight,
    /// Pays for cards of one or two biomes.
    PerBiome,
    /// Pays for complete sets of the four biomes.
    PerBiomeSet,
}

/// The names of the quest kinds in the catalogue, in the order of [`Kind`].
pub(super) const KINDS: [&str; 7] =
    ["none", "flat", "per_wonder", "per_clue", "per_night", "per_biome", "per_biome_set"];

impl Card {
    #[inline]
    pub(in super::super) fn clues(&self) -> u8 {
        self.symbols[Symbol::Clue]
    }
}

/// Writes a text such as ` forest night stone clue; needs 2 thistle: 4 per river`, without a part that the card lacks.
impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.symbols)?;
        if self.prerequisite != [0; 3] {
            return write!(f, "; needs {}: {}", WonderCounts(&self.prerequisite), self.quest);
        }
        if self.quest.kind == Kind::None { Ok(()) } else { write!(f, "; {}", self.quest) }
    }
}

/// Writes a word for each symbol, biome first, with a space before each: ` forest night stone stone clue`.
impl fmt::Display for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbols = || SYMBOLS.iter().zip(self.0);
        let order =
            symbols().skip(Symbol::River as usize).chain(symbols().skip(Symbol::Night as usize).take(1));
        for (name, count) in order.chain(symbols().take(Symbol::Night as usize)) {
            (0..count).try_for_each(|_| write!(f, " {name}"))?;
        }
        Ok(())
    }
}

/// Formats the wonders with a count above 0: `2 stone + 1 thistle`.
pub(in super::super) struct WonderCounts<'a>(pub(in super::super) &'a [u8; 3]);

impl fmt::Display for WonderCounts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lead = "";
        for (name, count) in WONDERS.iter().zip(self.0).filter(|(_, count)| **count > 0) {
            write!(f, "{lead}{count} {name}")?;
            lead = " + ";
        }
        Ok(())
    }
}

/// Writes a text such as `4 per river or city`.
impl fmt::Display for Quest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::None => return f.write_str("no quest"),
            Kind::Flat => return write!(f, "{} fame", self.flat),
            Kind::PerBiomeSet => return write!(f, "{} per biome set", self.per_set),
            Kind::PerWonder | Kind::PerClue | Kind::PerNight | Kind::PerBiome => {}
        }
        let mut first = true;
        for (name, points) in SYMBOLS.iter().zip(self.per.0) {
            if points > 0 && first {
                write!(f, "{points} per {name}")?;
                first = false;
            } else if points > 0 {
                write!(f, " or {name}")?;
            }
        }
        Ok(())
    }
}

//! What a card shows and pays, as numbers.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::Deserialize;

/// What is printed on cards and counted when they are scored.
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
    /// The first biome, as are the three that follow.
    River,
    /// A biome.
    City,
    /// A biome.
    Forest,
    /// A biome.
    Desert,
}

/// The names of the symbols, in their order.
pub(in super::super) const SYMBOLS: [&str; 9] =
    ["stone", "chimera", "thistle", "clue", "night", "river", "city", "forest", "desert"];
/// The names of the wonders: the first three symbols.
pub(in super::super) const WONDERS: [&str; 3] = ["stone", "chimera", "thistle"];
/// The names of the biomes: the last four symbols.
pub(in super::super) const BIOMES: [&str; 4] = ["river", "city", "forest", "desert"];

/// One number for each symbol: how many are visible, or what each pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Symbols(pub [u8; 9]);

impl Symbols {
    /// The numbers of the three wonders.
    #[must_use]
    pub fn wonders(&self) -> &[u8] {
        &self.0[..WONDERS.len()]
    }

    /// The numbers of the four biomes.
    #[must_use]
    pub fn biomes(&self) -> &[u8] {
        &self.0[Symbol::River as usize..]
    }

    /// The symbols seen with those of one more card, of at most 15.
    #[must_use]
    #[inline]
    pub fn with(mut self, more: &Self) -> Self {
        for (count, more) in self.0.iter_mut().zip(more.0) {
            // No card shows more than five of a symbol. A check of every count would keep them from being added at once.
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
    /// The duration of a region, the number of a sanctuary; 0 for the blank card.
    pub id: u8,
    /// The symbols on the card.
    pub symbols: Symbols,
    /// The wonders its quest asks for.
    pub prerequisite: [u8; 3],
    /// What it pays.
    pub quest: Quest,
}

/// A quest as what it pays for every visible symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quest {
    /// Its kind in the catalogue.
    pub kind: Kind,
    /// Fame without condition.
    pub flat: u8,
    /// Fame for each visible symbol.
    pub per: Symbols,
    /// Fame for each complete set of the four biomes.
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
    /// By symbols of one wonder.
    PerWonder,
    /// By clues.
    PerClue,
    /// By night symbols.
    PerNight,
    /// By cards of one or two biomes.
    PerBiome,
    /// By complete sets of the four biomes.
    PerBiomeSet,
}

/// The words of the catalogue for the kinds of quest, in their order.
pub(super) const KINDS: [&str; 7] =
    ["none", "flat", "per_wonder", "per_clue", "per_night", "per_biome", "per_biome_set"];

impl Card {
    /// The name of the card's biome; none for a grey sanctuary.
    pub(in super::super) fn biome(&self) -> Option<&'static str> {
        let at = self.symbols.biomes().iter().position(|&count| count > 0)?;
        Some(BIOMES[at])
    }

    /// The clues on the card.
    #[inline]
    pub(in super::super) fn clues(&self) -> u8 {
        self.symbols[Symbol::Clue]
    }
}

/// `forest night, stone, clue; needs 2 thistle: 4 per river`.
impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.biome().unwrap_or("grey"))?;
        if self.symbols[Symbol::Night] > 0 {
            f.write_str(" night")?;
        }
        for (name, count) in SYMBOLS.iter().zip(self.symbols.0).take(Symbol::Night as usize) {
            match count {
                0 => {}
                1 => write!(f, ", {name}")?,
                _ => write!(f, ", {count} {name}")?,
            }
        }
        let mut lead = "; needs ";
        for (name, &count) in WONDERS.iter().zip(&self.prerequisite) {
            if count > 0 {
                write!(f, "{lead}{count} {name}")?;
                lead = " + ";
            }
        }
        f.write_str(if lead == " + " { ": " } else { "; " })?;
        write!(f, "{}", self.quest)
    }
}

/// `4 per river or city`.
impl fmt::Display for Quest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::None => return f.write_str("no quest"),
            Kind::Flat => return write!(f, "{} fame", self.flat),
            Kind::PerBiomeSet => return write!(f, "{} per set of 4 biomes", self.per_set),
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

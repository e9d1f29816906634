//! What a card shows and pays, as numbers.

use std::fmt;

/// Where each symbol is counted.
pub(super) mod lane {
    /// Clue symbols.
    pub(in super::super) const CLUE: usize = 3;
    /// Night symbols.
    pub(in super::super) const NIGHT: usize = 4;
    /// Cards of the first biome; the other three follow.
    pub(in super::super) const RIVER: usize = 5;
}

/// The names of the symbols, in the order in which [`Symbols`] counts them.
pub(super) const LANES: [&str; 9] =
    ["stone", "chimera", "thistle", "clue", "night", "river", "city", "forest", "desert"];
/// The names of the wonders: the first three symbols.
pub(super) const WONDERS: [&str; 3] = ["stone", "chimera", "thistle"];

/// How many of each symbol are visible: three wonders, clues, nights, four biomes.
pub type Symbols = [u8; 9];

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// Every kind of quest.
pub(super) const KINDS: [Kind; 7] = [
    Kind::None,
    Kind::Flat,
    Kind::PerWonder,
    Kind::PerClue,
    Kind::PerNight,
    Kind::PerBiome,
    Kind::PerBiomeSet,
];

impl Kind {
    /// The kind's word in the catalogue.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Flat => "flat",
            Self::PerWonder => "per_wonder",
            Self::PerClue => "per_clue",
            Self::PerNight => "per_night",
            Self::PerBiome => "per_biome",
            Self::PerBiomeSet => "per_biome_set",
        }
    }
}

impl Card {
    /// The name of the card's biome; none for a grey sanctuary.
    pub(super) fn biome(&self) -> Option<&'static str> {
        let at = self.symbols[lane::RIVER..].iter().position(|&count| count > 0)?;
        Some(LANES[lane::RIVER + at])
    }

    /// The clues on the card.
    pub(super) fn clues(&self) -> u8 {
        self.symbols[lane::CLUE]
    }
}

/// `forest night, stone, clue; needs 2 thistle: 4 per river`.
impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.biome().unwrap_or("grey"))?;
        if self.symbols[lane::NIGHT] > 0 {
            f.write_str(" night")?;
        }
        for (name, &count) in LANES.iter().zip(&self.symbols).take(lane::NIGHT) {
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
        for (name, &points) in LANES.iter().zip(&self.per) {
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

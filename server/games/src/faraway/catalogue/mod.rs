//! The card catalogue: read from JSON row by row, validated, and stored as flat numbers.

mod card;
mod rows;
mod tables;

use boardwire_kernel::catalogue::{self, CatalogueResult, check_equals};
use boardwire_kernel::{Components, Provenance};

pub(super) use card::{BIOMES, SYMBOLS, WONDERS, WonderCounts};
pub use card::{Card, Kind, Quest, Symbol, Symbols};

use rows::{RegionRow, SanctuaryRow};

/// The number of regions. Their ids are their durations, from 1.
pub const REGION_COUNT: u8 = 68;
/// The number of sanctuaries. Their ids count from 1.
pub const SANCTUARY_COUNT: u8 = 45;

/// All cards of the game. Index 0 of both lists is a blank card, so ids are indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The regions by duration.
    pub regions: Vec<Card>,
    /// The sanctuaries by id.
    pub sanctuaries: Vec<Card>,
    source: String,
}

impl Components for Catalogue {
    fn read(json: &str) -> CatalogueResult<Self> {
        let file: rows::File = catalogue::read(json)?;
        check_equals("schema_version", file.schema_version, 1)?;
        let regions = rows::cards("regions", &file.regions, REGION_COUNT, RegionRow::card)?;
        let sanctuaries = rows::cards("sanctuaries", &file.sanctuaries, SANCTUARY_COUNT, SanctuaryRow::card)?;
        Ok(Self { regions, sanctuaries, source: file.provenance })
    }

    fn provenance(&self) -> Vec<Provenance> {
        ["regions", "sanctuaries"]
            .map(|section| Provenance { section: section.to_owned(), source: self.source.clone() })
            .to_vec()
    }
}

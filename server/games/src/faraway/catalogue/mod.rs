//! The cards as data: read from JSON row by row, validated, and kept as flat numbers.

mod card;
mod rows;
mod tables;

use std::collections::BTreeMap;

use boardwire_kernel::Provenance;
use boardwire_kernel::catalogue::{self, Checked, exactly, refuse};
use serde_json::{Map, Value, json};

pub(super) use card::{BIOMES, SYMBOLS, WONDERS};
pub use card::{Card, Kind, Quest, Symbol, Symbols};

use card::KINDS;
use rows::{RegionRow, SanctuaryRow};

/// How many regions there are; their durations, which are their ids, count from 1.
pub const REGIONS: u8 = 68;
/// How many sanctuaries there are; their ids count from 1.
pub const SANCTUARIES: u8 = 45;

/// Every card of the box; index 0 of both lists is a blank card, so that ids are indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The regions by duration.
    pub regions: Vec<Card>,
    /// The sanctuaries by id.
    pub sanctuaries: Vec<Card>,
    source: String,
}

impl Catalogue {
    /// Reads and validates the cards.
    pub(super) fn read(json: &str) -> Checked<Self> {
        let file: rows::File = catalogue::read(json)?;
        exactly("schema_version", file.schema_version, 1)?;
        let regions = rows::cards("regions", &file.regions, REGIONS, RegionRow::card)?;
        let sanctuaries = rows::cards("sanctuaries", &file.sanctuaries, SANCTUARIES, SanctuaryRow::card)?;
        same_counts(&file.counts, &counted(&regions[1..], &sanctuaries[1..]))?;
        Ok(Self { regions, sanctuaries, source: file.provenance })
    }

    /// Where the rows were read.
    pub(super) fn provenance(&self) -> Vec<Provenance> {
        ["regions", "sanctuaries"]
            .map(|section| Provenance { section: section.to_owned(), source: self.source.clone() })
            .to_vec()
    }
}

/// The `counts` section as the rows have it.
fn counted(regions: &[Card], sanctuaries: &[Card]) -> Value {
    let sum = |cards: &[Card], symbol: Symbol| -> u32 {
        cards.iter().map(|card| u32::from(card.symbols[symbol])).sum()
    };
    let named = |cards: &[Card], names: &[&str], of: fn(&Symbols) -> &[u8]| -> Map<String, Value> {
        let count = |at: usize| cards.iter().map(|card| u32::from(of(&card.symbols)[at])).sum::<u32>();
        names.iter().enumerate().map(|(at, &name)| (name.to_owned(), count(at).into())).collect()
    };
    let quests = |cards: &[Card]| -> Map<String, Value> {
        let number = |at: usize| cards.iter().filter(|card| card.quest.kind as usize == at).count();
        KINDS.iter().enumerate().map(|(at, &word)| (word.to_owned(), number(at).into())).collect()
    };
    let nights = sum(regions, Symbol::Night);
    let mut by_biome = named(sanctuaries, &BIOMES, Symbols::biomes);
    let grey = sanctuaries.iter().filter(|card| card.biome().is_none()).count();
    by_biome.insert("none".to_owned(), grey.into());
    json!({
        "regions": regions.len(),
        "sanctuaries": sanctuaries.len(),
        "regions_by_biome": named(regions, &BIOMES, Symbols::biomes),
        "regions_by_time": {"day": u32::from(REGIONS) - nights, "night": nights},
        "region_clues": sum(regions, Symbol::Clue),
        "region_wonders": named(regions, &WONDERS, Symbols::wonders),
        "regions_with_prerequisite": regions.iter().filter(|card| card.prerequisite != [0; 3]).count(),
        "region_quests": quests(regions),
        "sanctuaries_by_biome": by_biome,
        "sanctuary_nights": sum(sanctuaries, Symbol::Night),
        "sanctuary_clues": sum(sanctuaries, Symbol::Clue),
        "sanctuary_wonders": named(sanctuaries, &WONDERS, Symbols::wonders),
        "sanctuary_quests": quests(sanctuaries),
    })
}

fn same_counts(stated: &BTreeMap<String, Value>, counted: &Value) -> Checked {
    let counted = counted.as_object().expect("the counts are an object");
    for name in stated.keys().chain(counted.keys()) {
        let (says, has) = (stated.get(name), counted.get(name));
        if says != has {
            let [says, has] = [says, has].map(|count| count.cloned().unwrap_or_default());
            return refuse(format!("counts.{name}"), format!("is {says}, but the rows have {has}"));
        }
    }
    Ok(())
}

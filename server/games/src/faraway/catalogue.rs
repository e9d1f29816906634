//! The cards as data: read from JSON row by row, validated, and kept as flat numbers.

use boardwire_kernel::{CatalogueError, Provenance, Table};
use serde_json::{Map, Value, json};

use super::card::{Card, KINDS, Kind, LANES, Quest, WONDERS, lane};
use super::rows::{Row, rows};

/// How many regions there are; their durations, which are their ids, count from 1.
pub const REGIONS: u8 = 68;
/// How many sanctuaries there are; their ids count from 1.
pub const SANCTUARIES: u8 = 45;

const BIOMES: [&str; 4] = ["river", "city", "forest", "desert"];

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
    ///
    /// # Errors
    /// The row and field that cannot be.
    pub(super) fn read(text: &str) -> Result<Self, CatalogueError> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            CatalogueError::new(format!("line {} column {}", error.line(), error.column()), error.to_string())
        })?;
        let mut file = Row::new("", value)?;
        file.number("schema_version", 1, 1)?;
        for free in ["game", "schema", "biome_colours"] {
            file.take::<Value>(free)?;
        }
        let source: String = file.take("provenance")?;
        let counts: Map<String, Value> = file.take("counts")?;
        let regions = cards(&mut file, "regions", REGIONS, region)?;
        let sanctuaries = cards(&mut file, "sanctuaries", SANCTUARIES, sanctuary)?;
        file.finish()?;
        same_counts(&counts, &tally(&regions[1..], &sanctuaries[1..]))?;
        Ok(Self { regions, sanctuaries, source })
    }

    /// Where the rows were read.
    pub(super) fn provenance(&self) -> Vec<Provenance> {
        ["regions", "sanctuaries"]
            .map(|section| Provenance { section: section.to_owned(), source: self.source.clone() })
            .to_vec()
    }

    /// The cards as integer matrices.
    pub(super) fn tables(&self) -> Vec<Table> {
        vec![
            table("regions", "duration", &self.regions[1..]),
            table("sanctuaries", "id", &self.sanctuaries[1..]),
        ]
    }
}

/// Reads a section of exactly `count` rows whose ids count from 1, behind a blank card.
fn cards(
    file: &mut Row,
    section: &str,
    count: u8,
    read: fn(&mut Row, u8) -> Result<Card, CatalogueError>,
) -> Result<Vec<Card>, CatalogueError> {
    let rows = rows(file, section, count)?;
    let mut cards = vec![Card::default()];
    for (id, mut row) in (1..=count).zip(rows) {
        cards.push(read(&mut row, id)?);
        row.finish()?;
    }
    Ok(cards)
}

fn region(row: &mut Row, duration: u8) -> Result<Card, CatalogueError> {
    row.number("duration", duration, duration)?;
    let mut card = Card { id: duration, ..Card::default() };
    card.symbols[lane::RIVER + row.word("biome", &BIOMES)?] = 1;
    card.symbols[lane::NIGHT] = u8::from(row.word("time", &["day", "night"])? == 1);
    read_symbols(row, &mut card)?;
    if row.has("prerequisite") {
        card.prerequisite = read_wonders(&mut row.nested("prerequisite")?)?;
        if card.prerequisite == [0; 3] {
            return Err(row.wrong("prerequisite", "asks for no wonder; leave it out"));
        }
    }
    card.quest = read_quest(&mut row.nested("quest")?)?;
    Ok(card)
}

fn sanctuary(row: &mut Row, id: u8) -> Result<Card, CatalogueError> {
    row.number("id", id, id)?;
    let mut card = Card { id, ..Card::default() };
    if row.is_null("biome") {
        row.take::<Value>("biome")?;
    } else {
        card.symbols[lane::RIVER + row.word("biome", &BIOMES)?] = 1;
    }
    card.symbols[lane::NIGHT] = u8::from(row.take::<bool>("night")?);
    read_symbols(row, &mut card)?;
    card.quest = read_quest(&mut row.nested("quest")?)?;
    Ok(card)
}

fn read_symbols(row: &mut Row, card: &mut Card) -> Result<(), CatalogueError> {
    // A deal is at most 1 + 8 + 6 sanctuaries: views and records rest on one clue a card at most.
    card.symbols[lane::CLUE] = row.number("clues", 0, 1)?;
    card.symbols[..3].copy_from_slice(&read_wonders(&mut row.nested("wonders")?)?);
    Ok(())
}

fn read_wonders(row: &mut Row) -> Result<[u8; 3], CatalogueError> {
    let mut wonders = [0; 3];
    for (count, name) in wonders.iter_mut().zip(WONDERS) {
        *count = row.number(name, 0, 5)?;
    }
    row.finish()?;
    Ok(wonders)
}

fn read_quest(row: &mut Row) -> Result<Quest, CatalogueError> {
    let kind = KINDS[row.word("kind", &KINDS.map(Kind::word))?];
    let mut quest = Quest { kind, ..Quest::default() };
    if kind != Kind::None {
        let points = row.number("points", 1, 60)?;
        match kind {
            Kind::None => {}
            Kind::Flat => quest.flat = points,
            Kind::PerWonder => quest.per[row.word("wonder", &WONDERS)?] = points,
            Kind::PerClue => quest.per[lane::CLUE] = points,
            Kind::PerNight => quest.per[lane::NIGHT] = points,
            Kind::PerBiome => {
                for biome in row.words("biomes", &BIOMES, 1, 2)? {
                    quest.per[lane::RIVER + biome] = points;
                }
            }
            Kind::PerBiomeSet => quest.per_set = points,
        }
    }
    row.finish()?;
    Ok(quest)
}

/// The `counts` section as the rows have it.
fn tally(regions: &[Card], sanctuaries: &[Card]) -> Map<String, Value> {
    let sum = |cards: &[Card], at: usize| cards.iter().map(|card| u32::from(card.symbols[at])).sum::<u32>();
    let named = |cards: &[Card], names: &[&str], first: usize| -> Map<String, Value> {
        let lanes = (first..).zip(names);
        lanes.map(|(at, name)| ((*name).to_owned(), sum(cards, at).into())).collect()
    };
    let quests = |cards: &[Card]| -> Map<String, Value> {
        let number = |kind: Kind| cards.iter().filter(|card| card.quest.kind == kind).count();
        KINDS.iter().map(|&kind| (kind.word().to_owned(), number(kind).into())).collect()
    };
    let nights = sum(regions, lane::NIGHT);
    let mut by_biome = named(sanctuaries, &BIOMES, lane::RIVER);
    let grey = sanctuaries.iter().filter(|card| card.biome().is_none()).count();
    by_biome.insert("none".to_owned(), grey.into());
    let counts = json!({
        "regions": regions.len(),
        "sanctuaries": sanctuaries.len(),
        "regions_by_biome": named(regions, &BIOMES, lane::RIVER),
        "regions_by_time": {"day": u32::from(REGIONS) - nights, "night": nights},
        "region_clues": sum(regions, lane::CLUE),
        "region_wonders": named(regions, &WONDERS, 0),
        "regions_with_prerequisite": regions.iter().filter(|card| card.prerequisite != [0; 3]).count(),
        "region_quests": quests(regions),
        "sanctuaries_by_biome": by_biome,
        "sanctuary_nights": sum(sanctuaries, lane::NIGHT),
        "sanctuary_clues": sum(sanctuaries, lane::CLUE),
        "sanctuary_wonders": named(sanctuaries, &WONDERS, 0),
        "sanctuary_quests": quests(sanctuaries),
    });
    match counts {
        Value::Object(counts) => counts,
        _ => Map::new(),
    }
}

fn same_counts(stated: &Map<String, Value>, counted: &Map<String, Value>) -> Result<(), CatalogueError> {
    for name in stated.keys().chain(counted.keys()) {
        let [says, has] = [stated, counted].map(|counts| counts.get(name).cloned().unwrap_or_default());
        if says != has {
            return Err(CatalogueError::new(
                format!("counts.{name}"),
                format!("is {says}, but the rows have {has}"),
            ));
        }
    }
    Ok(())
}

fn table(name: &'static str, id: &str, cards: &[Card]) -> Table {
    let needs = WONDERS.map(|wonder| format!("needs_{wonder}"));
    let pays = LANES.map(|symbol| format!("per_{symbol}"));
    let columns = std::iter::once(id.to_owned())
        .chain(LANES.map(str::to_owned))
        .chain(needs)
        .chain(["flat".to_owned()])
        .chain(pays)
        .chain(["per_biome_set".to_owned()])
        .collect();
    let row = |card: &Card| {
        let quest = &card.quest;
        let parts: [&[u8]; 6] =
            [&[card.id], &card.symbols, &card.prerequisite, &[quest.flat], &quest.per, &[quest.per_set]];
        parts.concat().into_iter().map(i16::from).collect()
    };
    Table::new(name, columns, cards.iter().map(row).collect())
}

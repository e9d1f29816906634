//! The rows of the catalogue's JSON, and their conversion to cards.

use boardwire_kernel::catalogue::{BoundedU8, CatalogueResult, check_equals, check_range, refuse};
use serde::{Deserialize, Deserializer};

use super::card::{Card, KINDS, Kind, Quest, Symbol, Symbols};

/// The sections that the code reads. Other sections are for people.
#[derive(Deserialize)]
pub(super) struct File {
    pub(super) schema_version: u32,
    pub(super) provenance: String,
    pub(super) regions: Vec<RegionRow>,
    pub(super) sanctuaries: Vec<SanctuaryRow>,
}

/// The biome names in the JSON, each with its symbol.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Biome {
    River = Symbol::River as isize,
    City = Symbol::City as isize,
    Forest = Symbol::Forest as isize,
    Desert = Symbol::Desert as isize,
}

/// The wonder names in the JSON, each with its symbol.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Wonder {
    Stone = Symbol::Stone as isize,
    Chimera = Symbol::Chimera as isize,
    Thistle = Symbol::Thistle as isize,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Time {
    Day,
    Night,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WonderCounts {
    stone: BoundedU8<0, 5>,
    chimera: BoundedU8<0, 5>,
    thistle: BoundedU8<0, 5>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegionRow {
    duration: u8,
    biome: Biome,
    time: Time,
    // A deal is at most 1 + 8 + 6 sanctuaries. Observations and records depend on at most one clue for each card.
    clues: BoundedU8<0, 1>,
    wonders: WonderCounts,
    prerequisite: Option<WonderCounts>,
    quest: QuestRow,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SanctuaryRow {
    id: u8,
    #[serde(deserialize_with = "present")]
    biome: Option<Biome>,
    night: bool,
    clues: BoundedU8<0, 1>,
    wonders: WonderCounts,
    quest: QuestRow,
}

/// A quest with the fields of all kinds. Each kind uses its own fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestRow {
    kind: Kind,
    points: Option<BoundedU8<1, 60>>,
    wonder: Option<Wonder>,
    biomes: Option<Vec<Biome>>,
}

/// Reads a field that may be null but must be present.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Biome>, D::Error> {
    Option::deserialize(deserializer)
}

impl WonderCounts {
    fn counts(&self) -> [u8; 3] {
        [self.stone.get(), self.chimera.get(), self.thistle.get()]
    }
}

/// Reads the rows of a section. Puts a blank card first, so ids are indices.
pub(super) fn cards<R>(
    section: &str,
    rows: &[R],
    count: u8,
    card: impl Fn(&R, &str) -> CatalogueResult<(&'static str, Card)>,
) -> CatalogueResult<Vec<Card>> {
    check_equals(format!("{section} (length)"), rows.len(), count.into())?;
    let mut cards = vec![Card::default()];
    for (id, row) in (1..=count).zip(rows) {
        let place = format!("{section}[{}]", id - 1);
        let (field, card) = card(row, &place)?;
        check_equals(format!("{place}.{field}"), card.id, id)?;
        cards.push(card);
    }
    Ok(cards)
}

impl RegionRow {
    pub(super) fn card(&self, place: &str) -> CatalogueResult<(&'static str, Card)> {
        let biome = Some(self.biome);
        let symbols = symbols(biome, self.time == Time::Night, self.clues.get(), &self.wonders);
        let prerequisite = self.prerequisite.as_ref().map_or([0; 3], WonderCounts::counts);
        if self.prerequisite.is_some() && prerequisite == [0; 3] {
            return refuse(format!("{place}.prerequisite"), "asks for no wonder; leave it out");
        }
        Ok(("duration", Card { id: self.duration, symbols, prerequisite, quest: self.quest.read(place)? }))
    }
}

impl SanctuaryRow {
    pub(super) fn card(&self, place: &str) -> CatalogueResult<(&'static str, Card)> {
        let symbols = symbols(self.biome, self.night, self.clues.get(), &self.wonders);
        Ok(("id", Card { id: self.id, symbols, prerequisite: [0; 3], quest: self.quest.read(place)? }))
    }
}

fn symbols(biome: Option<Biome>, night: bool, clues: u8, wonders: &WonderCounts) -> Symbols {
    let mut symbols = Symbols::default();
    symbols.0[..3].copy_from_slice(&wonders.counts());
    symbols[Symbol::Clue] = clues;
    symbols[Symbol::Night] = night.into();
    if let Some(biome) = biome {
        symbols.0[biome as usize] = 1;
    }
    symbols
}

impl QuestRow {
    fn read(&self, place: &str) -> CatalogueResult<Quest> {
        let mut quest = Quest { kind: self.kind, ..Quest::default() };
        let points = self.points.map(BoundedU8::get);
        match (self.kind, points, self.wonder, &self.biomes) {
            (Kind::None, None, None, None) => {}
            (Kind::Flat, Some(points), None, None) => quest.flat = points,
            (Kind::PerWonder, Some(points), Some(wonder), None) => quest.per.0[wonder as usize] = points,
            (Kind::PerClue, Some(points), None, None) => quest.per[Symbol::Clue] = points,
            (Kind::PerNight, Some(points), None, None) => quest.per[Symbol::Night] = points,
            (Kind::PerBiome, Some(points), None, Some(biomes)) => {
                let place = format!("{place}.quest.biomes");
                check_range(format!("{place} (length)"), biomes.len(), 1, 2)?;
                for biome in biomes {
                    let per = &mut quest.per.0[*biome as usize];
                    if *per > 0 {
                        return refuse(place, "names a biome twice");
                    }
                    *per = points;
                }
            }
            (Kind::PerBiomeSet, Some(points), None, None) => quest.per_set = points,
            (kind, ..) => {
                let word = KINDS[kind as usize];
                let fields = match kind {
                    Kind::None => "no further field",
                    Kind::PerWonder => "points and a wonder",
                    Kind::PerBiome => "points and biomes",
                    Kind::Flat | Kind::PerClue | Kind::PerNight | Kind::PerBiomeSet => "points",
                };
                return refuse(format!("{place}.quest"), format!("a quest `{word}` has {fields}"));
            }
        }
        Ok(quest)
    }
}

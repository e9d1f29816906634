//! The catalogue: every biome, Entity and stop, read from JSON and validated.

mod biomes;
mod effects;
mod pieces;
mod rows;
mod tables;
mod track;

use boardwire_kernel::catalogue::{CatalogueResult, read, require};
use boardwire_kernel::{Components, Provenance};

pub use pieces::Per;
pub(super) use pieces::{
    ANIMALS, Ability, Biome, CELL_NAMES, Effect, Entity, LINE_NAMES, LINES, Side, Stop, Symbols, TYPES,
    number,
};
pub(super) use tables::tables;

use super::estimate::EstimateTables;
use super::state::{BiomeId, ByBiome, CARD_COUNT, CELL_COUNT, CellSet, EntityId};

/// The number of biome cards of one Age.
pub(super) const CARDS_PER_AGE: u8 = CARD_COUNT / 2;
/// The number of all biomes: the cards, and the printed cells of both sides.
pub(super) const BIOME_COUNT: u8 = CARD_COUNT + 2 * CELL_COUNT;
/// The number of Entities.
pub(super) const ENTITY_COUNT: u8 = 7;
/// The number of stops of the Avatar.
pub(super) const STOP_COUNT: u8 = 16;
/// The upper limit for the crystals and for the points of a seat.
pub(super) const MAX_TOTAL: u16 = 30_000;

/// Returns the biome printed on a cell of side A (`side` 0) or B (1).
pub(super) const fn printed_biome(side: u8, cell: u8) -> BiomeId {
    BiomeId::new(CARD_COUNT + 1 + side * CELL_COUNT + cell)
}

/// The printed components of Rauha.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub(super) biomes: ByBiome<Biome>,
    /// The code of each card in texts and labels, C1 to C80, in the order of their ids.
    codes: Vec<String>,
    /// A text of each biome's symbols and effect, in the order of their ids. They are stored because texts use them often.
    descriptions: Vec<String>,
    /// The Entities, in the order of their ids.
    pub(super) entities: Vec<Entity>,
    /// The abilities of the Entities, by id; id 0 means no Entity.
    pub(super) abilities: [Ability; 1 + ENTITY_COUNT as usize],
    /// The stops of the Avatar, in order.
    pub(super) track: [Stop; STOP_COUNT as usize],
    /// The points for having 0, 1, ... 5 Water Sources more than the seat with the fewest.
    pub(super) water: [u8; 6],
    /// The crystals of a seat at the start.
    pub(super) start: u8,
    /// The crystals for a discarded card.
    pub(super) discard: u8,
    provenance: String,
    pub(super) estimate_tables: EstimateTables,
}

impl Components for Catalogue {
    fn read(json: &str) -> CatalogueResult<Self> {
        let file: rows::File = read(json)?;
        let entities = biomes::entities(&file.entities)?;
        let biomes = biomes::biomes(&file, &entities)?;
        let track = track::track(&file.track)?;
        let mut abilities = [Effect::None.into(); 1 + ENTITY_COUNT as usize];
        for (ability, entity) in abilities[1..].iter_mut().zip(&entities) {
            *ability = entity.effect.into();
        }
        let catalogue = Self {
            estimate_tables: EstimateTables::new(&biomes, &abilities, &track),
            descriptions: biomes.up_to(BIOME_COUNT).iter().map(Biome::to_string).collect(),
            biomes,
            codes: (1..=CARD_COUNT).map(|card| format!("C{card}")).collect(),
            entities,
            abilities,
            track,
            water: track::water_points(&file.water_scoring)?,
            start: file.setup.crystals.get(),
            discard: file.discard.crystals.get(),
            provenance: file.provenance,
        };
        let maximum = catalogue.most_points().max(catalogue.most_crystals());
        require(maximum <= MAX_TOTAL.into(), "biomes", || {
            format!("the effects are so large that a total could exceed {MAX_TOTAL}")
        })?;
        Ok(catalogue)
    }

    fn provenance(&self) -> Vec<Provenance> {
        ["track", "water_scoring", "entities", "boards", "biomes"]
            .into_iter()
            .map(|section| Provenance { section: section.into(), source: self.provenance.clone() })
            .collect()
    }
}

impl Catalogue {
    /// Returns the code of a card.
    pub(super) fn code(&self, card: BiomeId) -> &str {
        &self.codes[card.index() - 1]
    }

    /// Returns the codes of all cards.
    pub(super) fn codes(&self) -> &[String] {
        &self.codes
    }

    /// Returns the text of a biome's symbols and effect.
    pub(super) fn description(&self, id: BiomeId) -> &str {
        &self.descriptions[id.index() - 1]
    }

    pub(super) fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.index() - 1]
    }

    /// Returns an upper bound for the crystals of a seat.
    pub(super) fn most_crystals(&self) -> u32 {
        let gain = |effect| if let Effect::Gain(crystals) = effect { u32::from(crystals) } else { 0 };
        u32::from(self.start) + 12 * u32::from(self.discard) + self.most_of_activations(gain)
    }

    /// Returns an upper bound for the points of a seat.
    pub(super) fn most_points(&self) -> u32 {
        let water = self.water.iter().max().copied().unwrap_or(0);
        self.most_of_activations(|effect| self.most_points_of(effect)) + 4 * u32::from(water)
    }

    /// Returns the maximum that all activations of a game can give: 12 turns of three cells, 4 scorings of nine, and
    /// Entities.
    fn most_of_activations(&self, maximum: impl Fn(Effect) -> u32) -> u32 {
        let cell = self
            .biomes
            .up_to(BIOME_COUNT)
            .iter()
            .map(|biome| maximum(biome.ability.effect))
            .max()
            .unwrap_or(0);
        let entities: u32 = self.entities.iter().map(|entity| maximum(entity.effect)).sum();
        12 * (3 * cell + entities) + 4 * (9 * cell + entities)
    }

    /// Returns the maximum number of points that one activation of an effect can give.
    fn most_points_of(&self, effect: Effect) -> u32 {
        match effect {
            Effect::None | Effect::Gain(_) | Effect::BuySpore { .. } | Effect::Water(_) => 0,
            Effect::Score(points) | Effect::BuyPoints { points, .. } => points.into(),
            Effect::PointsPer(per, points) => {
                let things = match per {
                    Per::Flying | Per::Land | Per::Marine | Per::BestAnimal => {
                        self.on_all_cells(|biome| biome.symbols.animals().into_iter().max().unwrap_or(0))
                    }
                    Per::Spore => CELL_COUNT.into(),
                    Per::Water => self.most_water(),
                };
                things * u32::from(points)
            }
        }
    }

    /// Returns an upper bound for the Water Sources of a seat.
    pub(super) fn most_water(&self) -> u32 {
        let held = self.entities.iter().map(|entity| u32::from(entity.effect.water())).sum::<u32>();
        self.on_all_cells(|biome| biome.symbols.water()) + held
    }

    /// Returns the maximum number of symbols that nine biomes can show.
    fn on_all_cells(&self, shown: impl Fn(&Biome) -> u8) -> u32 {
        u32::from(CELL_COUNT) * u32::from(self.biomes.up_to(BIOME_COUNT).iter().map(shown).max().unwrap_or(0))
    }
}

/// Reads a list of different cells.
fn cell_set(place: &str, cells: &[rows::Cell]) -> CatalogueResult<CellSet> {
    let mut set = CellSet::EMPTY;
    for (index, cell) in cells.iter().enumerate() {
        require(!set.contains(cell.get()), format!("{place}[{index}]"), || {
            format!("cell {} is there twice", cell.get())
        })?;
        set.insert(cell.get());
    }
    require(!set.is_empty(), place, || "no cell at all".into())?;
    Ok(set)
}

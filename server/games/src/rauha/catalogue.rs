//! The catalogue: every biome, Entity and stop, read from JSON and believed only when it can be.

mod biomes;
mod check;
mod effects;
mod rows;
mod track;

use boardwire_kernel::{CatalogueError, Provenance};

use super::pieces::{BIOMES, Biome, CELLS, Effect, Per, STOPS, Stop, Symbol};
use check::{Checked, exactly, refuse, within};

/// The printed components of Rauha.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// By id; 0 is the none.
    pub(super) biomes: [Biome; BIOMES],
    /// A readable code of each biome, by id.
    pub(super) codes: Vec<String>,
    /// The Entities, by number.
    pub(super) entities: Vec<Entity>,
    /// The stops of the Avatar, in order.
    pub(super) track: [Stop; STOPS as usize],
    /// Points for having 0, 1, ... 5 Water Sources more than the fewest.
    pub(super) water: [u8; 6],
    /// Crystals a seat begins with.
    pub(super) start: u8,
    /// Crystals for a discarded card.
    pub(super) discard: u8,
    provenance: String,
}

/// A Divine Entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entity {
    /// The key in cases and records: `kiteet`.
    pub(super) key: String,
    /// The name on the tile.
    pub(super) name: String,
    /// What must fill a row or a column.
    pub(super) called_by: Symbol,
    /// What activating it does.
    pub(super) effect: Effect,
}

impl Catalogue {
    /// Reads and validates the JSON.
    pub(super) fn read(json: &str) -> Checked<Self> {
        let file: rows::File = serde_json::from_str(json).map_err(|error| {
            let place = format!("line {} column {}", error.line(), error.column());
            CatalogueError::new(place, error.to_string())
        })?;
        exactly("schema_version", file.schema_version, 1)?;
        track::check_frame(&file)?;
        let entities = biomes::entities(&file.entities)?;
        let (biomes, codes) = biomes::biomes(&file, &entities)?;
        let catalogue = Self {
            biomes,
            codes,
            entities,
            track: track::track(&file.track)?,
            water: track::water_points(&file.water_scoring)?,
            start: within("setup.crystals", file.setup.crystals, 0..=99)?,
            discard: within("discard.crystals", file.discard.crystals, 0..=20)?,
            provenance: file.provenance,
        };
        if catalogue.most_points().max(catalogue.most_crystals()) > 30_000 {
            return refuse("biomes", "the effects are so large that a total could exceed 30000");
        }
        Ok(catalogue)
    }

    /// Where the values were read, section by section.
    pub(super) fn provenance(&self) -> Vec<Provenance> {
        ["track", "water_scoring", "entities", "boards", "biomes"]
            .into_iter()
            .map(|section| Provenance { section: section.into(), source: self.provenance.clone() })
            .collect()
    }

    /// More crystals than any seat can ever hold.
    pub(super) fn most_crystals(&self) -> u32 {
        let gain = |effect| match effect {
            Effect::Gain(crystals) => u32::from(crystals),
            _ => 0,
        };
        let cell = self.biomes.iter().map(|biome| gain(biome.effect)).max();
        let entities = self.entities.iter().map(|entity| gain(entity.effect)).sum();
        let discards = 12 * u32::from(self.discard);
        u32::from(self.start) + discards + activations(cell.unwrap_or(0), entities)
    }

    /// More points than any seat can ever have.
    pub(super) fn most_points(&self) -> u32 {
        let cell = self.biomes.iter().map(|biome| self.most(biome.effect)).max();
        let entities = self.entities.iter().map(|entity| self.most(entity.effect)).sum();
        let water = self.water.iter().max().copied().unwrap_or(0);
        activations(cell.unwrap_or(0), entities) + 4 * u32::from(water)
    }

    /// The most points one activation of an effect can give.
    fn most(&self, effect: Effect) -> u32 {
        let most_of = |what: &dyn Fn(&Biome) -> u8| {
            let most = self.biomes.iter().map(what).max().unwrap_or(0);
            u32::from(CELLS) * u32::from(most)
        };
        match effect {
            Effect::None | Effect::Gain(_) | Effect::BuySpore { .. } | Effect::Water(_) => 0,
            Effect::Score(points) | Effect::BuyPoints { points, .. } => points.into(),
            Effect::PointsPer(per, points) => {
                let things = match per {
                    Per::Animal(_) | Per::BestAnimal => {
                        most_of(&|biome| biome.animals.iter().copied().max().unwrap_or(0))
                    }
                    Per::Spore => CELLS.into(),
                    Per::Water => self.most_water(),
                };
                things * u32::from(points)
            }
        }
    }

    /// More Water Sources than any seat can have.
    pub(super) fn most_water(&self) -> u32 {
        let held = |entity: &Entity| match entity.effect {
            Effect::Water(sources) => u32::from(sources),
            _ => 0,
        };
        let printed = self.biomes.iter().map(|biome| biome.water).max().unwrap_or(0);
        u32::from(CELLS) * u32::from(printed) + self.entities.iter().map(held).sum::<u32>()
    }
}

/// The yield of all activations of a game: 12 turns with three cells each, 4 scorings with nine.
fn activations(cell: u32, entities: u32) -> u32 {
    12 * (3 * cell + entities) + 4 * (9 * cell + entities)
}

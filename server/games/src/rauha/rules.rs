//! The facts of one table that the rules need at every ply, flat and small.

use boardwire_kernel::BitSet;

use super::catalogue::Catalogue;
use super::pieces::{BIOMES, Biome, CARDS_OF_AGE, CELLS, ENTITIES, Effect, STOPS, Stop, printed};

/// Seats, board side and catalogue, without the words.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) seats: u8,
    /// The biomes, by id.
    pub(super) biomes: [Biome; BIOMES],
    /// The effects of the Entities.
    pub(super) entities: [Effect; ENTITIES as usize],
    /// The stops of the Avatar.
    pub(super) track: [Stop; STOPS as usize],
    /// Points for a difference of Water Sources.
    pub(super) water: [u8; 6],
    /// The cells printed on the side played with.
    pub(super) printed: [u8; CELLS as usize],
    /// The cards of each Age.
    pub(super) ages: [BitSet<2>; 2],
    /// Crystals a seat begins with.
    pub(super) start: u16,
    /// Crystals for a discarded card.
    pub(super) discard: u16,
    /// More crystals than a seat can ever hold.
    pub(super) most_crystals: u16,
    /// More points than a seat can ever have.
    pub(super) most_points: u16,
}

impl Rules {
    /// The rules for so many seats on side A (0) or B (1).
    pub(super) fn new(catalogue: &Catalogue, seats: u8, side: u8) -> Self {
        let cards = |age: u8| (CARDS_OF_AGE * age + 1..=CARDS_OF_AGE * (age + 1)).collect();
        let small = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        Self {
            seats,
            biomes: catalogue.biomes,
            entities: std::array::from_fn(|number| catalogue.entities[number].effect),
            track: catalogue.track,
            water: catalogue.water,
            printed: [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|cell| printed(side, cell)),
            ages: [cards(0), cards(1)],
            start: catalogue.start.into(),
            discard: catalogue.discard.into(),
            most_crystals: small(catalogue.most_crystals()),
            most_points: small(catalogue.most_points()),
        }
    }
}

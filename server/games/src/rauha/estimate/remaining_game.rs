//! The rest of the game after each stop: its activations, and the value of effects then. Computed when the catalogue is
//! read.

use std::sync::Arc;

use super::calls::ByEntity;
use crate::rauha::catalogue::{Ability, BIOME_COUNT, Biome, ENTITY_COUNT, Effect, Per, Stop};
use crate::rauha::state::{Board, ByBiome, CELL_COUNT, CellSet};

/// One point of Life Energy, in units of the estimate.
const POINT: i32 = 100;

/// The value of a crystal, by the number of turns that remain.
const CRYSTAL: [i32; 13] = [0, 12, 22, 30, 36, 40, 42, 44, 46, 48, 50, 50, 50];

/// The catalogue data that estimates need.
#[derive(Debug, Clone)]
pub(in crate::rauha) struct EstimateTables {
    /// The rest of the game, by the number of stops that are over.
    pub(super) remaining_games: Arc<[RemainingGame]>,
    /// The Entities that each biome calls.
    pub(super) calls: ByBiome<ByEntity>,
}

/// The remaining activations after a number of stops, and the value of effects then.
#[derive(Debug)]
pub(super) struct RemainingGame {
    /// The number of future line activations of each cell.
    pub(super) lines: [i32; CELL_COUNT as usize],
    /// The expected number of future activations of each cell, in quarters: without and with a Spore.
    pub(super) times: [[i32; CELL_COUNT as usize]; 2],
    pub(super) scorings: i32,
    turns: i32,
    /// The value of a crystal.
    crystal: i32,
    /// The value of one activation of each biome.
    pub(super) biomes: ByBiome<ActivationValue>,
    /// The same for Entities, by id.
    pub(super) entities: [ActivationValue; 1 + ENTITY_COUNT as usize],
    /// The remaining value of a biome on a cell if the value of an activation is fixed, or [`DEPENDS_ON_BOARD`]:
    /// without and with a Spore.
    fixed: [[ByBiome<i16>; CELL_COUNT as usize]; 2],
}

/// Marks a value that depends on the board.
const DEPENDS_ON_BOARD: i16 = i16::MIN;

/// Returns the expected activations in quarters. A future effect may be covered, or skipped for lack of crystals.
pub(super) const fn quarters(times: i32) -> i32 {
    if times > 0 { 3 * times + 1 } else { 0 }
}

impl EstimateTables {
    pub(in crate::rauha) fn new(
        biomes: &ByBiome<Biome>,
        abilities: &[Ability; 1 + ENTITY_COUNT as usize],
        track: &[Stop],
    ) -> Self {
        let remaining = |stops_over: usize| RemainingGame::new(biomes, abilities, &track[stops_over..]);
        let calls = biomes.up_to(BIOME_COUNT).iter().map(|biome| ByEntity::flags(biome.calls));
        Self {
            remaining_games: (0..=track.len()).map(remaining).collect(),
            calls: ByBiome::new(calls, ByEntity::NONE),
        }
    }
}

impl RemainingGame {
    /// Computes the remaining activations at these stops.
    fn new(
        biomes: &ByBiome<Biome>,
        abilities: &[Ability; 1 + ENTITY_COUNT as usize],
        stops: &[Stop],
    ) -> Self {
        let count = |is_counted: &dyn Fn(&Stop) -> bool| {
            i32::try_from(stops.iter().filter(|stop| is_counted(stop)).count()).expect("sixteen stops")
        };
        let (scorings, turns) = (count(&|stop| stop.is_scoring()), count(&|stop| !stop.is_scoring()));
        let crystal = CRYSTAL[usize::try_from(turns).expect("a number of turns")];
        let crystal = if scorings > 0 { crystal.max(5) } else { 0 };
        let mut lines = [0; CELL_COUNT as usize];
        for (cell, lines) in (0..CELL_COUNT).zip(&mut lines) {
            *lines = count(&|stop| stop.line.contains(cell));
        }
        let biome_values =
            biomes.up_to(BIOME_COUNT).iter().map(|biome| ActivationValue::new(biome.ability.effect, crystal));
        let biome_values = ByBiome::new(biome_values, ActivationValue::NONE);
        let times = [0, scorings].map(|scorings| lines.map(|lines| quarters(lines + scorings)));
        let fixed = |times: i32| {
            let values = biome_values.up_to(BIOME_COUNT).iter().map(|biome| match biome.fixed() {
                Some(units) => i16::try_from(times * units / 4).expect("at most 49 quarters of 20 points"),
                None => DEPENDS_ON_BOARD,
            });
            ByBiome::new(values, 0)
        };
        Self {
            lines,
            times,
            scorings,
            turns,
            crystal,
            biomes: biome_values,
            entities: abilities.map(|ability| ActivationValue::new(ability.effect, crystal)),
            fixed: times.map(|times| times.map(fixed)),
        }
    }

    /// Returns the value of a board without its activations.
    #[inline]
    pub(super) fn static_value(
        &self,
        points: u16,
        crystals: u16,
        counted: &Counted,
        line_potential: i32,
    ) -> i32 {
        let water = counted[Per::Water as usize].min(9) * self.scorings * POINT * 3 / 4;
        let spores = counted[Per::Spore as usize] * self.scorings * 4;
        let crystals = i32::from(crystals).min(30) * self.crystal;
        POINT * i32::from(points) + crystals + spores + water + line_potential * self.turns
    }

    /// Returns the remaining value of the biomes with fixed values, and the cells with other biomes.
    #[inline]
    pub(super) fn fixed_value(&self, board: &Board) -> (i32, CellSet) {
        let (mut value, mut varying) = (0, CellSet::EMPTY);
        for cell in 0..CELL_COUNT {
            let fixed = &self.fixed[usize::from(board.spores.contains(cell))];
            match fixed[usize::from(cell)][board.at(cell)] {
                DEPENDS_ON_BOARD => varying.insert(cell),
                fixed => value += i32::from(fixed),
            }
        }
        (value, varying)
    }

    /// Returns the remaining value of the Entities held, for a seat that is not activating now.
    pub(super) fn entities_value(&self, held: ByEntity, crystals: u16, counted: &Counted) -> i32 {
        held.iter().map(|entity| 3 * self.scorings * self.entities[entity].on(crystals, counted) / 4).sum()
    }
}

/// The value of one activation in units: a fixed value, plus a value for each thing counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActivationValue {
    /// The cost in crystals.
    cost: u8,
    /// The thing counted, as an index into [`Counted`].
    counted: u8,
    /// The units for each thing counted; 0 for a fixed value.
    pub(super) each: i16,
    /// The fixed value for a board that has the crystals.
    affordable: i16,
    /// The assumed fixed value for a board that lacks the crystals.
    unaffordable: i16,
}

/// The number of each thing that effects count on a board, by [`Per`]. The last two entries are 0.
pub(super) type Counted = [i32; 8];

impl ActivationValue {
    const NONE: Self = Self { cost: 0, counted: 7, each: 0, affordable: 0, unaffordable: 0 };

    /// Computes the value of an effect; `crystal` is the value of a crystal.
    fn new(effect: Effect, crystal: i32) -> Self {
        let to_i16 = |units| i16::try_from(units).expect("the numbers of an effect are at most 20");
        let fixed = |units| Self { affordable: to_i16(units), unaffordable: to_i16(units), ..Self::NONE };
        match effect {
            Effect::None | Effect::Water(_) => Self::NONE,
            Effect::Gain(crystals) => fixed(i32::from(crystals) * crystal),
            Effect::Score(points) => fixed(i32::from(points) * POINT),
            Effect::PointsPer(per, points) => {
                Self { counted: per as u8, each: to_i16(i32::from(points) * POINT), ..Self::NONE }
            }
            Effect::BuyPoints { cost, points } => {
                let gain = i32::from(points) * POINT - i32::from(cost) * crystal;
                Self { cost, affordable: to_i16(gain), unaffordable: to_i16(gain / 2), ..Self::NONE }
            }
            Effect::BuySpore { cost } => fixed((2 * POINT - i32::from(cost) * crystal).max(0)),
        }
    }

    /// Returns the value if it is the same for every board.
    fn fixed(self) -> Option<i32> {
        (self.cost == 0 && self.each == 0).then_some(self.affordable.into())
    }

    /// Returns the value for a board with these crystals and counts.
    #[inline]
    pub(super) fn on(self, crystals: u16, counted: &Counted) -> i32 {
        let is_affordable = crystals >= u16::from(self.cost);
        let fixed = if is_affordable { self.affordable } else { self.unaffordable };
        i32::from(fixed) + i32::from(self.each) * counted[usize::from(self.counted & 7)]
    }
}

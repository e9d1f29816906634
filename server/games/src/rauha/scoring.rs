//! Effects of activations, Water Sources, and the result of the game.

use boardwire_kernel::{Outcome, ScoreLine, Scoring, Seat};

use super::Rauha;
use super::catalogue::{Ability, Biome, Effect, Per, Symbols};
use super::state::{BiomeId, Board, EntityId, MAX_SEATS, Phase, Source, State};

impl Scoring for Rauha {
    fn outcome(&self, state: &State) -> Option<Outcome> {
        if state.phase != Phase::Over {
            return None;
        }
        let scores = state.boards.all().map(|board| i32::from(board.points()));
        let seats = usize::from(self.seats);
        Some(Outcome::ranked(&scores[..seats], &[0; MAX_SEATS][..seats]))
    }

    fn explain(&self, state: &State, seat: Seat) -> Vec<ScoreLine> {
        ["biomes in turns", "Spores in scorings", "Entities", "Water Sources"]
            .into_iter()
            .zip(state.boards[seat].gained)
            .map(|(source, points)| ScoreLine { source: source.into(), points: points.into() })
            .collect()
    }
}

impl Rauha {
    #[inline]
    pub(super) fn biome(&self, id: BiomeId) -> &Biome {
        &self.catalogue.components.biomes[id]
    }

    #[inline]
    pub(super) fn ability_of(&self, entity: EntityId) -> Ability {
        self.catalogue.components.abilities[entity.index()]
    }

    /// Performs an effect. The seat must meet its cost.
    pub(super) fn perform(&self, state: &mut State, seat: Seat, effect: Effect, source: Source) {
        let board = &mut state.boards[seat];
        let points = self.points_of(board, effect);
        board.crystals = effect.crystals_after(board.crystals);
        if matches!(effect, Effect::BuySpore { .. }) {
            state.phase = Phase::Spore;
        }
        state.gain(seat, source, points);
    }

    /// Returns the points that an effect gives on a board now.
    pub(super) fn points_of(&self, board: &Board, effect: Effect) -> u16 {
        match effect {
            Effect::None | Effect::Water(_) | Effect::Gain(_) | Effect::BuySpore { .. } => 0,
            Effect::Score(points) | Effect::BuyPoints { points, .. } => points.into(),
            Effect::PointsPer(per, points) => self.count(board, per) * u16::from(points),
        }
    }

    /// Returns the sum of the symbols on a board.
    #[inline]
    pub(super) fn symbols(&self, board: &Board) -> Symbols {
        Symbols::sum(board.cells.iter().map(|&id| self.biome(id).symbols))
    }

    /// Counts what a `points_per` effect names on a board.
    #[must_use]
    pub fn count(&self, board: &Board, per: Per) -> u16 {
        let animals = || self.symbols(board).animals();
        match per {
            Per::Flying | Per::Land | Per::Marine => animals()[per as usize].into(),
            Per::BestAnimal => animals().into_iter().fold(0, u8::max).into(),
            Per::Spore => u16::try_from(board.spores.len()).expect("nine cells"),
            Per::Water => self.water(board).into(),
        }
    }

    /// Returns the Water Sources of a board, including those of its Entities.
    #[must_use]
    #[inline]
    pub fn water(&self, board: &Board) -> u8 {
        let held = board.entities.iter().map(|entity| self.ability_of(EntityId::new(entity)).effect.water());
        self.symbols(board).water() + held.sum::<u8>()
    }

    /// Returns the points that `seat` gains for its Water Sources in a scoring.
    #[must_use]
    pub fn water_points(&self, state: &State, seat: Seat) -> u16 {
        let own = self.water(&state.boards[seat]);
        let fewest = state.boards.of(self.seats).iter().fold(own, |few, board| few.min(self.water(board)));
        self.catalogue.components.water[usize::from(own - fewest).min(5)].into()
    }
}

//! Activations, Water Sources, the leader, and the end.

use boardwire_kernel::{Outcome, ScoreLine, Seat};

use super::Rules;
use super::pieces::{Effect, Per, members};
use super::state::{Board, Phase, Source, State};
use super::turn::free;

impl Rules {
    /// The cells and Entities that take part in the acting seat's activation and are still unused.
    pub(super) fn in_play(&self, state: &State) -> (u16, u8) {
        if state.phase != Phase::Activate && state.phase != Phase::Spore {
            return (0, 0);
        }
        let board = &state.boards[self.actor(state).index()];
        let (cells, entities) = if state.is_scoring() {
            (board.spores, board.entities)
        } else {
            (self.stop(state).line, state.fresh)
        };
        (cells & !state.used_cells, entities & !state.used_entities)
    }

    /// The cells and Entities the acting seat may activate now.
    pub(super) fn activatable(&self, state: &State) -> (u16, u8) {
        let (cells, entities) = self.in_play(state);
        let board = &state.boards[self.actor(state).index()];
        self.possible(board, cells, entities)
    }

    /// Those of some cells and Entities whose effect can happen on this board now.
    pub(super) fn possible(&self, board: &Board, cells: u16, entities: u8) -> (u16, u8) {
        let cells = members(cells)
            .filter(|&cell| can(self.biomes[usize::from(board.cells[usize::from(cell)])].effect, board))
            .fold(0, |mask, cell| mask | 1 << cell);
        let entities = members(entities.into())
            .filter(|&entity| can(self.entities[usize::from(entity)], board))
            .fold(0, |mask, entity| mask | 1 << entity);
        (cells, entities)
    }

    /// Does what an effect says, for a seat that can.
    pub(super) fn perform(&self, state: &mut State, seat: Seat, effect: Effect, source: Source) {
        let board = &mut state.boards[seat.index()];
        let points = match effect {
            Effect::None | Effect::Water(_) => 0,
            Effect::Gain(crystals) => {
                board.crystals += u16::from(crystals);
                0
            }
            Effect::Score(points) => points.into(),
            Effect::PointsPer(per, points) => self.count(board, per) * u16::from(points),
            Effect::BuyPoints { cost, points } => {
                board.crystals -= u16::from(cost);
                points.into()
            }
            Effect::BuySpore { cost } => {
                board.crystals -= u16::from(cost);
                state.phase = Phase::Spore;
                0
            }
        };
        state.gain(seat, source, points);
    }

    /// How many of what a `points_per` effect names are on a board.
    pub(super) fn count(&self, board: &Board, per: Per) -> u16 {
        match per {
            Per::Animal(kind) => self.animals(board, kind),
            Per::BestAnimal => (0..3).map(|kind| self.animals(board, kind)).max().unwrap_or(0),
            Per::Spore => u16::try_from(board.spores.count_ones()).unwrap_or(0),
            Per::Water => self.sources(board),
        }
    }

    fn animals(&self, board: &Board, kind: u8) -> u16 {
        let shown = |&id: &u8| u16::from(self.biomes[usize::from(id)].animals[usize::from(kind)]);
        board.cells.iter().map(shown).sum()
    }

    /// The Water Sources of a board, those of its Entities included.
    pub(super) fn sources(&self, board: &Board) -> u16 {
        let printed: u16 = board.cells.iter().map(|&id| u16::from(self.biomes[usize::from(id)].water)).sum();
        let held: u16 = members(board.entities.into())
            .map(|entity| match self.entities[usize::from(entity)] {
                Effect::Water(sources) => u16::from(sources),
                _ => 0,
            })
            .sum();
        printed + held
    }

    /// What the Water Sources of `seat` give in a scoring.
    pub(super) fn water_points(&self, state: &State, seat: Seat) -> u16 {
        let boards = &state.boards[..usize::from(self.seats)];
        let own = self.sources(&boards[seat.index()]);
        let fewest = boards.iter().map(|board| self.sources(board)).min().unwrap_or(own);
        u16::from(self.water[usize::from((own - fewest).min(5))])
    }

    pub(super) fn result(&self, state: &State) -> Option<Outcome> {
        let seats = usize::from(self.seats);
        if state.phase != Phase::Over {
            return None;
        }
        let mut scores = [0; super::state::SEATS];
        for (score, board) in scores.iter_mut().zip(&state.boards) {
            *score = i32::from(board.points());
        }
        Some(Outcome::ranked(&scores[..seats], &[0; super::state::SEATS][..seats]))
    }
}

/// Whether an effect can happen on this board now.
pub(super) fn can(effect: Effect, board: &Board) -> bool {
    match effect {
        Effect::None | Effect::Water(_) => false,
        Effect::Gain(_) | Effect::Score(_) | Effect::PointsPer(..) => true,
        Effect::BuyPoints { cost, .. } => board.crystals >= u16::from(cost),
        Effect::BuySpore { cost } => board.crystals >= u16::from(cost) && free(board) != 0,
    }
}

/// Where the points of a board come from.
pub(super) fn sources_of(board: &Board) -> Vec<ScoreLine> {
    ["biomes in turns", "Spores in scorings", "Divine Entities", "Water Sources"]
        .into_iter()
        .zip(board.gained)
        .map(|(source, points)| ScoreLine { source: source.into(), points: points.into() })
        .collect()
}

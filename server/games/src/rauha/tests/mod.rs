//! Tests of Rauha. A test of a clause in `docs/rules/rauha.md` cites the clause.

mod activation;
mod catalogue;
mod draft;
mod end;
mod entities;
mod exactness;
mod histories;
mod knowledge;
mod placing;
mod play;
mod reports;
mod scoring;
mod text;

use std::sync::Arc;

use boardwire_kernel::{
    BySeat, Choices, Outcome, RandomSource, Rejection, Scoring, Seat, Turns, apply, testkit,
};

use super::Rauha;
use super::action::Action;
use super::state::{BiomeId, Board, CellSet, EntityId, Phase, State};
use super::turn::age_of;

/// A state set up by the test. Actions in it go through the kernel's `apply`.
struct TestState {
    game: Arc<Rauha>,
    state: State,
    chance: RandomSource,
}

/// The catalogue ids of the nine cells printed on side A.
const SIDE_A: [u8; 9] = [100, 101, 102, 103, 104, 105, 106, 107, 108];

fn cells(cells: &[u8]) -> CellSet {
    cells.iter().copied().collect()
}

fn id(written: u8) -> BiomeId {
    BiomeId::new(match written {
        0..=79 => written + 1,
        100..=108 => written - 100 + 81,
        _ => written - 110 + 90,
    })
}

impl TestState {
    /// Creates the state at the start of a game.
    fn opening(seats: u8, seed: u64) -> Self {
        let game: Arc<Rauha> = testkit::table(seats, &[]);
        let mut chance = RandomSource::seeded(seed, 3);
        let state = game.deal(&mut chance);
        Self { game, state, chance }
    }

    /// Creates a stop at which seat 0 leads and goes first. All boards are the printed side A; no seat keeps a card.
    fn at(seats: u8, stop: u8, phase: Phase) -> Self {
        let mut setup = Self::opening(seats, 1);
        setup.state.stop = stop;
        setup.state.phase = phase;
        setup.state.first_seat = Seat::FIRST;
        setup.state.leader = Seat::FIRST;
        setup.state.kept = BySeat::default();
        for round in 2..=setup.state.round() {
            let age = setup.game.ages[age_of(round)];
            for satellite in Seat::all(seats) {
                let pack = [(); 4].map(|()| {
                    let card = setup.state.undealt.intersection(age).lowest().expect("forty cards");
                    setup.state.undealt.remove(card);
                    BiomeId::new(card)
                });
                setup.state.packs[usize::from(round - 1)][satellite] = Some(pack);
            }
        }
        setup
    }

    /// Creates a state in which seat 0 keeps the card and must place or discard it.
    fn keeping(seats: u8, stop: u8, card: u8) -> Self {
        let mut setup = Self::at(seats, stop, Phase::UseCard);
        setup.state.kept[Seat::FIRST] = Some(id(card));
        setup
    }

    fn board(&mut self, number: u8) -> &mut Board {
        &mut self.state.boards[Seat::new(number)]
    }

    fn cells(&mut self, number: u8, cells: [u8; 9]) -> &mut Self {
        self.board(number).cells = cells.map(id);
        self
    }

    fn crystals(&mut self, number: u8, crystals: u16) -> &mut Self {
        self.board(number).crystals = crystals;
        self
    }

    fn points(&mut self, number: u8, points: u16) -> &mut Self {
        self.board(number).gained = [points, 0, 0, 0];
        self
    }

    fn spores(&mut self, number: u8, cells: &[u8]) -> &mut Self {
        self.board(number).spores = super::tests::cells(cells);
        self
    }

    fn hold(&mut self, number: u8, keys: &[&str]) -> &mut Self {
        for key in keys {
            let entity = self.entity(key);
            self.board(number).entities.insert(entity);
        }
        self
    }

    fn entity(&self, key: &str) -> EntityId {
        let entities = &self.game.catalogue.components.entities;
        let found = (1..).zip(entities).find(|(_, entity)| entity.key == key);
        EntityId::new(found.expect("an Entity").0)
    }

    /// Returns the keys of the Entities of a seat by number, which is alphabetical order.
    fn held(&self, number: u8) -> Vec<&str> {
        let held = self.state.boards[Seat::new(number)].entities.iter();
        held.map(|entity| self.game.catalogue.components.entity(EntityId::new(entity)).key.as_str()).collect()
    }

    fn is_legal(&self, number: u8, action: Action) -> bool {
        let is_legal = self.game.is_legal(&self.state, Seat::new(number), action);
        let legal = self.game.legal(&self.state, Seat::new(number));
        assert_eq!(legal.contains(action.index()), is_legal);
        is_legal
    }

    fn try_act(&mut self, number: u8, action: Action) -> Result<(), Rejection> {
        let index = action.index().into();
        apply(&*self.game, &mut self.state, Seat::new(number), index, &mut self.chance)
    }

    fn act(&mut self, number: u8, action: Action) -> &mut Self {
        let done = self.try_act(number, action);
        assert_eq!(done, Ok(()), "{action:?} of seat {number}");
        self
    }

    fn place(&mut self, number: u8, cell: u8) -> &mut Self {
        self.act(number, Action::Place { cell })
    }

    fn activate(&mut self, number: u8, cell: u8) -> &mut Self {
        self.act(number, Action::ActivateCell { cell })
    }

    fn call(&mut self, number: u8, key: &str) -> &mut Self {
        let entity = self.entity(key);
        self.act(number, Action::ActivateEntity { entity })
    }

    fn may_activate(&self, number: u8, cell: u8) -> bool {
        self.is_legal(number, Action::ActivateCell { cell })
    }

    fn may_call(&self, number: u8, key: &str) -> bool {
        let entity = self.entity(key);
        self.is_legal(number, Action::ActivateEntity { entity })
    }

    fn total(&self, number: u8) -> u16 {
        self.state.boards[Seat::new(number)].points()
    }

    fn purse(&self, number: u8) -> u16 {
        self.state.boards[Seat::new(number)].crystals
    }

    fn outcome(&self) -> Option<Outcome> {
        self.game.outcome(&self.state)
    }

    /// Every seat that has not chosen drafts the lowest card of its pack.
    fn draft_lowest(&mut self) -> &mut Self {
        for seat in self.game.pending(&self.state).iter() {
            let card = self.game.hand(&self.state, seat)[0];
            self.act(seat.number(), Action::Draft { card });
        }
        self
    }

    /// Every seat drafts its lowest card, takes crystals for it and activates nothing.
    fn idle_turn(&mut self) -> &mut Self {
        self.draft_lowest().idle_rest()
    }

    /// Every seat takes crystals for its kept card and activates nothing.
    fn idle_rest(&mut self) -> &mut Self {
        let stop = self.state.stop;
        while self.state.stop == stop {
            let acting_seat = self.game.acting_seat(&self.state).number();
            let action = match self.state.phase {
                Phase::UseCard => Action::TakeCrystals,
                _ => Action::End,
            };
            self.act(acting_seat, action);
        }
        self
    }
}

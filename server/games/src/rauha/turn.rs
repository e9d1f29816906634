//! How play goes on: a choice, then everything that follows without one.

use boardwire_kernel::{ActionSet, Chance, Seat, SeatSet};

use super::Rules;
use super::action::{self, Action};
use super::pieces::{ALL_CELLS, LINES, PACK, Side, Stop, members};
use super::state::{Board, Phase, SEATS, Source, State};

/// A step that follows without a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// The picks were taken out of the packs.
    Drafted,
    /// The acting seat had nothing left to activate.
    Ended,
    /// The Avatars stand at the next stop.
    Began,
    /// The fourth scoring is over.
    Finished,
}

/// The chance stream of the initial leader; streams 0 and 1 deal the Ages.
const LEADER_STREAM: usize = 2;

impl Rules {
    /// The stop of the Avatars.
    pub(super) fn stop(&self, state: &State) -> Stop {
        self.track[usize::from(state.stop - 1)]
    }

    /// The seat whose turn it is in steps 2 to 4 and in a scoring.
    pub(super) fn actor(&self, state: &State) -> Seat {
        Seat::new(self.wrap(state.first + state.done))
    }

    /// A seat number that may have gone once around the table, without the cost of a division.
    pub(super) fn wrap(&self, number: u8) -> u8 {
        if number < self.seats { number } else { number - self.seats }
    }

    /// All seats clockwise, beginning with `viewer`.
    pub(super) fn around(&self, viewer: Seat) -> impl Iterator<Item = Seat> + use<> {
        let (viewer, seats) = (viewer.number(), self.seats);
        (viewer..seats).chain(0..viewer).map(Seat::new)
    }

    /// The Satellite `seat` drafts from when the notch shows `side`.
    pub(super) fn satellite(seat: Seat, side: Side, seats: u8) -> usize {
        match side {
            Side::Moon if seat.number() + 1 == seats => 0,
            Side::Moon => seat.index() + 1,
            Side::Star => seat.index(),
        }
    }

    /// The seat that drafts from `satellite` when the notch shows `side`.
    pub(super) fn reader(&self, satellite: u8, side: Side) -> Seat {
        match side {
            Side::Moon => Seat::new(self.wrap(satellite + self.seats - 1)),
            Side::Star => Seat::new(satellite),
        }
    }

    /// The cards `seat` may draft now.
    pub(super) fn hand<'a>(&self, state: &'a State, seat: Seat) -> &'a [u8] {
        if state.phase != Phase::Draft {
            return &[];
        }
        let satellite = Self::satellite(seat, self.stop(state).side, self.seats);
        &state.packs[usize::from(state.round() - 1)][satellite][state.picks()..]
    }

    pub(super) fn opening(&self, chance: &mut Chance) -> State {
        let leader = u8::try_from(chance.below(LEADER_STREAM, self.seats.into())).unwrap_or(0);
        let mut state = State {
            stop: 0,
            phase: Phase::Between,
            leader,
            first: leader,
            done: 0,
            used_cells: 0,
            used_entities: 0,
            fresh: 0,
            boards: [Board::default(); SEATS],
            kept: [0; SEATS],
            packs: [[[0; PACK]; SEATS]; 4],
            undealt: self.ages[0].union(self.ages[1]),
        };
        for board in &mut state.boards[..usize::from(self.seats)] {
            board.cells = self.printed;
            board.crystals = self.start;
        }
        self.begin(&mut state, chance);
        state
    }

    /// Moves all Avatars on by one stop.
    fn begin(&self, state: &mut State, chance: &mut Chance) {
        state.stop += 1;
        state.first = state.leader;
        state.done = 0;
        state.phase = if state.is_scoring() { Phase::Activate } else { Phase::Draft };
        if state.turn() == 1 {
            self.deal_round(state, chance);
        }
    }

    fn deal_round(&self, state: &mut State, chance: &mut Chance) {
        let age = usize::from(self.stop(state).age());
        let mut deck = state.undealt.intersection(self.ages[age]);
        state.undealt = state.undealt.difference(deck);
        let round = usize::from(state.round() - 1);
        for pack in &mut state.packs[round][..usize::from(self.seats)] {
            for card in pack.iter_mut() {
                *card = chance.draw(age, &mut deck);
            }
            pack.sort_unstable();
        }
        state.undealt = state.undealt.union(deck);
    }

    pub(super) fn owing(&self, state: &State) -> SeatSet {
        match state.phase {
            Phase::Draft => Seat::all(self.seats).filter(|seat| state.kept[seat.index()] == 0).collect(),
            Phase::Over => SeatSet::EMPTY,
            _ => SeatSet::only(self.actor(state)),
        }
    }

    pub(super) fn choices(&self, state: &State, seat: Seat) -> ActionSet {
        let mut choices = ActionSet::EMPTY;
        if !self.owing(state).contains(seat) {
            return choices;
        }
        let board = &state.boards[seat.index()];
        let mut add = |base: u8, mask: u16| members(mask).for_each(|member| choices.insert(base + member));
        match state.phase {
            Phase::Draft => self.hand(state, seat).iter().for_each(|card| choices.insert(card - 1)),
            Phase::Main => {
                add(action::PLACE, self.fitting(board, state.kept[seat.index()]));
                add(action::TAKE_SPORE, free(board));
                choices.insert(action::TAKE_CRYSTALS);
            }
            Phase::Activate => {
                let (cells, entities) = self.activatable(state);
                add(action::ACTIVATE_CELL, cells);
                add(action::ACTIVATE_ENTITY, entities.into());
                choices.insert(action::END);
            }
            Phase::Spore => add(action::PUT_SPORE, free(board)),
            Phase::Between | Phase::Over => {}
        }
        choices
    }

    /// The cells on which the board can place `card`.
    pub(super) fn fitting(&self, board: &Board, card: u8) -> u16 {
        let biome = &self.biomes[usize::from(card)];
        if board.crystals >= u16::from(biome.cost) { biome.cells } else { 0 }
    }

    /// Does what was chosen, and nothing that follows from it by itself.
    pub(super) fn choose(&self, state: &mut State, seat: Seat, action: Action) {
        let board = &mut state.boards[seat.index()];
        match action {
            Action::Draft { card } => state.kept[seat.index()] = card,
            Action::Place { cell } => self.place(state, seat, cell),
            Action::TakeCrystals => {
                board.crystals += self.discard;
                state.go_on_to_activate(seat);
            }
            Action::TakeSpore { cell } => {
                board.spores |= 1 << cell;
                state.go_on_to_activate(seat);
            }
            Action::ActivateCell { cell } => {
                state.used_cells |= 1 << cell;
                let effect = self.biomes[usize::from(board.cells[usize::from(cell)])].effect;
                let source = if state.is_scoring() { Source::Spores } else { Source::Turns };
                self.perform(state, seat, effect, source);
            }
            Action::ActivateEntity { entity } => {
                state.used_entities |= 1 << entity;
                let effect = self.entities[usize::from(entity)];
                self.perform(state, seat, effect, Source::Entities);
            }
            Action::PutSpore { cell } => {
                board.spores |= 1 << cell;
                state.phase = Phase::Activate;
            }
            Action::End => self.end(state),
        }
    }

    fn place(&self, state: &mut State, seat: Seat, cell: u8) {
        let card = state.kept[seat.index()];
        let turn = State::turn_number(state.round(), state.turn());
        let board = &mut state.boards[seat.index()];
        board.crystals -= u16::from(self.biomes[usize::from(card)].cost);
        board.cells[usize::from(cell)] = card;
        board.placed |= 1 << turn;
        let welcomed = self.called(board, cell) & !board.entities;
        for other in &mut state.boards {
            other.entities &= !welcomed;
        }
        state.boards[seat.index()].entities |= welcomed;
        state.fresh = welcomed;
        state.go_on_to_activate(seat);
    }

    /// The Entities called by the row and the column of a cell, held or not.
    pub(super) fn called(&self, board: &Board, cell: u8) -> u8 {
        let calls = |line: &[u8; 3]| {
            line.iter()
                .map(|&cell| self.biomes[usize::from(board.cells[usize::from(cell)])].calls)
                .fold(u8::MAX, |all, calls| all & calls)
        };
        let (row, column) = (usize::from(cell / 3), usize::from(cell % 3));
        calls(&LINES[row]) | calls(&LINES[3 + column])
    }

    /// Ends the acting seat's activation, in a scoring with its water, and with it its part of this stop.
    fn end(&self, state: &mut State) {
        if state.is_scoring() {
            let seat = self.actor(state);
            let points = self.water_points(state, seat);
            state.gain(seat, Source::Water, points);
        }
        state.used_cells = 0;
        state.used_entities = 0;
        state.fresh = 0;
        state.done += 1;
        state.phase = if state.done == self.seats {
            Phase::Between
        } else if state.is_scoring() {
            Phase::Activate
        } else {
            Phase::Main
        };
    }

    /// Takes the next step that needs no choice, if one is due.
    pub(super) fn proceed(&self, state: &mut State, chance: &mut Chance) -> Option<Passed> {
        match state.phase {
            Phase::Draft if self.owing(state).is_empty() => {
                self.take_picks(state);
                Some(Passed::Drafted)
            }
            Phase::Activate if self.activatable(state) == (0, 0) => {
                self.end(state);
                Some(Passed::Ended)
            }
            Phase::Between if usize::from(state.stop) == self.track.len() => {
                state.phase = Phase::Over;
                Some(Passed::Finished)
            }
            Phase::Between => {
                self.begin(state, chance);
                Some(Passed::Began)
            }
            _ => None,
        }
    }

    /// Moves every pick to the front of what is left of its pack.
    fn take_picks(&self, state: &mut State) {
        let (round, picks) = (usize::from(state.round() - 1), state.picks());
        let side = self.stop(state).side;
        for seat in Seat::all(self.seats) {
            let left = &mut state.packs[round][Self::satellite(seat, side, self.seats)][picks..];
            let pick = state.kept[seat.index()];
            let at = left.iter().position(|&card| card == pick).unwrap_or(0);
            left[..=at].rotate_right(1);
        }
        state.phase = Phase::Main;
    }
}

/// The cells of a board without a Spore.
pub(super) fn free(board: &Board) -> u16 {
    ALL_CELLS & !board.spores
}

//! The course of play: applies an action, then all automatic steps.

use boardwire_kernel::{BitSet, BySeat, Choices, LegalChoice, RandomSource, Seat, SeatSet, Turns};

use super::Rauha;
use super::action::Action;
use super::catalogue::{LINES, Side, Stop};
use super::state::{
    ActivationSet, BiomeId, Board, CardSet, EntitySet, MAX_SEATS, PACK_SIZE, Phase, ROUND_COUNT, Source,
    State,
};

/// The Satellites from which the seats draft in a round. A Satellite is named by the seat whose star it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drafts {
    /// By seat: its Satellite at turns 1 and 3, and its Satellite at turn 2.
    satellites: BySeat<[Seat; 2], MAX_SEATS>,
    /// By Satellite: the seat that gets its pack at turns 1 and 3, and the seat that gets it at turn 2.
    pack_readers: BySeat<[Seat; 2], MAX_SEATS>,
}

impl Drafts {
    /// Computes the drafts of a round from its stops.
    pub(super) fn new(stops: &[Stop], seats: u8) -> Self {
        let unset = BySeat::new([[Seat::FIRST; 2]; MAX_SEATS]);
        let mut drafts = Self { satellites: unset, pack_readers: unset };
        for (at, stop) in stops[..2].iter().enumerate() {
            let side = stop.side.expect("a turn drafts from a Satellite");
            for seat in Seat::all(seats) {
                let satellite = satellite(seat, side, seats);
                drafts.satellites[seat][at] = satellite;
                drafts.pack_readers[satellite][at] = seat;
            }
        }
        drafts
    }
}

/// Returns the Satellite that `seat` drafts from when the stop shows `side`, named by the seat whose star it is.
pub(super) fn satellite(seat: Seat, side: Side, seats: u8) -> Seat {
    match side {
        Side::Moon => seat.clockwise(1, seats),
        Side::Star => seat,
    }
}

/// The stream of random numbers for the first leader. Streams 0 and 1 deal the Ages.
pub(super) const LEADER_STREAM: usize = 2;

/// Returns the Age of a round, 0 or 1. This is also the number of its stream of random numbers.
pub(super) fn age_of(round: u8) -> usize {
    usize::from(round - 1) / 2
}

impl Turns for Rauha {
    fn deal(&self, chance: &mut RandomSource) -> State {
        let leader = u8::try_from(chance.below(LEADER_STREAM, self.seats.into()));
        let leader = Seat::new(leader.expect("a seat number fits a byte"));
        let mut state = State {
            stop: 0,
            phase: Phase::StopFinished,
            leader,
            first_seat: leader,
            seats_done: 0,
            activated: ActivationSet::default(),
            welcomed: EntitySet::EMPTY,
            boards: BySeat::new([self.opening_board; MAX_SEATS]),
            kept: BySeat::default(),
            packs: [BySeat::default(); ROUND_COUNT],
            undealt: self.ages[0].union(self.ages[1]),
            placed: CardSet::EMPTY,
        };
        self.advance_stop(&mut state, chance);
        state
    }

    #[inline]
    fn pending(&self, state: &State) -> SeatSet {
        match state.phase {
            Phase::Draft => Seat::all(self.seats).filter(|&seat| state.kept[seat].is_none()).collect(),
            Phase::UseCard | Phase::Activate | Phase::Spore | Phase::StopFinished => {
                SeatSet::only(self.acting_seat(state))
            }
            Phase::Over => SeatSet::EMPTY,
        }
    }

    fn advance(&self, state: &mut State, choice: LegalChoice<Action>, chance: &mut RandomSource) {
        self.apply_action(state, choice.seat(), choice.action());
        while self.do_automatic_step(state, chance) {}
    }
}

impl Rauha {
    /// Returns the stop on the track where all Avatars stand.
    #[inline]
    pub(super) fn current_stop(&self, state: &State) -> &Stop {
        &self.track[usize::from(state.stop - 1)]
    }

    /// Returns the seat that acts in steps 2 to 4 and in a scoring.
    #[inline]
    pub(super) fn acting_seat(&self, state: &State) -> Seat {
        state.first_seat.clockwise(state.seats_done, self.seats)
    }

    /// Returns the Satellites `seat` drafts from: at turns 1 and 3 of the round, and at turn 2.
    #[inline]
    pub(super) fn satellites(&self, round: u8, seat: Seat) -> [Seat; 2] {
        self.drafts[usize::from(round - 1)].satellites[seat]
    }

    /// Returns the seats that draft from `satellite`: at turns 1 and 3 of the round, and at turn 2.
    #[inline]
    pub(super) fn pack_readers(&self, round: u8, satellite: Seat) -> [Seat; 2] {
        self.drafts[usize::from(round - 1)].pack_readers[satellite]
    }

    /// Returns the Satellite `seat` drafts from in a turn.
    #[must_use]
    #[inline]
    pub fn satellite(&self, round: u8, turn: u8, seat: Seat) -> Seat {
        self.satellites(round, seat)[usize::from(turn == 2)]
    }

    /// Returns the cards `seat` can draft now.
    pub(super) fn hand<'a>(&self, state: &'a State, seat: Seat) -> &'a [BiomeId] {
        match state.phase {
            Phase::Draft => {
                let satellite = self.satellite(state.round(), state.turn(), seat);
                &state.pack(state.round(), satellite)[state.picks()..]
            }
            Phase::UseCard | Phase::Activate | Phase::Spore | Phase::StopFinished | Phase::Over => &[],
        }
    }

    /// Returns the card `seat` drafted in a turn whose draft is over.
    pub(super) fn drafted(&self, state: &State, seat: Seat, round: u8, turn: u8) -> BiomeId {
        let satellite = self.satellite(round, turn, seat);
        state.pack(round, satellite)[usize::from(turn - 1)]
    }

    /// Moves all Avatars to the next stop, and deals at the start of a round.
    fn advance_stop(&self, state: &mut State, chance: &mut RandomSource) {
        state.stop += 1;
        state.first_seat = state.leader;
        state.seats_done = 0;
        state.phase = if state.is_scoring() { Phase::Activate } else { Phase::Draft };
        if state.turn() == 1 {
            self.deal_round(state, chance);
        }
    }

    fn deal_round(&self, state: &mut State, chance: &mut RandomSource) {
        let age = age_of(state.round());
        let mut deck = state.undealt.intersection(self.ages[age]);
        state.undealt = state.undealt.difference(deck);
        let packs = &mut state.packs[usize::from(state.round() - 1)];
        for pack in packs.of_mut(self.seats) {
            let mut cards: [BiomeId; PACK_SIZE] =
                std::array::from_fn(|_| BiomeId::new(chance.draw(age, &mut deck)));
            cards.sort_unstable();
            *pack = Some(cards);
        }
        state.undealt = state.undealt.union(deck);
    }

    /// Returns the states that an action leads through, for records that state facts between actions: first with only the
    /// action applied, then after each automatic step. The last is that of [`Turns::advance`]. Empty if illegal.
    #[must_use]
    pub fn intermediate_states(
        &self,
        state: &State,
        seat: Seat,
        action: Action,
        chance: &mut RandomSource,
    ) -> Vec<State> {
        if !self.is_legal(state, seat, action) {
            return vec![];
        }
        let mut position = *state;
        self.apply_action(&mut position, seat, action);
        let mut positions = vec![position];
        while self.do_automatic_step(&mut position, chance) {
            positions.push(position);
        }
        positions
    }

    /// Applies an action without the automatic steps that follow.
    pub(super) fn apply_action(&self, state: &mut State, seat: Seat, action: Action) {
        match action {
            Action::Draft { card } => state.kept[seat] = Some(card),
            Action::Place { cell } => self.place(state, seat, cell),
            Action::TakeCrystals => {
                state.boards[seat].crystals += u16::from(self.catalogue.components.discard);
                begin_activation(state, seat);
            }
            Action::TakeSpore { cell } => {
                state.boards[seat].spores.insert(cell);
                begin_activation(state, seat);
            }
            Action::ActivateCell { cell } => {
                state.activated.cells.insert(cell);
                let effect = self.biome(state.boards[seat].at(cell)).ability.effect;
                let source = if state.is_scoring() { Source::Spores } else { Source::Turns };
                self.perform(state, seat, effect, source);
            }
            Action::ActivateEntity { entity } => {
                state.activated.entities.insert(entity);
                self.perform(state, seat, self.ability_of(entity).effect, Source::Entities);
            }
            Action::PutSpore { cell } => {
                state.boards[seat].spores.insert(cell);
                state.phase = Phase::Activate;
            }
            Action::End => self.end_activation(state),
        }
    }

    fn place(&self, state: &mut State, seat: Seat, cell: u8) {
        let card = state.kept[seat].expect("the placing seat has a kept card");
        let board = &mut state.boards[seat];
        board.crystals -= u16::from(self.biome(card).cost);
        board.cells[usize::from(cell)] = card;
        state.placed.insert(card);
        let welcomed = self.entities_called_by(board, cell).difference(board.entities);
        if !welcomed.is_empty() {
            for other in state.boards.of_mut(self.seats) {
                other.entities = other.entities.difference(welcomed);
            }
            state.boards[seat].entities = state.boards[seat].entities.union(welcomed);
        }
        state.welcomed = welcomed;
        begin_activation(state, seat);
    }

    /// Returns the Entities called by the row and the column of a cell, held or not.
    #[must_use]
    pub fn entities_called_by(&self, board: &Board, cell: u8) -> EntitySet {
        let calls = |line: [u8; 3]| {
            let [a, b, c] = line.map(|cell| self.biome(board.at(cell)).calls);
            a.intersection(b).intersection(c)
        };
        let (row, column) = (usize::from(cell / 3), usize::from(cell % 3));
        calls(LINES[row]).union(calls(LINES[3 + column]))
    }

    /// Ends the acting seat's part of this stop. In a scoring the seat first gains its water points.
    fn end_activation(&self, state: &mut State) {
        if state.is_scoring() {
            let seat = self.acting_seat(state);
            let points = self.water_points(state, seat);
            state.gain(seat, Source::Water, points);
        }
        state.activated = ActivationSet::default();
        state.welcomed = EntitySet::EMPTY;
        state.seats_done += 1;
        state.phase = if state.seats_done == self.seats {
            Phase::StopFinished
        } else if state.is_scoring() {
            Phase::Activate
        } else {
            Phase::UseCard
        };
    }

    /// Does the next step that needs no decision. Returns whether one was due.
    pub(super) fn do_automatic_step(&self, state: &mut State, chance: &mut RandomSource) -> bool {
        match state.phase {
            Phase::Draft if state.kept.of(self.seats).iter().all(Option::is_some) => {
                self.move_picks_to_front(state);
                true
            }
            Phase::Activate if !self.can_activate_something(state) => {
                self.end_activation(state);
                true
            }
            Phase::StopFinished if usize::from(state.stop) == self.track.len() => {
                state.phase = Phase::Over;
                true
            }
            Phase::StopFinished => {
                self.advance_stop(state, chance);
                true
            }
            Phase::Draft | Phase::UseCard | Phase::Activate | Phase::Spore | Phase::Over => false,
        }
    }

    /// Moves each pick to the front of the rest of its pack.
    fn move_picks_to_front(&self, state: &mut State) {
        let (round, picks) = (state.round(), state.picks());
        for seat in Seat::all(self.seats) {
            let pick = state.kept[seat];
            let left = &mut state.pack_mut(round, self.satellite(round, state.turn(), seat))[picks..];
            let at = left.iter().position(|&card| Some(card) == pick).expect("a pick is one of the pack");
            left[..=at].rotate_right(1);
        }
        state.phase = Phase::UseCard;
    }
}

/// Starts the activation after the kept card was placed or discarded.
fn begin_activation(state: &mut State, seat: Seat) {
    state.kept[seat] = None;
    state.phase = Phase::Activate;
}

/// Returns biomes as a set of cards.
pub(super) fn set_of(cards: &[BiomeId]) -> CardSet {
    cards.iter().copied().collect::<BitSet<2>>()
}

//! The course of the game: the deal, the choices, and what follows without one.

use boardwire_kernel::{ActionSet, Chance, Seat, SeatSet};

use super::action::Action;
use super::catalogue::{REGIONS, SANCTUARIES};
use super::state::{Phase, ROUNDS, Regions, SEATS, Sanctuaries, State};
use super::{Faraway, REGION_STREAM, SANCTUARY_STREAM};

impl Faraway {
    /// FA-2.1, FA-2.4: hands seat by seat, then the display, unless regions are set aside first.
    pub(super) fn opening(&self, chance: &mut Chance) -> State {
        let mut state = State {
            phase: Phase::Explore,
            round: 1,
            turn: 0,
            order: [0; SEATS],
            chosen: [0; SEATS],
            lines: [[0; 8]; SEATS],
            hands: [Regions::EMPTY; SEATS],
            aside: [[0; 2]; SEATS],
            deck: (1..=REGIONS).collect(),
            display: Regions::EMPTY,
            shown: Regions::EMPTY,
            left_over: [0; 7],
            dealt: [[Sanctuaries::EMPTY; 7]; SEATS],
            placed: [[0; 7]; SEATS],
            owed: [0; SEATS],
            front: (1..=SANCTUARIES).collect(),
            front_block: 0,
            sanctuary_deck: SANCTUARIES,
        };
        for hand in &mut state.hands[..usize::from(self.seats)] {
            for _ in 0..if self.advanced { 5 } else { 3 } {
                hand.insert(chance.draw(REGION_STREAM, &mut state.deck));
            }
        }
        if self.advanced {
            state.phase = Phase::SetAside;
        } else {
            self.reveal_display(&mut state, chance);
        }
        state
    }

    /// The seats that owe a choice.
    pub(super) fn owing(&self, state: &State) -> SeatSet {
        let all = Seat::all(self.seats);
        match state.phase {
            Phase::SetAside => all.filter(|seat| state.aside[seat.index()][1] == 0).collect(),
            Phase::Explore => all.filter(|seat| state.chosen[seat.index()] == 0).collect(),
            Phase::Take | Phase::Place => state.active().map_or(SeatSet::EMPTY, SeatSet::only),
            Phase::Over => SeatSet::EMPTY,
        }
    }

    /// What a seat may choose now.
    pub(super) fn choices(&self, state: &State, seat: Seat) -> ActionSet {
        let at = seat.index();
        let regions = |set: Regions| set.shifted(1, Action::Region(1).index());
        match state.phase {
            Phase::SetAside if seat.number() < self.seats && state.aside[at][1] == 0 => {
                let mut hand = state.hands[at];
                hand.remove(state.aside[at][0]);
                regions(hand)
            }
            Phase::Explore if seat.number() < self.seats && state.chosen[at] == 0 => regions(state.hands[at]),
            Phase::Take if state.active() == Some(seat) => regions(state.display),
            Phase::Place if state.active() == Some(seat) => {
                state.before(at).shifted(1, Action::Sanctuary(1).index())
            }
            _ => ActionSet::EMPTY,
        }
    }

    /// Carries out a legal choice and all that follows without one.
    pub(super) fn carry_out(&self, state: &mut State, seat: Seat, action: Action, chance: &mut Chance) {
        let at = seat.index();
        match (state.phase, action) {
            (Phase::SetAside, Action::Region(id)) => {
                set_aside(&mut state.aside[at], id);
                if self.owing(state).is_empty() {
                    self.return_set_aside(state, chance);
                }
            }
            (Phase::Explore, Action::Region(id)) => {
                state.chosen[at] = id;
                if self.owing(state).is_empty() {
                    self.turn_up(state);
                    self.find_sanctuaries(state, chance);
                    self.begin_turn(state, chance);
                }
            }
            (Phase::Take, Action::Region(id)) => {
                state.display.remove(id);
                state.hands[at].insert(id);
                self.go_to_place(state, chance);
            }
            (Phase::Place, Action::Sanctuary(id)) => {
                // FA-4.5: the others go under the deck; `dealt` and `placed` together say which.
                let round = usize::from(state.round - 2);
                state.placed[at][round] = id;
                let others = state.dealt[at][round].len() - 1;
                state.sanctuary_deck += u8::try_from(others).unwrap_or(0);
                self.end_turn(state, chance);
            }
            _ => {}
        }
    }

    /// FA-2.4: what was set aside goes back before the display is revealed.
    fn return_set_aside(&self, state: &mut State, chance: &mut Chance) {
        for seat in 0..usize::from(self.seats) {
            for id in state.aside[seat] {
                state.hands[seat].remove(id);
                state.deck.insert(id);
            }
        }
        state.phase = Phase::Explore;
        self.reveal_display(state, chance);
    }

    fn reveal_display(&self, state: &mut State, chance: &mut Chance) {
        for _ in 0..=self.seats {
            let id = chance.draw(REGION_STREAM, &mut state.deck);
            state.display.insert(id);
            state.shown.insert(id);
        }
    }

    /// FA-3.1: every chosen region goes to the end of its line; FA-4.1: durations give the order.
    fn turn_up(&self, state: &mut State) {
        for seat in 0..usize::from(self.seats) {
            let id = std::mem::take(&mut state.chosen[seat]);
            state.hands[seat].remove(id);
            state.lines[seat][usize::from(state.round - 1)] = id;
        }
        state.order = state.order_of(state.round, self.seats);
        state.turn = 0;
    }

    /// FA-3.2 to FA-3.4: who climbed is dealt one sanctuary and one for each clue.
    fn find_sanctuaries(&self, state: &mut State, chance: &mut Chance) {
        for place in 0..usize::from(self.seats) {
            let seat = usize::from(state.order[place]);
            if state.found(state.round, seat) {
                state.owed[seat] = 1 + self.clues(state, seat, state.round);
                self.deal_owed(state, seat, chance);
            }
        }
    }

    /// The clues in a seat's area after exploring in `round`, with the sanctuaries of earlier rounds.
    pub(super) fn clues(&self, state: &State, seat: usize, round: u8) -> u8 {
        let round = usize::from(round);
        let line = state.lines[seat][..round].iter();
        let placed = state.placed[seat][..round.saturating_sub(2)].iter();
        line.map(|&id| self.region(id).clues()).sum::<u8>()
            + placed.map(|&id| self.sanctuary(id).clues()).sum::<u8>()
    }

    /// FA-R2: deals what a seat is owed, as far as the deck goes.
    fn deal_owed(&self, state: &mut State, seat: usize, chance: &mut Chance) {
        while state.owed[seat] > 0 && state.sanctuary_deck > 0 {
            if state.front.is_empty() {
                self.next_block(state);
            }
            let id = chance.draw(SANCTUARY_STREAM, &mut state.front);
            state.dealt[seat][usize::from(state.round - 2)].insert(id);
            state.sanctuary_deck -= 1;
            state.owed[seat] -= 1;
        }
    }

    /// FA-R1: the deck is a queue of blocks; goes on to the next block that is not empty.
    fn next_block(&self, state: &mut State) {
        while state.front.is_empty() {
            state.front_block += 1;
            let (round, place) = block_at(state.front_block);
            if place < self.seats {
                let seat = state.order_of(round, self.seats)[usize::from(place)];
                state.front = state.returned(round, usize::from(seat));
            }
        }
    }

    fn begin_turn(&self, state: &mut State, chance: &mut Chance) {
        if state.turn == self.seats {
            self.end_round(state, chance);
        } else if state.round < ROUNDS {
            state.phase = Phase::Take;
        } else {
            self.go_to_place(state, chance);
        }
    }

    /// FA-R2: whoever is still owed sanctuaries gets them now, then places one.
    fn go_to_place(&self, state: &mut State, chance: &mut Chance) {
        state.phase = Phase::Place;
        let seat = usize::from(state.order[usize::from(state.turn)]);
        self.deal_owed(state, seat, chance);
        state.owed[seat] = 0;
        if state.before(seat).is_empty() {
            self.end_turn(state, chance);
        }
    }

    fn end_turn(&self, state: &mut State, chance: &mut Chance) {
        state.turn += 1;
        self.begin_turn(state, chance);
    }

    /// FA-4.6, FA-R3, FA-R13: the left-over leaves the game; a new display only for rounds 2 to 7.
    fn end_round(&self, state: &mut State, chance: &mut Chance) {
        state.turn = 0;
        state.order = [0; SEATS];
        if state.round == ROUNDS {
            state.phase = Phase::Over;
            return;
        }
        let left = state.display.lowest().unwrap_or(0);
        state.display = Regions::EMPTY;
        state.left_over[usize::from(state.round - 1)] = left;
        state.round += 1;
        state.phase = Phase::Explore;
        if state.round < ROUNDS {
            self.reveal_display(state, chance);
        }
    }
}

/// The round and the place in its order at which a block was returned.
pub(super) fn block_at(block: u8) -> (u8, u8) {
    ((block - 1) / 6 + 2, (block - 1) % 6)
}

/// Adds to what a seat sets aside, ascending whatever the order of the choices.
fn set_aside(aside: &mut [u8; 2], id: u8) {
    *aside = match aside[0] {
        0 => [id, 0],
        first => [first.min(id), first.max(id)],
    };
}

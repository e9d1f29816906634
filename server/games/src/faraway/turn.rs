//! The course of play: the deal, the pending seats, and the effects of each action.

use boardwire_kernel::{BySeat, LegalChoice, RandomSource, Seat, SeatSet, Turns};

use super::action::Action;
use super::catalogue::{REGION_COUNT, SANCTUARY_COUNT};
use super::state::{MAX_SEATS, Phase, ROUND_COUNT, RegionId, Regions, State};
use super::{Faraway, REGION_STREAM, SANCTUARY_STREAM};

impl Turns for Faraway {
    /// FA-2.1, FA-2.4: deals the hands seat by seat, then the display unless seats first set regions aside.
    fn deal(&self, chance: &mut RandomSource) -> State {
        let mut state = State {
            phase: Phase::Explore,
            round: 1,
            turn: 0,
            order: [Seat::FIRST; MAX_SEATS],
            chosen: BySeat::default(),
            lines: BySeat::default(),
            quests: BySeat::default(),
            quests_disabled: false,
            hands: BySeat::default(),
            set_aside: BySeat::default(),
            deck: (1..=REGION_COUNT).collect(),
            display: Regions::EMPTY,
            revealed: Regions::EMPTY,
            left_over: [None; 7],
            dealt: BySeat::default(),
            placed: BySeat::default(),
            owed: BySeat::default(),
            front: (1..=SANCTUARY_COUNT).collect(),
            front_block: 0,
            sanctuary_deck: SANCTUARY_COUNT,
        };
        for hand in state.hands.of_mut(self.seats) {
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

    fn pending(&self, state: &State) -> SeatSet {
        let all = Seat::all(self.seats);
        match state.phase {
            Phase::SetAside => all.filter(|&seat| state.set_aside[seat][1].is_none()).collect(),
            Phase::Explore => all.filter(|&seat| state.chosen[seat].is_none()).collect(),
            Phase::Take | Phase::Place => state.active().map_or(SeatSet::EMPTY, SeatSet::only),
            Phase::Over => SeatSet::EMPTY,
        }
    }

    /// Applies a legal action and everything that follows automatically.
    fn advance(&self, state: &mut State, choice: LegalChoice<Action>, chance: &mut RandomSource) {
        let seat = choice.seat();
        match (state.phase, choice.action()) {
            (Phase::SetAside, Action::Region(id)) => {
                set_aside(&mut state.set_aside[seat], id);
                if state.set_aside.of(self.seats).iter().all(|aside| aside[1].is_some()) {
                    self.return_set_aside(state, chance);
                }
            }
            (Phase::Explore, Action::Region(id)) => {
                state.chosen[seat] = Some(id);
                if state.chosen.of(self.seats).iter().all(Option::is_some) {
                    self.reveal_regions(state);
                    self.find_sanctuaries(state, chance);
                    self.begin_turn(state, chance);
                }
            }
            (Phase::Take, Action::Region(id)) => {
                state.display.remove(id);
                state.hands[seat].insert(id);
                self.go_to_place(state, chance);
            }
            (Phase::Place, Action::Sanctuary(id)) => {
                // FA-4.5: the other cards go under the deck; `dealt` minus `placed` says which.
                let round = usize::from(state.round - 2);
                state.placed[seat][round] = Some(id);
                self.update_quest_statuses(state, seat);
                state.sanctuary_deck += count(state.dealt[seat][round]) - 1;
                self.end_turn(state, chance);
            }
            (Phase::SetAside | Phase::Explore | Phase::Take, Action::Sanctuary(_))
            | (Phase::Place, Action::Region(_))
            | (Phase::Over, _) => unreachable!("{:?} is not legal now", choice.action()),
        }
    }
}

impl Faraway {
    /// FA-2.4: puts the regions set aside back into the deck, then reveals the display.
    fn return_set_aside(&self, state: &mut State, chance: &mut RandomSource) {
        for seat in Seat::all(self.seats) {
            for id in state.set_aside[seat].into_iter().flatten() {
                state.hands[seat].remove(id);
                state.deck.insert(id);
            }
        }
        state.phase = Phase::Explore;
        self.reveal_display(state, chance);
    }

    fn reveal_display(&self, state: &mut State, chance: &mut RandomSource) {
        for _ in 0..=self.seats {
            let id = chance.draw(REGION_STREAM, &mut state.deck);
            state.display.insert(id);
            state.revealed.insert(id);
        }
    }

    /// FA-3.1: moves every chosen region to the end of its line. FA-4.1: sets the order by duration.
    fn reveal_regions(&self, state: &mut State) {
        for seat in Seat::all(self.seats) {
            let id = state.chosen[seat].take();
            state.hands[seat].remove(RegionId::to_row(id));
            state.lines[seat][usize::from(state.round - 1)] = id;
            self.update_quest_statuses(state, seat);
        }
        state.order = state.order_of(state.round, self.seats);
        state.turn = 0;
    }

    /// Updates the quest status of a seat's line for observations.
    fn update_quest_statuses(&self, state: &mut State, seat: Seat) {
        if !state.quests_disabled {
            state.quests[seat] = self.quest_statuses(state, seat);
        }
    }

    /// FA-3.2 to FA-3.4: deals a seat with a longer region one sanctuary, plus one for each clue.
    fn find_sanctuaries(&self, state: &mut State, chance: &mut RandomSource) {
        for order_index in 0..usize::from(self.seats) {
            let seat = state.order[order_index];
            state.owed[seat] = self.due(state, seat, state.round);
            self.deal_owed(state, seat, chance);
        }
    }

    /// Returns how many sanctuaries a seat finds in an explored round.
    pub(super) fn due(&self, state: &State, seat: Seat, round: u8) -> u8 {
        if state.finds(round, seat) { 1 + self.clues(state, seat, round) } else { 0 }
    }

    /// Counts the clues in a seat's area after exploring in `round`, with the sanctuaries of earlier rounds.
    fn clues(&self, state: &State, seat: Seat, round: u8) -> u8 {
        let round = usize::from(round);
        let line = state.lines[seat][..round].iter().flatten();
        let placed = state.placed[seat][..round.saturating_sub(2)].iter().flatten();
        line.map(|&id| self.region(id).clues()).sum::<u8>()
            + placed.map(|&id| self.sanctuary(id).clues()).sum::<u8>()
    }

    /// FA-R2: deals a seat what it is owed, until the deck is empty.
    fn deal_owed(&self, state: &mut State, seat: Seat, chance: &mut RandomSource) {
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

    /// FA-R1: the deck is a queue of blocks. Advances to the next block that is not empty.
    fn next_block(&self, state: &mut State) {
        while state.front.is_empty() {
            state.front_block += 1;
            let (round, order_index) = block_round_and_index(state.front_block);
            if order_index < self.seats {
                let seat = state.order_of(round, self.seats)[usize::from(order_index)];
                state.front = state.returned(round, seat);
            }
        }
    }

    fn begin_turn(&self, state: &mut State, chance: &mut RandomSource) {
        if state.turn == self.seats {
            self.end_round(state, chance);
        } else if state.round < ROUND_COUNT {
            state.phase = Phase::Take;
        } else {
            self.go_to_place(state, chance);
        }
    }

    /// FA-R2: deals the active seat what it is still owed; then it places one sanctuary.
    fn go_to_place(&self, state: &mut State, chance: &mut RandomSource) {
        state.phase = Phase::Place;
        let seat = state.order[usize::from(state.turn)];
        self.deal_owed(state, seat, chance);
        state.owed[seat] = 0;
        if state.found(seat).is_empty() {
            self.end_turn(state, chance);
        }
    }

    fn end_turn(&self, state: &mut State, chance: &mut RandomSource) {
        state.turn += 1;
        self.begin_turn(state, chance);
    }

    /// FA-4.6, FA-R3, FA-R13: the left-over leaves the game; only rounds 2 to 7 get a new display.
    fn end_round(&self, state: &mut State, chance: &mut RandomSource) {
        state.turn = 0;
        state.order = [Seat::FIRST; MAX_SEATS];
        if state.round == ROUND_COUNT {
            state.phase = Phase::Over;
            return;
        }
        let left = state.display.lowest().map(RegionId::new);
        state.display = Regions::EMPTY;
        state.left_over[usize::from(state.round - 1)] = left;
        state.round += 1;
        state.phase = Phase::Explore;
        if state.round < ROUND_COUNT {
            self.reveal_display(state, chance);
        }
    }
}

/// Returns the round in which a block was returned, and the index of its seat in `order`.
pub(super) fn block_round_and_index(block: u8) -> (u8, u8) {
    ((block - 1) / 6 + 2, (block - 1) % 6)
}

/// Adds a region to those set aside, ascending in any order of choices.
fn set_aside(aside: &mut [Option<RegionId>; 2], id: RegionId) {
    *aside = match aside[0] {
        None => [Some(id), None],
        Some(first) => [Some(first.min(id)), Some(first.max(id))],
    };
}

/// Returns the number of cards as a byte.
pub(super) fn count<const W: usize>(cards: boardwire_kernel::BitSet<W>) -> u8 {
    u8::try_from(cards.len()).expect("there are at most 68 cards of a kind")
}

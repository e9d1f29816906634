//! The parts of a period before and after its turns: allies, truth tiles, clean-up.

use boardwire_kernel::{RandomSource, Seat};

use super::super::catalogue::{CharacterId, TileId, with_ids};
use super::super::limits::MAX_SEATS;
use super::super::state::{CharacterSet, Decision, EffectStack, SeatState, State, TilePile};
use super::super::{GoldenCompass, streams};

impl GoldenCompass {
    pub(in crate::golden_compass) fn characters_of(&self, period: u8) -> CharacterSet {
        let characters = with_ids(&self.catalogue().characters, CharacterId::new);
        characters.filter(|(_, card)| card.period == period).map(|(id, _)| id).collect()
    }

    /// Deals two characters to every seat, beginning with the first seat.
    pub(in crate::golden_compass) fn begin_period(&self, state: &mut State, chance: &mut RandomSource) {
        let mut pile = self.characters_of(state.period);
        for steps in 0..self.seats {
            let seat = state.first_seat.clockwise(steps, self.seats);
            let mut draw = || CharacterId::new(chance.draw(streams::CHARACTERS, &mut pile));
            state.seats[seat].dealt = Some([draw(), draw()]);
        }
        state.undealt_characters = pile;
        state.active = state.first_seat;
        state.decision = Decision::Keep;
    }

    /// Keeps one of the two characters of a seat. After the last seat it shows the allies and starts the turns.
    pub(super) fn keep(&self, state: &mut State, seat: Seat, which: u8, chance: &mut RandomSource) {
        state.seats[seat].kept_index = Some(which);
        if state.seats.of(self.seats).iter().any(|seat_state| seat_state.kept_index.is_none()) {
            return;
        }
        for seat in self.all_seats() {
            let seat_state = &mut state.seats[seat];
            let kept = usize::from(seat_state.kept_index.take().expect("all have kept one"));
            let dealt = seat_state.dealt.take().expect("two were dealt to every seat");
            seat_state.ally = Some(dealt[kept]);
            state.seats[self.left_of(seat)].card_under_ally = Some(dealt[1 - kept]);
        }
        self.begin_turn(state, chance);
    }

    /// Returns the Magisterium value: the symbols on the ally of a seat and on the card under it.
    #[inline]
    pub(in crate::golden_compass) fn magisterium(&self, seat_state: &SeatState) -> u8 {
        let symbols = |card| self.symbols[usize::from(CharacterId::to_row(card))];
        symbols(seat_state.ally) + symbols(seat_state.card_under_ally)
    }

    /// Returns the number of cards that the holder of the airship would pay.
    pub(in crate::golden_compass) fn airship_price(&self, seat_state: &SeatState) -> u8 {
        self.magisterium(seat_state) + self.catalogue().airship_extra_cards
    }

    pub(super) fn begin_scoring(&self, state: &mut State, chance: &mut RandomSource) {
        state.effect_stack = EffectStack::default();
        (state.wild_pair_rights, state.short_triplet_rights) = (0, 0);
        if state.airship.is_some() {
            state.decision = Decision::Airship;
        } else {
            self.reveal_tiles(state, chance);
        }
    }

    /// Continues the payment for the airship: `left` cards are still due, or the holder is done.
    pub(super) fn settle_airship(&self, state: &mut State, left: u8, chance: &mut RandomSource) {
        if left > 0 {
            state.decision = Decision::PayForAirship { left };
        } else {
            state.airship = None;
            self.reveal_tiles(state, chance);
        }
    }

    /// Opens truth tiles and starts the draft. In the last scoring passage tiles are mixed in.
    fn reveal_tiles(&self, state: &mut State, chance: &mut RandomSource) {
        while state.open_tiles.len() < self.catalogue().tiles_drawn {
            let tiles = u32::from(state.bag.len());
            let passages = if state.is_last_period() { u32::from(state.passages) } else { 0 };
            let rank = chance.below(streams::TRUTH, tiles + passages);
            if let Some(tile) = state.bag.nth(rank) {
                state.bag.remove(tile);
                state.open_tiles.insert(tile);
            } else {
                state.passages -= 1;
                state.drawn_passages += 1;
            }
        }
        state.order = self.draft_order(state);
        self.draft_from(state, 0, chance);
    }

    /// Returns the draft order: most compass tiles, most cards, clockwise from the first seat's left neighbour (R25).
    pub(in crate::golden_compass) fn draft_order(&self, state: &State) -> [Seat; MAX_SEATS] {
        let mut order = [Seat::FIRST; MAX_SEATS];
        let seats = &mut order[..usize::from(self.seats)];
        for (steps, seat) in (1..).zip(&mut *seats) {
            *seat = state.first_seat.clockwise(steps, self.seats);
        }
        // The sort is stable, so ties stay in clockwise order.
        seats.sort_by_key(|&seat| {
            let seat_state = &state.seats[seat];
            std::cmp::Reverse((seat_state.compass, seat_state.hand.len()))
        });
        order
    }

    /// Asks for the tiles of the seat at index `draft_index` of the draft. Skips a seat to which no tile is due.
    fn draft_from(&self, state: &mut State, draft_index: u8, chance: &mut RandomSource) {
        for draft_index in draft_index..self.seats {
            let gave_up = state.gave_up == Some(state.order[usize::from(draft_index)]);
            let left = self.catalogue().tiles_each - u8::from(gave_up);
            if left > 0 {
                state.decision = Decision::Truth { draft_index, left };
                return;
            }
        }
        self.end_period(state, chance);
    }

    /// Gives an open tile to the seat at index `draft_index` of the draft; `left` tiles are due to it.
    pub(super) fn take_tile(
        &self,
        state: &mut State,
        draft_index: u8,
        left: u8,
        tile: TileId,
        chance: &mut RandomSource,
    ) {
        let seat = state.order[usize::from(draft_index)];
        state.open_tiles.remove(tile.get());
        state.seats[seat].truth.insert(tile.get());
        if left > 1 {
            state.decision = Decision::Truth { draft_index, left: left - 1 };
        } else {
            self.draft_from(state, draft_index + 1, chance);
        }
    }

    /// Clears the board of the period. Then starts the next period or ends the game.
    fn end_period(&self, state: &mut State, chance: &mut RandomSource) {
        state.open_tiles = TilePile::EMPTY;
        state.order = [Seat::FIRST; MAX_SEATS];
        state.gave_up = None;
        for seat_state in state.seats.of_mut(self.seats) {
            seat_state.supply += std::mem::take(&mut seat_state.compass);
        }
        if state.is_last_period() {
            state.decision = Decision::Over;
            return;
        }
        for seat_state in state.seats.of_mut(self.seats) {
            (seat_state.ally, seat_state.card_under_ally) = (None, None);
        }
        self.reshuffle_discard(state);
        state.period += 1;
        state.first_seat = self.left_of(state.active);
        self.begin_period(state, chance);
    }
}

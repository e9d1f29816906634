//! The parts of a period before and after its turns: allies, truth tiles, clean-up.

use boardwire_kernel::{Chance, Seat};

use super::super::catalogue::{CharacterId, TileId, with_ids};
use super::super::limits::SEATS;
use super::super::state::{CharacterSet, Decision, Place, Program, State, TilePile};
use super::super::{GoldenCompass, streams};

impl GoldenCompass {
    pub(in crate::golden_compass) fn characters_of(&self, period: u8) -> CharacterSet {
        let characters = with_ids(&self.printed().characters, CharacterId::new);
        characters.filter(|(_, card)| card.period == period).map(|(id, _)| id).collect()
    }

    /// Deals two characters to every seat, beginning with the first seat.
    pub(in crate::golden_compass) fn begin_period(&self, state: &mut State, chance: &mut Chance) {
        let mut pile = self.characters_of(state.period);
        for steps in 0..self.seats {
            let seat = state.first.clockwise(steps, self.seats);
            let mut draw = || CharacterId::new(chance.draw(streams::CHARACTERS, &mut pile));
            state.places[seat].dealt = Some([draw(), draw()]);
        }
        state.unseen = pile;
        state.active = state.first;
        state.decision = Decision::Keep;
    }

    /// Keeps one of the two characters of a seat. After the last seat it shows the allies and starts the turns.
    pub(super) fn keep(&self, state: &mut State, seat: Seat, which: u8, chance: &mut Chance) {
        state.places[seat].kept = Some(which);
        if state.places.of(self.seats).iter().any(|place| place.kept.is_none()) {
            return;
        }
        for seat in self.all_seats() {
            let place = &mut state.places[seat];
            let kept = usize::from(place.kept.take().expect("all have kept one"));
            let dealt = place.dealt.take().expect("two were dealt to every seat");
            place.ally = Some(dealt[kept]);
            state.places[self.left_of(seat)].under = Some(dealt[1 - kept]);
        }
        self.begin_turn(state, chance);
    }

    /// Returns the Magisterium value: the symbols on the ally of a seat and on the card under it.
    #[inline]
    pub(in crate::golden_compass) fn magisterium(&self, place: &Place) -> u8 {
        let symbols = |card| self.symbols[usize::from(CharacterId::row(card))];
        symbols(place.ally) + symbols(place.under)
    }

    /// Returns the number of cards that the holder of the airship would pay.
    pub(in crate::golden_compass) fn airship_price(&self, place: &Place) -> u8 {
        self.magisterium(place) + self.printed().airship_extra_cards
    }

    pub(super) fn begin_scoring(&self, state: &mut State, chance: &mut Chance) {
        state.program = Program::default();
        (state.wild, state.short) = (0, 0);
        if state.airship.is_some() {
            state.decision = Decision::Airship;
        } else {
            self.open_tiles(state, chance);
        }
    }

    /// Continues the payment for the airship: `left` cards are still due, or the holder is done.
    pub(super) fn settle_airship(&self, state: &mut State, left: u8, chance: &mut Chance) {
        if left > 0 {
            state.decision = Decision::PayForAirship { left };
        } else {
            state.airship = None;
            self.open_tiles(state, chance);
        }
    }

    /// Opens truth tiles and starts the draft. In the last scoring passage tiles are mixed in.
    fn open_tiles(&self, state: &mut State, chance: &mut Chance) {
        while state.open.len() < self.printed().tiles_drawn {
            let tiles = u32::from(state.bag.len());
            let passages = if state.is_last_period() { u32::from(state.passages) } else { 0 };
            let rank = chance.below(streams::TRUTH, tiles + passages);
            if let Some(tile) = state.bag.nth(rank) {
                state.bag.remove(tile);
                state.open.insert(tile);
            } else {
                state.passages -= 1;
                state.drawn_passages += 1;
            }
        }
        state.order = self.draft_order(state);
        self.draft_from(state, 0, chance);
    }

    /// Returns the draft order: most compass tiles, most cards, clockwise from the first seat's left neighbour (R25).
    pub(in crate::golden_compass) fn draft_order(&self, state: &State) -> [Seat; SEATS] {
        let mut order = [Seat::FIRST; SEATS];
        let seats = &mut order[..usize::from(self.seats)];
        for (steps, seat) in (1..).zip(&mut *seats) {
            *seat = state.first.clockwise(steps, self.seats);
        }
        // The sort is stable, so ties stay in clockwise order.
        seats.sort_by_key(|&seat| {
            let place = &state.places[seat];
            std::cmp::Reverse((place.compass, place.hand.len()))
        });
        order
    }

    /// Asks for the tiles of the seat at index `place` of the draft. Skips a seat to which no tile is due.
    fn draft_from(&self, state: &mut State, place: u8, chance: &mut Chance) {
        for place in place..self.seats {
            let gave_up = state.gave_up == Some(state.order[usize::from(place)]);
            let left = self.printed().tiles_each - u8::from(gave_up);
            if left > 0 {
                state.decision = Decision::Truth { place, left };
                return;
            }
        }
        self.end_period(state, chance);
    }

    /// Gives an open tile to the seat at index `place` of the draft; `left` tiles are due to it.
    pub(super) fn take_tile(
        &self,
        state: &mut State,
        place: u8,
        left: u8,
        tile: TileId,
        chance: &mut Chance,
    ) {
        let seat = state.order[usize::from(place)];
        state.open.remove(tile.get());
        state.places[seat].truth.insert(tile.get());
        if left > 1 {
            state.decision = Decision::Truth { place, left: left - 1 };
        } else {
            self.draft_from(state, place + 1, chance);
        }
    }

    /// Clears the board of the period. Then starts the next period or ends the game.
    fn end_period(&self, state: &mut State, chance: &mut Chance) {
        state.open = TilePile::EMPTY;
        state.order = [Seat::FIRST; SEATS];
        state.gave_up = None;
        for place in state.places.of_mut(self.seats) {
            place.supply += std::mem::take(&mut place.compass);
        }
        if state.is_last_period() {
            state.decision = Decision::Over;
            return;
        }
        for place in state.places.of_mut(self.seats) {
            (place.ally, place.under) = (None, None);
        }
        self.return_discard(state);
        state.period += 1;
        state.first = self.left_of(state.active);
        self.begin_period(state, chance);
    }
}

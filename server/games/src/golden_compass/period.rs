//! What frames the turns of a period: allies, truth tiles, clean-up.

use boardwire_kernel::{BitSet, Chance};

use super::action::Action;
use super::limits::{PERIODS, SEATS, TILE_VALUES};
use super::state::{Place, Program, State, Step};
use super::{GoldenCompass, streams};

impl GoldenCompass {
    /// Deals two characters to every seat, from the first seat on.
    pub(super) fn begin_period(&self, s: &mut State, chance: &mut Chance) {
        let characters = (0u8..).zip(&self.printed().characters);
        let mut pile: BitSet<1> =
            characters.filter(|(_, card)| card.period == s.period).map(|(id, _)| id).collect();
        for left in 0..self.seats {
            let place = s.place_mut((s.first + left) % self.seats);
            place.dealt = [0; 2].map(|_: u8| chance.draw(streams::CHARACTERS, &mut pile) + 1);
        }
        s.unseen = pile;
        s.active = s.first;
        s.step = Step::Keep;
    }

    /// A seat keeps one of its two characters; when all have, allies are shown and the turns begin.
    pub(super) fn keep(&self, s: &mut State, seat: u8, which: u8, chance: &mut Chance) {
        s.place_mut(seat).kept = which + 1;
        let seats = usize::from(self.seats);
        if s.places[..seats].iter().any(|place| place.kept == 0) {
            return;
        }
        for seat in 0..seats {
            let (dealt, kept) = (s.places[seat].dealt, usize::from(s.places[seat].kept) - 1);
            s.places[seat].ally = dealt[kept];
            s.places[(seat + 1) % seats].under = dealt[1 - kept];
        }
        for place in &mut s.places[..seats] {
            (place.dealt, place.kept) = ([0; 2], 0);
        }
        self.begin_turn(s, chance);
    }

    /// The symbols on the ally of `seat` and on the card under it.
    pub(super) fn magisterium(&self, s: &State, seat: u8) -> u8 {
        self.symbols(s.place(seat))
    }

    /// The symbols on both cards of a place.
    pub(super) fn symbols(&self, place: &Place) -> u8 {
        let symbols = |card: u8| match card.checked_sub(1) {
            Some(id) => self.printed().characters[usize::from(id)].magisterium,
            None => 0,
        };
        symbols(place.ally) + symbols(place.under)
    }

    /// The cards the holder of the airship would pay.
    pub(super) fn ransom(&self, s: &State, seat: u8) -> u8 {
        self.magisterium(s, seat) + self.printed().ransom
    }

    pub(super) fn begin_scoring(&self, s: &mut State, chance: &mut Chance) {
        s.program = Program::default();
        (s.wild, s.short) = (0, 0);
        if s.airship > 0 {
            s.step = Step::Airship;
        } else {
            self.draw_tiles(s, chance);
        }
    }

    /// The holder of the airship pays or gives up a tile.
    pub(super) fn settle_airship(&self, s: &mut State, seat: u8, action: Action, chance: &mut Chance) {
        let left = match (s.step, action) {
            (Step::Ransom { left }, Action::Card(card)) => {
                self.discard(s, seat, card, 0);
                left - 1
            }
            (_, Action::PayCards) => self.ransom(s, seat),
            _ => {
                s.gave_up = seat + 1;
                0
            }
        };
        if left > 0 {
            s.step = Step::Ransom { left };
        } else {
            s.airship = 0;
            self.draw_tiles(s, chance);
        }
    }

    /// Opens truth tiles, in the last scoring mixed with passage tiles, and begins the draft.
    fn draw_tiles(&self, s: &mut State, chance: &mut Chance) {
        let last = usize::from(s.period) == PERIODS - 1;
        let mut open = 0;
        while open < self.printed().tiles_drawn {
            let tiles: u32 = s.bag.iter().map(|&count| u32::from(count)).sum();
            let passages = if last { u32::from(s.passages) } else { 0 };
            let rank = chance.below(streams::TRUTH, tiles + passages);
            if rank >= tiles {
                s.passages -= 1;
                s.drawn_passages += 1;
                continue;
            }
            let value = usize::from(super::cards::nth(&s.bag, rank));
            s.bag[value] -= 1;
            s.open[value] += 1;
            open += 1;
        }
        s.order = self.draft_order(s);
        self.draft_from(s, 0, chance);
    }

    /// Most compass tiles, then most cards, then clockwise from the left neighbour of the first seat (R25).
    pub(super) fn draft_order(&self, s: &State) -> [u8; SEATS] {
        let mut order = [0; SEATS];
        for left in 0..self.seats {
            order[usize::from(left)] = (s.first + 1 + left) % self.seats;
        }
        let key = |&seat: &u8| (s.place(seat).compass, s.place(seat).hand.len());
        // Stable, so that ties stay in clockwise order.
        let seats = &mut order[..usize::from(self.seats)];
        for at in 1..seats.len() {
            let mut at = at;
            while at > 0 && key(&seats[at]) > key(&seats[at - 1]) {
                seats.swap(at, at - 1);
                at -= 1;
            }
        }
        order
    }

    /// Asks the seat in `place` of the draft, or one after it, for its tiles.
    fn draft_from(&self, s: &mut State, place: u8, chance: &mut Chance) {
        for place in place..self.seats {
            let gave_up = s.gave_up == s.order[usize::from(place)] + 1;
            let left = self.printed().tiles_each - u8::from(gave_up);
            if left > 0 {
                s.step = Step::Truth { place, left };
                return;
            }
        }
        self.end_period(s, chance);
    }

    /// A seat takes an open truth tile.
    pub(super) fn take_tile(&self, s: &mut State, value: u8, chance: &mut Chance) {
        let Step::Truth { place, left } = s.step else {
            return;
        };
        let seat = s.order[usize::from(place)];
        s.open[usize::from(value)] -= 1;
        s.place_mut(seat).truth[usize::from(value)] += 1;
        if left > 1 {
            s.step = Step::Truth { place, left: left - 1 };
        } else {
            self.draft_from(s, place + 1, chance);
        }
    }

    /// Clears the board of the period; the next begins, or the game is over.
    fn end_period(&self, s: &mut State, chance: &mut Chance) {
        s.open = [0; TILE_VALUES];
        s.order = [0; SEATS];
        s.gave_up = 0;
        for place in &mut s.places {
            place.supply += std::mem::take(&mut place.compass);
        }
        if usize::from(s.period) == PERIODS - 1 {
            s.step = Step::Over;
            return;
        }
        for place in &mut s.places {
            (place.ally, place.under) = (0, 0);
        }
        self.return_discard(s);
        s.period += 1;
        s.first = (s.active + 1) % self.seats;
        self.begin_period(s, chance);
    }
}

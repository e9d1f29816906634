//! Draws anew what a seat cannot know in a hurry: for estimates.
//!
//! Every world that agrees with the seat's memory is as likely as any other; [`super::resample`] draws worlds as often as they
//! are likely, and takes some fifty times as long. A sketch is a position like any other, which the game can go on from,
//! but made up for the most part: its `past` is not one that the seat saw, and the others remember nothing.
//!
//! Hidden cards: the places of opponents' hands are filled from the oldest on, each with one of the cards
//! that can be there; since what fits an old place fits a newer one too, the number of choices at a place does not
//! depend on the choices before it, and so every filling is as likely. What is left is the draw pile.
//!
//! Nothing but the seat's knowledge decides what is drawn, unless it does not work out: then it is a world.

mod past;
mod tokens;

use boardwire_kernel::{BitSet, BySeat, RngStream, Seat};

use super::GoldenCompass;
use super::catalogue::limits::{CARDS, COLLECTING, HAND, KNOWN, SEATS};
use super::memory::{Memory, SEEN, Taken};
use super::state::{Hand, Pile, State, Step};

/// Hands drawn before giving up. While another seat is being asked for a card of a set, its hand must leave it a choice,
/// which at the worst one in some thousands does; and a world takes as long as so many hands.
const MOST_TRIES: u32 = 64;

impl GoldenCompass {
    /// Draws anew what `viewer` cannot know, not as often as it is likely.
    pub(super) fn sketch(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let truth = *state;
        if self.try_sketch(state, viewer, rng).is_none() {
            *state = truth;
            self.resample(state, viewer, rng);
        }
    }

    fn try_sketch(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) -> Option<()> {
        self.redraw_characters(state, viewer, rng);
        (0..MOST_TRIES).find(|_| self.deal_cards(state, viewer, rng).is_some() && self.can_go_on(state))?;
        (0..COLLECTING).try_for_each(|city| self.deal_tokens(state, viewer, city, rng))?;
        if !state.trace.is_closed {
            state.trace = self.made_up_past(state)?;
            for seat in self.others(viewer) {
                state.memory[seat] = self.forgetful(state, seat);
            }
        }
        Some(())
    }

    /// Whether a seat that is being asked for a card of a set has a choice, as it truly has.
    fn can_go_on(&self, state: &State) -> bool {
        match state.step {
            Step::Fill(begun) => self.has_choice(&state.acting().hand, begun),
            _ => true,
        }
    }

    /// Fills hands and draw pile; nothing changes if that does not work out.
    fn deal_cards(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) -> Option<()> {
        let memory = &state.memory[viewer];
        let mut hands = BySeat::<Hand, SEATS>::default();
        let mut ages = memory.ages;
        self.settle_taken(state, viewer, &mut hands, &mut ages, rng)?;
        let mut pool = Pool::new(self, memory);
        // Cards of the active seat, the newest first.
        let mut newest = [0; HAND];
        for age in 0..=memory.returns {
            pool.open(age);
            for seat in self.others(viewer) {
                for _ in 0..ages[seat].count(age) {
                    let card = pool.draw(rng)?;
                    hands[seat].insert(card);
                    if seat == state.active {
                        newest.rotate_right(1);
                        newest[0] = card;
                    }
                }
            }
        }
        for seat in self.others(viewer) {
            state.places[seat].hand = hands[seat];
        }
        state.deck = pool.rest();
        if state.active != viewer && !state.just_drawn.is_empty() {
            state.just_drawn = newest[..usize::from(state.just_drawn.len())].iter().copied().collect();
        }
        Some(())
    }

    /// Gives the cards taken from the viewer to somebody who may hold them.
    fn settle_taken(
        &self,
        state: &State,
        viewer: Seat,
        hands: &mut BySeat<Hand, SEATS>,
        ages: &mut BySeat<Hand, SEATS>,
        rng: &mut RngStream,
    ) -> Option<()> {
        let taken = state.memory[viewer].taken();
        if taken.is_empty() {
            return Some(());
        }
        let mut room = BySeat::default();
        for seat in self.others(viewer) {
            room[seat] = state.places[seat].hand.len();
        }
        if state.active != viewer {
            room[state.active] -= state.just_drawn.len();
        }
        let mut given = [Seat::FIRST; KNOWN];
        // The surest first: they leave the others the room there is.
        let mut order: Vec<usize> = (0..taken.len()).collect();
        order.sort_by_key(|&at| taken[at].holders.count_ones());
        if !assign(taken, &order, &mut room, &mut given, rng) {
            return None;
        }
        for (entry, &seat) in taken.iter().zip(&given) {
            hands[seat].insert(entry.card);
            if !entry.is_certain(seat) && !ages[seat].is_empty() {
                ages[seat].take(0);
            }
        }
        Some(())
    }
}

/// The hidden cards that can be in hand places of some age.
struct Pool {
    /// The types and stamps of hidden copies, those open first.
    types: [u8; CARDS],
    stamps: [u8; CARDS],
    len: usize,
    open: usize,
}

impl Pool {
    fn new(game: &GoldenCompass, memory: &Memory) -> Self {
        let mut pool = Self { types: [0; CARDS], stamps: [0; CARDS], len: 0, open: 0 };
        for (&card, &stamp) in game.copy_types.iter().zip(&memory.stamps).take(game.copies.into()) {
            // Known copies are written over by the next.
            (pool.types[pool.len], pool.stamps[pool.len]) = (card, stamp);
            pool.len += usize::from(stamp != SEEN);
        }
        pool
    }

    /// Opens the copies last seen before a place of this age was drawn.
    fn open(&mut self, age: u8) {
        for at in self.open..self.len {
            if self.stamps[at] <= age {
                self.types.swap(at, self.open);
                self.stamps.swap(at, self.open);
                self.open += 1;
            }
        }
    }

    /// Draws an open copy, if there is one.
    fn draw(&mut self, rng: &mut RngStream) -> Option<u8> {
        if self.open == 0 {
            return None;
        }
        let at = rng.below(u32::try_from(self.open).expect("few cards")) as usize;
        let card = self.types[at];
        self.open -= 1;
        self.len -= 1;
        // The last open copy fills the gap, and the last of all the gap that leaves.
        self.types[at] = self.types[self.open];
        self.types[self.open] = self.types[self.len];
        self.stamps[self.open] = self.stamps[self.len];
        Some(card)
    }

    /// The draw pile.
    fn rest(&self) -> Pile {
        self.types[..self.len].iter().copied().collect()
    }
}

/// Gives each card to one of its possible holders with room left, trying them in random order.
fn assign(
    taken: &[Taken],
    order: &[usize],
    room: &mut BySeat<u8, SEATS>,
    given: &mut [Seat],
    rng: &mut RngStream,
) -> bool {
    let Some((&at, rest)) = order.split_first() else {
        return true;
    };
    let mut holders = BitSet::from(u64::from(taken[at].holders));
    while !holders.is_empty() {
        let seat = Seat::new(rng.draw(&mut holders));
        if room[seat] > 0 {
            room[seat] -= 1;
            given[at] = seat;
            if assign(taken, rest, room, given, rng) {
                return true;
            }
            room[seat] += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_find_their_holders_whichever_is_tried_first() {
        // The first may be with 1 or 2, the second with 1 alone, and both have room for one.
        let taken = [0b0110, 0b0010].map(|holders| Taken { card: 1, holders });
        let mut rng = RngStream::new(1, 0);
        for _ in 0..20 {
            let mut room = BySeat::new([0, 1, 1, 0]);
            let mut given = [Seat::FIRST; 2];
            assert!(assign(&taken, &[0, 1], &mut room, &mut given, &mut rng));
            assert_eq!((given, room), ([2, 1].map(Seat::new), BySeat::new([0; 4])));
        }
    }
}

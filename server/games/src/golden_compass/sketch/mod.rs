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
use super::memory::{Memory, Taken};
use super::state::{Hand, Pile, State, Step};
use tokens::HiddenTokens;

/// Hands drawn before giving up. While another seat is being asked for a card of a set, its hand must leave it a choice,
/// which at the worst one in some thousands does; and a world takes as long as so many hands.
const MOST_TRIES: u32 = 64;

/// What the sketches of a position have in common: what may be where.
pub struct Outline {
    /// The position itself, for a world instead.
    truth: State,
    pool: Pool,
    /// The places in the list of cards taken from the viewer, the surest first: they leave the others the room there is.
    order: Vec<usize>,
    cities: [HiddenTokens; COLLECTING],
}

impl GoldenCompass {
    /// What the sketches of this position have in common.
    pub(super) fn outline(&self, state: &State, viewer: Seat) -> Outline {
        let memory = &state.memory[viewer];
        let taken = memory.taken();
        let mut order: Vec<usize> = (0..taken.len()).collect();
        order.sort_by_key(|&at| taken[at].holders.count_ones());
        let cities = std::array::from_fn(|city| self.hidden_tokens(state, viewer, city));
        Outline { truth: *state, pool: Pool::new(self, memory), order, cities }
    }

    /// Draws anew what `viewer` cannot know, not as often as it is likely, in the position of an outline or a sketch of it.
    pub(super) fn sketch(&self, outline: &Outline, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        if self.try_sketch(outline, state, viewer, rng).is_none() {
            *state = outline.truth;
            self.resample(state, viewer, rng);
        }
    }

    fn try_sketch(
        &self,
        outline: &Outline,
        state: &mut State,
        viewer: Seat,
        rng: &mut RngStream,
    ) -> Option<()> {
        self.redraw_characters(state, viewer, rng);
        (0..MOST_TRIES)
            .find(|_| self.deal_cards(outline, state, viewer, rng).is_some() && self.can_go_on(state))?;
        self.deal_tokens(&outline.cities, state, viewer, rng)?;
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

    /// Fills hands and draw pile; they stay as they were if that does not work out.
    fn deal_cards(
        &self,
        outline: &Outline,
        state: &mut State,
        viewer: Seat,
        rng: &mut RngStream,
    ) -> Option<()> {
        let memory = &state.memory[viewer];
        let mut hands = BySeat::<Hand, SEATS>::default();
        let mut ages = memory.ages;
        self.settle_taken(&outline.order, state, viewer, &mut hands, &mut ages, rng)?;
        let mut pool = outline.pool;
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
        state.deck = pool.rest;
        if state.active != viewer && !state.just_drawn.is_empty() {
            state.just_drawn = newest[..usize::from(state.just_drawn.len())].iter().copied().collect();
        }
        Some(())
    }

    /// Gives the cards taken from the viewer to somebody who may hold them, in this order.
    fn settle_taken(
        &self,
        order: &[usize],
        state: &State,
        viewer: Seat,
        hands: &mut BySeat<Hand, SEATS>,
        ages: &mut BySeat<Hand, SEATS>,
        rng: &mut RngStream,
    ) -> Option<()> {
        if order.is_empty() {
            return Some(());
        }
        let taken = state.memory[viewer].taken();
        let mut room = BySeat::default();
        for seat in self.others(viewer) {
            room[seat] = state.places[seat].hand.len();
        }
        if state.active != viewer {
            room[state.active] -= state.just_drawn.len();
        }
        let mut given = [Seat::FIRST; KNOWN];
        if !assign(taken, order, &mut room, &mut given, rng) {
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
#[derive(Clone, Copy)]
struct Pool {
    /// The types and stamps of hidden copies, the lowest stamp first; of those open, the ones drawn come first.
    types: [u8; CARDS],
    stamps: [u8; CARDS],
    drawn: usize,
    open: usize,
    len: usize,
    /// All that are not drawn.
    rest: Pile,
}

impl Pool {
    fn new(game: &GoldenCompass, memory: &Memory) -> Self {
        let mut pool =
            Self { types: [0; CARDS], stamps: [0; CARDS], drawn: 0, open: 0, len: 0, rest: Pile::EMPTY };
        let copies = || game.copy_types.iter().zip(&memory.stamps).take(game.copies.into());
        for age in 0..=memory.returns {
            for (&card, _) in copies().filter(|&(_, &stamp)| stamp == age) {
                (pool.types[pool.len], pool.stamps[pool.len]) = (card, age);
                pool.len += 1;
            }
        }
        pool.rest = pool.types[..pool.len].iter().copied().collect();
        pool
    }

    /// Opens the copies last seen before a place of this age was drawn.
    fn open(&mut self, age: u8) {
        self.open = self.stamps[..self.len].partition_point(|&stamp| stamp <= age);
    }

    /// Draws an open copy, if there is one.
    fn draw(&mut self, rng: &mut RngStream) -> Option<u8> {
        let left = u32::try_from(self.open - self.drawn).expect("few cards");
        if left == 0 {
            return None;
        }
        self.types.swap(self.drawn, self.drawn + rng.below(left) as usize);
        let card = self.types[self.drawn];
        self.drawn += 1;
        self.rest.remove(card);
        Some(card)
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

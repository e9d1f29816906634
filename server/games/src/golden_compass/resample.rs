//! Draws anew what a seat cannot know, each world that agrees with its memory as likely as any other.
//!
//! Hidden cards: the places of opponents' hands are filled from the oldest on, each with one of the cards
//! that can be there; since what fits an old place fits a newer one too, the number of choices at a place does not
//! depend on the choices before it, and so every filling is as likely. What is left is the draw pile.
//! Hidden tokens: city by city, by counting how many ways are left after each choice.
//!
//! The memories of the other seats are made anew as well, to agree with the world drawn: they are as wide as
//! what this seat knows allows.

use boardwire_kernel::{BitSet, BySeat, RngStream, Seat};

use super::GoldenCompass;
use super::catalogue::limits::{CARDS, CITY_TOKENS, COLLECTING, HAND, KNOWN, SEATS, few};
use super::catalogue::{CardId, CharacterId, TokenId};
use super::memory::{Memory, SEEN, TABLE, Taken, place_of};
use super::state::{CharacterSet, Hand, Pile, State, Step, tokens_of};

/// Worlds drawn before giving up on a seat that is being asked for a card of a set: it must have a choice.
/// One in some thousands has, at the worst.
const MOST_TRIES: u32 = 1_000_000;

/// The place of tokens at their city, after those of the seats.
const AT_CITY: usize = SEATS;

impl GoldenCompass {
    /// Draws anew what `viewer` cannot know.
    pub(super) fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.redraw_characters(state, viewer, rng);
        for _ in 0..MOST_TRIES {
            self.redraw_cards(state, viewer, rng);
            if self.can_go_on(state, viewer) {
                break;
            }
        }
        for city in 0..COLLECTING {
            self.redraw_tokens(state, viewer, city, rng);
        }
        for seat in self.others(viewer) {
            self.remake_memory(state, viewer, seat);
        }
    }

    /// Whether the hand drawn for a seat that is being asked for a card of a set leaves it the choice it has.
    fn can_go_on(&self, state: &State, viewer: Seat) -> bool {
        match state.step {
            Step::Fill(begun) if state.active != viewer => self.has_choice(&state.acting().hand, begun),
            _ => true,
        }
    }

    fn redraw_characters(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut pile = state.unseen;
        if state.step == Step::Keep {
            for id in self.others(viewer).filter_map(|seat| state.places[seat].dealt).flatten() {
                pile.insert(id);
            }
            for seat in self.others(viewer) {
                let place = &mut state.places[seat];
                let mut draw = || CharacterId::new(rng.draw(&mut pile));
                place.dealt = Some([draw(), draw()]);
                place.kept = place.kept.map(|_| u8::from(rng.below(2) == 1));
            }
            state.unseen = pile;
            return;
        }
        // The viewer knows the card under its own ally and the one it passed to the left.
        let left = self.left_of(viewer);
        let hidden = self.others(viewer).filter(|&seat| seat != left);
        let under =
            |state: &State, seat| state.places[seat].under.expect("allies are shown with a card under them");
        for seat in hidden.clone() {
            pile.insert(under(state, seat));
        }
        for seat in hidden {
            let symbols = self.symbols[under(state, seat).index()];
            let fits = |id: &u8| self.symbols[usize::from(*id)] == symbols;
            let id = rng.draw(&mut pile.iter().filter(fits).collect::<CharacterSet>());
            pile.remove(id);
            state.places[seat].under = Some(CharacterId::new(id));
        }
        state.unseen = pile;
    }

    /// Fills hands and draw pile.
    fn redraw_cards(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let memory = &state.memory[viewer];
        let mut hands = BySeat::<Hand, SEATS>::default();
        let mut ages = memory.ages;
        self.settle_taken(state, viewer, memory, &mut hands, &mut ages, rng);
        let mut pool = Pool::new(self, memory);
        // Cards of the active seat, the newest first.
        let mut newest = [0; HAND];
        for age in 0..=memory.returns {
            pool.open(age);
            for seat in self.others(viewer) {
                for _ in 0..ages[seat].count(age) {
                    let card = pool.draw(rng);
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
    }

    /// Gives the cards taken from the viewer to somebody who may hold them.
    fn settle_taken(
        &self,
        state: &State,
        viewer: Seat,
        memory: &Memory,
        hands: &mut BySeat<Hand, SEATS>,
        ages: &mut BySeat<Hand, SEATS>,
        rng: &mut RngStream,
    ) {
        let taken = memory.taken();
        if taken.is_empty() {
            return;
        }
        let mut room = BySeat::default();
        for seat in self.others(viewer) {
            room[seat] = state.places[seat].hand.len();
        }
        let mut given = [Seat::FIRST; KNOWN];
        // The surest first: they leave the others the room there is.
        let mut order: Vec<usize> = (0..taken.len()).collect();
        order.sort_by_key(|&at| taken[at].holders.count_ones());
        if !assign(taken, &order, &mut room, &mut given, rng) {
            return;
        }
        for (entry, &seat) in taken.iter().zip(&given) {
            hands[seat].insert(entry.card);
            if !entry.is_certain(seat) && !ages[seat].is_empty() {
                ages[seat].take(0);
            }
        }
    }

    /// Gives the tokens of one city that the viewer cannot see to the places they may be in.
    fn redraw_tokens(&self, state: &mut State, viewer: Seat, city: usize, rng: &mut RngStream) {
        let all = self.printed().cities[city].tokens;
        let places = state.memory[viewer].tokens;
        let own = state.places[viewer].tokens;
        let hidden = |token: &TokenId| places[token.index() - 1] != 0 && !own.contains(*token);
        let tokens: Hand = tokens_of(all).filter(hidden).collect();
        let mut room = [0u8; SEATS + 1];
        for seat in self.others(viewer) {
            let held = &mut state.places[seat].tokens;
            room[seat.index()] = few(held.intersection(all).len());
            *held = held.difference(all);
        }
        room[AT_CITY] = few(state.piles[city].len());
        state.piles[city] = BitSet::EMPTY;
        let tokens = tokens.as_slice();
        let mut all_ways = free_ways(tokens, &places, room);
        for (at, &token) in tokens.iter().enumerate() {
            let chosen = if let Some(all) = &mut all_ways {
                choose_freely(all, tokens.len() - at, room, rng)
            } else {
                let rest = &tokens[at + 1..];
                choose(&std::array::from_fn(|place| count_with(token, place, rest, &places, &mut room)), rng)
            };
            room[chosen] = room[chosen].saturating_sub(1);
            if chosen == AT_CITY {
                state.piles[city].insert(token);
            } else {
                state.places[Seat::new(few(chosen))].tokens.insert(token);
            }
        }
    }

    /// A memory of `seat` that agrees with the world and says no more than `viewer` can know of it.
    fn remake_memory(&self, state: &mut State, viewer: Seat, seat: Seat) {
        let old = &state.memory[seat];
        let known = &state.memory[viewer];
        let mut new = Memory::new(self.copies, self.printed().tokens.len());
        new.returns = known.returns;
        // What the viewer took from this seat, both know.
        for entry in old.taken().iter().filter(|entry| entry.is_certain(viewer)) {
            new.remember(CardId::new(entry.card), entry.holders);
        }
        for other in self.others(seat) {
            let certain = new.taken().iter().filter(|entry| entry.is_certain(other)).count();
            let places = state.places[other].hand.len() - few(certain);
            new.ages[other] = Hand::repeated(new.returns, places);
        }
        self.remake_stamps(state, viewer, seat, &mut new);
        self.remake_tokens(state, viewer, seat, &mut new);
        state.memory[seat] = new;
    }

    /// When `seat` last saw each card, as far as `viewer` can know.
    fn remake_stamps(&self, state: &State, viewer: Seat, seat: Seat, new: &mut Memory) {
        let known = &state.memory[viewer].stamps;
        for ((stamp, &remembered), kept) in new.stamps.iter_mut().zip(known).zip(&state.not_discarded) {
            let hidden = if remembered == SEEN { new.returns } else { remembered };
            *stamp = hidden | !kept;
        }
        new.stamps[usize::from(self.copies)..].fill(SEEN);
        let hand = state.places[seat].hand;
        let taken = new.taken;
        let taken = taken[..usize::from(new.taken_len)].iter().map(|entry| entry.card);
        for card in hand.as_slice().iter().copied().chain(taken) {
            let block = self.blocks[usize::from(card)];
            let hidden = new.stamps[..block.end()].iter().rposition(|&stamp| stamp != SEEN);
            new.stamps[hidden.expect("a card in hand is one of its copies")] = SEEN;
        }
    }

    /// Where `seat` thinks tokens may be, as far as `viewer` can know.
    fn remake_tokens(&self, state: &State, viewer: Seat, seat: Seat, new: &mut Memory) {
        let anywhere = (TABLE | ((1 << self.seats) - 1)) & !place_of(seat);
        new.tokens[..self.printed().tokens.len()].fill(anywhere);
        for token in tokens_of(state.places[viewer].tokens) {
            if state.memory[seat].places_of(token) == place_of(viewer) {
                new.tokens[token.index() - 1] = place_of(viewer);
            }
        }
        for token in state.circles.iter().flat_map(|&circle| tokens_of(circle)) {
            new.tokens[token.index() - 1] = 0;
        }
        for token in tokens_of(state.places[seat].tokens) {
            new.tokens[token.index() - 1] = place_of(seat);
        }
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

    fn draw(&mut self, rng: &mut RngStream) -> u8 {
        if self.open == 0 {
            self.open = self.len; // No game leads here, a snapshot from outside may.
        }
        let at = rng.below(u32::try_from(self.open).expect("few cards")) as usize;
        let card = self.types[at];
        self.open -= 1;
        self.len -= 1;
        // The last open copy fills the gap, and the last of all the gap that leaves.
        self.types[at] = self.types[self.open];
        self.types[self.open] = self.types[self.len];
        self.stamps[self.open] = self.stamps[self.len];
        card
    }

    /// The draw pile.
    fn rest(&self) -> Pile {
        self.types[..self.len].iter().copied().collect()
    }
}

/// The number of orders of so many tokens.
const FACTORIALS: [u32; CITY_TOKENS as usize + 1] = [1, 1, 2, 6, 24, 120, 720, 5_040, 40_320];

/// How many ways there are to give `tokens` to places, if each may be in every place with room and they fill them.
fn free_ways(tokens: &[u8], places: &[u8], room: [u8; SEATS + 1]) -> Option<u32> {
    let mut open = 0u8;
    let (mut rooms, mut orders) = (0, 1);
    for (place, room) in room.into_iter().enumerate() {
        open |= u8::from(room > 0) << place;
        rooms += usize::from(room);
        orders *= FACTORIALS.get(usize::from(room))?;
    }
    let is_free = |&token: &u8| places[usize::from(token) - 1] & open == open;
    let is_filled = rooms == tokens.len() && tokens.iter().all(is_free);
    // Each order of the tokens fills the places; the order within a place makes no difference.
    is_filled.then(|| FACTORIALS[rooms] / orders)
}

/// How many ways there are to give `tokens` to places with room where they may be.
fn count(tokens: &[u8], places: &[u8], room: &mut [u8; SEATS + 1]) -> u32 {
    let Some((&token, rest)) = tokens.split_first() else {
        return 1;
    };
    let free = free_ways(tokens, places, *room);
    free.unwrap_or_else(|| (0..=SEATS).map(|place| count_with(token, place, rest, places, room)).sum())
}

/// How many of these have `token` in this place.
fn count_with(token: u8, place: usize, rest: &[u8], places: &[u8], room: &mut [u8; SEATS + 1]) -> u32 {
    if room[place] == 0 || places[usize::from(token) - 1] >> place & 1 == 0 {
        return 0;
    }
    room[place] -= 1;
    let ways = count(rest, places, room);
    room[place] += 1;
    ways
}

/// A place for the next of so many tokens that may each be in every place with room: likely by its room, as its
/// share of `all` ways is. What ways there are for the others remains.
fn choose_freely(all: &mut u32, tokens: usize, room: [u8; SEATS + 1], rng: &mut RngStream) -> usize {
    let tokens = u32::from(few(tokens));
    let drawn = rng.below(*all) * tokens;
    let mut reached = 0;
    let chosen = room.into_iter().position(|room| {
        reached += *all * u32::from(room);
        drawn < reached
    });
    let chosen = chosen.expect("the tokens fill the places");
    *all = *all * u32::from(room[chosen]) / tokens;
    chosen
}

/// One of the places, each as likely as it has ways.
fn choose(ways: &[u32; SEATS + 1], rng: &mut RngStream) -> usize {
    let mut left = rng.below(ways.iter().sum::<u32>().max(1));
    for (place, &way) in ways.iter().enumerate() {
        if left < way {
            return place;
        }
        left -= way;
    }
    AT_CITY // No game leads here, a snapshot from outside may.
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

//! Draws anew what a seat cannot know, each world that agrees with its memory as likely as any other.
//!
//! Hidden cards: the places of opponents' hands are filled from the oldest on, each with one of the cards
//! that can be there; since what fits an old place fits a newer one too, the number of choices at a place does not
//! depend on the choices before it, and so every filling is as likely. What is left is the draw pile.
//! Hidden tokens: city by city, by counting how many ways are left after each choice.
//!
//! The memories of the other seats are made anew as well, to agree with the world drawn: they are as wide as
//! what this seat knows allows.

use boardwire_kernel::{BitSet, RngStream};

use super::GoldenCompass;
use super::limits::{CARD_TYPES, CARDS, COLLECTING, HAND, SEATS};
use super::memory::{Memory, SEEN, TABLE, Taken};
use super::state::{Cards, State, Step, bits};

/// Worlds drawn before giving up on a seat that is being asked for a card of a set: it must have a choice.
/// One in some thousands has, at the worst.
const MOST_TRIES: u32 = 1_000_000;

impl GoldenCompass {
    pub(super) fn redraw(&self, s: &mut State, viewer: u8, rng: &mut RngStream) {
        self.redraw_characters(s, viewer, rng);
        for _ in 0..MOST_TRIES {
            self.redraw_cards(s, viewer, rng);
            if self.can_go_on(s, viewer) {
                break;
            }
        }
        let copies = s.memory[usize::from(viewer)].stamps;
        for city in 0..COLLECTING {
            self.redraw_tokens(s, viewer, city, rng);
        }
        for seat in (0..self.seats).filter(|&seat| seat != viewer) {
            self.remake_memory(s, viewer, seat, &copies);
        }
    }

    /// Whether the hand drawn for a seat that is being asked for a card of a set leaves it the choice it has.
    fn can_go_on(&self, s: &State, viewer: u8) -> bool {
        match s.step {
            Step::Fill(begun) if s.active != viewer => self.has_choice(s, begun),
            _ => true,
        }
    }

    fn others(&self, viewer: u8) -> impl Iterator<Item = u8> + use<> {
        (0..self.seats).filter(move |&seat| seat != viewer)
    }

    fn redraw_characters(&self, s: &mut State, viewer: u8, rng: &mut RngStream) {
        let mut pile = s.unseen;
        if s.step == Step::Keep {
            for seat in self.others(viewer) {
                s.place(seat).dealt.iter().for_each(|id| pile.insert(id - 1));
            }
            for seat in self.others(viewer) {
                let place = s.place_mut(seat);
                place.dealt = [0; 2].map(|_: u8| rng.draw(&mut pile) + 1);
                if place.kept > 0 {
                    place.kept = u8::from(rng.below(2) == 1) + 1;
                }
            }
            s.unseen = pile;
            return;
        }
        // The viewer knows the card under its own ally and the one it passed to the left.
        let left = (viewer + 1) % self.seats;
        let hidden = |seat: &u8| *seat != left;
        if s.places[0].ally == 0 {
            return;
        }
        let symbols = |id: u8| self.printed().characters[usize::from(id)].magisterium;
        for seat in self.others(viewer).filter(hidden) {
            pile.insert(s.place(seat).under - 1);
        }
        for seat in self.others(viewer).filter(hidden) {
            let shown = symbols(s.place(seat).under - 1);
            let mut fitting: BitSet<1> = pile.iter().filter(|&id| symbols(id) == shown).collect();
            let id = rng.draw(&mut fitting);
            pile.remove(id);
            s.place_mut(seat).under = id + 1;
        }
        s.unseen = pile;
    }

    /// Fills hands and draw pile.
    fn redraw_cards(&self, s: &mut State, viewer: u8, rng: &mut RngStream) {
        let memory = s.memory[usize::from(viewer)];
        let mut hands = [Cards::default(); SEATS];
        let mut ages = memory.ages;
        self.settle_taken(s, viewer, &memory, &mut hands, &mut ages, rng);
        let mut pool = Pool::new(self, &memory);
        // Cards of the active seat, the newest first.
        let mut newest = [0; HAND];
        for age in 0..=memory.returns {
            pool.open(age);
            for seat in self.others(viewer) {
                let here = ages[usize::from(seat)].count(age);
                for _ in 0..here {
                    let card = pool.draw(rng);
                    hands[usize::from(seat)].insert(card);
                    if seat == s.active {
                        newest.rotate_right(1);
                        newest[0] = card;
                    }
                }
            }
        }
        for seat in self.others(viewer) {
            s.place_mut(seat).hand = hands[usize::from(seat)];
        }
        s.deck = pool.rest();
        if s.active != viewer && s.fresh.len() > 0 {
            s.fresh = newest[..usize::from(s.fresh.len())].iter().copied().collect();
        }
    }

    /// Gives the cards taken from the viewer to somebody who may hold them.
    fn settle_taken(
        &self,
        s: &State,
        viewer: u8,
        memory: &Memory,
        hands: &mut [Cards; SEATS],
        ages: &mut [Cards; SEATS],
        rng: &mut RngStream,
    ) {
        let mut room = [0u8; SEATS];
        for seat in self.others(viewer) {
            room[usize::from(seat)] = s.place(seat).hand.len();
        }
        let mut given = [0u8; 64];
        let taken = memory.taken();
        // The surest first: they leave the others the room there is.
        let mut order: Vec<usize> = (0..taken.len()).collect();
        order.sort_by_key(|&at| taken[at].holders.count_ones());
        if !assign(taken, &order, &mut room, &mut given, rng) {
            return;
        }
        for (entry, &seat) in taken.iter().zip(&given) {
            hands[usize::from(seat)].insert(entry.card);
            if !entry.is_certain(seat) && ages[usize::from(seat)].len() > 0 {
                ages[usize::from(seat)].take(0);
            }
        }
    }

    /// Gives the tokens of one city that the viewer cannot see to the places they may be in.
    fn redraw_tokens(&self, s: &mut State, viewer: u8, city: usize, rng: &mut RngStream) {
        let all = self.printed().cities[city].tokens;
        let places = s.memory[usize::from(viewer)].tokens;
        let hidden = |token: &u8| {
            !matches!(places[usize::from(*token)], 0) && s.place(viewer).tokens >> token & 1 == 0
        };
        let tokens: Cards = bits(all).filter(hidden).collect();
        let mut room = [0u8; SEATS + 1];
        for seat in self.others(viewer) {
            let held = s.place(seat).tokens & all;
            room[usize::from(seat)] = u8::try_from(held.count_ones()).unwrap_or(0);
            s.place_mut(seat).tokens &= !all;
        }
        room[SEATS] = u8::try_from(s.piles[city].count_ones()).unwrap_or(0);
        s.piles[city] = 0;
        let tokens = tokens.as_slice();
        for (at, &token) in tokens.iter().enumerate() {
            let mut ways = [0u32; SEATS + 1];
            for (place, way) in ways.iter_mut().enumerate() {
                if room[place] > 0 && places[usize::from(token)] >> place & 1 == 1 {
                    room[place] -= 1;
                    *way = count(&tokens[at + 1..], &places, &mut room);
                    room[place] += 1;
                }
            }
            let mut left = rng.below(ways.iter().sum::<u32>().max(1));
            let mut chosen = SEATS;
            for (place, &way) in ways.iter().enumerate() {
                if left < way {
                    chosen = place;
                    break;
                }
                left -= way;
            }
            room[chosen] = room[chosen].saturating_sub(1);
            match s.places.get_mut(chosen) {
                Some(place) => place.tokens |= 1 << token,
                None => s.piles[city] |= 1 << token,
            }
        }
    }

    /// A memory of `seat` that agrees with the world and says no more than `viewer` can know of it.
    fn remake_memory(&self, s: &mut State, viewer: u8, seat: u8, stamps: &[u8; CARDS]) {
        let old = s.memory[usize::from(seat)];
        let known = s.memory[usize::from(viewer)];
        let cards = self.blocks.iter().map(|block| usize::from(block.len)).sum();
        let mut new = Memory::new(cards, self.printed().tokens.len());
        new.returns = known.returns;
        // What the viewer took from this seat, both know.
        for entry in old.taken().iter().filter(|entry| entry.is_certain(viewer)) {
            new.remember(entry.card, entry.holders);
        }
        for other in self.others(seat) {
            let certain = new.taken().iter().filter(|entry| entry.is_certain(other)).count();
            let places = usize::from(s.place(other).hand.len()) - certain;
            new.ages[usize::from(other)] = std::iter::repeat_n(new.returns, places).collect();
        }
        for (card, block) in (0u8..).zip(&self.blocks) {
            let taken = new.taken().iter().filter(|entry| entry.card == card).count();
            let seen = usize::from(s.place(seat).hand.count(card) + s.discard[usize::from(card)]) + taken;
            let start = usize::from(block.start);
            let hidden = usize::from(block.len) - seen;
            for (at, stamp) in new.stamps[start..start + usize::from(block.len)].iter_mut().enumerate() {
                let remembered = stamps[start + at];
                *stamp = match remembered {
                    _ if at >= hidden => SEEN,
                    SEEN => new.returns,
                    stamp => stamp,
                };
            }
        }
        for (id, place) in new.tokens[..self.printed().tokens.len()].iter_mut().enumerate() {
            *place = self.remake_place(s, viewer, seat, old.tokens[id], id);
        }
        s.memory[usize::from(seat)] = new;
    }

    /// Where `seat` thinks a token may be.
    fn remake_place(&self, s: &State, viewer: u8, seat: u8, old: u8, token: usize) -> u8 {
        let held = |by: u8| s.place(by).tokens >> token & 1 == 1;
        let anywhere = (TABLE | ((1 << self.seats) - 1)) & !(1 << seat);
        if held(seat) {
            1 << seat
        } else if s.circles.iter().any(|circle| circle >> token & 1 == 1) {
            0
        } else if held(viewer) && old == 1 << viewer {
            old
        } else {
            anywhere
        }
    }
}

/// The hidden cards that can be in hand places of some age.
struct Pool {
    /// Hidden copies by stamp: type and stamp, those open first.
    copies: [(u8, u8); CARDS],
    len: usize,
    open: usize,
}

impl Pool {
    fn new(game: &GoldenCompass, memory: &Memory) -> Self {
        let mut pool = Self { copies: [(0, 0); CARDS], len: 0, open: 0 };
        for (card, block) in (0u8..).zip(&game.blocks) {
            for &stamp in memory.stamps(*block).iter().filter(|&&stamp| stamp != SEEN) {
                pool.copies[pool.len] = (card, stamp);
                pool.len += 1;
            }
        }
        pool
    }

    /// Opens the copies last seen before a place of this age was drawn.
    fn open(&mut self, age: u8) {
        for at in self.open..self.len {
            if self.copies[at].1 <= age {
                self.copies.swap(at, self.open);
                self.open += 1;
            }
        }
    }

    fn draw(&mut self, rng: &mut RngStream) -> u8 {
        if self.open == 0 {
            self.open = self.len; // No game leads here, a snapshot from outside may.
        }
        let at = rng.below(u32::try_from(self.open).unwrap_or(1)) as usize;
        let card = self.copies[at].0;
        self.open -= 1;
        self.len -= 1;
        self.copies[at] = self.copies[self.open];
        self.copies[self.open] = self.copies[self.len];
        card
    }

    /// The draw pile.
    fn rest(&self) -> [u8; CARD_TYPES] {
        let mut deck = [0; CARD_TYPES];
        for (card, _) in &self.copies[..self.len] {
            deck[usize::from(*card)] += 1;
        }
        deck
    }
}

/// How many ways there are to give `tokens` to places with room where they may be.
fn count(tokens: &[u8], places: &[u8], room: &mut [u8; SEATS + 1]) -> u32 {
    let Some((&token, rest)) = tokens.split_first() else {
        return 1;
    };
    let mut ways = 0;
    for place in 0..=SEATS {
        if room[place] > 0 && places[usize::from(token)] >> place & 1 == 1 {
            room[place] -= 1;
            ways += count(rest, places, room);
            room[place] += 1;
        }
    }
    ways
}

/// Gives each card to one of its possible holders with room left, trying them in random order.
fn assign(
    taken: &[Taken],
    order: &[usize],
    room: &mut [u8; SEATS],
    given: &mut [u8],
    rng: &mut RngStream,
) -> bool {
    let Some((&at, rest)) = order.split_first() else {
        return true;
    };
    let mut holders: BitSet<1> = (0..4).filter(|seat| taken[at].holders >> seat & 1 == 1).collect();
    while !holders.is_empty() {
        let seat = rng.draw(&mut holders);
        if room[usize::from(seat)] > 0 {
            room[usize::from(seat)] -= 1;
            given[at] = seat;
            if assign(taken, rest, room, given, rng) {
                return true;
            }
            room[usize::from(seat)] += 1;
        }
    }
    false
}

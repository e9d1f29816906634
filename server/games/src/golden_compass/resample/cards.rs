//! Samples the cards that a seat cannot see: the hands of other seats and the draw pile.
//!
//! Each card taken from the seat goes to a seat that may hold it. Then the other hand places are filled, the oldest
//! first, each with a card that can be there. A card that fits an old place fits a newer one too. So the number of
//! choices at a place does not depend on earlier choices, and every filling is equally likely. The cards that are left
//! are the draw pile.
//!
//! If another seat must name a card of a set, its hand must leave it a choice. Hands are sampled until one does. After
//! [`MOST_TRIES`] failures such a hand is built.

use boardwire_kernel::{BySeat, RngStream, Seat, SeatSet};

use super::super::GoldenCompass;
use super::super::limits::{CARD_TYPES, CARDS, HAND, KNOWN, PLACES, SEATS, to_byte};
use super::super::memory::{Memory, SEEN, Taken};
use super::super::state::{Begun, Decision, Hand, Pile, Sorted, State};

/// Samples of hands, or of the holders of taken cards, before the fallback: a built hand, or a full search.
const MOST_TRIES: u32 = 64;
/// Assignments of taken cards that the full search tries. Games have few; a snapshot from outside can have more.
const MOST_WAYS: u32 = 1 << 14;

/// What a seat knows about the cards that it cannot see.
#[derive(Clone)]
struct HiddenCards {
    viewer: Seat,
    active: Seat,
    seats: u8,
    /// The cards taken from the viewer, the most certain first.
    taken: [Taken; KNOWN],
    taken_len: usize,
    /// By seat: the room of its hand for taken cards. Cards just drawn are never taken cards.
    room: BySeat<u8, SEATS>,
    /// By seat: the ages of its other hand places.
    ages: BySeat<Sorted, SEATS>,
    returns: u8,
    pool: Pool,
}

/// Sampled hands and draw pile.
struct Dealt {
    hands: BySeat<Hand, SEATS>,
    /// The cards of the active seat, newest first.
    newest: [u8; HAND],
    deck: Pile,
}

impl GoldenCompass {
    /// Samples the hands of other seats and the draw pile.
    pub(super) fn resample_cards(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let hidden = HiddenCards::new(self, state, viewer);
        let dealt = match state.decision {
            Decision::Fill(begun) if state.active != viewer => self.deal_with_choice(&hidden, begun, rng),
            _ => hidden.deal(rng),
        };
        for seat in self.others(viewer) {
            state.places[seat].hand = dealt.hands[seat];
        }
        state.deck = dealt.deck;
        if state.active != viewer && !state.just_drawn.is_empty() {
            state.just_drawn = dealt.newest[..usize::from(state.just_drawn.len())].iter().copied().collect();
        }
    }

    /// Returns hands that leave the active seat a choice of cards for its set.
    fn deal_with_choice(&self, hidden: &HiddenCards, begun: Begun, rng: &mut RngStream) -> Dealt {
        let has_choice = |dealt: &Dealt| self.card_sets.has_choice(&dealt.hands[hidden.active], begun);
        let sampled = (0..MOST_TRIES).map(|_| hidden.deal(rng)).find(has_choice);
        let built = sampled.or_else(|| Some(self.build(hidden, begun, rng)).filter(has_choice));
        // The ages in a snapshot from outside may allow no such hand. Then the code ignores the ages.
        built.unwrap_or_else(|| self.build(&hidden.without_ages(), begun, rng))
    }

    /// Builds a hand of the active seat with as many cards that fit the set as it can hold. One card of every type comes
    /// before a second of any type. Deals all other cards at random.
    fn build(&self, hidden: &HiddenCards, begun: Begun, rng: &mut RngStream) -> Dealt {
        let mut built = (hidden.clone(), Hand::default());
        let fitting = self.card_sets.fitting(begun.kind);
        let active = hidden.active;
        let may_be_held = hidden.taken().iter().filter(|taken| taken.may_be_with(active));
        let held = may_be_held.map(|taken| (taken.card, None));
        let in_pool = hidden.pool.copies().map(|(card, stamp)| (card, Some(stamp)));
        let mut cards: Vec<_> = held.chain(in_pool).filter(|&(card, _)| fitting.contains(card)).collect();
        let mut seen = [0; CARD_TYPES + 1];
        // Cards with a daemon or symbol come before jokers, because a set may not consist of jokers only.
        cards.sort_by_cached_key(|&(card, _)| {
            let nth = &mut seen[usize::from(card)];
            *nth += 1;
            (*nth, self.card_sets.is_joker(card))
        });
        for (card, stamp) in cards {
            let (mut next, mut hand) = built.clone();
            let is_held = match stamp {
                None => next.give_to_active(card),
                Some(stamp) => next.put_into_active(card, stamp).then(|| hand.insert(card)).is_some(),
            };
            if is_held && next.find_holders(rng).is_some() {
                built = (next, hand);
            }
        }
        let (rest, hand) = built;
        let mut dealt = rest.deal(rng);
        hand.as_slice().iter().for_each(|&card| dealt.hands[active].insert(card));
        dealt
    }
}

impl HiddenCards {
    fn new(game: &GoldenCompass, state: &State, viewer: Seat) -> Self {
        let memory = &state.memory[viewer];
        let mut room = BySeat::default();
        for seat in game.others(viewer) {
            room[seat] = state.places[seat].hand.len();
        }
        if state.active != viewer {
            room[state.active] -= state.just_drawn.len();
        }
        let mut taken = memory.taken;
        let taken_len = memory.taken().len();
        taken[..taken_len].sort_by_key(|taken| taken.holders().count_ones());
        Self {
            viewer,
            active: state.active,
            seats: game.seats,
            taken,
            taken_len,
            room,
            ages: memory.ages,
            returns: memory.returns,
            pool: Pool::new(game, memory),
        }
    }

    /// Returns the same knowledge without ages: every card could be in every place.
    fn without_ages(&self) -> Self {
        let mut hidden = Self { returns: 0, ..self.clone() };
        for ages in hidden.ages.of_mut(self.seats) {
            *ages = std::iter::repeat_n(0, ages.len().into()).collect();
        }
        hidden.pool.stamps = [0; CARDS];
        hidden
    }

    fn taken(&self) -> &[Taken] {
        &self.taken[..self.taken_len]
    }

    fn others(&self) -> impl Iterator<Item = Seat> + use<> {
        let viewer = self.viewer;
        Seat::all(self.seats).filter(move |&seat| seat != viewer)
    }

    /// Samples hands and draw pile.
    fn deal(&self, rng: &mut RngStream) -> Dealt {
        let settled = if self.is_sure() { None } else { self.find_holders(rng) };
        let (holders, ages) = settled.unwrap_or_else(|| {
            let holders = self.settle(rng).expect("each card taken is truly with a seat that may hold it");
            (holders, self.places_left(&holders))
        });
        let mut hands = BySeat::<Hand, SEATS>::default();
        for (taken, &seat) in self.taken().iter().zip(&holders) {
            hands[seat].insert(taken.card);
        }
        let mut pool = self.pool;
        let mut newest = [0; HAND];
        for age in 0..=self.returns {
            pool.open(age);
            for seat in self.others() {
                for _ in 0..ages[seat].count(age) {
                    let card = pool.draw(rng);
                    hands[seat].insert(card);
                    if seat == self.active {
                        newest.rotate_right(1);
                        newest[0] = card;
                    }
                }
            }
        }
        Dealt { hands, newest, deck: pool.rest() }
    }

    /// Returns whether the holder of every taken card is known.
    fn is_sure(&self) -> bool {
        self.taken().iter().all(|taken| taken.holders().is_power_of_two())
    }

    /// Chooses the holders of taken cards so that hidden cards can fill the places left. Returns both.
    fn find_holders(&self, rng: &mut RngStream) -> Option<([Seat; KNOWN], BySeat<Sorted, SEATS>)> {
        let fit = |holders: [Seat; KNOWN]| {
            let ages = self.places_left(&holders);
            self.can_fill(&ages).then_some((holders, ages))
        };
        (0..MOST_TRIES).find_map(|_| fit(self.settle(rng)?)).or_else(|| {
            let (mut holders, mut room, mut ways) = ([self.viewer; KNOWN], self.room, MOST_WAYS);
            self.try_holders(0, &mut holders, &mut room, &mut ways).then_some(holders).and_then(fit)
        })
    }

    /// Tries all holders from card `at` on, at most `ways` assignments. Returns whether hidden cards can fill the rest.
    fn try_holders(
        &self,
        at: usize,
        holders: &mut [Seat; KNOWN],
        room: &mut BySeat<u8, SEATS>,
        ways: &mut u32,
    ) -> bool {
        if at == self.taken_len {
            *ways = ways.saturating_sub(1);
            return self.can_fill(&self.places_left(holders));
        }
        for seat in self.others().filter(|&seat| self.taken[at].may_be_with(seat)) {
            if room[seat] == 0 || *ways == 0 {
                continue;
            }
            room[seat] -= 1;
            holders[at] = seat;
            if self.try_holders(at + 1, holders, room, ways) {
                return true;
            }
            room[seat] += 1;
        }
        false
    }

    /// Returns whether hidden cards can fill places of these ages.
    fn can_fill(&self, ages: &BySeat<Sorted, SEATS>) -> bool {
        (0..=self.returns).all(|age| {
            let places =
                self.others().map(|seat| ages[seat].as_slice().partition_point(|&place| place <= age));
            places.sum::<usize>() <= self.pool.known_before(age)
        })
    }

    /// Samples the holder of each taken card by share, within the room of each hand. `None` if that is impossible.
    fn settle(&self, rng: &mut RngStream) -> Option<[Seat; KNOWN]> {
        let mut holders = [self.viewer; KNOWN];
        let can_give =
            (0..self.taken_len).all(|at| self.give(at, &mut holders, &mut SeatSet::default(), rng));
        can_give.then_some(holders)
    }

    /// Gives a taken card to a seat that may hold it; other taken cards may have to move. No seat is tried twice.
    fn give(&self, at: usize, holders: &mut [Seat; KNOWN], tried: &mut SeatSet, rng: &mut RngStream) -> bool {
        let mut shares = self.taken[at].shares.map(u32::from);
        loop {
            for seat in tried.iter() {
                shares[seat.index()] = 0;
            }
            let Some(seat) = any_by_share(&shares, rng) else { return false };
            tried.insert(seat);
            let held = || (0..self.taken_len).filter(|&other| holders[other] == seat);
            let is_given = held().count() < self.room[seat].into() || {
                let others: Vec<usize> = held().collect();
                others.into_iter().any(|other| self.give(other, holders, tried, rng))
            };
            if is_given {
                holders[at] = seat;
                return true;
            }
        }
    }

    /// Returns the ages of the places without the taken cards. A card that may be elsewhere takes the oldest place.
    fn places_left(&self, holders: &[Seat; KNOWN]) -> BySeat<Sorted, SEATS> {
        let mut ages = self.ages;
        for (taken, &seat) in self.taken().iter().zip(holders) {
            if !taken.is_certain(seat) && !ages[seat].is_empty() {
                ages[seat].take(0);
            }
        }
        ages
    }

    /// Makes the active seat the only holder of a taken `card` that it may hold. Returns whether there is one.
    fn give_to_active(&mut self, card: u8) -> bool {
        let active = self.active;
        let taken = &mut self.taken[..self.taken_len];
        let may_be =
            |taken: &&mut Taken| taken.card == card && taken.may_be_with(active) && !taken.is_certain(active);
        let Some(taken) = taken.iter_mut().find(may_be) else { return false };
        taken.settle_with(active);
        if !self.ages[active].is_empty() {
            self.ages[active].take(0);
        }
        true
    }

    /// Removes a card from the pool, and the oldest place of the active seat that it fits. Returns whether there is one.
    fn put_into_active(&mut self, card: u8, stamp: u8) -> bool {
        let ages = &mut self.ages[self.active];
        let Some(place) = ages.as_slice().iter().position(|&age| age >= stamp) else { return false };
        ages.take(place);
        self.room[self.active] -= 1;
        self.pool.remove(card, stamp)
    }
}

/// Returns a random seat by share. `None` if all shares are 0.
fn any_by_share(shares: &[u32; SEATS], rng: &mut RngStream) -> Option<Seat> {
    let all = shares.iter().sum();
    let mut drawn = if all == 0 { return None } else { rng.below(all) };
    Seat::all(to_byte(SEATS)).find(|seat| {
        let share = shares[seat.index()];
        let is_drawn = drawn < share;
        drawn = drawn.wrapping_sub(share);
        is_drawn
    })
}

/// The hidden cards that can be in hand places of a given age.
#[derive(Clone, Copy)]
struct Pool {
    /// Types and stamps of hidden copies, lowest stamp first. Among the open copies, the drawn ones come first.
    types: [u8; CARDS],
    stamps: [u8; CARDS],
    drawn: usize,
    open: usize,
    len: usize,
}

impl Pool {
    fn new(game: &GoldenCompass, memory: &Memory) -> Self {
        let mut pool = Self { types: [0; CARDS], stamps: [0; CARDS], drawn: 0, open: 0, len: 0 };
        let copies = || {
            let copies = game.copy_types.iter().zip(&memory.stamps).take(game.copies.into());
            copies.filter(|&(_, &stamp)| stamp != SEEN)
        };
        // The index after the copies of each stamp; then, counting down, the index of the next copy.
        let mut ends = [0u8; PLACES + 1];
        copies().for_each(|(_, &stamp)| ends[usize::from(stamp)] += 1);
        for age in 1..=memory.returns.into() {
            ends[age] += ends[age - 1];
        }
        for (&card, &stamp) in copies() {
            let end = &mut ends[usize::from(stamp)];
            *end -= 1;
            (pool.types[usize::from(*end)], pool.stamps[usize::from(*end)]) = (card, stamp);
            pool.len += 1;
        }
        pool
    }

    /// Returns the hidden copies with their stamps.
    fn copies(&self) -> impl Iterator<Item = (u8, u8)> {
        self.types.iter().copied().zip(self.stamps).take(self.len)
    }

    /// Returns the number of copies that were last seen before a place of this age was filled.
    fn known_before(&self, age: u8) -> usize {
        self.stamps[..self.len].partition_point(|&stamp| stamp <= age)
    }

    /// Removes one of these copies. Returns whether there was one.
    fn remove(&mut self, card: u8, stamp: u8) -> bool {
        let Some(at) = self.copies().position(|copy| copy == (card, stamp)) else { return false };
        self.types.copy_within(at + 1..self.len, at);
        self.stamps.copy_within(at + 1..self.len, at);
        self.len -= 1;
        true
    }

    /// Opens the copies that were last seen before a place of this age was filled.
    fn open(&mut self, age: u8) {
        self.open = self.known_before(age);
    }

    /// Draws an open copy. With a snapshot from outside, whose ages no game can reach, none may be open: then any copy.
    fn draw(&mut self, rng: &mut RngStream) -> u8 {
        let end = if self.open > self.drawn { self.open } else { self.len };
        let left = u32::try_from(end - self.drawn).expect("few cards");
        self.types.swap(self.drawn, self.drawn + rng.below(left) as usize);
        self.drawn += 1;
        self.types[self.drawn - 1]
    }

    /// Returns all copies that are not drawn.
    fn rest(&self) -> Pile {
        self.types[self.drawn..self.len].iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use boardwire_kernel::{RESAMPLE_STREAM, testkit};

    use super::*;

    #[test]
    fn a_hand_that_is_built_leaves_a_choice() {
        // GC-8.11: with the ages of places, and without them.
        let mut built = 0;
        for seats in 2..=4 {
            let game = testkit::table::<GoldenCompass>(seats, &[]);
            let mut rng = RngStream::new(3, RESAMPLE_STREAM);
            for seed in 0..60 {
                testkit::random_game(&game, seed, |episode| {
                    let state = episode.state();
                    let Decision::Fill(begun) = state.decision else { return };
                    for viewer in game.others(state.active) {
                        let hidden = HiddenCards::new(&game, state, viewer);
                        for hidden in [hidden.without_ages(), hidden] {
                            let dealt = game.build(&hidden, begun, &mut rng);
                            assert!(
                                game.card_sets.has_choice(&dealt.hands[state.active], begun),
                                "{state:?}"
                            );
                            for seat in game.others(viewer) {
                                assert_eq!(dealt.hands[seat].len(), state.places[seat].hand.len());
                            }
                            built += 1;
                        }
                    }
                });
            }
        }
        assert!(built > 100, "{built} hands");
    }
}

//! Samples the cards that a seat cannot see: the hands of other seats and the draw pile.
//!
//! Each card taken from the seat goes to a seat that may hold it. Then the other hand places are filled, the oldest
//! first, each with a card that can be there. A card that fits an old place fits a newer one too. So the number of
//! choices at a place does not depend on earlier choices, and every filling is equally likely. The cards that are left
//! are the draw pile.
//!
//! If another seat must name a card of a set, its hand must leave it a choice. Hands are sampled until one does. After
//! [`MAX_TRIES`] failures such a hand is built.

use boardwire_kernel::{BySeat, RngStream, Seat, SeatSet};

use super::super::GoldenCompass;
use super::super::limits::{CARD_TYPES, CARDS, HAND, MAX_SEATS, MAX_TAKEN, OPPONENT_HAND_PLACES, to_byte};
use super::super::memory::{Memory, NOT_HIDDEN, TakenCard};
use super::super::state::{Decision, Hand, PartialSet, Pile, Sorted, State};

/// Samples of hands, or of the holders of taken cards, before the fallback: a built hand, or a full search.
const MAX_TRIES: u32 = 64;
/// Assignments of taken cards that the full search tries. Games have few; a snapshot from outside can have more.
const MAX_ASSIGNMENTS: u32 = 1 << 14;

/// What a seat knows about the cards that it cannot see.
#[derive(Clone)]
struct HiddenCards {
    viewer: Seat,
    active: Seat,
    seats: u8,
    /// The cards taken from the viewer, the most certain first.
    taken: [TakenCard; MAX_TAKEN],
    taken_len: usize,
    /// By seat: the room of its hand for taken cards. Cards just drawn are never taken cards.
    room: BySeat<u8, MAX_SEATS>,
    /// By seat: for each of its other hand places, the last reshuffle before the card was drawn.
    drawn_after: BySeat<Sorted, MAX_SEATS>,
    reshuffles: u8,
    pool: Pool,
}

/// Sampled hands and draw pile.
struct SampledCards {
    hands: BySeat<Hand, MAX_SEATS>,
    /// The cards of the active seat, newest first.
    newest: [u8; HAND],
    deck: Pile,
}

impl GoldenCompass {
    /// Samples the hands of other seats and the draw pile.
    pub(super) fn resample_cards(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let hidden = HiddenCards::new(self, state, viewer);
        let sampled = match state.decision {
            Decision::NameSetCard(partial_set) if state.active != viewer => {
                self.sample_hands_with_choice(&hidden, partial_set, rng)
            }
            _ => hidden.sample(rng),
        };
        for seat in self.others(viewer) {
            state.seats[seat].hand = sampled.hands[seat];
        }
        state.deck = sampled.deck;
        if state.active != viewer && !state.just_drawn.is_empty() {
            state.just_drawn =
                sampled.newest[..usize::from(state.just_drawn.len())].iter().copied().collect();
        }
    }

    /// Returns hands that leave the active seat a choice of cards for its set.
    fn sample_hands_with_choice(
        &self,
        hidden: &HiddenCards,
        partial_set: PartialSet,
        rng: &mut RngStream,
    ) -> SampledCards {
        let has_choice =
            |sampled: &SampledCards| self.card_sets.has_choice(&sampled.hands[hidden.active], partial_set);
        let sampled = (0..MAX_TRIES).map(|_| hidden.sample(rng)).find(has_choice);
        let built = sampled
            .or_else(|| Some(self.build_hands_with_choice(hidden, partial_set, rng)).filter(has_choice));
        // The reshuffle numbers in a snapshot from outside may allow no such hand. Then the code ignores them.
        built.unwrap_or_else(|| self.build_hands_with_choice(&hidden.without_reshuffles(), partial_set, rng))
    }

    /// Builds a hand of the active seat with as many cards that fit the set as it can hold. One card of every type comes
    /// before a second of any type. Deals all other cards at random.
    fn build_hands_with_choice(
        &self,
        hidden: &HiddenCards,
        partial_set: PartialSet,
        rng: &mut RngStream,
    ) -> SampledCards {
        let mut built = (hidden.clone(), Hand::default());
        let fitting = self.card_sets.fitting(partial_set.kind);
        let active = hidden.active;
        let may_be_held = hidden.taken().iter().filter(|taken| taken.may_be_with(active));
        let held = may_be_held.map(|taken| (taken.card, None));
        let in_pool = hidden.pool.copies().map(|(card, seen_at)| (card, Some(seen_at)));
        let mut cards: Vec<_> = held.chain(in_pool).filter(|&(card, _)| fitting.contains(card)).collect();
        let mut seen = [0; CARD_TYPES + 1];
        // Cards with a daemon or symbol come before jokers, because a set may not consist of jokers only.
        cards.sort_by_cached_key(|&(card, _)| {
            let nth = &mut seen[usize::from(card)];
            *nth += 1;
            (*nth, self.card_sets.is_joker(card))
        });
        for (card, seen_at) in cards {
            let (mut next, mut hand) = built.clone();
            let is_held = match seen_at {
                None => next.give_to_active(card),
                Some(seen_at) => next.put_into_active(card, seen_at).then(|| hand.insert(card)).is_some(),
            };
            if is_held && next.find_holders(rng).is_some() {
                built = (next, hand);
            }
        }
        let (rest, hand) = built;
        let mut sampled = rest.sample(rng);
        hand.as_slice().iter().for_each(|&card| sampled.hands[active].insert(card));
        sampled
    }
}

impl HiddenCards {
    fn new(game: &GoldenCompass, state: &State, viewer: Seat) -> Self {
        let memory = &state.memory[viewer];
        let mut room = BySeat::default();
        for seat in game.others(viewer) {
            room[seat] = state.seats[seat].hand.len();
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
            drawn_after: memory.drawn_after,
            reshuffles: memory.reshuffles,
            pool: Pool::new(game, memory),
        }
    }

    /// Returns the same knowledge without reshuffle numbers: every card could be in every place.
    fn without_reshuffles(&self) -> Self {
        let mut hidden = Self { reshuffles: 0, ..self.clone() };
        for drawn_after in hidden.drawn_after.of_mut(self.seats) {
            *drawn_after = std::iter::repeat_n(0, drawn_after.len().into()).collect();
        }
        hidden.pool.last_seen = [0; CARDS];
        hidden
    }

    fn taken(&self) -> &[TakenCard] {
        &self.taken[..self.taken_len]
    }

    fn others(&self) -> impl Iterator<Item = Seat> + use<> {
        let viewer = self.viewer;
        Seat::all(self.seats).filter(move |&seat| seat != viewer)
    }

    /// Samples hands and draw pile.
    fn sample(&self, rng: &mut RngStream) -> SampledCards {
        let found = if self.all_holders_certain() { None } else { self.find_holders(rng) };
        let (holders, drawn_after) = found.unwrap_or_else(|| {
            let holders = self.sample_holders(rng).expect("every taken card has a possible holder with room");
            (holders, self.places_left(&holders))
        });
        let mut hands = BySeat::<Hand, MAX_SEATS>::default();
        for (taken, &seat) in self.taken().iter().zip(&holders) {
            hands[seat].insert(taken.card);
        }
        let mut pool = self.pool;
        let mut newest = [0; HAND];
        for reshuffle in 0..=self.reshuffles {
            pool.unlock(reshuffle);
            for seat in self.others() {
                for _ in 0..drawn_after[seat].count(reshuffle) {
                    let card = pool.draw(rng);
                    hands[seat].insert(card);
                    if seat == self.active {
                        newest.rotate_right(1);
                        newest[0] = card;
                    }
                }
            }
        }
        SampledCards { hands, newest, deck: pool.rest() }
    }

    /// Returns whether the holder of every taken card is known.
    fn all_holders_certain(&self) -> bool {
        self.taken().iter().all(|taken| taken.holders().is_power_of_two())
    }

    /// Chooses the holders of taken cards so that hidden cards can fill the places left. Returns both.
    fn find_holders(&self, rng: &mut RngStream) -> Option<([Seat; MAX_TAKEN], BySeat<Sorted, MAX_SEATS>)> {
        let fit = |holders: [Seat; MAX_TAKEN]| {
            let drawn_after = self.places_left(&holders);
            self.can_fill(&drawn_after).then_some((holders, drawn_after))
        };
        (0..MAX_TRIES).find_map(|_| fit(self.sample_holders(rng)?)).or_else(|| {
            let (mut holders, mut room, mut assignments_left) =
                ([self.viewer; MAX_TAKEN], self.room, MAX_ASSIGNMENTS);
            self.search_holders(0, &mut holders, &mut room, &mut assignments_left)
                .then_some(holders)
                .and_then(fit)
        })
    }

    /// Tries all holders from card `at` on, at most `assignments_left` assignments. Returns whether hidden cards can
    /// fill the other places.
    fn search_holders(
        &self,
        at: usize,
        holders: &mut [Seat; MAX_TAKEN],
        room: &mut BySeat<u8, MAX_SEATS>,
        assignments_left: &mut u32,
    ) -> bool {
        if at == self.taken_len {
            *assignments_left = assignments_left.saturating_sub(1);
            return self.can_fill(&self.places_left(holders));
        }
        for seat in self.others().filter(|&seat| self.taken[at].may_be_with(seat)) {
            if room[seat] == 0 || *assignments_left == 0 {
                continue;
            }
            room[seat] -= 1;
            holders[at] = seat;
            if self.search_holders(at + 1, holders, room, assignments_left) {
                return true;
            }
            room[seat] += 1;
        }
        false
    }

    /// Returns whether hidden cards can fill places with these reshuffle numbers.
    fn can_fill(&self, drawn_after: &BySeat<Sorted, MAX_SEATS>) -> bool {
        (0..=self.reshuffles).all(|reshuffle| {
            let places = self
                .others()
                .map(|seat| drawn_after[seat].as_slice().partition_point(|&place| place <= reshuffle));
            places.sum::<usize>() <= self.pool.count_seen_by(reshuffle)
        })
    }

    /// Samples the holder of each taken card by share, within the room of each hand. `None` if that is impossible.
    fn sample_holders(&self, rng: &mut RngStream) -> Option<[Seat; MAX_TAKEN]> {
        let mut holders = [self.viewer; MAX_TAKEN];
        let can_give =
            (0..self.taken_len).all(|at| self.assign_holder(at, &mut holders, &mut SeatSet::default(), rng));
        can_give.then_some(holders)
    }

    /// Gives a taken card to a seat that may hold it; other taken cards may have to move. No seat is tried twice.
    fn assign_holder(
        &self,
        at: usize,
        holders: &mut [Seat; MAX_TAKEN],
        tried: &mut SeatSet,
        rng: &mut RngStream,
    ) -> bool {
        let mut shares = self.taken[at].shares.map(u32::from);
        loop {
            for seat in tried.iter() {
                shares[seat.index()] = 0;
            }
            let Some(seat) = sample_by_share(&shares, rng) else { return false };
            tried.insert(seat);
            let held = || (0..self.taken_len).filter(|&other| holders[other] == seat);
            let is_given = held().count() < self.room[seat].into() || {
                let others: Vec<usize> = held().collect();
                others.into_iter().any(|other| self.assign_holder(other, holders, tried, rng))
            };
            if is_given {
                holders[at] = seat;
                return true;
            }
        }
    }

    /// Returns `drawn_after` without the places of the taken cards. A card that may be elsewhere takes the oldest
    /// place.
    fn places_left(&self, holders: &[Seat; MAX_TAKEN]) -> BySeat<Sorted, MAX_SEATS> {
        let mut drawn_after = self.drawn_after;
        for (taken, &seat) in self.taken().iter().zip(holders) {
            if !taken.is_certain(seat) && !drawn_after[seat].is_empty() {
                drawn_after[seat].take(0);
            }
        }
        drawn_after
    }

    /// Makes the active seat the only holder of a taken `card` that it may hold. Returns whether there is one.
    fn give_to_active(&mut self, card: u8) -> bool {
        let active = self.active;
        let taken = &mut self.taken[..self.taken_len];
        let may_be = |taken: &&mut TakenCard| {
            taken.card == card && taken.may_be_with(active) && !taken.is_certain(active)
        };
        let Some(taken) = taken.iter_mut().find(may_be) else { return false };
        taken.set_only_holder(active);
        if !self.drawn_after[active].is_empty() {
            self.drawn_after[active].take(0);
        }
        true
    }

    /// Removes a card from the pool, and the oldest place of the active seat that it fits. Returns whether there is one.
    fn put_into_active(&mut self, card: u8, seen_at: u8) -> bool {
        let drawn_after = &mut self.drawn_after[self.active];
        let Some(place) = drawn_after.as_slice().iter().position(|&reshuffle| reshuffle >= seen_at) else {
            return false;
        };
        drawn_after.take(place);
        self.room[self.active] -= 1;
        self.pool.remove(card, seen_at)
    }
}

/// Returns a random seat by share. `None` if all shares are 0.
fn sample_by_share(shares: &[u32; MAX_SEATS], rng: &mut RngStream) -> Option<Seat> {
    let all = shares.iter().sum();
    let mut drawn = if all == 0 { return None } else { rng.below(all) };
    Seat::all(to_byte(MAX_SEATS)).find(|seat| {
        let share = shares[seat.index()];
        let is_drawn = drawn < share;
        drawn = drawn.wrapping_sub(share);
        is_drawn
    })
}

/// The hidden cards that can be in hand places filled after a given reshuffle.
#[derive(Clone, Copy)]
struct Pool {
    /// The types and the `last_seen` of hidden copies, lowest first. Among the unlocked copies, the drawn ones come
    /// first.
    types: [u8; CARDS],
    last_seen: [u8; CARDS],
    drawn: usize,
    unlocked: usize,
    len: usize,
}

impl Pool {
    fn new(game: &GoldenCompass, memory: &Memory) -> Self {
        let mut pool = Self { types: [0; CARDS], last_seen: [0; CARDS], drawn: 0, unlocked: 0, len: 0 };
        let copies = || {
            let copies = game.copy_types.iter().zip(&memory.last_seen).take(game.copies.into());
            copies.filter(|&(_, &seen_at)| seen_at != NOT_HIDDEN)
        };
        // The index after the copies of each reshuffle; then, counting down, the index of the next copy.
        let mut ends = [0u8; OPPONENT_HAND_PLACES + 1];
        copies().for_each(|(_, &seen_at)| ends[usize::from(seen_at)] += 1);
        for reshuffle in 1..=memory.reshuffles.into() {
            ends[reshuffle] += ends[reshuffle - 1];
        }
        for (&card, &seen_at) in copies() {
            let end = &mut ends[usize::from(seen_at)];
            *end -= 1;
            (pool.types[usize::from(*end)], pool.last_seen[usize::from(*end)]) = (card, seen_at);
            pool.len += 1;
        }
        pool
    }

    /// Returns the hidden copies with their `last_seen`.
    fn copies(&self) -> impl Iterator<Item = (u8, u8)> {
        self.types.iter().copied().zip(self.last_seen).take(self.len)
    }

    /// Returns the number of copies that were last seen at this reshuffle or before.
    fn count_seen_by(&self, reshuffle: u8) -> usize {
        self.last_seen[..self.len].partition_point(|&seen_at| seen_at <= reshuffle)
    }

    /// Removes one of these copies. Returns whether there was one.
    fn remove(&mut self, card: u8, seen_at: u8) -> bool {
        let Some(at) = self.copies().position(|copy| copy == (card, seen_at)) else { return false };
        self.types.copy_within(at + 1..self.len, at);
        self.last_seen.copy_within(at + 1..self.len, at);
        self.len -= 1;
        true
    }

    /// Unlocks the copies that were last seen at this reshuffle or before.
    fn unlock(&mut self, reshuffle: u8) {
        self.unlocked = self.count_seen_by(reshuffle);
    }

    /// Draws an unlocked copy. A snapshot from outside can have numbers that no game reaches, so that no copy is
    /// unlocked. Then it draws any copy.
    fn draw(&mut self, rng: &mut RngStream) -> u8 {
        let end = if self.unlocked > self.drawn { self.unlocked } else { self.len };
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
        // GC-8.11: with the reshuffle numbers of places, and without them.
        let mut built = 0;
        for seats in 2..=4 {
            let game = testkit::table::<GoldenCompass>(seats, &[]);
            let mut rng = RngStream::new(3, RESAMPLE_STREAM);
            for seed in 0..60 {
                testkit::random_game(&game, seed, |episode| {
                    let state = episode.state();
                    let Decision::NameSetCard(partial_set) = state.decision else { return };
                    for viewer in game.others(state.active) {
                        let hidden = HiddenCards::new(&game, state, viewer);
                        for hidden in [hidden.without_reshuffles(), hidden] {
                            let sampled = game.build_hands_with_choice(&hidden, partial_set, &mut rng);
                            assert!(
                                game.card_sets.has_choice(&sampled.hands[state.active], partial_set),
                                "{state:?}"
                            );
                            for seat in game.others(viewer) {
                                assert_eq!(sampled.hands[seat].len(), state.seats[seat].hand.len());
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

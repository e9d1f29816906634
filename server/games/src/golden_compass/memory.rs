//! What one seat remembers of hidden cards and tokens. It depends only on what the seat has seen.
//!
//! Cards. In a *reshuffle* the discard pile goes back into the draw pile. All seats know its cards, and that no hand
//! place filled earlier holds one of them. A memory counts reshuffles. `last_seen` is the reshuffle at which a hidden
//! card was last seen. `drawn_after` is the last reshuffle before the draw of a card in an opponent's hand. A hidden
//! card can be in a hand place if its `last_seen` is not above the `drawn_after` of the place. Cards that an opponent
//! took from this seat are stored by type, with the seats that may hold them now.
//!
//! If another seat shows a card, several hidden cards may match. The memory then keeps the widest choice: it never
//! excludes what is possible.
//!
//! Tokens. The memory stores the places where each token may be. Equal tokens are interchangeable.

use boardwire_kernel::{BySeat, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::{CardId, TokenId, TokenSet};
use super::limits::{CARD_TYPES, CARDS, MAX_SEATS, MAX_TAKEN, OPPONENT_HAND_PLACES, TOKENS, to_byte};
use super::state::{Pile, Sorted, tokens_of};

/// The value of `last_seen` for a card that is not hidden from this seat.
pub(super) const NOT_HIDDEN: u8 = u8::MAX;
/// The place of tokens at a city, also if they left the game unseen.
pub(super) const TABLE: u8 = 1 << MAX_SEATS;

/// Returns the bit of a seat in a mask of token places or of card holders.
#[inline]
pub(super) fn seat_bit(seat: Seat) -> u8 {
    1 << seat.number()
}

/// The share of a seat that certainly holds a card, and the maximum. Most hand sizes divide 252.
pub(super) const MAX_SHARE: u8 = 252;

/// A card that was taken from this seat: its type, and a share (weight) for each seat that may hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct TakenCard {
    /// Its row; 0 in unused entries.
    pub(super) card: u8,
    /// By seat: its share among the seats that may hold the card; 0 if it cannot hold the card.
    pub(super) shares: [u8; MAX_SEATS],
}

impl TakenCard {
    fn new(card: CardId, holder: Seat) -> Self {
        let mut taken = Self { card: card.get(), ..Self::default() };
        taken.set_only_holder(holder);
        taken
    }

    /// Makes `holder` the only seat that can hold it.
    pub(super) fn set_only_holder(&mut self, holder: Seat) {
        self.shares = [0; MAX_SEATS];
        self.shares[holder.index()] = MAX_SHARE;
    }

    /// Returns the seats that may hold it, one bit per seat.
    pub(super) fn holders(self) -> u8 {
        let bits = (0..).zip(self.shares);
        bits.fold(0, |holders, (seat, share)| holders | u8::from(share > 0) << seat)
    }

    /// Returns whether only `seat` can hold it.
    pub(super) fn is_certain(self, seat: Seat) -> bool {
        self.holders() == seat_bit(seat)
    }

    /// Returns the only seat that can hold it, if there is just one.
    fn certain_holder(self) -> Option<Seat> {
        let holders = self.holders();
        holders.is_power_of_two().then(|| Seat::new(to_byte(holders.trailing_zeros())))
    }

    pub(super) fn may_be_with(self, seat: Seat) -> bool {
        self.shares[seat.index()] > 0
    }

    /// Moves a share of 1 / `hand`: one of the `hand` cards of `from` went to `to`, and it may be this one.
    fn move_share(&mut self, from: Seat, to: Seat, hand: u8) {
        let [kept, gained] = [from, to].map(|seat| self.shares[seat.index()]);
        let one_of = u16::from(hand.max(1));
        let moved = to_byte((u16::from(kept) + one_of / 2) / one_of).max(1);
        self.shares[from.index()] = kept.saturating_sub(moved).max(1);
        self.shares[to.index()] = gained.saturating_add(moved).min(MAX_SHARE);
    }

    /// This card or `other` was shown: each share becomes the mean of both, and at least 1 at each of `holders`.
    fn average_shares(&mut self, other: Self, holders: u8) {
        for (seat, (share, other)) in (0..).zip(self.shares.iter_mut().zip(other.shares)) {
            let both = (u16::from(*share) + u16::from(other)).div_ceil(2);
            *share = to_byte(both).max(holders >> seat & 1);
        }
    }
}

/// The memory of one seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) struct Memory {
    /// The number of reshuffles that still make a difference.
    pub(super) reshuffles: u8,
    /// By seat: for each of its hidden cards, the last reshuffle before the draw. Cards that it certainly took from
    /// this seat are left out.
    pub(super) drawn_after: BySeat<Sorted, MAX_SEATS>,
    /// By copy of each type, ascending within a type: the reshuffle at which it was last seen, or [`NOT_HIDDEN`].
    pub(super) last_seen: [u8; CARDS],
    pub(super) taken_len: u8,
    pub(super) taken: [TakenCard; MAX_TAKEN],
    /// By token: the places where it may be, one bit per seat, and [`TABLE`]. 0 after it is laid out.
    pub(super) tokens: [u8; TOKENS],
}

/// The range of the copies of one card type in `last_seen`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block {
    pub(super) start: u8,
    pub(super) len: u8,
}

impl Block {
    /// Returns the end of the range.
    pub(super) fn end(self) -> usize {
        usize::from(self.start) + usize::from(self.len)
    }

    fn range(self) -> std::ops::Range<usize> {
        usize::from(self.start)..self.end()
    }
}

impl Memory {
    /// Returns the memory at the start: all cards and tokens are hidden.
    pub(super) fn new(cards: u8, tokens: usize) -> Self {
        let mut memory = Self {
            reshuffles: 0,
            drawn_after: BySeat::default(),
            last_seen: [NOT_HIDDEN; CARDS],
            taken_len: 0,
            taken: [TakenCard::default(); MAX_TAKEN],
            tokens: [0; TOKENS],
        };
        memory.last_seen[..usize::from(cards)].fill(0);
        memory.tokens[..tokens].fill(TABLE);
        memory
    }

    pub(super) fn last_seen(&self, block: Block) -> &[u8] {
        &self.last_seen[block.range()]
    }

    /// Returns whether numbers and lists are within their limits.
    pub(super) fn is_sound(&self) -> bool {
        let recent = |drawn_after: &Sorted| {
            drawn_after.is_sound()
                && drawn_after.as_slice().iter().all(|&reshuffle| reshuffle <= self.reshuffles)
        };
        usize::from(self.taken_len) <= MAX_TAKEN
            && usize::from(self.reshuffles) <= OPPONENT_HAND_PLACES
            && self.drawn_after.all().iter().all(recent)
    }

    /// Returns the cards taken from this seat that opponents still hold.
    pub(super) fn taken(&self) -> &[TakenCard] {
        &self.taken[..usize::from(self.taken_len)]
    }

    /// Sorts the entries, so that equal memories have equal bytes.
    fn sort_taken(&mut self) {
        let taken = &mut self.taken[..usize::from(self.taken_len)];
        taken.sort_unstable_by_key(|entry| (entry.card, entry.holders(), entry.shares));
    }

    /// Drops the least certain entry of a card taken. The card then counts as hidden, in any hand place.
    fn evict_least_certain(&mut self, blocks: &[Block; CARD_TYPES + 1]) {
        let holder_count = |at: &usize| self.taken[*at].holders().count_ones();
        let at = (0..self.taken().len()).max_by_key(holder_count).expect("the memory is full");
        let entry = self.remove_taken(at);
        if let Some(holder) = entry.certain_holder() {
            self.drawn_after[holder].insert(self.reshuffles);
        }
        let last_seen = &mut self.last_seen[blocks[usize::from(entry.card)].range()];
        let hidden =
            last_seen.iter().position(|&seen_at| seen_at == NOT_HIDDEN).expect("a card taken was seen");
        last_seen[..=hidden].rotate_right(1);
        last_seen[0] = 0;
    }

    fn remove_taken(&mut self, at: usize) -> TakenCard {
        let entry = self.taken[at];
        let len = usize::from(self.taken_len);
        self.taken.copy_within(at + 1..len, at);
        self.taken[len - 1] = TakenCard::default();
        self.taken_len -= 1;
        entry
    }

    /// Records that this seat drew a card: it is the copy seen last.
    pub(super) fn drew(&mut self, block: Block) {
        self.mark_seen(block, self.reshuffles);
    }

    /// Marks the copy that was last seen at the newest reshuffle up to `reshuffle` as not hidden.
    fn mark_seen(&mut self, block: Block, reshuffle: u8) {
        let last_seen = &mut self.last_seen[block.range()];
        // In a snapshot from outside, all copies may be seen after `reshuffle`. Then the first copy counts.
        let at = last_seen.iter().rposition(|&seen_at| seen_at <= reshuffle).unwrap_or(0);
        last_seen[at..].rotate_left(1);
        if let Some(last) = last_seen.last_mut() {
            *last = NOT_HIDDEN;
        }
    }

    /// Records that an opponent drew a card.
    pub(super) fn saw_draw(&mut self, seat: Seat) {
        self.drawn_after[seat].insert(self.reshuffles);
    }

    /// Records that an opponent showed a card and no longer has it.
    ///
    /// If `just_drawn` is not 0, the card is one of the last `just_drawn` cards that the opponent drew.
    pub(super) fn saw_card_leave(&mut self, seat: Seat, card: CardId, block: Block, just_drawn: u8) {
        if just_drawn == 0
            && let Some(entry) = self.remove_most_certain(seat, card)
        {
            if !entry.is_certain(seat) && !self.drawn_after[seat].is_empty() {
                self.drawn_after[seat].take(0);
            }
            return;
        }
        let first = self.last_seen[block.range()][0];
        let drawn_after = self.drawn_after[seat].as_slice();
        let newest = drawn_after.last().copied().unwrap_or(self.reshuffles);
        let from = if just_drawn == 0 { 0 } else { drawn_after.len().saturating_sub(just_drawn.into()) };
        let place = drawn_after[from..].iter().position(|&reshuffle| reshuffle >= first);
        if !drawn_after.is_empty() {
            // In a snapshot from outside, the card may fit no place. Then the last place counts.
            let place = place.map_or(drawn_after.len() - 1, |place| from + place);
            self.drawn_after[seat].take(place);
        }
        self.mark_seen(block, newest);
    }

    /// Drops the most certain entry for `card` at `seat`. Each other entry of the card gets the possible holders of all.
    fn remove_most_certain(&mut self, seat: Seat, card: CardId) -> Option<TakenCard> {
        let fits = |entry: &TakenCard| entry.card == card.get() && entry.may_be_with(seat);
        let all = self.taken().iter().filter(|entry| fits(entry));
        let union = all.clone().fold(0, |union, entry| union | entry.holders());
        let most_certain =
            all.map(|entry| entry.holders()).min_by_key(|holders| (holders.count_ones(), *holders))?;
        let is_most_certain =
            |at: &usize| fits(&self.taken[*at]) && self.taken[*at].holders() == most_certain;
        let at = (0..self.taken().len())
            .filter(is_most_certain)
            .max_by_key(|&at| self.taken[at].shares[seat.index()])?;
        let entry = self.remove_taken(at);
        let is_uncertain = entry.certain_holder().is_none();
        for at in 0..self.taken().len() {
            let other = self.taken[at];
            if fits(&other) && (other.holders() != union || is_uncertain && other.shares != entry.shares) {
                self.make_less_certain(at, |other| other.average_shares(entry, union));
            }
        }
        self.sort_taken();
        Some(entry)
    }

    /// Makes an entry less certain. A card no longer certain to be in one hand counts as hidden there.
    fn make_less_certain(&mut self, at: usize, change: impl FnOnce(&mut TakenCard)) {
        if let Some(holder) = self.taken[at].certain_holder() {
            self.drawn_after[holder].insert(self.reshuffles);
        }
        change(&mut self.taken[at]);
    }

    /// Records that `thief` took a card of this type from this seat.
    pub(super) fn lost_card(&mut self, thief: Seat, card: CardId, blocks: &[Block; CARD_TYPES + 1]) {
        if usize::from(self.taken_len) == MAX_TAKEN {
            self.evict_least_certain(blocks);
        }
        self.taken[usize::from(self.taken_len)] = TakenCard::new(card, thief);
        self.taken_len += 1;
        self.sort_taken();
    }

    /// Records that this seat saw `thief` take an unknown card from `victim`.
    pub(super) fn saw_card_stolen(&mut self, victim: Seat, thief: Seat) {
        let certain = self.taken().iter().filter(|taken| taken.is_certain(victim)).count();
        let hand = self.drawn_after[victim].len() + to_byte(certain);
        for at in 0..self.taken().len() {
            if self.taken[at].may_be_with(victim) {
                self.make_less_certain(at, |taken| taken.move_share(victim, thief, hand));
            }
        }
        self.sort_taken();
        let drawn_after = &mut self.drawn_after[victim];
        let newest = drawn_after.as_slice().last().copied().unwrap_or(self.reshuffles);
        if !drawn_after.is_empty() {
            drawn_after.take(0);
        }
        self.drawn_after[thief].insert(newest);
    }

    /// Records a reshuffle: the cards of the discard pile are hidden again, but in no hand.
    pub(super) fn saw_reshuffle(&mut self, discard: &Pile, blocks: &[Block; CARD_TYPES + 1]) {
        let held = self.drawn_after.all().iter().flat_map(Sorted::as_slice);
        let seen: u128 = held.fold(0, |seen, &reshuffle| seen | 1 << reshuffle);
        // Only the order of the reshuffle numbers counts, so the code renumbers them.
        let rank = |number: u8| to_byte((seen & ((1u128 << number) - 1)).count_ones());
        for drawn_after in self.drawn_after.of_mut(EVERY_SEAT) {
            *drawn_after = drawn_after.as_slice().iter().map(|&reshuffle| rank(reshuffle)).collect();
        }
        self.reshuffles = to_byte(seen.count_ones());
        for (block, &back) in blocks.iter().zip(discard.counts()) {
            let last_seen = &mut self.last_seen[block.range()];
            let hidden =
                last_seen.iter().position(|&seen_at| seen_at == NOT_HIDDEN).unwrap_or(last_seen.len());
            for seen_at in &mut last_seen[..hidden] {
                *seen_at = rank(*seen_at);
            }
            last_seen[hidden..].iter_mut().take(back.into()).for_each(|seen_at| *seen_at = self.reshuffles);
        }
    }

    /// Returns the places where `token` may be.
    pub(super) fn places_of(&self, token: TokenId) -> u8 {
        self.tokens[token.index() - 1]
    }

    fn places_mut(&mut self, token: TokenId) -> &mut u8 {
        &mut self.tokens[token.index() - 1]
    }

    /// Records that this seat saw `token` move from `from` to `to`. Any token of `equal` may be the one that moved.
    pub(super) fn saw_token(&mut self, equal: TokenSet, token: TokenId, from: u8, to: u8) {
        let there = |memory: &Self, id: &TokenId| memory.places_of(*id) & from != 0;
        let union = tokens_of(equal).filter(|id| there(self, id));
        let union = union.fold(0, |union, id| union | self.places_of(id));
        for id in tokens_of(equal) {
            if there(self, &id) {
                *self.places_mut(id) = union;
            }
        }
        *self.places_mut(token) = to;
    }

    /// Records that this seat saw an unknown token with one of these `backs` move from `from` to `to`.
    pub(super) fn saw_back(&mut self, backs: TokenSet, from: u8, to: u8) {
        for id in tokens_of(backs) {
            let places = self.places_mut(id);
            if *places & from != 0 {
                *places |= to;
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "few seats")]
const EVERY_SEAT: u8 = MAX_SEATS as u8;

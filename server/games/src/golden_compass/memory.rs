//! What one seat remembers of hidden cards and tokens. It depends only on what the seat has seen.
//!
//! Cards. In a *return* the discard pile goes back into the draw pile. All seats know its cards, and that no hand place
//! filled earlier holds one of them. A memory counts returns. The *stamp* of a hidden card is the return at which it was
//! last seen. The *age* of a card in an opponent's hand is the last return before its draw. A hidden card can be in a
//! hand place if its stamp is not above the age of the place. Cards that an opponent took from this seat are stored by
//! type, with the seats that may hold them now.
//!
//! If another seat shows a card, several hidden cards may match. The memory then keeps the widest choice: it never
//! excludes what is possible.
//!
//! Tokens. The memory stores the places where each token may be. Equal tokens are interchangeable.

use boardwire_kernel::{BySeat, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::{CardId, TokenId, TokenSet};
use super::limits::{CARD_TYPES, CARDS, KNOWN, PLACES, SEATS, TOKENS, to_byte};
use super::state::{Pile, Sorted, tokens_of};

/// The stamp of a card that is not hidden from this seat.
pub(super) const SEEN: u8 = u8::MAX;
/// The place of tokens at a city, also if they left the game unseen.
pub(super) const TABLE: u8 = 1 << SEATS;

/// Returns the place of the tokens of a seat, as a bit.
#[inline]
pub(super) fn place_of(seat: Seat) -> u8 {
    1 << seat.number()
}

/// The share of a seat that certainly holds a card, and the maximum. Most hand sizes divide 252.
pub(super) const SURE: u8 = 252;

/// A card that was taken from this seat: its type, and a share (weight) for each seat that may hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Taken {
    /// Its row; 0 in unused entries.
    pub(super) card: u8,
    /// By seat: its share among the seats that may hold the card; 0 if it cannot hold the card.
    pub(super) shares: [u8; SEATS],
}

impl Taken {
    fn new(card: CardId, holder: Seat) -> Self {
        let mut taken = Self { card: card.get(), ..Self::default() };
        taken.settle_with(holder);
        taken
    }

    /// Makes `holder` the only seat that can hold it.
    pub(super) fn settle_with(&mut self, holder: Seat) {
        self.shares = [0; SEATS];
        self.shares[holder.index()] = SURE;
    }

    /// Returns the seats that may hold it, one bit per seat.
    pub(super) fn holders(self) -> u8 {
        let bits = (0..).zip(self.shares);
        bits.fold(0, |holders, (seat, share)| holders | u8::from(share > 0) << seat)
    }

    /// Returns whether only `seat` can hold it.
    pub(super) fn is_certain(self, seat: Seat) -> bool {
        self.holders() == place_of(seat)
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
    fn may_move(&mut self, from: Seat, to: Seat, hand: u8) {
        let [kept, gained] = [from, to].map(|seat| self.shares[seat.index()]);
        let one_of = u16::from(hand.max(1));
        let moved = to_byte((u16::from(kept) + one_of / 2) / one_of).max(1);
        self.shares[from.index()] = kept.saturating_sub(moved).max(1);
        self.shares[to.index()] = gained.saturating_add(moved).min(SURE);
    }

    /// This card or `other` was shown: each share becomes the mean of both, and at least 1 at each of `holders`.
    fn mix(&mut self, other: Self, holders: u8) {
        for (seat, (share, other)) in (0..).zip(self.shares.iter_mut().zip(other.shares)) {
            let both = (u16::from(*share) + u16::from(other)).div_ceil(2);
            *share = to_byte(both).max(holders >> seat & 1);
        }
    }
}

/// The memory of one seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) struct Memory {
    /// The number of returns that still make a difference.
    pub(super) returns: u8,
    /// By seat: the ages of its hidden cards. Cards that it certainly took from this seat are left out.
    pub(super) ages: BySeat<Sorted, SEATS>,
    /// By copy of each type, ascending within a type: the return at which it was last seen, or [`SEEN`].
    pub(super) stamps: [u8; CARDS],
    pub(super) taken_len: u8,
    pub(super) taken: [Taken; KNOWN],
    /// By token: the places where it may be, one bit per seat, and [`TABLE`]. 0 after it is laid out.
    pub(super) tokens: [u8; TOKENS],
}

/// The range of the copies of one card type in the stamps.
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
            returns: 0,
            ages: BySeat::default(),
            stamps: [SEEN; CARDS],
            taken_len: 0,
            taken: [Taken::default(); KNOWN],
            tokens: [0; TOKENS],
        };
        memory.stamps[..usize::from(cards)].fill(0);
        memory.tokens[..tokens].fill(TABLE);
        memory
    }

    pub(super) fn stamps(&self, block: Block) -> &[u8] {
        &self.stamps[block.range()]
    }

    /// Returns whether numbers and lists are within their limits.
    pub(super) fn is_sound(&self) -> bool {
        let recent =
            |ages: &Sorted| ages.is_sound() && ages.as_slice().iter().all(|&age| age <= self.returns);
        usize::from(self.taken_len) <= KNOWN
            && usize::from(self.returns) <= PLACES
            && self.ages.all().iter().all(recent)
    }

    /// Returns the cards taken from this seat that opponents still hold.
    pub(super) fn taken(&self) -> &[Taken] {
        &self.taken[..usize::from(self.taken_len)]
    }

    /// Sorts the entries, so that equal memories have equal bytes.
    fn sort_taken(&mut self) {
        let taken = &mut self.taken[..usize::from(self.taken_len)];
        taken.sort_unstable_by_key(|entry| (entry.card, entry.holders(), entry.shares));
    }

    /// Drops the least certain entry of a card taken. The card then counts as hidden, in any hand place.
    fn make_room(&mut self, blocks: &[Block; CARD_TYPES + 1]) {
        let sureness = |at: &usize| self.taken[*at].holders().count_ones();
        let at = (0..self.taken().len()).max_by_key(sureness).expect("the memory is full");
        let entry = self.forget(at);
        if let Some(holder) = entry.certain_holder() {
            self.ages[holder].insert(self.returns);
        }
        let stamps = &mut self.stamps[blocks[usize::from(entry.card)].range()];
        let hidden = stamps.iter().position(|&stamp| stamp == SEEN).expect("a card taken was seen");
        stamps[..=hidden].rotate_right(1);
        stamps[0] = 0;
    }

    fn forget(&mut self, at: usize) -> Taken {
        let entry = self.taken[at];
        let len = usize::from(self.taken_len);
        self.taken.copy_within(at + 1..len, at);
        self.taken[len - 1] = Taken::default();
        self.taken_len -= 1;
        entry
    }

    /// Records that this seat drew a card: it is the copy seen last.
    pub(super) fn drew(&mut self, block: Block) {
        self.uncover(block, self.returns);
    }

    /// Marks the copy with the newest stamp not above `age` as seen.
    fn uncover(&mut self, block: Block, age: u8) {
        let stamps = &mut self.stamps[block.range()];
        // In a snapshot from outside, all stamps may be above `age`. Then the first copy counts.
        let at = stamps.iter().rposition(|&stamp| stamp <= age).unwrap_or(0);
        stamps[at..].rotate_left(1);
        if let Some(last) = stamps.last_mut() {
            *last = SEEN;
        }
    }

    /// Records that an opponent drew a card.
    pub(super) fn saw_draw(&mut self, seat: Seat) {
        self.ages[seat].insert(self.returns);
    }

    /// Records that an opponent showed a card and no longer has it.
    ///
    /// If `just_drawn` is not 0, the card is one of the last `just_drawn` cards that the opponent drew.
    pub(super) fn saw_card_leave(&mut self, seat: Seat, card: CardId, block: Block, just_drawn: u8) {
        if just_drawn == 0
            && let Some(entry) = self.forget_surest(seat, card)
        {
            if !entry.is_certain(seat) && !self.ages[seat].is_empty() {
                self.ages[seat].take(0);
            }
            return;
        }
        let first = self.stamps[block.range()][0];
        let ages = self.ages[seat].as_slice();
        let newest = ages.last().copied().unwrap_or(self.returns);
        let from = if just_drawn == 0 { 0 } else { ages.len().saturating_sub(just_drawn.into()) };
        let place = ages[from..].iter().position(|&age| age >= first);
        if !ages.is_empty() {
            // In a snapshot from outside, the card may fit no place. Then the last place counts.
            let place = place.map_or(ages.len() - 1, |place| from + place);
            self.ages[seat].take(place);
        }
        self.uncover(block, newest);
    }

    /// Drops the most certain entry for `card` at `seat`. Each other entry of the card gets the possible holders of all.
    fn forget_surest(&mut self, seat: Seat, card: CardId) -> Option<Taken> {
        let fits = |entry: &Taken| entry.card == card.get() && entry.may_be_with(seat);
        let all = self.taken().iter().filter(|entry| fits(entry));
        let union = all.clone().fold(0, |union, entry| union | entry.holders());
        let surest =
            all.map(|entry| entry.holders()).min_by_key(|holders| (holders.count_ones(), *holders))?;
        let sure = |at: &usize| fits(&self.taken[*at]) && self.taken[*at].holders() == surest;
        let at =
            (0..self.taken().len()).filter(sure).max_by_key(|&at| self.taken[at].shares[seat.index()])?;
        let entry = self.forget(at);
        let is_unsure = entry.certain_holder().is_none();
        for at in 0..self.taken().len() {
            let other = self.taken[at];
            if fits(&other) && (other.holders() != union || is_unsure && other.shares != entry.shares) {
                self.widen(at, |other| other.mix(entry, union));
            }
        }
        self.sort_taken();
        Some(entry)
    }

    /// Makes an entry less certain. A card no longer certain to be in one hand counts as hidden there.
    fn widen(&mut self, at: usize, change: impl FnOnce(&mut Taken)) {
        if let Some(holder) = self.taken[at].certain_holder() {
            self.ages[holder].insert(self.returns);
        }
        change(&mut self.taken[at]);
    }

    /// Records that `thief` took a card of this type from this seat.
    pub(super) fn lost_card(&mut self, thief: Seat, card: CardId, blocks: &[Block; CARD_TYPES + 1]) {
        if usize::from(self.taken_len) == KNOWN {
            self.make_room(blocks);
        }
        self.taken[usize::from(self.taken_len)] = Taken::new(card, thief);
        self.taken_len += 1;
        self.sort_taken();
    }

    /// Records that this seat saw `thief` take an unknown card from `victim`.
    pub(super) fn saw_card_stolen(&mut self, victim: Seat, thief: Seat) {
        let certain = self.taken().iter().filter(|taken| taken.is_certain(victim)).count();
        let hand = self.ages[victim].len() + to_byte(certain);
        for at in 0..self.taken().len() {
            if self.taken[at].may_be_with(victim) {
                self.widen(at, |taken| taken.may_move(victim, thief, hand));
            }
        }
        self.sort_taken();
        let ages = &mut self.ages[victim];
        let newest = ages.as_slice().last().copied().unwrap_or(self.returns);
        if !ages.is_empty() {
            ages.take(0);
        }
        self.ages[thief].insert(newest);
    }

    /// Records a return: the cards of the discard pile are hidden again, but in no hand.
    pub(super) fn saw_return(&mut self, discard: &Pile, blocks: &[Block; CARD_TYPES + 1]) {
        let held = self.ages.all().iter().flat_map(Sorted::as_slice);
        let seen: u128 = held.fold(0, |seen, &age| seen | 1 << age);
        // Only the order of stamps and ages counts, so the code renumbers them.
        let rank = |number: u8| to_byte((seen & ((1u128 << number) - 1)).count_ones());
        for ages in self.ages.of_mut(EVERY_SEAT) {
            *ages = ages.as_slice().iter().map(|&age| rank(age)).collect();
        }
        self.returns = to_byte(seen.count_ones());
        for (block, &back) in blocks.iter().zip(discard.counts()) {
            let stamps = &mut self.stamps[block.range()];
            let hidden = stamps.iter().position(|&stamp| stamp == SEEN).unwrap_or(stamps.len());
            for stamp in &mut stamps[..hidden] {
                *stamp = rank(*stamp);
            }
            stamps[hidden..].iter_mut().take(back.into()).for_each(|stamp| *stamp = self.returns);
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
const EVERY_SEAT: u8 = SEATS as u8;

//! What one seat remembers of hidden cards and tokens: a function of what it has seen, and of nothing else.
//!
//! Cards. Whenever the discard pile goes back into play, all know which cards it holds, and that none of
//! them is in a hand that was full before. So a memory counts these *returns*: a hidden card was last seen
//! at some return (its stamp), and a card in an opponent's hand was drawn after some return (its age). A
//! hidden card can only be one of those whose stamp is not above its age. Cards that an opponent took from
//! this seat are remembered by type with the seats that may hold them now.
//!
//! When somebody shows a card, several hidden cards may have been it. The memory then keeps the widest
//! choice: it never excludes what is possible, and with cards of which there is one copy it excludes
//! everything impossible.
//!
//! Tokens. For each token, the places it may be in; equal tokens have equal standing.

use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::Catalogue;
use super::limits::{CARDS, KNOWN, SEATS, TOKENS};
use super::state::{Cards, bits};

/// The stamp of a card that is not hidden from this seat.
pub(super) const SEEN: u8 = u8::MAX;
/// The place of tokens at a city, or gone from it unseen.
pub(super) const TABLE: u8 = 1 << SEATS;

/// A card that was taken from this seat: its type and the seats that may hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Taken {
    pub(super) card: u8,
    pub(super) holders: u8,
}

impl Taken {
    /// Whether only `seat` can hold it.
    pub(super) fn is_certain(self, seat: u8) -> bool {
        self.holders == 1 << seat
    }
}

/// What one seat remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) struct Memory {
    /// Returns that still make a difference.
    pub(super) returns: u8,
    /// By seat, the ages of its hidden cards; cards it certainly took from this seat are left out.
    pub(super) ages: [Cards; SEATS],
    /// By copy of each type, ascending within a type: the return after which it was last seen, or [`SEEN`].
    pub(super) stamps: [u8; CARDS],
    taken_len: u8,
    taken: [Taken; KNOWN],
    /// By token, the places it may be in: a bit a seat, and [`TABLE`]; 0 once laid out.
    pub(super) tokens: [u8; TOKENS],
}

/// Where the copies of a type stand among the stamps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) start: u8,
    pub(super) len: u8,
}

impl Block {
    fn range(self) -> std::ops::Range<usize> {
        usize::from(self.start)..usize::from(self.start) + usize::from(self.len)
    }
}

impl Memory {
    /// The memory of the start: all cards and tokens are hidden.
    pub(super) fn new(cards: usize, tokens: usize) -> Self {
        let mut memory = Self {
            returns: 0,
            ages: [Cards::default(); SEATS],
            stamps: [SEEN; CARDS],
            taken_len: 0,
            taken: [Taken::default(); KNOWN],
            tokens: [0; TOKENS],
        };
        memory.stamps[..cards].fill(0);
        memory.tokens[..tokens].fill(TABLE);
        memory
    }

    /// The stamps of a type.
    pub(super) fn stamps(&self, block: Block) -> &[u8] {
        &self.stamps[block.range()]
    }

    /// Whether numbers and lists are within their limits.
    pub(super) fn is_sound(&self) -> bool {
        let recent = |ages: &Cards| ages.is_sound() && ages.as_slice().iter().all(|&age| age <= self.returns);
        usize::from(self.taken_len) <= KNOWN
            && usize::from(self.returns) <= KNOWN
            && self.ages.iter().all(recent)
    }

    /// The cards taken from this seat that opponents still hold.
    pub(super) fn taken(&self) -> &[Taken] {
        &self.taken[..usize::from(self.taken_len)]
    }

    /// Remembers that `holders` have a card of this type.
    pub(super) fn remember(&mut self, card: u8, holders: u8) {
        let entry = Taken { card, holders };
        let mut at = usize::from(self.taken_len);
        if at == KNOWN {
            return;
        }
        while at > 0 && (self.taken[at - 1].card, self.taken[at - 1].holders) > (card, holders) {
            self.taken[at] = self.taken[at - 1];
            at -= 1;
        }
        self.taken[at] = entry;
        self.taken_len += 1;
    }

    fn forget(&mut self, at: usize) -> Taken {
        let entry = self.taken[at];
        let len = usize::from(self.taken_len);
        self.taken.copy_within(at + 1..len, at);
        self.taken[len - 1] = Taken::default();
        self.taken_len -= 1;
        entry
    }

    /// This seat drew a card: it is the copy seen last.
    pub(super) fn drew(&mut self, block: Block) {
        self.uncover(block, self.returns);
    }

    /// Marks the copy with the newest stamp not above `age` as seen.
    fn uncover(&mut self, block: Block, age: u8) {
        let stamps = &mut self.stamps[block.range()];
        if let Some(at) = stamps.iter().rposition(|&stamp| stamp <= age) {
            stamps[at..].rotate_left(1);
            let last = stamps.len() - 1;
            stamps[last] = SEEN;
        }
    }

    /// An opponent drew a card.
    pub(super) fn saw_draw(&mut self, seat: u8) {
        self.ages[usize::from(seat)].insert(self.returns);
    }

    /// An opponent showed a card and no longer has it.
    ///
    /// `fresh` is 0, or says that it was one of so many cards it has just drawn.
    pub(super) fn saw_card_leave(&mut self, seat: u8, card: u8, block: Block, fresh: u8) {
        let at = usize::from(seat);
        if fresh == 0
            && let Some(entry) = self.recall(seat, card)
        {
            if !entry.is_certain(seat) && self.ages[at].len() > 0 {
                self.ages[at].take(0);
            }
            return;
        }
        let first = self.stamps[block.range()][0];
        let ages = self.ages[at].as_slice();
        let newest = ages.last().copied().unwrap_or(self.returns);
        let from = if fresh == 0 { 0 } else { ages.len().saturating_sub(fresh.into()) };
        if let Some(place) = ages[from..].iter().position(|&age| age >= first) {
            self.ages[at].take(from + place);
        }
        self.uncover(block, newest);
    }

    /// Drops the surest memory of `seat` having `card`; the others of its kind become as unsure as all of them.
    fn recall(&mut self, seat: u8, card: u8) -> Option<Taken> {
        let fits = |entry: &Taken| entry.card == card && entry.holders >> seat & 1 == 1;
        let all = self.taken().iter().filter(|entry| fits(entry));
        let union = all.clone().fold(0, |union, entry| union | entry.holders);
        let surest = all.map(|entry| entry.holders).min_by_key(|holders| (holders.count_ones(), *holders))?;
        let at = self.taken().iter().position(|entry| fits(entry) && entry.holders == surest)?;
        let entry = self.forget(at);
        for at in 0..self.taken().len() {
            let other = self.taken[at];
            if fits(&other) && other.holders != union {
                self.widen(at, union);
            }
        }
        self.taken[..usize::from(self.taken_len)].sort_unstable_by_key(|entry| (entry.card, entry.holders));
        Some(entry)
    }

    /// Makes a memory less sure: a card no longer certain to be in one hand counts as hidden there.
    fn widen(&mut self, at: usize, holders: u8) {
        let entry = self.taken[at];
        if entry.holders.is_power_of_two() {
            self.ages[entry.holders.trailing_zeros() as usize].insert(self.returns);
        }
        self.taken[at].holders = entry.holders | holders;
    }

    /// `thief` took a card of this type from this seat.
    pub(super) fn lost_card(&mut self, thief: u8, card: u8) {
        self.remember(card, 1 << thief);
    }

    /// Others saw `thief` take an unknown card from `victim`.
    pub(super) fn saw_card_stolen(&mut self, victim: u8, thief: u8) {
        for at in 0..self.taken().len() {
            if self.taken[at].holders >> victim & 1 == 1 {
                self.widen(at, 1 << thief);
            }
        }
        self.taken[..usize::from(self.taken_len)].sort_unstable_by_key(|entry| (entry.card, entry.holders));
        let ages = &mut self.ages[usize::from(victim)];
        let newest = ages.as_slice().last().copied().unwrap_or(self.returns);
        if ages.len() > 0 {
            ages.take(0);
        }
        self.ages[usize::from(thief)].insert(newest);
    }

    /// The discard pile goes back into play: its cards are hidden again, but in no hand.
    pub(super) fn saw_return(&mut self, discard: &[u8], blocks: &[Block]) {
        let held = self.ages.iter().flat_map(Cards::as_slice);
        let seen: u128 = held.fold(0, |seen, &age| seen | 1 << age);
        // Only the order of stamps and ages counts: number them anew.
        let rank = |number: u8| u8::try_from((seen & ((1u128 << number) - 1)).count_ones()).unwrap_or(0);
        for ages in &mut self.ages {
            *ages = ages.as_slice().iter().map(|&age| rank(age)).collect();
        }
        self.returns = u8::try_from(seen.count_ones()).unwrap_or(0);
        for (block, &back) in blocks.iter().zip(discard) {
            let stamps = &mut self.stamps[block.range()];
            let hidden = stamps.iter().position(|&stamp| stamp == SEEN).unwrap_or(stamps.len());
            for stamp in &mut stamps[..hidden] {
                *stamp = rank(*stamp);
            }
            stamps[hidden..].iter_mut().take(back.into()).for_each(|stamp| *stamp = self.returns);
        }
    }

    /// This seat has seen that `token` was in `from` and is in `to` now; equal tokens may have been it.
    pub(super) fn saw_token(&mut self, catalogue: &Catalogue, token: u8, from: u8, to: u8) {
        let kind = catalogue.tokens[usize::from(token)].kind;
        let equal = |id: usize| catalogue.tokens[id].kind == kind;
        let count = catalogue.tokens.len();
        let alike = (0..count).filter(|&id| equal(id) && self.tokens[id] & from != 0);
        let union = alike.fold(0, |union, id| union | self.tokens[id]);
        for id in 0..count {
            if equal(id) && self.tokens[id] & from != 0 {
                self.tokens[id] = union;
            }
        }
        self.tokens[usize::from(token)] = to;
    }

    /// This seat has seen an unknown token of `city` go from `from` to `to`.
    pub(super) fn saw_back(&mut self, catalogue: &Catalogue, city: u8, from: u8, to: u8) {
        for id in bits(catalogue.cities[usize::from(city)].tokens) {
            let places = &mut self.tokens[usize::from(id)];
            if *places & from != 0 {
                *places |= to;
            }
        }
    }
}

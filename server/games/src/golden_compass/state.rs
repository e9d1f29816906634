//! A position as a plain value.

use boardwire_kernel::BitSet;
use borsh::{BorshDeserialize, BorshSerialize};

use super::limits::{CARD_TYPES, COLLECTING, HAND, NESTING, PERIODS, PLACING, SEATS, TILE_VALUES};
use super::memory::Memory;

/// A few Lyra cards by type, ascending; also the ages of hidden cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Cards {
    len: u8,
    items: [u8; HAND],
}

impl Cards {
    pub(super) fn len(&self) -> u8 {
        self.len
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.items[..usize::from(self.len)]
    }

    /// Adds `item` in its place.
    pub(super) fn insert(&mut self, item: u8) {
        let mut at = usize::from(self.len);
        while at > 0 && self.items[at - 1] > item {
            self.items[at] = self.items[at - 1];
            at -= 1;
        }
        self.items[at] = item;
        self.len += 1;
    }

    /// Removes and returns the item at `at`.
    pub(super) fn take(&mut self, at: usize) -> u8 {
        let item = self.items[at];
        let len = usize::from(self.len);
        self.items.copy_within(at + 1..len, at);
        self.items[len - 1] = 0;
        self.len -= 1;
        item
    }

    /// Removes one item equal to `item`; says whether there was one.
    pub(super) fn remove(&mut self, item: u8) -> bool {
        let found = self.as_slice().iter().position(|&one| one == item);
        found.is_some_and(|at| self.take(at) == item)
    }

    pub(super) fn count(&self, item: u8) -> u8 {
        self.as_slice().iter().fold(0, |sum, &one| sum + u8::from(one == item))
    }

    /// The items without repetition, as a set.
    pub(super) fn types(&self) -> BitSet<1> {
        self.as_slice().iter().copied().collect()
    }

    /// Whether items ascend and the unused places are empty.
    pub(super) fn is_sound(&self) -> bool {
        let len = usize::from(self.len);
        len <= HAND && self.items[..len].is_sorted() && self.items[len..].iter().all(|&item| item == 0)
    }
}

impl FromIterator<u8> for Cards {
    fn from_iter<I: IntoIterator<Item = u8>>(items: I) -> Self {
        let mut cards = Self::default();
        items.into_iter().for_each(|item| cards.insert(item));
        cards
    }
}

/// What a seat is named for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) enum Aim {
    /// It takes the airship.
    Airship,
    /// A dust tile is taken from it.
    Dust,
    /// So many cards are taken from its hand.
    Cards(u8),
    /// A token is stolen from it.
    Token,
    /// So many of its compass tiles go back to its supply.
    Compass(u8),
}

/// The kinds of card set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) enum Kind {
    Pair(u8),
    Triplet(u8),
    Spies,
    Wild,
    Short(u8),
}

/// A set begun: some of its cards are on the discard pile already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) struct Begun {
    pub(super) kind: Kind,
    /// Cards still to be named.
    pub(super) left: u8,
    /// Whether a card that is no joker is in it.
    pub(super) own: bool,
}

/// What is to be decided now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) enum Step {
    /// Every seat keeps one of two characters.
    Keep,
    /// Red or light blue.
    Colour,
    /// The light-blue action.
    Action,
    /// Which seat.
    Target(Aim),
    /// Which back of the tokens of the seat robbed.
    Back { victim: u8 },
    /// Which option of an effect: lists `first..first + count`.
    Choose { first: u8, count: u8 },
    /// Whether to pay so many cards.
    Cost(u8),
    /// Which card to pay; so many are due.
    Pay { left: u8 },
    /// Which of the cards just drawn to discard; so many are due.
    Drop { left: u8 },
    /// Which card to discard for the hand limit.
    Limit,
    /// How many steps Lyra goes, at most so many.
    Steps { max: u8 },
    /// Which token to lay out.
    Lay,
    /// The next card set, or the end of the turn.
    Sets,
    /// The next card of a set.
    Fill(Begun),
    /// The holder of the airship pays or gives up a tile.
    Airship,
    /// Which card the holder pays; so many are due.
    Ransom { left: u8 },
    /// A truth tile; so many are due to the seat in this place of the draft.
    Truth { place: u8, left: u8 },
    /// The game has ended.
    Over,
}

/// The lists of effects being carried out: the next effect and the end of each, outermost first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Program {
    pub(super) depth: u8,
    pub(super) frames: [(u8, u8); NESTING],
}

impl Program {
    pub(super) fn push(&mut self, list: (u8, u8)) {
        self.frames[usize::from(self.depth)] = list;
        self.depth += 1;
    }

    /// Ends the innermost list.
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.frames[usize::from(self.depth)] = (0, 0);
    }

    /// The next effect; ends lists that are done.
    pub(super) fn next(&mut self) -> Option<u8> {
        while self.depth > 0 {
            let frame = &mut self.frames[usize::from(self.depth) - 1];
            if frame.0 < frame.1 {
                frame.0 += 1;
                return Some(frame.0 - 1);
            }
            self.pop();
        }
        None
    }

    /// What follows in the innermost list.
    pub(super) fn rest(&self) -> (u8, u8) {
        self.frames[usize::from(self.depth) - 1]
    }
}

/// What belongs to one seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Place {
    pub(super) hand: Cards,
    /// The two characters dealt, until allies are shown; a character's id plus 1.
    pub(super) dealt: [u8; 2],
    /// Which of them is kept, plus 1; 0 while undecided and later.
    pub(super) kept: u8,
    /// The ally and the card under it, plus 1; 0 before they are shown.
    pub(super) ally: u8,
    pub(super) under: u8,
    /// Compass tiles not in use, and on the current objective.
    pub(super) supply: u8,
    pub(super) compass: u8,
    pub(super) dust: u8,
    /// Unplaced experience tokens, and those laid out, as bits.
    pub(super) tokens: u32,
    pub(super) laid: u32,
    /// Truth tiles by value, in the catalogue's order.
    pub(super) truth: [u8; TILE_VALUES],
}

/// A position of The Golden Compass.
///
/// The draw pile, the tokens at a city, the bag and the characters not dealt are sets: nobody knows their
/// order. Hands and tokens are counted by type, since equal ones cannot be told apart. What each seat
/// remembers of hidden things stands in `memory`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    pub(super) step: Step,
    pub(super) period: u8,
    /// First seat of the period, and the seat whose turn it is.
    pub(super) first: u8,
    pub(super) active: u8,
    pub(super) turn: u32,
    /// Turns in a row without a step (R36).
    pub(super) still: u16,
    /// Whether Lyra has moved in this turn.
    pub(super) moved: bool,
    /// Whether red was chosen in this turn.
    pub(super) red: bool,
    pub(super) axis: u8,
    pub(super) lyra: u8,
    pub(super) places: [Place; SEATS],
    pub(super) memory: [Memory; SEATS],
    /// Cards of the two piles by type, and their numbers.
    pub(super) deck: [u8; CARD_TYPES],
    pub(super) discard: [u8; CARD_TYPES],
    pub(super) deck_len: u8,
    pub(super) discard_len: u8,
    /// Tokens lying at a city of a collecting period, or gone from it unseen.
    pub(super) piles: [u32; COLLECTING],
    /// Tokens laid out in the cities of the last period.
    pub(super) circles: [u32; PLACING],
    pub(super) dust: u8,
    /// The seat that holds the airship, plus 1.
    pub(super) airship: u8,
    /// Characters of the period that nobody has been dealt.
    pub(super) unseen: BitSet<1>,
    pub(super) program: Program,
    /// Effect being decided on, plus 1.
    pub(super) op: u8,
    /// Cards just drawn of which some must be dropped.
    pub(super) fresh: Cards,
    /// Rights to wild pairs and short triplets left in this turn.
    pub(super) wild: u8,
    pub(super) short: u8,
    /// Truth tiles in the bag and open, by value.
    pub(super) bag: [u8; TILE_VALUES],
    pub(super) open: [u8; TILE_VALUES],
    /// Passage tiles still in the bag or beside the board, and drawn.
    pub(super) passages: u8,
    pub(super) drawn_passages: u8,
    /// The seat that gave up a tile, plus 1.
    pub(super) gave_up: u8,
    /// Seats in the order of the draft.
    pub(super) order: [u8; SEATS],
}

impl State {
    pub(super) fn place(&self, seat: u8) -> &Place {
        &self.places[usize::from(seat)]
    }

    pub(super) fn place_mut(&mut self, seat: u8) -> &mut Place {
        &mut self.places[usize::from(seat)]
    }

    /// Whether tokens are laid out in this period, not taken.
    pub(super) fn places_tokens(&self) -> bool {
        usize::from(self.period) == PERIODS - 1
    }

    /// The place of the seat whose turn it is.
    pub(super) fn own(&self) -> &Place {
        self.place(self.active)
    }

    pub(super) fn own_mut(&mut self) -> &mut Place {
        self.place_mut(self.active)
    }

    /// The one seat that owes a choice; none while all keep allies, or at the end.
    pub(super) fn chooser(&self) -> Option<u8> {
        match self.step {
            Step::Keep | Step::Over => None,
            Step::Airship | Step::Ransom { .. } => self.airship.checked_sub(1),
            Step::Truth { place, .. } => Some(self.order[usize::from(place)]),
            _ => Some(self.active),
        }
    }
}

/// The ids in a mask of tokens, ascending.
pub(super) fn bits(mask: u32) -> impl Iterator<Item = u8> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let id = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        u8::try_from(id).ok().filter(|&id| id < 32)
    })
}

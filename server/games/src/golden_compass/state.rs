//! A position as a plain value.

use boardwire_kernel::{BitSet, BySeat, Multiset, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::{
    AxisId, CardId, CharacterId, DaemonId, EffectId, EffectList, SymbolId, TokenId, TokenSet,
};
use super::limits::{CARD_TYPES, CARDS, COLLECTING, HAND, NESTING, PERIODS, PLACING, SEATS, TILE_VALUES};
use super::memory::Memory;

/// Types of Lyra card.
pub(super) type CardSet = BitSet<2>;
/// Lyra cards by type.
pub(super) type Pile = Multiset<{ CARD_TYPES + 1 }>;
/// Truth tiles by value.
pub(super) type TilePile = Multiset<{ TILE_VALUES + 1 }>;
/// Character cards.
pub(super) type CharacterSet = BitSet<2>;

/// A few small numbers, ascending: the cards of a hand, as they are shown, or the ages of hidden cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Sorted {
    len: u8,
    /// Zero beyond `len`.
    items: [u8; HAND],
}

impl Sorted {
    #[inline]
    pub(super) fn len(&self) -> u8 {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.items[..usize::from(self.len)]
    }

    /// The first `places` places, those without an item zero.
    #[inline]
    pub(super) fn places(&self, places: usize) -> &[u8] {
        &self.items[..places]
    }

    /// Adds `item` in its place.
    #[inline]
    pub(super) fn insert(&mut self, item: impl Into<u8>) {
        let item = item.into();
        let mut at = usize::from(self.len);
        while at > 0 && self.items[at - 1] > item {
            self.items[at] = self.items[at - 1];
            at -= 1;
        }
        self.items[at] = item;
        self.len += 1;
    }

    /// Removes and returns the item at `at`.
    #[inline]
    pub(super) fn take(&mut self, at: usize) -> u8 {
        let item = self.as_slice()[at];
        for place in at..HAND - 1 {
            self.items[place] = self.items[place + 1];
        }
        self.items[HAND - 1] = 0;
        self.len -= 1;
        item
    }

    /// Removes one item equal to `item`; says whether there was one.
    #[inline]
    pub(super) fn remove(&mut self, item: impl Into<u8>) -> bool {
        let item = item.into();
        let found = self.as_slice().iter().position(|&one| one == item);
        found.is_some_and(|at| self.take(at) == item)
    }

    #[inline]
    pub(super) fn count(&self, item: impl Into<u8>) -> u8 {
        let item = item.into();
        self.as_slice().iter().fold(0, |sum, &one| sum + u8::from(one == item))
    }

    #[inline]
    pub(super) fn contains(&self, item: impl Into<u8>) -> bool {
        self.as_slice().contains(&item.into())
    }

    /// Whether items ascend and the unused places are empty.
    pub(super) fn is_sound(&self) -> bool {
        let len = usize::from(self.len);
        len <= HAND && self.items[..len].is_sorted() && self.items[len..].iter().all(|&item| item == 0)
    }
}

impl<T: Into<u8>> FromIterator<T> for Sorted {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut sorted = Self::default();
        items.into_iter().for_each(|item| sorted.insert(item));
        sorted
    }
}

/// A hand of Lyra cards, or a part of one.
pub(super) type Hand = Sorted;

impl Hand {
    /// Its cards, equal ones beside each other.
    pub(super) fn cards(&self) -> impl Iterator<Item = CardId> {
        self.as_slice().iter().map(|&card| CardId::new(card))
    }

    /// The types of its cards.
    #[inline]
    pub(super) fn types(&self) -> CardSet {
        self.as_slice().iter().copied().collect()
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
pub enum SetKind {
    /// A pair of this daemon.
    Pair(DaemonId),
    /// A triplet of this symbol.
    Triplet(SymbolId),
    /// Two flying spies.
    Spies,
    /// Any two cards as a pair.
    Wild,
    /// Two cards of this symbol as a triplet.
    Short(SymbolId),
}

/// A set begun: some of its cards are on the discard pile already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) struct Begun {
    pub(super) kind: SetKind,
    /// Cards still to be named.
    pub(super) left: u8,
    /// Whether a card that is no joker is in it.
    pub(super) shows_face: bool,
}

impl Begun {
    pub(super) fn new(kind: SetKind) -> Self {
        let left = match kind {
            SetKind::Triplet(_) => 3,
            SetKind::Pair(_) | SetKind::Spies | SetKind::Wild | SetKind::Short(_) => 2,
        };
        Self { kind, left, shows_face: false }
    }

    /// The set with one more card.
    pub(super) fn with(self, is_joker: bool) -> Self {
        Self { left: self.left - 1, shows_face: self.shows_face || !is_joker, ..self }
    }

    /// Whether the set must still get a card that is no joker: only the first daemon or symbol need not.
    pub(super) fn needs_face(self) -> bool {
        let needs = match self.kind {
            SetKind::Pair(daemon) => daemon > DaemonId::new(1),
            SetKind::Triplet(symbol) | SetKind::Short(symbol) => symbol > SymbolId::new(1),
            SetKind::Spies | SetKind::Wild => false,
        };
        needs && !self.shows_face
    }
}

/// What is to be decided now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) enum Decision {
    /// Every seat keeps one of two characters.
    Keep,
    /// Red or light blue.
    Colour,
    /// The light-blue action.
    Action,
    /// Which seat.
    Target(Aim),
    /// Which back of the tokens of the seat robbed.
    Back { victim: Seat },
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
    PayForAirship { left: u8 },
    /// A truth tile; so many are due to the seat in this place of the draft.
    Truth { place: u8, left: u8 },
    /// The game has ended.
    Over,
}

/// The lists of effects being carried out, outermost first; of each, what is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Program {
    pub(super) depth: u8,
    pub(super) lists: [EffectList; NESTING],
}

impl Program {
    pub(super) fn push(&mut self, list: EffectList) {
        self.lists[usize::from(self.depth)] = list;
        self.depth += 1;
    }

    /// Ends the innermost list.
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.lists[usize::from(self.depth)] = EffectList::default();
    }

    /// The next effect; ends lists that are done.
    pub(super) fn next(&mut self) -> Option<EffectId> {
        while self.depth > 0 {
            let list = &mut self.lists[usize::from(self.depth) - 1];
            if list.start < list.end {
                list.start += 1;
                return Some(EffectId::new(list.start));
            }
            self.pop();
        }
        None
    }

    /// What follows in the innermost list.
    pub(super) fn rest(&self) -> EffectList {
        self.lists[usize::from(self.depth) - 1]
    }
}

/// What belongs to one seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Place {
    pub(super) hand: Hand,
    /// The two characters dealt, until allies are shown.
    pub(super) dealt: Option<[CharacterId; 2]>,
    /// Which of them is kept; none while undecided and later.
    pub(super) kept: Option<u8>,
    /// The ally and the card under it; none before they are shown.
    pub(super) ally: Option<CharacterId>,
    pub(super) under: Option<CharacterId>,
    /// Compass tiles not in use, and on the current objective.
    pub(super) supply: u8,
    pub(super) compass: u8,
    pub(super) dust: u8,
    /// Unplaced experience tokens, and those laid out.
    pub(super) tokens: TokenSet,
    pub(super) laid: TokenSet,
    /// Unplaced tokens by the city of their back: all see them.
    pub(super) backs: [u8; COLLECTING],
    pub(super) truth: TilePile,
}

/// A position of The Golden Compass.
///
/// The draw pile, the tokens at a city, the bag and the characters not dealt are sets: nobody knows their
/// order. Hands and tokens are counted by type, since equal ones cannot be told apart. What each seat
/// remembers of hidden things, and is shown, stands in `memory`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    pub(super) decision: Decision,
    pub(super) period: u8,
    /// First seat of the period, and the seat whose turn it is.
    pub(super) first: Seat,
    pub(super) active: Seat,
    pub(super) turn: u32,
    /// Turns in a row without a step (R36).
    pub(super) idle_turns: u16,
    /// Whether Lyra has moved in this turn.
    pub(super) has_moved: bool,
    /// Whether red was chosen in this turn.
    pub(super) is_red: bool,
    /// Where the needle points; none before the first turn.
    pub(super) axis: Option<AxisId>,
    pub(super) lyra: u8,
    pub(super) places: BySeat<Place, SEATS>,
    pub(super) memory: BySeat<Memory, SEATS>,
    /// Whether memories are no longer kept.
    pub(super) forgets: bool,
    pub(super) deck: Pile,
    pub(super) discard: Pile,
    /// By copy, in the order of the memories' stamps: 0 on the discard pile, of each type the last, else 255.
    pub(super) not_discarded: [u8; CARDS],
    /// Tokens lying at a city of a collecting period, or gone from it unseen.
    pub(super) piles: [TokenSet; COLLECTING],
    /// Tokens laid out in the cities of the last period.
    pub(super) circles: [TokenSet; PLACING],
    pub(super) dust: u8,
    /// The seat that holds the airship.
    pub(super) airship: Option<Seat>,
    /// Characters of the period that nobody has been dealt.
    pub(super) unseen: CharacterSet,
    pub(super) program: Program,
    /// The effect being decided on.
    pub(super) effect: Option<EffectId>,
    /// Cards just drawn of which some must be dropped.
    pub(super) just_drawn: Hand,
    /// Rights to wild pairs and short triplets left in this turn.
    pub(super) wild: u8,
    pub(super) short: u8,
    /// Truth tiles in the bag and open.
    pub(super) bag: TilePile,
    pub(super) open: TilePile,
    /// Passage tiles still in the bag or beside the board, and drawn.
    pub(super) passages: u8,
    pub(super) drawn_passages: u8,
    /// The seat that gave up a tile.
    pub(super) gave_up: Option<Seat>,
    /// Seats in the order of the draft; the first seat where there is none.
    pub(super) order: [Seat; SEATS],
}

impl State {
    /// Whether tokens are laid out in this period, not taken.
    #[inline]
    pub(super) fn is_last_period(&self) -> bool {
        usize::from(self.period) == PERIODS - 1
    }

    /// The place of the seat whose turn it is.
    #[inline]
    pub(super) fn acting(&self) -> &Place {
        &self.places[self.active]
    }

    #[inline]
    pub(super) fn acting_mut(&mut self) -> &mut Place {
        &mut self.places[self.active]
    }

    /// The one seat that owes a choice; none while all keep allies, or at the end.
    #[inline]
    pub(super) fn chooser(&self) -> Option<Seat> {
        match self.decision {
            Decision::Keep | Decision::Over => None,
            Decision::Airship | Decision::PayForAirship { .. } => self.airship,
            Decision::Truth { place, .. } => Some(self.order[usize::from(place)]),
            Decision::Colour
            | Decision::Action
            | Decision::Target(_)
            | Decision::Back { .. }
            | Decision::Choose { .. }
            | Decision::Cost(_)
            | Decision::Pay { .. }
            | Decision::Drop { .. }
            | Decision::Limit
            | Decision::Steps { .. }
            | Decision::Lay
            | Decision::Sets
            | Decision::Fill(_) => Some(self.active),
        }
    }
}

/// The tokens of a set, ascending.
pub(super) fn tokens_of(set: TokenSet) -> impl Iterator<Item = TokenId> {
    set.into_iter().map(TokenId::new)
}

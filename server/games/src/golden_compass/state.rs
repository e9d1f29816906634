//! The state of a game as a plain value.

use boardwire_kernel::{BitSet, BySeat, Multiset, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::{
    AxisId, CardId, CharacterId, DaemonId, EffectId, EffectList, SymbolId, TokenId, TokenSet,
};
use super::limits::{CARD_TYPES, CARDS, COLLECTING, HAND, MAX_SEATS, NESTING, PERIODS, PLACING, TILE_VALUES};
use super::memory::Memory;

/// A set of Lyra card types.
pub(super) type CardSet = BitSet<2>;
/// Lyra cards, counted by type.
pub(super) type Pile = Multiset<{ CARD_TYPES + 1 }>;
/// Truth tiles, counted by value.
pub(super) type TilePile = Multiset<{ TILE_VALUES + 1 }>;
/// A set of character cards.
pub(super) type CharacterSet = BitSet<2>;

/// A short ascending list of small numbers: the card types of a hand, or the reshuffle numbers of hidden cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Sorted {
    len: u8,
    /// The unused places are zero.
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

    /// Returns the first `places` places. The unused ones are zero.
    #[inline]
    pub(super) fn places(&self, places: usize) -> &[u8] {
        &self.items[..places]
    }

    /// Inserts `item` at its sorted position.
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

    /// Removes and returns the item at index `at`.
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

    /// Removes one item equal to `item`. Returns whether there was one.
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

    /// Returns whether the items ascend and the unused places are zero.
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

/// A hand of Lyra cards, or a part of a hand.
pub(super) type Hand = Sorted;

impl Hand {
    /// Returns its cards. Equal cards are adjacent.
    pub(super) fn cards(&self) -> impl Iterator<Item = CardId> {
        self.as_slice().iter().map(|&card| CardId::new(card))
    }

    #[inline]
    pub(super) fn types(&self) -> CardSet {
        self.as_slice().iter().copied().collect()
    }
}

/// The reason why the active seat names another seat, the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) enum TargetReason {
    /// The target takes the airship.
    Airship,
    /// The target loses a dust tile to the active seat.
    Dust,
    /// The target loses this number of cards to the active seat.
    Cards(u8),
    /// The target loses a token to the active seat.
    Token,
    /// This number of the target's compass tiles goes back to its supply.
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
    WildPair,
    /// Two cards of this symbol as a triplet.
    ShortTriplet(SymbolId),
}

/// An incomplete set. The cards named so far are already on the discard pile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) struct PartialSet {
    pub(super) kind: SetKind,
    /// The number of cards still to be named.
    pub(super) left: u8,
    /// Whether it contains a card that is not a joker.
    pub(super) has_non_joker: bool,
}

impl PartialSet {
    pub(super) fn new(kind: SetKind) -> Self {
        let left = match kind {
            SetKind::Triplet(_) => 3,
            SetKind::Pair(_) | SetKind::Spies | SetKind::WildPair | SetKind::ShortTriplet(_) => 2,
        };
        Self { kind, left, has_non_joker: false }
    }

    /// Returns the set with one more card.
    pub(super) fn with(self, is_joker: bool) -> Self {
        Self { left: self.left - 1, has_non_joker: self.has_non_joker || !is_joker, ..self }
    }

    /// Returns whether the set still needs a card that is not a joker. Sets of the first daemon or symbol never do.
    pub(super) fn needs_non_joker(self) -> bool {
        let needs = match self.kind {
            SetKind::Pair(daemon) => daemon > DaemonId::new(1),
            SetKind::Triplet(symbol) | SetKind::ShortTriplet(symbol) => symbol > SymbolId::new(1),
            SetKind::Spies | SetKind::WildPair => false,
        };
        needs && !self.has_non_joker
    }
}

/// The decision that is due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub(super) enum Decision {
    /// Every seat keeps one of two characters.
    Keep,
    /// Choose red or light blue.
    Colour,
    /// Choose the light-blue action.
    Action,
    /// Name another seat.
    Target(TargetReason),
    /// Choose the back of the token to steal from `victim`.
    ChooseBack { victim: Seat },
    /// Choose an option of an effect: one of the lists `first..first + count`.
    Choose { first: u8, count: u8 },
    /// Pay this number of cards, or decline.
    Cost(u8),
    /// Name a card to pay; `left` cards are due.
    Pay { left: u8 },
    /// Name one of the cards just drawn to discard; `left` cards are due.
    DiscardDrawn { left: u8 },
    /// Name a card to discard for the hand limit.
    DiscardToLimit,
    /// Choose how many steps Lyra advances, 0 to `max`.
    Steps { max: u8 },
    /// Choose a token to lay out.
    LayToken,
    /// Play a card set, or end the turn.
    Sets,
    /// Name the next card of a set.
    NameSetCard(PartialSet),
    /// The holder of the airship pays cards or gives up a tile.
    Airship,
    /// The holder of the airship names a card to pay; `left` cards are due.
    PayForAirship { left: u8 },
    /// The seat at index `draft_index` of the draft takes a truth tile; `left` tiles are due to it.
    Truth { draft_index: u8, left: u8 },
    /// The game has ended.
    Over,
}

/// The stack of effect lists in progress, outermost first. Each list holds the effects that remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct EffectStack {
    pub(super) depth: u8,
    pub(super) lists: [EffectList; NESTING],
}

impl EffectStack {
    pub(super) fn push(&mut self, list: EffectList) {
        self.lists[usize::from(self.depth)] = list;
        self.depth += 1;
    }

    /// Removes the innermost list.
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.lists[usize::from(self.depth)] = EffectList::default();
    }

    /// Returns the next effect. Removes finished lists.
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

    /// Returns the remaining effects of the innermost list.
    pub(super) fn rest(&self) -> EffectList {
        self.lists[usize::from(self.depth) - 1]
    }
}

/// The components and hidden choices of one seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct SeatState {
    pub(super) hand: Hand,
    /// The two dealt characters, until the allies are shown.
    pub(super) dealt: Option<[CharacterId; 2]>,
    /// The index of the kept character. `None` before the seat chooses and after the allies are shown.
    pub(super) kept_index: Option<u8>,
    /// The ally and the card under it. `None` until they are shown.
    pub(super) ally: Option<CharacterId>,
    pub(super) card_under_ally: Option<CharacterId>,
    /// Compass tiles in the supply, and on the current objective.
    pub(super) supply: u8,
    pub(super) compass: u8,
    pub(super) dust: u8,
    /// Experience tokens that are unplaced, and that are laid out.
    pub(super) tokens: TokenSet,
    pub(super) laid_out: TokenSet,
    /// The number of unplaced tokens by the city of their back. It is public.
    pub(super) backs: [u8; COLLECTING],
    pub(super) truth: TilePile,
}

/// The state of one game of The Golden Compass.
///
/// The draw pile, the tokens at a city, the bag and the undealt characters are sets, because no seat knows their order.
/// Hands hold card types, because equal cards cannot be distinguished. `memory` holds what each seat remembers of hidden
/// cards and tokens; the views show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    pub(super) decision: Decision,
    pub(super) period: u8,
    /// The first seat of the period, and the active seat, whose turn it is.
    pub(super) first_seat: Seat,
    pub(super) active: Seat,
    pub(super) turn: u32,
    /// The number of consecutive turns in which Lyra did not move (R36).
    pub(super) idle_turns: u16,
    /// Whether Lyra moved in this turn.
    pub(super) has_moved: bool,
    /// Whether the active seat chose red in this turn.
    pub(super) is_red: bool,
    /// The axis that the needle shows. `None` before the first turn.
    pub(super) axis: Option<AxisId>,
    pub(super) lyra: u8,
    pub(super) seats: BySeat<SeatState, MAX_SEATS>,
    pub(super) memory: BySeat<Memory, MAX_SEATS>,
    /// Whether the memories are no longer updated. Samples for playouts do not need them.
    pub(super) memories_disabled: bool,
    pub(super) deck: Pile,
    pub(super) discard: Pile,
    /// By copy, in the order of `Memory::last_seen`: 0 if it is discarded, else 255. The last copies of a type are
    /// discarded first.
    pub(super) not_discarded_mask: [u8; CARDS],
    /// The tokens of each collecting city that no seat took, also if they left the game unseen.
    pub(super) city_tokens: [TokenSet; COLLECTING],
    /// The tokens laid out in each city of the last period.
    pub(super) circles: [TokenSet; PLACING],
    pub(super) dust: u8,
    /// The seat that holds the airship.
    pub(super) airship: Option<Seat>,
    /// The characters of the period that no seat was dealt.
    pub(super) undealt_characters: CharacterSet,
    pub(super) effect_stack: EffectStack,
    /// The effect that the current decision belongs to.
    pub(super) effect: Option<EffectId>,
    /// The cards just drawn, of which the active seat must discard some.
    pub(super) just_drawn: Hand,
    /// The rights to wild pairs and short triplets that are left in this turn.
    pub(super) wild_pair_rights: u8,
    pub(super) short_triplet_rights: u8,
    /// The truth tiles in the bag, and the open ones.
    pub(super) bag: TilePile,
    pub(super) open_tiles: TilePile,
    /// The number of passage tiles in the bag or beside the board, and of those drawn.
    pub(super) passages: u8,
    pub(super) drawn_passages: u8,
    /// The seat that gave up a truth tile for the airship.
    pub(super) gave_up: Option<Seat>,
    /// The seats in draft order. Unused entries hold seat 0.
    pub(super) order: [Seat; MAX_SEATS],
}

impl State {
    /// Returns whether seats lay tokens out in this period instead of taking them.
    #[inline]
    pub(super) fn is_last_period(&self) -> bool {
        usize::from(self.period) == PERIODS - 1
    }

    /// Returns the components of the active seat.
    #[inline]
    pub(super) fn active_seat(&self) -> &SeatState {
        &self.seats[self.active]
    }

    #[inline]
    pub(super) fn active_seat_mut(&mut self) -> &mut SeatState {
        &mut self.seats[self.active]
    }

    /// Returns the one seat that must decide. `None` while all seats choose allies, and at the end.
    #[inline]
    pub(super) fn chooser(&self) -> Option<Seat> {
        match self.decision {
            Decision::Keep | Decision::Over => None,
            Decision::Airship | Decision::PayForAirship { .. } => self.airship,
            Decision::Truth { draft_index, .. } => Some(self.order[usize::from(draft_index)]),
            Decision::Colour
            | Decision::Action
            | Decision::Target(_)
            | Decision::ChooseBack { .. }
            | Decision::Choose { .. }
            | Decision::Cost(_)
            | Decision::Pay { .. }
            | Decision::DiscardDrawn { .. }
            | Decision::DiscardToLimit
            | Decision::Steps { .. }
            | Decision::LayToken
            | Decision::Sets
            | Decision::NameSetCard(_) => Some(self.active),
        }
    }
}

/// Returns the tokens of a set, ascending.
pub(super) fn tokens_of(set: TokenSet) -> impl Iterator<Item = TokenId> {
    set.into_iter().map(TokenId::new)
}

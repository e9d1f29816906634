//! Lyra card sets: the marks of each card, the sets in a hand, and the cards that complete a set.

use boardwire_kernel::BitSet;

use super::catalogue::{CardId, CardType, Catalogue, with_ids};
use super::limits::{CARD_TYPES, DAEMONS, SYMBOLS};
use super::state::{CardSet, Hand, PartialSet, SetKind};

/// The marks of a card, one bit each: its daemon, its symbol, and the flags below.
const SYMBOL: usize = DAEMONS;
const JOKER: u32 = 1 << (DAEMONS + SYMBOLS);
const SPY: u32 = JOKER << 1;
/// Not a flying spy: the card may be in a wild pair.
const NO_SPY: u32 = SPY << 1;
const DAEMON_BITS: u32 = (1 << DAEMONS) - 1;
const SYMBOL_BITS: u32 = ((1 << SYMBOLS) - 1) << SYMBOL;

/// What the rules of card sets need to know about the card types.
#[derive(Debug)]
pub(super) struct CardSets {
    /// The marks of each type, by row.
    marks: [u32; CARD_TYPES + 1],
    /// The types that can be in a pair of each daemon and in a set of each symbol, jokers included.
    pairs: [CardSet; DAEMONS + 1],
    triplets: [CardSet; SYMBOLS + 1],
    spies: CardSet,
    no_spies: CardSet,
    jokers: CardSet,
}

impl CardSets {
    pub(super) fn new(catalogue: &Catalogue) -> Self {
        let types = |fits: &dyn Fn(&CardType) -> bool| -> CardSet {
            let fitting = with_ids(&catalogue.cards, CardId::new).filter(|(_, card)| fits(card));
            fitting.map(|(id, _)| id).collect()
        };
        let row = |id: usize| u8::try_from(id).expect("few daemons and symbols");
        let mut marks = [0; CARD_TYPES + 1];
        for (id, card) in with_ids(&catalogue.cards, CardId::new) {
            let daemon = card.daemon.map_or(0, |daemon| 1 << (daemon.get() - 1));
            let symbol = card.symbol.map_or(0, |symbol| 1 << (SYMBOL + symbol.index() - 1));
            let others = [(JOKER, card.is_joker), (SPY, card.is_spy), (NO_SPY, !card.is_spy)];
            let others = others.into_iter().filter_map(|(mark, holds)| holds.then_some(mark)).sum::<u32>();
            marks[id.index()] = daemon | symbol | others;
        }
        Self {
            marks,
            pairs: std::array::from_fn(|id| {
                types(&|card| card.is_joker || card.daemon.is_some_and(|own| own.get() == row(id)))
            }),
            triplets: std::array::from_fn(|id| {
                types(&|card| card.is_joker || card.symbol.is_some_and(|own| own.get() == row(id)))
            }),
            spies: types(&|card| card.is_spy),
            no_spies: types(&|card| !card.is_spy),
            jokers: types(&|card| card.is_joker),
        }
    }

    /// Returns the types that can be part of a set.
    pub(super) fn fitting(&self, kind: SetKind) -> CardSet {
        match kind {
            SetKind::Pair(daemon) => self.pairs[daemon.index()],
            SetKind::Triplet(symbol) | SetKind::ShortTriplet(symbol) => self.triplets[symbol.index()],
            SetKind::Spies => self.spies,
            SetKind::WildPair => self.no_spies,
        }
    }

    #[inline]
    pub(super) fn is_joker(&self, card: u8) -> bool {
        self.marks[usize::from(card)] & JOKER != 0
    }

    /// Returns whether two cards show the same daemon.
    #[inline]
    pub(super) fn are_pair(&self, one: u8, other: u8) -> bool {
        self.marks[usize::from(one)] & self.marks[usize::from(other)] & DAEMON_BITS != 0
    }

    /// Returns the marks of a hand: those of at least one, two and three cards.
    #[inline]
    pub(super) fn tally(&self, hand: &Hand) -> Tally {
        hand.as_slice().iter().fold(Tally::default(), |Tally([one, two, three]), &card| {
            let own = self.marks[usize::from(card)];
            Tally([one | own, two | one & own, three | two & own])
        })
    }

    /// Returns the types in `hand` that can be the next card of a set.
    pub(super) fn completing(&self, hand: &Hand, partial_set: PartialSet) -> CardSet {
        let fitting = hand.types().intersection(self.fitting(partial_set.kind));
        if partial_set.needs_non_joker() && partial_set.left == 1 {
            fitting.difference(self.jokers)
        } else {
            fitting
        }
    }

    /// Returns whether more than one choice of card types in `hand` completes a set.
    pub(super) fn has_choice(&self, hand: &Hand, partial_set: PartialSet) -> bool {
        let left = usize::from(partial_set.left);
        let fitting = self.fitting(partial_set.kind);
        // `choices[n]` counts the choices of `n` cards, 0 to 3, of the types so far, without jokers. 2 means more than
        // one.
        let mut choices = [0u8; 4];
        choices[0] = 1;
        let mut jokers = 0;
        let runs = hand.as_slice().chunk_by(|one, other| one == other);
        for run in runs.filter(|run| fitting.contains(run[0])) {
            if self.is_joker(run[0]) {
                jokers = run.len();
                continue;
            }
            for size in (1..=left).rev() {
                let more: u8 = (1..=run.len().min(size)).map(|taken| choices[size - taken]).sum();
                choices[size] = (choices[size] + more).min(2);
            }
        }
        let non_jokers = usize::from(partial_set.needs_non_joker());
        let taken = (0..=jokers.min(left)).filter(|&taken| left - taken >= non_jokers);
        taken.map(|taken| choices[left - taken]).sum::<u8>() > 1
    }
}

/// The marks that at least one, two and three cards of a hand have.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally([u32; 3]);

impl Tally {
    /// Returns whether at least `count` cards, 1 to 3, have a mark.
    #[inline]
    fn has(&self, mark: u32, count: usize) -> bool {
        self.0[count - 1] & mark != 0
    }

    /// Returns which `marks` have `count` cards, 2 or 3, with jokers. Jokers without other cards suffice for the mark
    /// `first`.
    #[inline]
    fn with_jokers(&self, count: usize, marks: u32, first: u32) -> u32 {
        let jokers = (1..=count).filter(|&jokers| self.has(JOKER, jokers)).count();
        let alone = if jokers >= count { first } else { 0 };
        let own = self.0[count - 1 - jokers.min(count - 1)];
        own & marks | alone
    }

    /// Returns the daemons of which the hand has a pair.
    #[inline]
    pub(super) fn pairs(&self) -> BitSet<1> {
        BitSet::from(u64::from(self.with_jokers(2, DAEMON_BITS, 1)) << 1)
    }

    /// Returns the symbols of which the hand has `count` cards, 2 or 3.
    #[inline]
    pub(super) fn symbols(&self, count: usize) -> BitSet<1> {
        BitSet::from(u64::from(self.with_jokers(count, SYMBOL_BITS, 1 << SYMBOL) >> SYMBOL) << 1)
    }

    #[inline]
    pub(super) fn has_wild_pair(&self) -> bool {
        self.has(NO_SPY, 2)
    }

    #[inline]
    pub(super) fn has_spies(&self) -> bool {
        self.has(SPY, 2)
    }
}

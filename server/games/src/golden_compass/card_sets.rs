//! Lyra card sets: what each card counts as, which sets a hand holds, and which cards complete one.

use boardwire_kernel::BitSet;

use super::catalogue::{CardId, CardType, Catalogue, with_ids};
use super::limits::{CARD_TYPES, DAEMONS, SYMBOLS};
use super::state::{Begun, CardSet, Hand, SetKind};

/// What a card counts as in sets, a bit each: its daemon, its symbol, and more.
const SYMBOL: usize = DAEMONS;
const JOKER: u32 = 1 << (DAEMONS + SYMBOLS);
const SPY: u32 = JOKER << 1;
/// No flying spy: it may be in a wild pair.
const NO_SPY: u32 = SPY << 1;
const DAEMON_BITS: u32 = (1 << DAEMONS) - 1;
const SYMBOL_BITS: u32 = ((1 << SYMBOLS) - 1) << SYMBOL;

/// What sets ask of the card types.
#[derive(Debug)]
pub(super) struct CardSets {
    /// What each type counts as, by row.
    marks: [u32; CARD_TYPES + 1],
    /// The types that can be in a pair of each daemon and in sets of each symbol, jokers included.
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

    /// The types that can be part of a set.
    pub(super) fn fitting(&self, kind: SetKind) -> CardSet {
        match kind {
            SetKind::Pair(daemon) => self.pairs[daemon.index()],
            SetKind::Triplet(symbol) | SetKind::Short(symbol) => self.triplets[symbol.index()],
            SetKind::Spies => self.spies,
            SetKind::Wild => self.no_spies,
        }
    }

    #[inline]
    pub(super) fn is_joker(&self, card: u8) -> bool {
        self.marks[usize::from(card)] & JOKER != 0
    }

    /// Whether two cards show the same daemon.
    #[inline]
    pub(super) fn are_pair(&self, one: u8, other: u8) -> bool {
        self.marks[usize::from(one)] & self.marks[usize::from(other)] & DAEMON_BITS != 0
    }

    /// What the cards of a hand count as together.
    #[inline]
    pub(super) fn tally(&self, hand: &Hand) -> Tally {
        hand.as_slice().iter().fold(Tally::default(), |Tally([one, two, three]), &card| {
            let own = self.marks[usize::from(card)];
            Tally([one | own, two | one & own, three | two & own])
        })
    }

    /// The types of `hand` that can still complete a set.
    pub(super) fn completing(&self, hand: &Hand, begun: Begun) -> CardSet {
        let fitting = hand.types().intersection(self.fitting(begun.kind));
        if begun.needs_face() && begun.left == 1 { fitting.difference(self.jokers) } else { fitting }
    }

    /// Whether more than one choice of card types of `hand` completes a set.
    pub(super) fn has_choice(&self, hand: &Hand, begun: Begun) -> bool {
        let left = usize::from(begun.left);
        let fitting = self.fitting(begun.kind);
        // Ways to choose none to three cards of the types seen so far, jokers apart; 2 stands for more.
        let mut ways = [0u8; 4];
        ways[0] = 1;
        let mut jokers = 0;
        let runs = hand.as_slice().chunk_by(|one, other| one == other);
        for run in runs.filter(|run| fitting.contains(run[0])) {
            if self.is_joker(run[0]) {
                jokers = run.len();
                continue;
            }
            for size in (1..=left).rev() {
                let more: u8 = (1..=run.len().min(size)).map(|taken| ways[size - taken]).sum();
                ways[size] = (ways[size] + more).min(2);
            }
        }
        let faces = usize::from(begun.needs_face());
        let taken = (0..=jokers.min(left)).filter(|&taken| left - taken >= faces);
        taken.map(|taken| ways[left - taken]).sum::<u8>() > 1
    }
}

/// The marks that at least one, two and three cards of a hand have.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally([u32; 3]);

impl Tally {
    /// Whether at least so many cards, 1 to 3, have a mark.
    #[inline]
    fn has(&self, mark: u32, count: usize) -> bool {
        self.0[count - 1] & mark != 0
    }

    /// Which of some marks so many cards have, 2 or 3, when jokers help; `first` needs no card of its own.
    #[inline]
    fn with_jokers(&self, count: usize, marks: u32, first: u32) -> u32 {
        let jokers = (1..=count).filter(|&jokers| self.has(JOKER, jokers)).count();
        let alone = if jokers >= count { first } else { 0 };
        let own = self.0[count - 1 - jokers.min(count - 1)];
        own & marks | alone
    }

    /// The daemons of which it has a pair.
    #[inline]
    pub(super) fn pairs(&self) -> BitSet<1> {
        BitSet::from(u64::from(self.with_jokers(2, DAEMON_BITS, 1)) << 1)
    }

    /// The symbols of which it has so many cards, 2 or 3.
    #[inline]
    pub(super) fn symbols(&self, count: usize) -> BitSet<1> {
        BitSet::from(u64::from(self.with_jokers(count, SYMBOL_BITS, 1 << SYMBOL) >> SYMBOL) << 1)
    }

    /// Whether it has two cards for a wild pair.
    #[inline]
    pub(super) fn has_wild_pair(&self) -> bool {
        self.has(NO_SPY, 2)
    }

    /// Whether it has two flying spies.
    #[inline]
    pub(super) fn has_spies(&self) -> bool {
        self.has(SPY, 2)
    }
}

//! Lyra card sets: which may be played, and which cards complete them.

use boardwire_kernel::{BitSet, Chance};

use super::super::GoldenCompass;
use super::super::catalogue::limits::{CARD_TYPES, DAEMONS, SYMBOLS};
use super::super::catalogue::{CardId, CardType, Catalogue, DaemonId, SymbolId, with_ids};
use super::super::state::{Aim, Begun, CardSet, Hand, SetKind, State, Step};
use super::effects::lay_compass;

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
pub(in super::super) struct CardSets {
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
    pub(in super::super) fn new(catalogue: &Catalogue) -> Self {
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
    pub(in super::super) fn fitting(&self, kind: SetKind) -> CardSet {
        match kind {
            SetKind::Pair(daemon) => self.pairs[daemon.index()],
            SetKind::Triplet(symbol) | SetKind::Short(symbol) => self.triplets[symbol.index()],
            SetKind::Spies => self.spies,
            SetKind::Wild => self.no_spies,
        }
    }

    #[inline]
    pub(in super::super) fn is_joker(&self, card: u8) -> bool {
        self.marks[usize::from(card)] & JOKER != 0
    }

    /// Whether two cards show the same daemon.
    #[inline]
    pub(in super::super) fn are_pair(&self, one: u8, other: u8) -> bool {
        self.marks[usize::from(one)] & self.marks[usize::from(other)] & DAEMON_BITS != 0
    }
}

/// The marks that at least one, two and three cards of a hand have.
#[derive(Clone, Copy, Default)]
struct Tally([u32; 3]);

impl Tally {
    #[inline]
    fn of(hand: &Hand, marks: &[u32; CARD_TYPES + 1]) -> Self {
        hand.as_slice().iter().fold(Self::default(), |Self([one, two, three]), &card| {
            let own = marks[usize::from(card)];
            Self([one | own, two | one & own, three | two & own])
        })
    }

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
}

/// The sets that may be played now; daemons and symbols by their numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Sets {
    pub(in super::super) pairs: BitSet<1>,
    pub(in super::super) triplets: BitSet<1>,
    pub(in super::super) short: BitSet<1>,
    pub(in super::super) spies: bool,
    pub(in super::super) wild: bool,
}

impl Sets {
    pub(in super::super) fn contains(&self, kind: SetKind) -> bool {
        match kind {
            SetKind::Pair(daemon) => self.pairs.contains(daemon),
            SetKind::Triplet(symbol) => self.triplets.contains(symbol),
            SetKind::Short(symbol) => self.short.contains(symbol),
            SetKind::Spies => self.spies,
            SetKind::Wild => self.wild,
        }
    }
}

impl GoldenCompass {
    /// The sets the active seat may play now.
    #[inline]
    pub(in super::super) fn sets(&self, state: &State) -> Sets {
        let mut sets = Sets::default();
        let hand = &state.acting().hand;
        if hand.len() < 2 {
            return sets;
        }
        let tally = Tally::of(hand, &self.card_sets.marks);
        let symbols = |count| {
            let marks = tally.with_jokers(count, SYMBOL_BITS, 1 << SYMBOL);
            BitSet::from(u64::from(marks >> SYMBOL) << 1)
        };
        if self.has_pair_effect(state) {
            sets.pairs = BitSet::from(u64::from(tally.with_jokers(2, DAEMON_BITS, 1)) << 1);
            sets.wild = state.wild > 0 && tally.has(NO_SPY, 2);
        }
        if state.acting().supply > 0 {
            sets.triplets = symbols(3);
            if state.short > 0 {
                sets.short = symbols(2);
            }
        }
        sets.spies = tally.has(SPY, 2) && self.has_target(state, Aim::Token);
        sets
    }

    /// Whether a pair would take or lay out a token now.
    pub(in super::super) fn has_pair_effect(&self, state: &State) -> bool {
        if state.is_last_period() { self.can_lay_token(state) } else { self.can_take_token(state) }
    }

    /// Begins a set.
    pub(super) fn begin_set(&self, state: &mut State, kind: SetKind, chance: &mut Chance) -> Option<Step> {
        match kind {
            SetKind::Wild => state.wild -= 1,
            SetKind::Short(_) => state.short -= 1,
            SetKind::Triplet(_) | SetKind::Pair(_) | SetKind::Spies => {}
        }
        self.fill(state, Begun::new(kind), chance)
    }

    /// Puts a card into a set.
    pub(super) fn put(&self, state: &mut State, begun: Begun, card: CardId) -> Begun {
        self.discard(state, state.active, card, 0);
        begun.with(self.card_sets.is_joker(card.get()))
    }

    /// Fills a set as far as there is only one choice of card types, and resolves it when complete.
    pub(super) fn fill(&self, state: &mut State, begun: Begun, chance: &mut Chance) -> Option<Step> {
        let mut begun = begun;
        while begun.left > 0 {
            if self.has_choice(&state.acting().hand, begun) {
                return Some(Step::Fill(begun));
            }
            let card = self.completing(&state.acting().hand, begun).lowest();
            let card = card.expect("a set is begun with cards that complete it");
            begun = self.put(state, begun, CardId::new(card));
        }
        self.resolve(state, begun.kind, chance)
    }

    fn resolve(&self, state: &mut State, kind: SetKind, chance: &mut Chance) -> Option<Step> {
        match kind {
            SetKind::Triplet(_) | SetKind::Short(_) => {
                lay_compass(state, self.printed().triplet_compass);
                None
            }
            SetKind::Spies => Some(Step::Target(Aim::Token)),
            SetKind::Pair(_) | SetKind::Wild if state.is_last_period() => Some(Step::Lay),
            SetKind::Pair(_) | SetKind::Wild => {
                self.take_token(state, chance);
                None
            }
        }
    }

    /// Whether the set must hold a card that is no joker: only the first daemon or symbol need not.
    fn needs_face(begun: Begun) -> bool {
        let needs = match begun.kind {
            SetKind::Pair(daemon) => daemon > DaemonId::new(1),
            SetKind::Triplet(symbol) | SetKind::Short(symbol) => symbol > SymbolId::new(1),
            SetKind::Spies | SetKind::Wild => false,
        };
        needs && !begun.shows_face
    }

    /// The types of `hand` that can still complete a set.
    pub(in super::super) fn completing(&self, hand: &Hand, begun: Begun) -> CardSet {
        let fitting = hand.types().intersection(self.card_sets.fitting(begun.kind));
        if Self::needs_face(begun) && begun.left == 1 {
            fitting.difference(self.card_sets.jokers)
        } else {
            fitting
        }
    }

    /// Whether more than one choice of card types of `hand` completes a set.
    pub(in super::super) fn has_choice(&self, hand: &Hand, begun: Begun) -> bool {
        let left = usize::from(begun.left);
        let fitting = self.card_sets.fitting(begun.kind);
        // Ways to choose none to three cards of the types seen so far, jokers apart; 2 stands for more.
        let mut ways = [0u8; 4];
        ways[0] = 1;
        let mut jokers = 0;
        let runs = hand.as_slice().chunk_by(|one, other| one == other);
        for run in runs.filter(|run| fitting.contains(run[0])) {
            if self.card_sets.is_joker(run[0]) {
                jokers = run.len();
                continue;
            }
            for size in (1..=left).rev() {
                let more: u8 = (1..=run.len().min(size)).map(|taken| ways[size - taken]).sum();
                ways[size] = (ways[size] + more).min(2);
            }
        }
        let faces = usize::from(Self::needs_face(begun));
        let taken = (0..=jokers.min(left)).filter(|&taken| left - taken >= faces);
        taken.map(|taken| ways[left - taken]).sum::<u8>() > 1
    }
}

//! Card sets during play: which sets can start, how they are filled, and what they do.

use boardwire_kernel::{BitSet, RandomSource};

use super::super::GoldenCompass;
use super::super::catalogue::CardId;
use super::super::state::{Decision, PartialSet, SetKind, State, TargetReason};
use super::effects::lay_compass;

/// The sets that the active seat may play now; daemons and symbols by number.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::golden_compass) struct Sets {
    pub(in crate::golden_compass) pairs: BitSet<1>,
    pub(in crate::golden_compass) triplets: BitSet<1>,
    pub(in crate::golden_compass) short_triplets: BitSet<1>,
    pub(in crate::golden_compass) spies: bool,
    pub(in crate::golden_compass) wild_pair: bool,
}

impl Sets {
    pub(in crate::golden_compass) fn contains(&self, kind: SetKind) -> bool {
        match kind {
            SetKind::Pair(daemon) => self.pairs.contains(daemon),
            SetKind::Triplet(symbol) => self.triplets.contains(symbol),
            SetKind::ShortTriplet(symbol) => self.short_triplets.contains(symbol),
            SetKind::Spies => self.spies,
            SetKind::WildPair => self.wild_pair,
        }
    }
}

impl GoldenCompass {
    #[inline]
    pub(in crate::golden_compass) fn sets(&self, state: &State) -> Sets {
        let mut sets = Sets::default();
        let hand = &state.active_seat().hand;
        if hand.len() < 2 {
            return sets;
        }
        let tally = self.card_sets.tally(hand);
        if self.has_pair_effect(state) {
            sets.pairs = tally.pairs();
            sets.wild_pair = state.wild_pair_rights > 0 && tally.has_wild_pair();
        }
        if state.active_seat().supply > 0 {
            sets.triplets = tally.symbols(3);
            if state.short_triplet_rights > 0 {
                sets.short_triplets = tally.symbols(2);
            }
        }
        sets.spies = tally.has_spies() && self.has_target(state, TargetReason::Token);
        sets
    }

    /// Returns whether a pair would take or lay out a token now.
    pub(in crate::golden_compass) fn has_pair_effect(&self, state: &State) -> bool {
        if state.is_last_period() { self.can_lay_token(state) } else { self.can_take_token(state) }
    }

    /// Starts a set. Uses up a right if the set needs one.
    pub(super) fn start_set(
        &self,
        state: &mut State,
        kind: SetKind,
        chance: &mut RandomSource,
    ) -> Option<Decision> {
        match kind {
            SetKind::WildPair => state.wild_pair_rights -= 1,
            SetKind::ShortTriplet(_) => state.short_triplet_rights -= 1,
            SetKind::Triplet(_) | SetKind::Pair(_) | SetKind::Spies => {}
        }
        self.fill(state, PartialSet::new(kind), chance)
    }

    /// Discards a card of the active seat and adds it to the set.
    pub(super) fn put(&self, state: &mut State, partial_set: PartialSet, card: CardId) -> PartialSet {
        self.discard(state, state.active, card, 0);
        partial_set.with(self.card_sets.is_joker(card.get()))
    }

    /// Fills a set while only one choice of card types exists. Resolves the set when it is complete.
    pub(super) fn fill(
        &self,
        state: &mut State,
        partial_set: PartialSet,
        chance: &mut RandomSource,
    ) -> Option<Decision> {
        let mut partial_set = partial_set;
        while partial_set.left > 0 {
            if self.card_sets.has_choice(&state.active_seat().hand, partial_set) {
                return Some(Decision::NameSetCard(partial_set));
            }
            let card = self.card_sets.completing(&state.active_seat().hand, partial_set).lowest();
            let card = card.expect("the hand can complete the set");
            partial_set = self.put(state, partial_set, CardId::new(card));
        }
        self.resolve(state, partial_set.kind, chance)
    }

    fn resolve(&self, state: &mut State, kind: SetKind, chance: &mut RandomSource) -> Option<Decision> {
        match kind {
            SetKind::Triplet(_) | SetKind::ShortTriplet(_) => {
                lay_compass(state, self.catalogue().triplet_compass);
                None
            }
            SetKind::Spies => Some(Decision::Target(TargetReason::Token)),
            SetKind::Pair(_) | SetKind::WildPair if state.is_last_period() => Some(Decision::LayToken),
            SetKind::Pair(_) | SetKind::WildPair => {
                self.take_token(state, chance);
                None
            }
        }
    }
}

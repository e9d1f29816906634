//! Card sets during play: which sets can start, how they are filled, and what they do.

use boardwire_kernel::{BitSet, Chance};

use super::super::GoldenCompass;
use super::super::catalogue::CardId;
use super::super::state::{Aim, Begun, Decision, SetKind, State};
use super::effects::lay_compass;

/// The sets that the active seat may play now; daemons and symbols by number.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::golden_compass) struct Sets {
    pub(in crate::golden_compass) pairs: BitSet<1>,
    pub(in crate::golden_compass) triplets: BitSet<1>,
    pub(in crate::golden_compass) short: BitSet<1>,
    pub(in crate::golden_compass) spies: bool,
    pub(in crate::golden_compass) wild: bool,
}

impl Sets {
    pub(in crate::golden_compass) fn contains(&self, kind: SetKind) -> bool {
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
    #[inline]
    pub(in crate::golden_compass) fn sets(&self, state: &State) -> Sets {
        let mut sets = Sets::default();
        let hand = &state.acting().hand;
        if hand.len() < 2 {
            return sets;
        }
        let tally = self.card_sets.tally(hand);
        if self.has_pair_effect(state) {
            sets.pairs = tally.pairs();
            sets.wild = state.wild > 0 && tally.has_wild_pair();
        }
        if state.acting().supply > 0 {
            sets.triplets = tally.symbols(3);
            if state.short > 0 {
                sets.short = tally.symbols(2);
            }
        }
        sets.spies = tally.has_spies() && self.has_target(state, Aim::Token);
        sets
    }

    /// Returns whether a pair would take or lay out a token now.
    pub(in crate::golden_compass) fn has_pair_effect(&self, state: &State) -> bool {
        if state.is_last_period() { self.can_lay_token(state) } else { self.can_take_token(state) }
    }

    /// Starts a set. Uses up a right if the set needs one.
    pub(super) fn begin_set(
        &self,
        state: &mut State,
        kind: SetKind,
        chance: &mut Chance,
    ) -> Option<Decision> {
        match kind {
            SetKind::Wild => state.wild -= 1,
            SetKind::Short(_) => state.short -= 1,
            SetKind::Triplet(_) | SetKind::Pair(_) | SetKind::Spies => {}
        }
        self.fill(state, Begun::new(kind), chance)
    }

    /// Discards a card of the active seat and adds it to the set.
    pub(super) fn put(&self, state: &mut State, begun: Begun, card: CardId) -> Begun {
        self.discard(state, state.active, card, 0);
        begun.with(self.card_sets.is_joker(card.get()))
    }

    /// Fills a set while only one choice of card types exists. Resolves the set when it is complete.
    pub(super) fn fill(&self, state: &mut State, begun: Begun, chance: &mut Chance) -> Option<Decision> {
        let mut begun = begun;
        while begun.left > 0 {
            if self.card_sets.has_choice(&state.acting().hand, begun) {
                return Some(Decision::Fill(begun));
            }
            let card = self.card_sets.completing(&state.acting().hand, begun).lowest();
            let card = card.expect("a set is begun with cards that complete it");
            begun = self.put(state, begun, CardId::new(card));
        }
        self.resolve(state, begun.kind, chance)
    }

    fn resolve(&self, state: &mut State, kind: SetKind, chance: &mut Chance) -> Option<Decision> {
        match kind {
            SetKind::Triplet(_) | SetKind::Short(_) => {
                lay_compass(state, self.printed().triplet_compass);
                None
            }
            SetKind::Spies => Some(Decision::Target(Aim::Token)),
            SetKind::Pair(_) | SetKind::Wild if state.is_last_period() => Some(Decision::Lay),
            SetKind::Pair(_) | SetKind::Wild => {
                self.take_token(state, chance);
                None
            }
        }
    }
}

//! Lyra card sets: which may be played, and which cards complete them.

use boardwire_kernel::{BitSet, Chance};

use super::GoldenCompass;
use super::effect::lay_compass;
use super::limits::{DAEMONS, HAND, SYMBOLS};
use super::state::{Aim, Begun, Kind, State, Step};

impl GoldenCompass {
    /// The sets the active seat may play now.
    pub(super) fn sets(&self, s: &State, mut offer: impl FnMut(Kind)) {
        let hand = s.own().hand.as_slice();
        if hand.len() < 2 {
            return;
        }
        let (mut daemons, mut symbols) = ([0u8; DAEMONS], [0u8; SYMBOLS]);
        let (mut jokers, mut spies, mut pure) = (0u8, 0u8, 0u8);
        for &card in hand {
            let face = &self.faces[usize::from(card)];
            daemons[usize::from(face.daemon)] += u8::from(face.is_ordinary);
            symbols[usize::from(face.symbol)] += u8::from(face.is_ordinary);
            jokers += u8::from(face.is_joker);
            spies += u8::from(face.is_spy);
            pure += u8::from(!face.is_spy);
        }
        // Sets of jokers only are offered under the first daemon or symbol.
        let enough = |own: u8, id: u8, size: u8| own + jokers >= size && (own > 0 || id == 0);
        if self.pair_has_effect(s) {
            let daemons = (0..self.daemons).zip(daemons);
            daemons.filter(|&(id, own)| enough(own, id, 2)).for_each(|(id, _)| offer(Kind::Pair(id)));
            if s.wild > 0 && pure >= 2 {
                offer(Kind::Wild);
            }
        }
        if s.own().supply > 0 {
            for (id, own) in (0..self.symbols).zip(symbols) {
                if enough(own, id, 3) {
                    offer(Kind::Triplet(id));
                }
                if s.short > 0 && enough(own, id, 2) {
                    offer(Kind::Short(id));
                }
            }
        }
        if spies >= 2 && self.can_steal_token(s) {
            offer(Kind::Spies);
        }
    }

    fn pair_has_effect(&self, s: &State) -> bool {
        if s.places_tokens() { self.can_lay_token(s) } else { self.can_take_token(s) }
    }

    /// Begins a set.
    pub(super) fn begin_set(&self, s: &mut State, kind: Kind, chance: &mut Chance) -> Option<Step> {
        match kind {
            Kind::Wild => s.wild -= 1,
            Kind::Short(_) => s.short -= 1,
            _ => {}
        }
        let left = if matches!(kind, Kind::Triplet(_)) { 3 } else { 2 };
        let begun = Begun { kind, left, own: false };
        self.fill(s, begun, chance)
    }

    /// Puts a card into a set.
    pub(super) fn put(&self, s: &mut State, begun: Begun, card: u8) -> Begun {
        self.discard(s, s.active, card, 0);
        Begun { left: begun.left - 1, own: begun.own || !self.faces[usize::from(card)].is_joker, ..begun }
    }

    /// Fills a set as far as there is only one choice of card types, and resolves it when complete.
    pub(super) fn fill(&self, s: &mut State, begun: Begun, chance: &mut Chance) -> Option<Step> {
        let mut begun = begun;
        while begun.left > 0 {
            if self.has_choice(s, begun) {
                return Some(Step::Fill(begun));
            }
            let card = self.completing(s, begun).lowest()?;
            begun = self.put(s, begun, card);
        }
        self.resolve(s, begun.kind, chance)
    }

    fn resolve(&self, s: &mut State, kind: Kind, chance: &mut Chance) -> Option<Step> {
        match kind {
            Kind::Triplet(_) | Kind::Short(_) => lay_compass(s, self.printed().triplet_compass),
            Kind::Spies => return Some(Step::Target(Aim::Token)),
            Kind::Pair(_) | Kind::Wild if s.places_tokens() => return Some(Step::Lay),
            Kind::Pair(_) | Kind::Wild => self.take_token(s, chance),
        }
        None
    }

    /// Whether a card type can be part of a set.
    fn fits(&self, kind: Kind, card: u8) -> bool {
        let face = &self.faces[usize::from(card)];
        match kind {
            Kind::Pair(daemon) => face.is_joker || face.is_ordinary && face.daemon == daemon,
            Kind::Triplet(symbol) | Kind::Short(symbol) => {
                face.is_joker || face.is_ordinary && face.symbol == symbol
            }
            Kind::Spies => face.is_spy,
            Kind::Wild => !face.is_spy,
        }
    }

    /// Whether the set must hold a card that is no joker: only the first daemon or symbol need not.
    fn needs_own(begun: Begun) -> bool {
        let later = matches!(begun.kind, Kind::Pair(id) | Kind::Triplet(id) | Kind::Short(id) if id > 0);
        later && !begun.own
    }

    /// The types in hand that can still complete a set.
    pub(super) fn completing(&self, s: &State, begun: Begun) -> BitSet<1> {
        let jokers_too = !(Self::needs_own(begun) && begun.left == 1);
        let types = s.own().hand.types();
        let fitting = types.iter().filter(|&card| {
            self.fits(begun.kind, card) && (jokers_too || !self.faces[usize::from(card)].is_joker)
        });
        fitting.collect()
    }

    /// Whether more than one choice of card types completes a set.
    pub(super) fn has_choice(&self, s: &State, begun: Begun) -> bool {
        let left = usize::from(begun.left);
        // Ways to choose so many cards of the types seen so far, jokers apart; 2 stands for more.
        let mut ways = [0u8; HAND + 1];
        ways[0] = 1;
        let hand = s.own().hand.as_slice();
        let mut jokers = 0;
        for run in hand.chunk_by(|a, b| a == b).filter(|run| self.fits(begun.kind, run[0])) {
            if self.faces[usize::from(run[0])].is_joker {
                jokers = run.len();
                continue;
            }
            for size in (1..=left).rev() {
                let more: u8 = (1..=run.len().min(size)).map(|taken| ways[size - taken]).sum();
                ways[size] = (ways[size] + more).min(2);
            }
        }
        let own = usize::from(Self::needs_own(begun));
        let total: u8 =
            (0..=jokers.min(left)).filter(|&taken| left - taken >= own).map(|taken| ways[left - taken]).sum();
        total > 1
    }
}

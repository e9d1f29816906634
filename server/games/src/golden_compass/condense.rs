//! A shorter history for a trace that is full.
//!
//! The events before one of the times at which the discard pile came back are replaced: somebody drew and showed what was on
//! the discard pile then, and every seat drew or took what it holds. So it is forgotten in which order things came to the
//! hands of that time, what a third seat may have stolen, and which cards came back earlier. What a seat still remembers as
//! surely with another, that one stole from it.
//!
//! Worlds drawn after it no longer agree with all that was seen before, nor with all that memories leave open of cards.

use boardwire_kernel::{BySeat, Seat};

use super::GoldenCompass;
use super::catalogue::limits::{SEATS, few};
use super::catalogue::{CardId, TokenSet};
use super::memory::{Memory, place_of};
use super::state::{Hand, Pile, State, tokens_of};
use super::trace::{Entry, Event, TRACE, Trace};

/// What was where at some time.
pub(super) struct Board {
    pub(super) hands: BySeat<Hand, SEATS>,
    pub(super) discard: Pile,
    tokens: BySeat<TokenSet, SEATS>,
    laid: BySeat<TokenSet, SEATS>,
}

impl Board {
    /// Nothing is anywhere.
    fn empty() -> Self {
        Self {
            hands: BySeat::default(),
            discard: Pile::EMPTY,
            tokens: BySeat::default(),
            laid: BySeat::default(),
        }
    }

    /// What is where in this position.
    pub(super) fn of(state: &State) -> Self {
        let places = state.places.all();
        Self {
            hands: BySeat::new(places.map(|place| place.hand)),
            discard: state.discard,
            tokens: BySeat::new(places.map(|place| place.tokens)),
            laid: BySeat::new(places.map(|place| place.laid)),
        }
    }

    fn play(&mut self, actor: Seat, event: Event) {
        match event {
            Event::Draw(card) => self.hands[actor].insert(card),
            Event::Show { card, .. } => {
                self.hands[actor].remove(card);
                self.discard.insert(card.get());
            }
            Event::Steal { victim, card } => {
                self.hands[victim].remove(card);
                self.hands[actor].insert(card);
            }
            Event::Return => self.discard = Pile::EMPTY,
            Event::Take(token) => self.tokens[actor].insert(token),
            Event::Rob { victim, token } => {
                self.tokens[victim].remove(token);
                self.tokens[actor].insert(token);
            }
            Event::Lay(token) => {
                self.tokens[actor].remove(token);
                self.laid[actor].insert(token);
            }
            Event::Apart | Event::Begin(_) | Event::Asked => {}
        }
    }
}

impl GoldenCompass {
    /// Makes room in the trace.
    ///
    /// Of the times the first is taken that leaves half of it free, or else the last that leaves some; if there is none,
    /// a time since another seat acted last at which nothing was begun, and memories of cards taken if it must be.
    #[cold]
    pub(super) fn condense(&self, state: &mut State) {
        let entries: Vec<_> = state.trace.events().collect();
        let at = |cut: usize, is_known| self.from(&entries[..cut], &entries[cut..], is_known);
        let returns = (0..entries.len()).filter(|&at| entries[at].event == Event::Return);
        let mut best = None;
        for cut in returns {
            let shorter = at(cut, true);
            let is_enough = shorter.as_ref().is_some_and(|trace| trace.len() <= TRACE / 2);
            best = shorter.or(best);
            if is_enough {
                break;
            }
        }
        let turn = (1..entries.len()).rfind(|&at| entries[at].actor != entries[at - 1].actor);
        let turn = turn.unwrap_or(0);
        let goes_on = |event: Event| matches!(event, Event::Show { .. } | Event::Asked);
        let mut cuts = (turn..entries.len()).filter(|&cut| cut == turn || !goes_on(entries[cut].event));
        let shorter = best
            .or_else(|| cuts.clone().find_map(|cut| at(cut, true)))
            .or_else(|| cuts.find_map(|cut| at(cut, false)));
        state.trace = shorter.expect("what is held and one set are short");
    }

    /// A history that leads to where `old` events led, and goes on with `kept` ones; none if it leaves no room for another
    /// event. It says which cards and tokens taken were known then to be where they were, or not.
    fn from(&self, old: &[Entry], kept: &[Entry], is_known: bool) -> Option<Trace> {
        let mut board = Board::empty();
        for entry in old {
            board.play(entry.actor, entry.event);
        }
        // Cards drawn at once with those after the cut stay the last ones drawn.
        let at_once = old.iter().rev().take_while(|entry| entry.actor == kept[0].actor);
        let at_once: Vec<_> = at_once.take_while(|entry| matches!(entry.event, Event::Draw(_))).collect();
        for entry in &at_once {
            if let Event::Draw(card) = entry.event {
                board.hands[entry.actor].remove(card);
            }
        }
        let recall = |seat| self.recall(old.iter().copied(), Seat::new(few(seat)));
        let memories = is_known.then(|| BySeat::new(std::array::from_fn(recall)));
        let mut trace = self.retold(&board, memories.as_ref())?;
        let mut kept = at_once.into_iter().rev().chain(kept).peekable();
        let next = kept.peek().filter(|next| matches!(next.event, Event::Draw(_)));
        if let Some(next) = next.filter(|_| trace.may_end_with_draw()) {
            trace.try_push(next.actor, Event::Apart)?;
        }
        kept.try_for_each(|entry| trace.try_push(entry.actor, entry.event))?;
        (!trace.is_full()).then_some(trace)
    }

    /// A history that leads to this board; none if it does not fit. What these memories are sure was taken, it says
    /// was taken.
    pub(super) fn retold(&self, board: &Board, memories: Option<&BySeat<Memory, SEATS>>) -> Option<Trace> {
        let mut trace = Trace::CONDENSED;
        let mut add = |actor: Seat, event: Event| trace.try_push(actor, event);
        for (card, &count) in (1..).zip(&board.discard.counts()[1..]) {
            for _ in 0..count {
                let card = CardId::new(card);
                add(Seat::FIRST, Event::Draw(card))?;
                add(Seat::FIRST, Event::Show { card, among: 0 })?;
            }
        }
        for seat in self.all_seats() {
            let mut known = memories.map(|memories| self.known_with(memories, seat)).unwrap_or_default();
            for card in board.hands[seat].cards() {
                if let Some(at) = known.iter().position(|known| known.1 == card.get()) {
                    let (victim, _) = known.swap_remove(at);
                    add(victim, Event::Draw(card))?;
                    add(seat, Event::Steal { victim, card })?;
                } else {
                    add(seat, Event::Draw(card))?;
                }
            }
            for token in tokens_of(board.tokens[seat]) {
                let is_sure = |memories: &BySeat<Memory, SEATS>, other: &Seat| {
                    memories[*other].places_of(token) == place_of(seat)
                };
                let victim = memories.and_then(|all| self.others(seat).find(|other| is_sure(all, other)));
                if let Some(victim) = victim {
                    add(victim, Event::Take(token))?;
                    add(seat, Event::Rob { victim, token })?;
                } else {
                    add(seat, Event::Take(token))?;
                }
            }
            for token in tokens_of(board.laid[seat]) {
                add(seat, Event::Take(token))?;
                add(seat, Event::Lay(token))?;
            }
        }
        Some(trace)
    }

    /// The cards that others know to be with `seat`, and who does.
    fn known_with(&self, memories: &BySeat<Memory, SEATS>, seat: Seat) -> Vec<(Seat, u8)> {
        let known = |victim: Seat| {
            let sure = memories[victim].taken().iter().filter(move |taken| taken.is_certain(seat));
            sure.map(move |taken| (victim, taken.card))
        };
        self.others(seat).flat_map(known).collect()
    }
}

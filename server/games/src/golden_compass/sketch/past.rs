//! What a sketch says of its past: a course of events that leads to it, and others who remember none of it.

use boardwire_kernel::Seat;

use super::super::GoldenCompass;
use super::super::condense::Board;
use super::super::memory::{Memory, SEEN, TABLE, place_of};
use super::super::state::{State, Step, tokens_of};
use super::super::trace::{Event, Events, Trace};

impl GoldenCompass {
    /// Events that lead to this position; none if they do not fit. Somebody drew and showed what is on the discard pile,
    /// and every seat drew what it holds, the cards just drawn last. Only a set being put together is as all saw it.
    pub(super) fn made_up_past(&self, state: &State) -> Option<Trace> {
        let mut set = match state.step {
            Step::Fill(_) => Some(set_begun(&state.trace)),
            _ => None,
        };
        let mut board = Board::of(state);
        for entry in set.iter().flat_map(Events::clone) {
            if let Event::Show { card, .. } = entry.event {
                board.discard.remove(card.get());
                board.hands[entry.actor].insert(card);
            }
        }
        for card in state.just_drawn.cards() {
            board.hands[state.active].remove(card);
        }
        let mut past = self.retold(&board, None)?;
        if !state.just_drawn.is_empty() {
            past.try_push(state.active, Event::Apart)?;
        }
        for card in state.just_drawn.cards() {
            past.try_push(state.active, Event::Draw(card))?;
        }
        set.iter_mut().flatten().try_for_each(|entry| past.try_push(entry.actor, entry.event))?;
        Some(past)
    }

    /// The memory of a seat that knows what it holds and what lies open, and nothing else.
    pub(super) fn forgetful(&self, state: &State, seat: Seat) -> Memory {
        let tokens = self.printed().tokens.len();
        let mut memory = Memory::new(self.copies, tokens);
        for other in self.others(seat) {
            let places = usize::from(state.places[other].hand.len());
            memory.ages[other] = std::iter::repeat_n(memory.returns, places).collect();
        }
        for (stamp, &kept) in memory.stamps.iter_mut().zip(&state.not_discarded) {
            *stamp |= !kept;
        }
        for card in state.places[seat].hand.cards() {
            let block = self.blocks[card.index()];
            let hidden = memory.stamps[..block.end()].iter().rposition(|&stamp| stamp != SEEN);
            memory.stamps[hidden.expect("a card in hand is one of its copies")] = SEEN;
        }
        memory.tokens[..tokens].fill(TABLE + self.others(seat).map(place_of).sum::<u8>());
        for token in state.circles.iter().flat_map(|&circle| tokens_of(circle)) {
            memory.tokens[token.index() - 1] = 0;
        }
        for token in tokens_of(state.places[seat].tokens) {
            memory.tokens[token.index() - 1] = place_of(seat);
        }
        memory
    }
}

/// The events since a card set was begun last: all of them were seen by all.
fn set_begun(trace: &Trace) -> Events<'_> {
    let mut events = trace.events();
    let mut begun = events.clone();
    loop {
        let here = events.clone();
        match events.next() {
            None => return begun,
            Some(entry) if matches!(entry.event, Event::Begin(_)) => begun = here,
            Some(_) => {}
        }
    }
}

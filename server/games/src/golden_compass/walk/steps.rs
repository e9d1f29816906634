//! The steps of the walk: two things exchange what happened to them.

use boardwire_kernel::RngStream;

use super::super::catalogue::limits::SEATS;
use super::super::state::Hand;
use super::{CITY, DECK, NO_QUESTION, NO_SLOT, NONE, Question, SHOWN, Walk};

/// A time in which two things are apart: after the move `low`, before `high`.
#[derive(Debug, Clone, Copy)]
struct Span {
    low: u16,
    high: u16,
    /// The last move of each thing until then.
    last: [u16; 2],
}

/// What else changes when an exchange is made.
#[derive(Debug, Clone, Copy)]
enum Change {
    Alike { show: u16, alike: u8 },
    Hand { question: u16, hand: Hand },
}

/// What an exchange is made of, kept to spare memory.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The moves that each thing gives to the other, the last first.
    moved: [Vec<u16>; 2],
    spans: Vec<Span>,
    changes: Vec<Change>,
}

impl Walk<'_> {
    /// The number of the move after the last.
    pub(super) fn end(&self) -> u16 {
        u16::try_from(self.moves.len()).expect("a trace is short")
    }

    /// Where a thing is after its move `last`, when the discard pile has come back so often.
    pub(super) fn place(&self, thing: u8, last: u16, returns: u8) -> u8 {
        if last == NONE {
            return self.thing(thing).home;
        }
        let step = self.step(last);
        if step.to == SHOWN && step.returns < returns { DECK } else { step.to }
    }

    /// The move of `thing` before `next`, or its last.
    fn before(&self, thing: u8, next: u16) -> u16 {
        if next == NONE { self.thing(thing).last } else { self.step(next).before }
    }

    /// Two things exchange what happened to them since they were last in one place, up to the moves `next` of each; before
    /// `top` they are in one place, or it is the end. Nothing changes if the viewer would have noticed.
    pub(super) fn exchange(&mut self, things: [u8; 2], next: [u16; 2], top: u16, rng: &mut RngStream) {
        let differ = self.thing(things[0]).kind != self.thing(things[1]).kind;
        let is_known = differ || self.keeps_names;
        let mut scratch = std::mem::take(&mut self.scratch);
        if let Some(past) = self.part(things, next, top, is_known, &mut scratch)
            && self.is_in_time(next, past, &scratch)
            && (!differ || self.is_unnoticed(things, &mut scratch, rng))
        {
            self.make(things, next, past, &scratch);
        }
        self.scratch = scratch;
    }

    /// Goes back to where two things part: their last moves until then. None if the viewer would notice their exchange,
    /// as it does when one moved before its eyes and is not like the other.
    fn part(
        &self,
        things: [u8; 2],
        next: [u16; 2],
        top: u16,
        is_known: bool,
        scratch: &mut Scratch,
    ) -> Option<[u16; 2]> {
        scratch.spans.clear();
        scratch.changes.clear();
        scratch.moved.iter_mut().for_each(Vec::clear);
        let mut last = [0, 1].map(|at| self.before(things[at], next[at]));
        let mut high = top;
        loop {
            let later = usize::from(last[1] > last[0]);
            let step = self.step(last[later]);
            if last[later] == NONE || is_known && step.is_seen {
                return None;
            }
            scratch.spans.push(Span { low: last[later], high, last });
            scratch.moved[later].push(last[later]);
            high = last[later];
            last[later] = step.before;
            if self.place(things[1 - later], last[1 - later], step.returns) == step.from {
                return Some(last);
            }
        }
    }

    /// Whether what is dropped right after what was exchanged begins or ends had been drawn late enough.
    fn is_in_time(&self, next: [u16; 2], past: [u16; 2], scratch: &Scratch) -> bool {
        (0..2).all(|at| {
            let moved = &scratch.moved[1 - at];
            let before = moved.first().copied().unwrap_or(past[at]);
            let is_first_in_time = moved.last().is_none_or(|&first| self.step(first).since <= past[at]);
            is_first_in_time && (next[at] == NONE || self.step(next[at]).since <= before)
        })
    }

    /// Whether card sets would have been put together as they were, and the exchange is taken: as often as it must
    /// be for the copies that could have been shown.
    fn is_unnoticed(&self, things: [u8; 2], scratch: &mut Scratch, rng: &mut RngStream) -> bool {
        let (mut gained, mut lost) = (1u64, 1u64);
        for (span, at) in scratch.spans.iter().flat_map(|span| [(span, 0), (span, 1)]) {
            let places = [0, 1].map(|at| self.place(things[at], span.last[at], 0));
            let seat = places[at] % CITY;
            if usize::from(seat) >= SEATS || seat == self.viewer.number() {
                continue;
            }
            let are_together = places[0] == places[1];
            let kinds = [self.thing(things[at]).kind, self.thing(things[1 - at]).kind];
            let first = usize::from(self.step(span.low).shows[usize::from(seat)]);
            let shows = &self.shows[usize::from(seat)][first..];
            for &show in shows.iter().take_while(|&&show| show < span.high) {
                let step = self.step(show);
                // Of cards just drawn only these can be dropped.
                let could_be = step.from == places[at] && span.last[at] >= step.since;
                let could_both = are_together && span.last[1 - at] >= step.since;
                if could_be && !could_both && kinds.contains(&step.kind) {
                    let alike = if step.kind == kinds[0] { step.alike - 1 } else { step.alike + 1 };
                    (gained, lost) = made_small(gained * u64::from(step.alike), lost * u64::from(alike));
                    scratch.changes.push(Change::Alike { show, alike });
                }
                if !are_together && !self.agrees(step.question, kinds, &mut scratch.changes) {
                    return false;
                }
            }
            let open = self.open.filter(|open| open.0.number() == seat && span.high == self.end());
            if let Some((_, question)) = open.filter(|_| !are_together)
                && !self.agrees(question, kinds, &mut scratch.changes)
            {
                return false;
            }
        }
        gained >= lost || u64::from(rng.below(u32::try_from(lost).expect("it was made smaller"))) < gained
    }

    /// Whether a question is asked, or not, as it was when a card of the first type is replaced by one of the second.
    fn agrees(&self, question: u16, kinds: [u8; 2], changes: &mut Vec<Change>) -> bool {
        if question == NO_QUESTION {
            return true;
        }
        let asked = &self.questions[usize::from(question)];
        let fitting = self.game.card_sets.fitting(asked.begun.kind);
        if !kinds.iter().any(|&kind| fitting.contains(kind)) {
            return true;
        }
        let mut hand = asked.hand;
        hand.remove(kinds[0]);
        if fitting.contains(kinds[1]) {
            hand.insert(kinds[1]);
        }
        changes.push(Change::Hand { question, hand });
        self.is_answered(asked, &hand)
    }

    /// Whether a hand leads to a question, or to none.
    pub(super) fn is_answered(&self, question: &Question, hand: &Hand) -> bool {
        let Question { begun, asked, card, .. } = *question;
        if self.game.has_choice(hand, begun) != asked {
            return false;
        }
        asked || self.game.completing(hand, begun).lowest() == Some(card)
    }

    fn make(&mut self, things: [u8; 2], next: [u16; 2], past: [u16; 2], scratch: &Scratch) {
        for at in 0..2 {
            let moved = &scratch.moved[1 - at];
            for &step in moved {
                self.moves[usize::from(step)].thing = things[at];
            }
            if let Some(&first) = moved.last() {
                self.moves[usize::from(first)].before = past[at];
            }
            let last = moved.first().copied().unwrap_or(past[at]);
            match next[at] {
                NONE => self.things[usize::from(things[at])].last = last,
                next => self.moves[usize::from(next)].before = last,
            }
        }
        for change in &scratch.changes {
            match *change {
                Change::Alike { show, alike } => self.moves[usize::from(show)].alike = alike,
                Change::Hand { question, hand } => self.questions[usize::from(question)].hand = hand,
            }
        }
        if next == [NONE; 2] {
            self.exchange_slots(things);
        }
    }

    fn exchange_slots(&mut self, things: [u8; 2]) {
        let slots = things.map(|thing| self.thing(thing).slot);
        for at in 0..2 {
            self.things[usize::from(things[at])].slot = slots[1 - at];
            if slots[1 - at] != NO_SLOT {
                self.hidden[usize::from(slots[1 - at])] = things[at];
            }
        }
    }

    /// Two things of one type exchange all that happened to them, from the last time on at which they were in one place
    /// before the move `from`. Nobody can tell.
    pub(super) fn exchange_names(&mut self, things: [u8; 2], from: u16) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.changes.clear();
        scratch.moved.iter_mut().for_each(Vec::clear);
        let mut last = things.map(|thing| self.thing(thing).last);
        let past = loop {
            let later = usize::from(last[1] > last[0]);
            if last[later] == NONE {
                break None;
            }
            let step = self.step(last[later]);
            if self.keeps_names && step.is_seen {
                break None;
            }
            scratch.moved[later].push(last[later]);
            last[later] = step.before;
            let is_together = self.place(things[1 - later], last[1 - later], step.returns) == step.from;
            if is_together && scratch.moved[later].last().is_some_and(|&step| step <= from) {
                break Some(last);
            }
        };
        if let Some(past) = past.filter(|&past| self.is_in_time([NONE; 2], past, &scratch)) {
            self.make(things, [NONE; 2], past, &scratch);
        }
        self.scratch = scratch;
    }
}

/// Two numbers whose ratio counts, made so small that each has 32 bits; the second is not 0.
fn made_small(gained: u64, lost: u64) -> (u64, u64) {
    let bits = u32::BITS.saturating_sub(gained.max(lost).leading_zeros());
    (gained >> bits, (lost >> bits).max(1))
}

#[cfg(test)]
mod tests {
    use boardwire_kernel::{Episode, Seat, testkit};

    use super::super::super::GoldenCompass;
    use super::super::super::catalogue::CardId;
    use super::super::super::trace::{Event, Trace};
    use super::*;

    #[test]
    fn equal_cards_exchange_names_from_the_last_time_they_were_together_before_a_move() {
        // GC-13.2: one of two copies was drawn and shown twice, and came back in between; the other lay in the deck.
        let game = testkit::table::<GoldenCompass>(2, &[]);
        let mut state = *Episode::seeded(game.clone(), 1).state();
        let seat = Seat::new(1);
        let card = (0..).zip(&game.blocks).find(|(_, block)| block.len == 2).expect("two equal cards").0;
        let card = CardId::new(card);
        state.trace = Trace::EMPTY;
        for event in [Event::Draw(card), Event::Show { card, among: 0 }, Event::Return].repeat(2) {
            state.trace.push(seat, event);
        }
        let things_of = |walk: &Walk<'_>| walk.moves[1..].iter().map(|step| step.thing).collect::<Vec<_>>();
        let one = things_of(&game.card_walk(&state, Seat::FIRST))[0];
        let other = game.blocks[card.index()].start;
        let since = |from: u16| {
            let mut walk = game.card_walk(&state, Seat::FIRST);
            walk.exchange_names([other, one], from);
            things_of(&walk)
        };
        assert_eq!(since(4), [one, one, other, other]);
        assert_eq!(since(3), [one, one, other, other]);
        assert_eq!(since(2), [other; 4]);
        assert_eq!(since(1), [other; 4]);
    }

    #[test]
    fn large_numbers_are_made_small_together() {
        let most = u64::from(u32::MAX);
        assert_eq!(made_small(most, 5), (most, 5));
        assert_eq!(made_small(most + 1, 5), (1 << 31, 2));
        assert_eq!(made_small(1 << 20, 1 << 40), (1 << 11, 1 << 31));
        assert_eq!(made_small(1 << 40, 3), (1 << 31, 1));
    }
}

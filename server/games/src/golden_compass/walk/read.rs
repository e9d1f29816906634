//! The cards of a position and all their moves; the cards of the world that the walk comes to.

use boardwire_kernel::{BySeat, Seat};

use super::super::GoldenCompass;
use super::super::catalogue::CardId;
use super::super::catalogue::limits::{SEATS, few};
use super::super::memory::Block;
use super::super::state::{Begun, Hand, State, Step};
use super::super::trace::Event;
use super::{CITY, DECK, Group, Move, NO_QUESTION, NO_SLOT, NONE, Question, SHOWN, Thing, Walk};

/// A trace that does not fit itself: the audit refuses it.
pub(super) const SOUND: &str = "a position has passed its audit";

impl<'a> Walk<'a> {
    pub(super) fn new(
        game: &'a GoldenCompass,
        viewer: Seat,
        types: &'a [Block],
        things: Vec<Thing>,
        most: usize,
    ) -> Self {
        let none = Move {
            thing: 0,
            from: 0,
            to: 0,
            returns: 0,
            is_seen: true,
            before: NONE,
            shows: [0; SEATS],
            at: 0,
            kind: 0,
            alike: 0,
            since: 0,
            question: NO_QUESTION,
        };
        let mut moves = Vec::with_capacity(most);
        moves.push(none);
        Self {
            game,
            viewer,
            hidden: Vec::with_capacity(things.len()),
            things,
            types,
            moves,
            questions: Vec::new(),
            open: None,
            returns: 0,
            keeps_names: false,
            shows: Default::default(),
            losses: Default::default(),
            groups: Vec::new(),
            slots: Default::default(),
            scratch: super::Scratch::default(),
        }
    }

    /// The thing of a type that is in `place` now, drawn not before `since`.
    fn find(&self, kind: u8, place: u8, since: u16, returns: u8) -> u8 {
        let block = self.types[usize::from(kind)];
        let is_there = |&thing: &u8| {
            let last = self.thing(thing).last;
            last >= since && self.place(thing, last, returns) == place
        };
        (block.start..few(block.end())).rev().find(is_there).expect(SOUND)
    }

    /// A thing moves from where it is; seen by the viewer or not.
    pub(super) fn push(
        &mut self,
        thing: u8,
        (from, to): (u8, u8),
        is_seen: bool,
        returns: u8,
        at: u16,
    ) -> &mut Move {
        let next = self.end();
        let Thing { kind, last, .. } = *self.thing(thing);
        let shows = std::array::from_fn(|seat| few(self.shows[seat].len()));
        let (since, question) = (0, NO_QUESTION);
        let step = Move {
            thing,
            from,
            to,
            returns,
            is_seen,
            before: last,
            shows,
            at,
            kind,
            alike: 1,
            since,
            question,
        };
        if from % CITY < DECK {
            self.losses[usize::from(from % CITY)].push(next);
        }
        self.moves.push(step);
        self.things[usize::from(thing)].last = next;
        self.moves.last_mut().expect("one was added")
    }

    /// Things that lie together, those in hands of others first, seat by seat, and then those in `deck`.
    pub(super) fn hide(&mut self, things: &(impl Iterator<Item = u8> + Clone), deck: u8, returns: u8) {
        let start = few(self.hidden.len());
        let place = |walk: &Self, thing: u8| walk.place(thing, walk.thing(thing).last, returns);
        let mut held = start;
        for seat in self.game.others(self.viewer).map(Seat::number).chain([DECK]) {
            for thing in things.clone() {
                if place(self, thing) == deck - DECK + seat {
                    let slot = few(self.hidden.len());
                    self.things[usize::from(thing)].slot = slot;
                    self.hidden.push(thing);
                    if seat < DECK {
                        self.slots[usize::from(seat)].push(slot);
                        held = slot + 1;
                    }
                }
            }
        }
        self.groups.push(Group { start, held, end: few(self.hidden.len()) });
    }

    /// The hidden things that `seat` holds.
    fn held(&self, seat: Seat) -> impl Iterator<Item = u8> {
        self.slots[seat.index()].iter().map(|&slot| self.hidden[usize::from(slot)])
    }
}

/// A card set while its cards are shown.
#[derive(Debug, Clone, Copy)]
struct Open {
    begun: Begun,
    asked: bool,
}

/// What is counted while cards move.
#[derive(Debug, Default)]
struct Reading {
    hands: BySeat<Hand, SEATS>,
    returns: u8,
    set: Option<Open>,
    /// The draws of the seat that acts, since it last showed a card; the first of those it may drop.
    draws: Vec<u16>,
    since: u16,
}

impl GoldenCompass {
    /// The cards and all their moves, as `viewer` sees them.
    pub(in super::super) fn card_walk(&self, state: &State, viewer: Seat) -> Walk<'_> {
        let kinds = &self.copy_types[..usize::from(self.copies)];
        let thing = |&kind: &u8| Thing { kind, home: DECK, last: NONE, slot: NO_SLOT };
        let mut walk =
            Walk::new(self, viewer, &self.blocks, kinds.iter().map(thing).collect(), state.trace.len());
        let mut read = Reading::default();
        for entry in state.trace.events() {
            let (actor, at) = (entry.actor, entry.at);
            let own = actor.number();
            match entry.event {
                Event::Draw(card) => {
                    let thing = walk.find(card.get(), DECK, 0, read.returns);
                    read.draws.push(walk.end());
                    walk.push(thing, (DECK, own), actor == viewer, read.returns, at);
                    read.hands[actor].insert(card);
                }
                Event::Steal { victim, card } => {
                    let thing = walk.find(card.get(), victim.number(), 0, read.returns);
                    let is_seen = actor == viewer || victim == viewer;
                    walk.push(thing, (victim.number(), own), is_seen, read.returns, at);
                    read.hands[victim].remove(card);
                    read.hands[actor].insert(card);
                }
                Event::Show { card, among } => self.read_show(&mut walk, &mut read, (actor, at), card, among),
                Event::Return => read.returns += 1,
                Event::Begin(kind) => read.set = Some(Open { begun: Begun::new(kind), asked: false }),
                Event::Asked => {
                    if let Some(set) = &mut read.set {
                        set.asked = true;
                    }
                }
                Event::Apart | Event::Take(_) | Event::Rob { .. } | Event::Lay(_) => {}
            }
        }
        if let (Step::Fill(begun), true) = (state.step, state.active != viewer) {
            let question = self.question(&read.hands[state.active], begun, true, 0);
            walk.open = Some((state.active, next_question(&walk)));
            walk.questions.push(question);
        }
        walk.returns = read.returns;
        walk.hide(&(0..self.copies), DECK, read.returns);
        walk
    }

    fn read_show(
        &self,
        walk: &mut Walk<'_>,
        read: &mut Reading,
        (actor, at): (Seat, u16),
        card: CardId,
        among: u8,
    ) {
        if among > 0 && !read.draws.is_empty() {
            read.since = read.draws[read.draws.len().saturating_sub(among.into())];
        }
        read.draws.clear();
        let since = if among > 0 { read.since } else { 0 };
        let hand = &mut read.hands[actor];
        let thing = walk.find(card.get(), actor.number(), since, read.returns);
        let block = self.blocks[card.index()];
        let may_be_shown = |&thing: &u8| {
            let last = walk.thing(thing).last;
            last >= since && walk.place(thing, last, read.returns) == actor.number()
        };
        let alike = few((block.start..few(block.end())).filter(may_be_shown).count());
        let mut question = NO_QUESTION;
        if let Some(set) = &mut read.set {
            if actor != walk.viewer {
                question = next_question(walk);
                walk.questions.push(self.question(hand, set.begun, set.asked, card.get()));
            }
            *set = Open { begun: set.begun.with(self.card_sets.is_joker(card.get())), asked: false };
        }
        read.set = read.set.filter(|set| set.begun.left > 0);
        hand.remove(card);
        let show = walk.end();
        let step = walk.push(thing, (actor.number(), SHOWN), true, read.returns, at);
        (step.alike, step.since, step.question) = (alike, since, question);
        walk.shows[actor.index()].push(show);
    }

    fn question(&self, hand: &Hand, begun: Begun, asked: bool, card: u8) -> Question {
        let fitting = self.card_sets.fitting(begun.kind);
        let hand = hand.as_slice().iter().copied().filter(|&card| fitting.contains(card)).collect();
        Question { begun, asked, card, hand }
    }

    /// Writes the cards of the world that a walk came to.
    pub(in super::super) fn put_cards(&self, walk: &Walk<'_>, state: &mut State) {
        for step in walk.moves[1..].iter().filter(|step| step.to != SHOWN) {
            let card = CardId::new(walk.thing(step.thing).kind);
            let event = match step.from {
                DECK => Event::Draw(card),
                seat => Event::Steal { victim: Seat::new(seat), card },
            };
            state.trace.rename(step.at, event);
        }
        state.trace.sort();
        for seat in self.others(walk.viewer) {
            let held = walk.held(seat).map(|thing| walk.thing(thing).kind);
            state.places[seat].hand = held.collect();
        }
        let group = walk.groups[0];
        let left = &walk.hidden[usize::from(group.held)..usize::from(group.end)];
        state.deck = left.iter().map(|&thing| walk.thing(thing).kind).collect();
        let dropping = usize::from(state.just_drawn.len());
        if dropping > 0 && state.active != walk.viewer {
            let mut held: Vec<u8> = walk.held(state.active).collect();
            held.sort_unstable_by_key(|&thing| walk.thing(thing).last);
            let newest = &held[held.len() - dropping..];
            state.just_drawn = newest.iter().map(|&thing| walk.thing(thing).kind).collect();
        }
    }
}

/// The number of the next question.
fn next_question(walk: &Walk<'_>) -> u16 {
    u16::try_from(walk.questions.len()).expect("a trace is short")
}

#[cfg(test)]
mod tests {
    use boardwire_kernel::{Game as _, testkit};

    use super::super::super::action::Action;
    use super::super::super::trace::Entry;
    use super::*;

    /// What a walk says that others than the viewer were asked; all else that it asks was put in unasked.
    fn asked(walk: &Walk<'_>) -> Vec<Question> {
        walk.questions.iter().copied().filter(|question| question.asked).collect()
    }

    #[test]
    fn the_questions_of_a_walk_are_those_that_were_asked() {
        // GC-8.11: what a seat was asked while it put sets together, and which cards it put in unasked.
        let (game, viewer) = (testkit::table::<GoldenCompass>(2, &[]), Seat::FIRST);
        let (mut answered, mut second, mut unasked) = (0, 0, 0);
        for seed in 0..24 {
            let mut states = Vec::new();
            let played = testkit::random_play(&game, seed, |episode| states.push(*episode.state()));
            let (mut expected, mut sets) = (Vec::new(), 0);
            for (state, (seat, choice)) in states.iter().zip(played.choices) {
                if state.trace.is_condensed {
                    break;
                }
                let walk = game.card_walk(state, viewer);
                let open = match state.step {
                    Step::Fill(begun) if seat != viewer => {
                        Some(game.question(&state.places[seat].hand, begun, true, 0))
                    }
                    _ => None,
                };
                let is_answered = |question: &Question| walk.is_answered(question, &question.hand);
                assert!(walk.questions.iter().all(is_answered));
                assert_eq!(asked(&walk), expected.iter().copied().chain(open).collect::<Vec<_>>());
                if let (Some(question), Some(Action::Card(card))) = (open, game.decode(choice)) {
                    expected.push(Question { card: card.get(), ..question });
                }
                let begun = |entry: &Entry| match entry.event {
                    Event::Begin(kind) if entry.actor != viewer => Begun::new(kind).left,
                    _ => 0,
                };
                if !matches!(state.step, Step::Fill(_)) {
                    sets = state.trace.events().map(|entry| usize::from(begun(&entry))).sum();
                    assert_eq!(walk.questions.len(), sets, "one for every card of a set");
                }
            }
            answered += expected.len();
            second += expected.iter().filter(|question| question.begun.shows_face).count();
            unasked += sets - expected.len();
        }
        assert!(answered > 20 && second > 10 && unasked > 100, "{answered}, {second}, {unasked}");
    }
}

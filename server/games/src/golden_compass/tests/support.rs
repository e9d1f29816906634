//! A table that tests can set up and play by name.

use std::sync::Arc;

use boardwire_kernel::{Chance, Game as _, Seat, apply, testkit};

use super::super::action::Action;
use super::super::memory::{Memory, TABLE};
use super::super::state::{Cards, State, Step, bits};
use super::super::{GoldenCompass, streams};

/// A game with its position and chance.
pub(super) struct Table {
    pub(super) game: Arc<GoldenCompass>,
    pub(super) s: State,
    pub(super) chance: Chance,
}

impl Table {
    /// Dealt, nobody having kept an ally.
    pub(super) fn dealt(seats: u8, seed: u64) -> Self {
        Self::of(testkit::table(seats, &[]), seed)
    }

    pub(super) fn of(game: Arc<GoldenCompass>, seed: u64) -> Self {
        let mut chance = Chance::seeded(seed, streams::NAMES.len());
        let s = game.deal(&mut chance);
        Self { game, s, chance }
    }

    /// In the first turn, which is seat 0's: nobody holds a card, all cards are in the draw pile.
    pub(super) fn new(seats: u8) -> Self {
        let mut table = Self::dealt(seats, 1);
        table.s.first = 0;
        for seat in 0..seats {
            table.play_for(seat, Action::Keep(0));
            table.hand(seat, &[]);
        }
        table.s.active = 0;
        table
    }

    /// In the period of this number.
    pub(super) fn in_period(seats: u8, period: u8) -> Self {
        let mut table = Self::new(seats);
        table.s.period = period;
        table.s.lyra = period.checked_sub(1).map_or(0, |before| table.objective(before));
        table
    }

    pub(super) fn objective(&self, period: u8) -> u8 {
        self.game.printed().objectives[usize::from(period)]
    }

    pub(super) fn card(&self, name: &str) -> u8 {
        let cards = &self.game.printed().cards;
        u8::try_from(cards.iter().position(|card| card.name == name).expect("a card")).expect("few cards")
    }

    /// Gives `seat` exactly these cards, from and to the draw pile.
    pub(super) fn hand(&mut self, seat: u8, names: &[&str]) {
        let old = self.s.place(seat).hand;
        for &card in old.as_slice() {
            self.s.deck[usize::from(card)] += 1;
            self.s.deck_len += 1;
        }
        let cards: Cards = names.iter().map(|name| self.card(name)).collect();
        for &card in cards.as_slice() {
            self.s.deck[usize::from(card)] -= 1;
            self.s.deck_len -= 1;
        }
        self.s.place_mut(seat).hand = cards;
        self.forget();
    }

    /// Puts these cards on the discard pile, from the draw pile.
    pub(super) fn discarded(&mut self, names: &[&str]) {
        for name in names {
            let card = usize::from(self.card(name));
            self.s.deck[card] -= 1;
            self.s.discard[card] += 1;
        }
        let count = u8::try_from(names.len()).expect("few cards");
        self.s.deck_len -= count;
        self.s.discard_len += count;
        self.forget();
    }

    /// Gives `seat` the first tokens of these names that lie at a city.
    pub(super) fn tokens(&mut self, seat: u8, names: &[&str]) {
        for name in names {
            let all = self.s.piles.iter().fold(0, |all, pile| all | pile);
            let tokens = &self.game.printed().tokens;
            let id = bits(all).find(|&id| tokens[usize::from(id)].name == *name).expect("a token lies there");
            self.s.piles.iter_mut().for_each(|pile| *pile &= !(1 << id));
            self.s.place_mut(seat).tokens |= 1 << id;
        }
        self.forget();
    }

    /// Lays tokens of `seat` out in the city of this place, marked with compass tiles.
    pub(super) fn lay(&mut self, seat: u8, circle: usize, names: &[&str]) {
        self.tokens(seat, names);
        for name in names {
            let tokens = &self.game.printed().tokens;
            let held = self.s.place(seat).tokens;
            let id = bits(held).find(|&id| tokens[usize::from(id)].name == *name).expect("a token held");
            let place = self.s.place_mut(seat);
            place.tokens &= !(1 << id);
            place.laid |= 1 << id;
            place.supply -= 1;
            self.s.circles[circle] |= 1 << id;
        }
        self.forget();
    }

    /// Memories that know no more than the table shows.
    fn forget(&mut self) {
        let game = Arc::clone(&self.game);
        for viewer in 0..game.seats {
            let mut memory = Memory::new(game.copies, game.printed().tokens.len());
            for (card, block) in game.blocks.iter().enumerate() {
                let own = self.s.place(viewer).hand.count(u8::try_from(card).expect("few cards"));
                (0..own + self.s.discard[card]).for_each(|_| memory.drew(*block));
            }
            for seat in (0..game.seats).filter(|&seat| seat != viewer) {
                (0..self.s.place(seat).hand.len()).for_each(|_| memory.saw_draw(seat));
            }
            for (id, places) in memory.tokens[..game.printed().tokens.len()].iter_mut().enumerate() {
                let held = |seat: u8| self.s.place(seat).tokens >> id & 1 == 1;
                let laid = self.s.circles.iter().any(|circle| circle >> id & 1 == 1);
                let others = (TABLE | ((1 << game.seats) - 1)) & !(1 << viewer);
                *places = if laid {
                    0
                } else if held(viewer) {
                    1 << viewer
                } else {
                    others
                };
            }
            self.s.memory[usize::from(viewer)] = memory;
        }
    }

    /// The ally of `seat`, whatever the period.
    pub(super) fn ally(&mut self, seat: u8, id: &str) {
        let cards = &self.game.printed().characters;
        let at = cards.iter().position(|card| card.id == id).expect("a character");
        self.s.place_mut(seat).ally = u8::try_from(at + 1).expect("few characters");
    }

    /// The needle shows this red symbol and light-blue one.
    pub(super) fn needle(&mut self, draw: u8, advance: u8) {
        let axes = &self.game.printed().axes;
        let found = axes.iter().position(|axis| (axis.draw, axis.advance) == (draw, advance));
        self.s.axis = u8::try_from(found.expect("an axis")).expect("few axes");
        self.s.step = Step::Colour;
    }

    /// The needle shows a free choice, light blue is chosen.
    pub(super) fn light_blue(&mut self) {
        use super::super::catalogue::Blue;
        let axes = &self.game.printed().axes;
        let found = axes.iter().position(|axis| axis.blue == Blue::FreeChoice);
        self.s.axis = u8::try_from(found.expect("an axis")).expect("few axes");
        self.s.step = Step::Action;
    }

    /// At the choice of sets.
    pub(super) fn at_sets(&mut self) {
        self.s.step = Step::Sets;
    }

    pub(super) fn play_for(&mut self, seat: u8, action: Action) {
        let index = self.game.encode(action).into();
        let played = apply(&*self.game, &mut self.s, Seat::new(seat), index, &mut self.chance);
        played.unwrap_or_else(|refused| panic!("{action:?}: {refused}\n{:?}", self.s.step));
    }

    /// The seat that decides plays.
    pub(super) fn play(&mut self, actions: &[Action]) {
        for &action in actions {
            let seat = self.s.chooser().expect("a seat decides");
            self.play_for(seat, action);
        }
    }

    /// Plays cards by name.
    pub(super) fn play_cards(&mut self, names: &[&str]) {
        for name in names {
            let card = self.card(name);
            self.play(&[Action::Card(card)]);
        }
    }

    pub(super) fn legal(&self) -> Vec<Action> {
        let seat = Seat::new(self.s.chooser().expect("a seat decides"));
        self.game.legal(&self.s, seat).iter().filter_map(|index| self.game.decode(index)).collect()
    }

    pub(super) fn offers(&self, action: Action) -> bool {
        self.legal().contains(&action)
    }

    pub(super) fn names(&self, seat: u8) -> Vec<String> {
        self.game.hand_names(&self.s, seat)
    }

    /// The next outcome of a stream is this one; seeded streams go their own way.
    pub(super) fn scripted(&mut self, stream: usize, outcomes: &[u8]) {
        let mut script = vec![vec![]; streams::NAMES.len()];
        script[stream] = outcomes.to_vec();
        self.chance = Chance::scripted(script);
    }
}

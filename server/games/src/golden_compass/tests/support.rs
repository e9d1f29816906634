//! A table that tests set up and play by the names of components.

use std::sync::Arc;

use boardwire_kernel::{Choices, LoadedCatalogue, RandomSource, Seat, Setup, Turns, apply, set_up, testkit};
use serde_json::Value;

use super::super::action::Action;
use super::super::catalogue::{AxisId, CardId, CharacterId, with_ids};
use super::super::memory::Memory;
use super::super::observe::Event;
use super::super::state::{Decision, Hand, State, TilePile, tokens_of};
use super::super::{GoldenCompass, streams};

pub(super) fn seat(number: u8) -> Seat {
    Seat::new(number)
}

/// Returns the built-in catalogue as JSON, for a test to change.
pub(super) fn default_catalogue() -> Value {
    serde_json::from_str(GoldenCompass::TYPE.catalogue).expect("the default is JSON")
}

pub(super) fn game_by(catalogue: &str, seats: u8) -> Arc<GoldenCompass> {
    let loaded = LoadedCatalogue::read(catalogue).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(set_up(Arc::new(loaded), seats.into(), []).expect("a table"))
}

/// Returns truth tiles. A pair is the index of a value in the catalogue, and its number of tiles.
pub(super) fn tiles(counts: &[(u8, u8)]) -> TilePile {
    counts.iter().flat_map(|&(index, count)| std::iter::repeat_n(index + 1, count.into())).collect()
}

pub(super) struct Table {
    pub(super) game: Arc<GoldenCompass>,
    pub(super) state: State,
    pub(super) chance: RandomSource,
}

impl Table {
    /// Returns a table after the deal, before any seat keeps an ally.
    pub(super) fn dealt(seats: u8, seed: u64) -> Self {
        Self::of(testkit::table(seats, &[]), seed)
    }

    pub(super) fn of(game: Arc<GoldenCompass>, seed: u64) -> Self {
        let mut chance = RandomSource::seeded(seed, streams::NAMES.len());
        let state = game.deal(&mut chance);
        Self { game, state, chance }
    }

    pub(super) fn copied(&self) -> Self {
        Self { game: Arc::clone(&self.game), state: self.state, chance: self.chance.clone() }
    }

    /// Returns a table in its first turn, that of seat 0. All cards are in the draw pile; hands are empty.
    pub(super) fn new(seats: u8) -> Self {
        Self::at_first_turn(testkit::table(seats, &[]))
    }

    /// Returns the same with another catalogue.
    pub(super) fn by(catalogue: &Value, seats: u8) -> Self {
        Self::at_first_turn(game_by(&catalogue.to_string(), seats))
    }

    fn at_first_turn(game: Arc<GoldenCompass>) -> Self {
        let seats = game.seats;
        let mut table = Self::of(game, 1);
        table.state.first_seat = Seat::FIRST;
        for seat in 0..seats {
            table.play_for(seat, Action::Keep(0));
            table.hand(seat, &[]);
        }
        table.state.active = Seat::FIRST;
        table
    }

    /// Returns a table in this period, counted from 0.
    pub(super) fn in_period(seats: u8, period: u8) -> Self {
        let mut table = Self::new(seats);
        table.state.period = period;
        table.state.lyra = period.checked_sub(1).map_or(0, |before| table.objective(before));
        table
    }

    pub(super) fn objective(&self, period: u8) -> u8 {
        self.game.catalogue().objectives[usize::from(period)]
    }

    pub(super) fn card(&self, name: &str) -> CardId {
        let mut cards = with_ids(&self.game.catalogue().cards, CardId::new);
        cards.find(|(_, card)| card.name == name).expect("a card").0
    }

    /// Gives `seat` exactly these cards. Old cards go to the draw pile, new cards come from it.
    pub(super) fn hand(&mut self, seat: u8, names: &[&str]) {
        let old = self.state.seats[Seat::new(seat)].hand;
        old.as_slice().iter().for_each(|&card| self.state.deck.insert(card));
        let hand: Hand = names.iter().map(|name| self.card(name)).collect();
        for &card in hand.as_slice() {
            assert!(self.state.deck.remove(card), "the draw pile has no such card");
        }
        self.state.seats[Seat::new(seat)].hand = hand;
        self.rebuild_memories();
    }

    /// Moves these cards from the draw pile to the discard pile.
    pub(super) fn discarded(&mut self, names: &[&str]) {
        for name in names {
            let card = self.card(name).get();
            assert!(self.state.deck.remove(card), "the draw pile has no such card");
            self.state.discard.insert(card);
            let copy =
                self.game.blocks[usize::from(card)].end() - usize::from(self.state.discard.count(card));
            self.state.not_discarded_mask[copy] = 0;
        }
        self.rebuild_memories();
    }

    /// For each name, gives `seat` the first token of that name that lies at a city.
    pub(super) fn tokens(&mut self, seat: u8, names: &[&str]) {
        for name in names {
            let mut tokens_at_cities = self.state.city_tokens.iter().flat_map(|&pile| tokens_of(pile));
            let id = tokens_at_cities
                .find(|&id| self.game.catalogue().token(id).name == *name)
                .expect("a token lies there");
            self.state.city_tokens.iter_mut().for_each(|pile| {
                pile.remove(id);
            });
            let seat_state = &mut self.state.seats[Seat::new(seat)];
            seat_state.tokens.insert(id);
            seat_state.backs[self.game.catalogue().token(id).city.index() - 1] += 1;
        }
        self.rebuild_memories();
    }

    /// Lays tokens of `seat` out in the city with index `circle`, marked with compass tiles.
    pub(super) fn lay(&mut self, seat: u8, circle: usize, names: &[&str]) {
        self.tokens(seat, names);
        for name in names {
            let mut held = tokens_of(self.state.seats[Seat::new(seat)].tokens);
            let id = held.find(|&id| self.game.catalogue().token(id).name == *name).expect("a token held");
            let seat_state = &mut self.state.seats[Seat::new(seat)];
            seat_state.tokens.remove(id);
            seat_state.laid_out.insert(id);
            seat_state.backs[self.game.catalogue().token(id).city.index() - 1] -= 1;
            seat_state.supply -= 1;
            self.state.circles[circle].insert(id);
        }
        self.rebuild_memories();
    }

    /// Rebuilds the memory of every seat, as if cards and tokens were drawn and shown one after the other.
    fn rebuild_memories(&mut self) {
        let (game, state) = (&self.game, &mut self.state);
        let mut events = Vec::new();
        let discarded = (1..).zip(&state.discard.counts()[1..]);
        for card in discarded.flat_map(|(card, &count)| std::iter::repeat_n(CardId::new(card), count.into()))
        {
            events.push((Seat::FIRST, Event::DrawCard(card)));
            events.push((Seat::FIRST, Event::Discard { card, among: 0 }));
        }
        for seat in game.all_seats() {
            let seat_state = &state.seats[seat];
            events.extend(seat_state.hand.cards().map(|card| (seat, Event::DrawCard(card))));
            events.extend(
                tokens_of(seat_state.tokens.union(seat_state.laid_out))
                    .map(|token| (seat, Event::TakeToken(token))),
            );
            events.extend(tokens_of(seat_state.laid_out).map(|token| (seat, Event::LayToken(token))));
        }
        for viewer in game.all_seats() {
            let memory = &mut state.memory[viewer];
            *memory = Memory::new(game.copies, game.catalogue().tokens.len());
            for &(actor, event) in &events {
                game.update_memory(memory, viewer, actor, event, &state.discard);
            }
        }
    }

    /// Makes the character with this name the ally of `seat`, in any period.
    pub(super) fn ally(&mut self, seat: u8, name: &str) {
        let mut cards = with_ids(&self.game.catalogue().characters, CharacterId::new);
        let (ally, _) = cards.find(|(_, card)| card.name == name).expect("a character");
        self.state.seats[Seat::new(seat)].ally = Some(ally);
    }

    /// Sets the needle to an axis with this red symbol. The colour is due.
    pub(super) fn needle(&mut self, draw: u8, advance: u8) {
        let mut rows = with_ids(&self.game.catalogue().axes, AxisId::new);
        let (axis, _) = rows.find(|(_, axis)| (axis.draw, axis.advance) == (draw, advance)).expect("an axis");
        self.state.axis = Some(axis);
        self.state.decision = Decision::Colour;
    }

    /// Sets the needle to a free choice. Light blue is already chosen.
    pub(super) fn light_blue(&mut self) {
        use super::super::catalogue::Blue;
        let mut rows = with_ids(&self.game.catalogue().axes, AxisId::new);
        let (axis, _) = rows.find(|(_, axis)| axis.blue == Blue::FreeChoice).expect("an axis");
        self.state.axis = Some(axis);
        self.state.decision = Decision::Action;
    }

    /// Makes the choice of sets due.
    pub(super) fn at_sets(&mut self) {
        self.state.decision = Decision::Sets;
    }

    pub(super) fn play_for(&mut self, seat: u8, action: Action) {
        let index = self.game.encode(action).into();
        let played = apply(&*self.game, &mut self.state, Seat::new(seat), index, &mut self.chance);
        played.unwrap_or_else(|refused| panic!("{action:?}: {refused}\n{:?}", self.state.decision));
    }

    /// Plays each action for the seat that must decide.
    pub(super) fn play(&mut self, actions: &[Action]) {
        for &action in actions {
            let seat = self.state.chooser().expect("a seat decides");
            self.play_for(seat.number(), action);
        }
    }

    pub(super) fn play_cards(&mut self, names: &[&str]) {
        for name in names {
            let card = self.card(name);
            self.play(&[Action::Card(card)]);
        }
    }

    pub(super) fn legal(&self) -> Vec<Action> {
        let seat = self.state.chooser().expect("a seat decides");
        self.game.legal(&self.state, seat).iter().filter_map(|index| self.game.decode(index)).collect()
    }

    pub(super) fn offers(&self, action: Action) -> bool {
        self.legal().contains(&action)
    }

    pub(super) fn names(&self, seat: u8) -> Vec<String> {
        self.names_of(self.state.seats[Seat::new(seat)].hand.cards())
    }

    /// Returns card names, sorted.
    pub(super) fn names_of(&self, cards: impl Iterator<Item = CardId>) -> Vec<String> {
        let mut names: Vec<_> = cards.map(|card| self.game.catalogue().card(card).name.clone()).collect();
        names.sort();
        names
    }

    /// Scripts the next outcomes of one stream. The other streams are then empty and give the first possible outcome.
    pub(super) fn scripted(&mut self, stream: usize, outcomes: &[u8]) {
        let mut script = vec![vec![]; streams::NAMES.len()];
        script[stream] = outcomes.to_vec();
        self.chance = RandomSource::scripted(script);
    }
}

//! The table as a recorded game tells it, to compare with the engine's.

use super::super::GoldenCompass;
use super::super::limits::COLLECTING;
use super::super::state::{State, bits};
use super::names::Lexicon;
use super::script::{Names, Reshuffle, Setup, Snapshot};

impl GoldenCompass {
    /// The engine's table in the words of a recorded game.
    pub(super) fn snapshot(&self, s: &State, turn: u32) -> Snapshot {
        let seats = 0..self.seats;
        let by_seat = |value: &dyn Fn(u8) -> u8| seats.clone().map(value).collect::<Vec<_>>();
        let place = |seat: u8| s.place(seat);
        Snapshot {
            turn,
            lyra: s.lyra,
            still: s.still,
            hands: seats.clone().map(|seat| self.hand_names(s, seat)).collect(),
            draw: s.deck_len,
            discard: s.discard_len,
            compass: by_seat(&|seat| place(seat).compass),
            supply: by_seat(&|seat| place(seat).supply),
            cities: (0..COLLECTING).map(|city| self.lying(s, city)).collect(),
            tokens: seats.clone().map(|seat| self.tokens_named(s.place(seat).tokens)).collect(),
            laid: s.circles.iter().map(|&circle| self.laid_in(s, circle)).collect(),
            dust: by_seat(&|seat| place(seat).dust),
            dust_supply: s.dust,
            airship: s.airship.checked_sub(1),
        }
    }

    /// Card names, sorted.
    pub(in super::super) fn hand_names(&self, s: &State, seat: u8) -> Names {
        self.names_of(s.place(seat).hand.as_slice().iter().copied())
    }

    pub(in super::super) fn names_of(&self, cards: impl Iterator<Item = u8>) -> Names {
        let mut names: Names =
            cards.map(|card| self.printed().cards[usize::from(card)].name.clone()).collect();
        names.sort();
        names
    }

    fn tokens_named(&self, tokens: u32) -> Names {
        let mut names: Names =
            bits(tokens).map(|token| self.printed().tokens[usize::from(token)].name.clone()).collect();
        names.sort();
        names
    }

    fn laid_in(&self, s: &State, circle: u32) -> Vec<(u8, String)> {
        let of = |seat: u8| {
            let laid = self.tokens_named(s.place(seat).laid & circle);
            laid.into_iter().map(move |token| (seat, token))
        };
        (0..self.seats).flat_map(of).collect()
    }
}

/// The table as told so far.
pub(super) struct Told<'a> {
    pub(super) table: Snapshot,
    /// The draw pile, in order.
    pub(super) deck: Vec<String>,
    discard: Names,
    lexicon: Lexicon<'a>,
}

/// Takes `name` out of `list`, if it is there.
fn take(list: &mut Names, name: &str) {
    if let Some(at) = list.iter().position(|one| one == name) {
        list.remove(at);
    }
}

impl<'a> Told<'a> {
    pub(super) fn new(lexicon: Lexicon<'a>, setup: &Setup) -> Self {
        let seats = usize::from(lexicon.seats);
        let cities = lexicon.catalogue.cities[..COLLECTING].iter();
        let table = Snapshot {
            turn: 0,
            lyra: setup.lyra,
            still: 0,
            hands: setup.hands.clone(),
            draw: 0,
            discard: 0,
            compass: vec![0; seats],
            supply: setup.supply.clone(),
            cities: cities.map(|city| city.slots).collect(),
            tokens: vec![vec![]; seats],
            laid: vec![vec![]; 2],
            dust: vec![0; seats],
            dust_supply: setup.dust_supply,
            airship: None,
        };
        let mut told = Self { table, deck: setup.deck.clone(), discard: vec![], lexicon };
        told.settle();
        told
    }

    /// Sorts what is told in no order, and counts what is told as lists.
    fn settle(&mut self) {
        let table = &mut self.table;
        table.hands.iter_mut().for_each(|hand| hand.sort());
        table.tokens.iter_mut().for_each(|tokens| tokens.sort());
        table.laid.iter_mut().for_each(|laid| laid.sort());
        table.draw = u8::try_from(self.deck.len()).unwrap_or(u8::MAX);
        table.discard = u8::try_from(self.discard.len()).unwrap_or(u8::MAX);
        let cities = self.lexicon.catalogue.cities.iter();
        for (lying, city) in table.cities.iter_mut().zip(cities) {
            if table.lyra > city.spaces.1 {
                *lying = 0;
            }
        }
    }

    /// The cards that come off the pile next, and the return of the discard pile if it is told.
    pub(super) fn draw(
        &mut self,
        seat: u8,
        count: usize,
        again: Option<&Reshuffle>,
    ) -> (Names, Option<Reshuffle>) {
        let due = self.deck.len();
        let mut drawn: Names = self.deck.drain(..count.min(due)).collect();
        let mut returned = None;
        if drawn.len() < count && !self.discard.is_empty() {
            // Which order came is chance, and that it comes a fact.
            let order = again.map(|again| again.order.clone()).unwrap_or_default();
            let mut cards = order.clone();
            cards.sort();
            self.discard.sort();
            if cards == self.discard {
                self.discard.clear();
                self.deck.clone_from(&order);
            } else {
                self.deck = std::mem::take(&mut self.discard);
            }
            let after = u8::try_from(due).unwrap_or(u8::MAX);
            returned = Some(Reshuffle { after, order: self.deck.clone() });
            let more = (count - drawn.len()).min(self.deck.len());
            drawn.extend(self.deck.drain(..more));
        }
        self.table.hands[usize::from(seat)].extend(drawn.iter().cloned());
        self.settle();
        (drawn, returned)
    }

    pub(super) fn discard(&mut self, seat: u8, cards: &[String]) {
        for card in cards {
            take(&mut self.table.hands[usize::from(seat)], card);
            self.discard.push(card.clone());
        }
        self.settle();
    }

    pub(super) fn cards_stolen(&mut self, from: u8, to: u8, cards: &[String]) {
        for card in cards {
            take(&mut self.table.hands[usize::from(from)], card);
            self.table.hands[usize::from(to)].push(card.clone());
        }
        self.settle();
    }

    pub(super) fn compass(&mut self, seat: u8, laid: u8) {
        let seat = usize::from(seat);
        let table = &mut self.table;
        table.compass[seat] = table.compass[seat].saturating_add(laid);
        table.supply[seat] = table.supply[seat].saturating_sub(laid);
    }

    pub(super) fn compass_back(&mut self, seat: u8, back: u8) {
        let seat = usize::from(seat);
        let table = &mut self.table;
        table.compass[seat] = table.compass[seat].saturating_sub(back);
        table.supply[seat] = table.supply[seat].saturating_add(back);
    }

    /// A dust tile from a seat, or from the supply.
    pub(super) fn dust(&mut self, seat: u8, from: Option<u8>) {
        let table = &mut self.table;
        let source = match from {
            Some(victim) => &mut table.dust[usize::from(victim)],
            None => &mut table.dust_supply,
        };
        *source = source.saturating_sub(1);
        table.dust[usize::from(seat)] += 1;
    }

    pub(super) fn taken(&mut self, seat: u8, token: &str) {
        let city = self.lexicon.token(token).map(|id| self.lexicon.catalogue.tokens[usize::from(id)].city);
        if let Ok(city) = city {
            let lying = &mut self.table.cities[usize::from(city)];
            *lying = lying.saturating_sub(1);
        }
        self.table.tokens[usize::from(seat)].push(token.to_owned());
        self.settle();
    }

    pub(super) fn token_stolen(&mut self, from: u8, to: u8, token: &str) {
        take(&mut self.table.tokens[usize::from(from)], token);
        self.table.tokens[usize::from(to)].push(token.to_owned());
        self.settle();
    }

    pub(super) fn laid(&mut self, seat: u8, token: &str, circle: usize) {
        take(&mut self.table.tokens[usize::from(seat)], token);
        self.table.laid[circle].push((seat, token.to_owned()));
        let supply = &mut self.table.supply[usize::from(seat)];
        *supply = supply.saturating_sub(1);
        self.settle();
    }

    pub(super) fn lyra(&mut self, place: u8) {
        self.table.lyra = place;
        self.settle();
    }

    /// All compass tiles go back, and the discard pile into the draw pile, in the order told.
    pub(super) fn cleaned_up(&mut self, deck: &[String]) {
        for (compass, supply) in self.table.compass.iter_mut().zip(&mut self.table.supply) {
            *supply += std::mem::take(compass);
        }
        self.deck = deck.to_vec();
        self.discard.clear();
        self.settle();
    }
}

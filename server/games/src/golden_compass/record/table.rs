//! The table as a recorded game tells it, to compare with the engine's.

use boardwire_kernel::Seat;

use super::super::GoldenCompass;
use super::super::catalogue::{CardId, TokenSet};
use super::super::state::{State, tokens_of};
use super::events::{Reshuffle, Setup, Snapshot, Words};
use super::names::Names;

impl GoldenCompass {
    /// The engine's table in the words of a recorded game.
    pub(super) fn snapshot(&self, state: &State, turn: u32) -> Snapshot {
        let places = state.places.of(self.seats);
        Snapshot {
            turn,
            lyra: state.lyra,
            still: state.idle_turns,
            hands: places.iter().map(|place| self.names_of(place.hand.cards())).collect(),
            draw: state.deck.len(),
            discard: state.discard.len(),
            compass: places.iter().map(|place| place.compass).collect(),
            supply: places.iter().map(|place| place.supply).collect(),
            cities: self.lying(state).to_vec(),
            tokens: places.iter().map(|place| self.sorted_tokens(place.tokens)).collect(),
            laid: state.circles.iter().map(|&circle| self.laid_in(state, circle)).collect(),
            dust: places.iter().map(|place| place.dust).collect(),
            dust_supply: state.dust,
            airship: state.airship.map(Seat::number),
        }
    }

    /// Card names, sorted.
    pub(in super::super) fn names_of(&self, cards: impl Iterator<Item = CardId>) -> Words {
        let mut names: Words = cards.map(|card| self.printed().card(card).name.clone()).collect();
        names.sort();
        names
    }

    fn sorted_tokens(&self, tokens: TokenSet) -> Words {
        let mut names: Words =
            tokens_of(tokens).map(|token| self.printed().token(token).name.clone()).collect();
        names.sort();
        names
    }

    fn laid_in(&self, state: &State, circle: TokenSet) -> Vec<(u8, String)> {
        let of = |seat: Seat| {
            let laid = self.sorted_tokens(state.places[seat].laid.intersection(circle));
            laid.into_iter().map(move |token| (seat.number(), token))
        };
        self.all_seats().flat_map(of).collect()
    }
}

/// The table as told so far.
pub(super) struct Table<'a> {
    /// What a snapshot would say; piles are counted, and lists sorted, by [`Table::settled`].
    pub(super) now: Snapshot,
    /// The draw pile, in order.
    pub(super) deck: Words,
    pub(super) discard: Words,
    names: Names<'a>,
}

/// Takes `name` out of `list`, if it is there.
pub(super) fn take(list: &mut Words, name: &str) {
    if let Some(at) = list.iter().position(|one| one == name) {
        list.remove(at);
    }
}

fn count(words: &[String]) -> u8 {
    u8::try_from(words.len()).unwrap_or(u8::MAX)
}

impl<'a> Table<'a> {
    pub(super) fn new(names: Names<'a>, setup: &Setup) -> Self {
        let seats = usize::from(names.seats);
        let now = Snapshot {
            turn: 0,
            lyra: setup.lyra,
            still: 0,
            hands: setup.hands.clone(),
            draw: 0,
            discard: 0,
            compass: vec![0; seats],
            supply: setup.supply.clone(),
            cities: names.catalogue.collecting().iter().map(|city| city.slots).collect(),
            tokens: vec![vec![]; seats],
            laid: vec![vec![]; names.catalogue.placing().len()],
            dust: vec![0; seats],
            dust_supply: setup.dust_supply,
            airship: None,
        };
        Self { now, deck: setup.deck.clone(), discard: vec![], names }
    }

    /// What a snapshot would say now; `still` is not told before the end of a turn.
    pub(super) fn settled(&self, still: u16) -> Snapshot {
        let mut now = self.now.clone();
        now.still = still;
        now.hands.iter_mut().chain(&mut now.tokens).for_each(|words| words.sort());
        now.laid.iter_mut().for_each(|laid| laid.sort());
        (now.draw, now.discard) = (count(&self.deck), count(&self.discard));
        for (lying, city) in now.cities.iter_mut().zip(&self.names.catalogue.cities) {
            if now.lyra > city.spaces.1 {
                *lying = 0;
            }
        }
        now
    }

    pub(super) fn hand(&mut self, seat: Seat) -> &mut Words {
        &mut self.now.hands[seat.index()]
    }

    pub(super) fn tokens(&mut self, seat: Seat) -> &mut Words {
        &mut self.now.tokens[seat.index()]
    }

    /// The cards that come off the pile next, and the return of the discard pile if it is due.
    pub(super) fn draw(
        &mut self,
        seat: Seat,
        number: u8,
        told: Option<&Reshuffle>,
    ) -> (Words, Option<Reshuffle>) {
        let due = self.deck.len();
        let mut drawn: Words = self.deck.drain(..usize::from(number).min(due)).collect();
        let mut returned = None;
        if drawn.len() < number.into() && !self.discard.is_empty() {
            // Which order came is chance, and that it comes a fact.
            let order = told.map(|told| told.order.clone()).unwrap_or_default();
            let mut cards = order.clone();
            cards.sort();
            self.discard.sort();
            let discard = std::mem::take(&mut self.discard);
            self.deck = if cards == discard { order } else { discard };
            let after = u8::try_from(due).unwrap_or(u8::MAX);
            returned = Some(Reshuffle { after, order: self.deck.clone() });
            let more = (usize::from(number) - drawn.len()).min(self.deck.len());
            drawn.extend(self.deck.drain(..more));
        }
        self.hand(seat).extend(drawn.iter().cloned());
        (drawn, returned)
    }

    pub(super) fn discard(&mut self, seat: Seat, cards: &[String]) {
        for card in cards {
            take(self.hand(seat), card);
            self.discard.push(card.clone());
        }
    }

    /// Compass tiles from the supply onto the objective.
    pub(super) fn lay_compass(&mut self, seat: Seat, tiles: u8) {
        let (compass, supply) = (&mut self.now.compass[seat.index()], &mut self.now.supply[seat.index()]);
        (*compass, *supply) = (compass.saturating_add(tiles), supply.saturating_sub(tiles));
    }

    /// Compass tiles from the objective back to the supply.
    pub(super) fn remove_compass(&mut self, seat: Seat, tiles: u8) {
        let (compass, supply) = (&mut self.now.compass[seat.index()], &mut self.now.supply[seat.index()]);
        (*compass, *supply) = (compass.saturating_sub(tiles), supply.saturating_add(tiles));
    }

    /// A dust tile from a seat, or from the supply.
    pub(super) fn take_dust(&mut self, seat: Seat, from: Option<Seat>) {
        let source = match from {
            Some(victim) => &mut self.now.dust[victim.index()],
            None => &mut self.now.dust_supply,
        };
        *source = source.saturating_sub(1);
        self.now.dust[seat.index()] += 1;
    }

    /// A token from its city.
    pub(super) fn take_token(&mut self, seat: Seat, token: &str) {
        if let Ok(id) = self.names.token(token) {
            let lying = &mut self.now.cities[self.names.catalogue.token(id).city.index() - 1];
            *lying = lying.saturating_sub(1);
        }
        self.tokens(seat).push(token.to_owned());
    }

    pub(super) fn lay_token(&mut self, seat: Seat, token: &str, circle: usize) {
        take(self.tokens(seat), token);
        self.now.laid[circle].push((seat.number(), token.to_owned()));
        let supply = &mut self.now.supply[seat.index()];
        *supply = supply.saturating_sub(1);
    }

    /// All compass tiles go back, and the discard pile into the draw pile, in the order told.
    pub(super) fn clean_up(&mut self, deck: &[String]) {
        for (compass, supply) in self.now.compass.iter_mut().zip(&mut self.now.supply) {
            *supply += std::mem::take(compass);
        }
        self.deck = deck.to_vec();
        self.discard.clear();
    }
}

//! Lyra cards and experience tokens change hands, and every seat remembers what it saw of it.

use boardwire_kernel::{Chance, Seat, SeatSet};

use super::super::catalogue::limits::CARDS;
use super::super::catalogue::{CardId, CityId, TokenId};
use super::super::memory::{TABLE, place_of};
use super::super::state::State;
use super::super::{GoldenCompass, streams};

impl GoldenCompass {
    /// `seat` draws `count` cards, the discard pile coming back when the draw pile is empty.
    ///
    /// Tells `drawn` their types, in order.
    pub(in super::super) fn draw(
        &self,
        state: &mut State,
        seat: Seat,
        count: u8,
        chance: &mut Chance,
        mut drawn: impl FnMut(CardId),
    ) {
        for _ in 0..count {
            if state.deck.is_empty() {
                if state.discard.is_empty() {
                    return; // R32: the rest of the draw is lost.
                }
                self.return_discard(state);
            }
            let card = CardId::new(chance.draw_copy(streams::CARDS, &mut state.deck));
            state.places[seat].hand.insert(card);
            for viewer in self.all_seats() {
                let memory = &mut state.memory[viewer];
                if viewer == seat {
                    memory.drew(self.blocks[card.index()]);
                } else {
                    memory.saw_draw(seat);
                }
            }
            drawn(card);
        }
    }

    /// The discard pile becomes part of the draw pile again.
    pub(in super::super) fn return_discard(&self, state: &mut State) {
        for memory in state.memory.of_mut(self.seats) {
            memory.saw_return(&state.discard, &self.blocks);
        }
        state.deck.absorb(&mut state.discard);
        state.not_discarded = [u8::MAX; CARDS];
    }

    /// `seat` puts a card on the discard pile: one of so many `just_drawn`, or any of its hand if that is 0.
    pub(in super::super) fn discard(&self, state: &mut State, seat: Seat, card: CardId, just_drawn: u8) {
        state.places[seat].hand.remove(card);
        let discarded = self.blocks[card.index()].end() - 1 - usize::from(state.discard.count(card.get()));
        state.not_discarded[discarded] = 0;
        state.discard.insert(card.get());
        for viewer in self.others(seat) {
            state.memory[viewer].saw_card_leave(seat, card, self.blocks[card.index()], just_drawn);
        }
    }

    /// The active seat takes a random card of `victim`: only the two know which.
    pub(in super::super) fn steal_card(&self, state: &mut State, victim: Seat, chance: &mut Chance) {
        let thief = state.active;
        let hand = &mut state.places[victim].hand;
        let rank = chance.below(streams::STOLEN_CARDS, hand.len().into());
        let card = CardId::new(hand.take(rank as usize));
        state.acting_mut().hand.insert(card);
        for viewer in self.all_seats() {
            let memory = &mut state.memory[viewer];
            if viewer == thief {
                memory.saw_card_leave(victim, card, self.blocks[card.index()], 0);
            } else if viewer == victim {
                memory.lost_card(thief, card);
            } else {
                memory.saw_card_stolen(victim, thief);
            }
        }
    }

    /// The active seat takes an unseen token from the current city.
    pub(in super::super) fn take_token(&self, state: &mut State, chance: &mut Chance) {
        let city = self.current_city(state).expect("tokens lie at the current city");
        let pile = &mut state.piles[city.index() - 1];
        let token = TokenId::new(chance.draw(streams::TOKENS, pile));
        let seat = state.active;
        let place = state.acting_mut();
        place.tokens.insert(token);
        place.backs[city.index() - 1] += 1;
        self.token_moved(state, token, TABLE, place_of(seat), SeatSet::only(seat));
    }

    /// The active seat takes a random token with the back of `city` from `victim`.
    pub(in super::super) fn steal_token(
        &self,
        state: &mut State,
        victim: Seat,
        city: CityId,
        chance: &mut Chance,
    ) {
        let mut backs = state.places[victim].tokens.intersection(self.printed().city(city).tokens);
        let token = TokenId::new(chance.draw(streams::STOLEN_TOKENS, &mut backs));
        let thief = state.active;
        state.places[victim].tokens.remove(token);
        state.places[victim].backs[city.index() - 1] -= 1;
        state.acting_mut().tokens.insert(token);
        state.acting_mut().backs[city.index() - 1] += 1;
        let seen_by = [victim, thief].into_iter().collect();
        self.token_moved(state, token, place_of(victim), place_of(thief), seen_by);
    }

    /// The active seat lays out a token like `kind` in the current city, for all to see.
    pub(in super::super) fn lay_token(&self, state: &mut State, kind: TokenId) {
        let seat = state.active;
        let city = self.current_city(state).expect("the current city has an empty circle");
        let place = state.acting_mut();
        let equal = place.tokens.intersection(self.equal_tokens[kind.index()]);
        let token = TokenId::new(equal.lowest().expect("the seat has such a token"));
        place.tokens.remove(token);
        place.laid.insert(token);
        place.backs[self.printed().token(token).city.index() - 1] -= 1;
        place.supply -= 1;
        state.circles[Self::circle(city)].insert(token);
        self.token_moved(state, token, place_of(seat), 0, SeatSet::all(self.seats));
    }

    /// Those who have seen it know which token moved, the others only its back.
    fn token_moved(&self, state: &mut State, token: TokenId, from: u8, to: u8, seen_by: SeatSet) {
        let printed = self.printed().token(token);
        let equal = self.equal_tokens[printed.kind.index()];
        let backs = self.printed().city(printed.city).tokens;
        for viewer in self.all_seats() {
            let memory = &mut state.memory[viewer];
            if seen_by.contains(viewer) {
                memory.saw_token(equal, token, from, to);
            } else {
                memory.saw_back(backs, from, to);
            }
        }
    }
}

//! Lyra cards and experience tokens that change hands. Every seat remembers what it sees of it.

use boardwire_kernel::{RandomSource, Seat};

use super::super::catalogue::{CardId, CityId, TokenId};
use super::super::limits::CARDS;
use super::super::observe::Event;
use super::super::state::State;
use super::super::{GoldenCompass, streams};

impl GoldenCompass {
    /// Draws `count` cards for `seat`. If the draw pile is empty, the discard pile goes back into it.
    ///
    /// Calls `drawn` with the type of each card, in order.
    pub(in crate::golden_compass) fn draw(
        &self,
        state: &mut State,
        seat: Seat,
        count: u8,
        chance: &mut RandomSource,
        mut drawn: impl FnMut(CardId),
    ) {
        for _ in 0..count {
            if state.deck.is_empty() {
                if state.discard.is_empty() {
                    break; // R32: the rest of the draw is lost.
                }
                self.reshuffle_discard(state);
            }
            let card = CardId::new(chance.draw_copy(streams::CARDS, &mut state.deck));
            state.seats[seat].hand.insert(card);
            self.record_event(state, seat, Event::DrawCard(card));
            drawn(card);
        }
    }

    /// Puts the discard pile back into the draw pile.
    pub(in crate::golden_compass) fn reshuffle_discard(&self, state: &mut State) {
        self.record_event(state, state.active, Event::Reshuffle);
        state.deck.absorb(&mut state.discard);
        state.not_discarded_mask = [u8::MAX; CARDS];
    }

    /// Discards a card of `seat`: one of `among` cards just drawn, or any card of its hand if `among` is 0.
    pub(in crate::golden_compass) fn discard(&self, state: &mut State, seat: Seat, card: CardId, among: u8) {
        state.seats[seat].hand.remove(card);
        let discarded = self.blocks[card.index()].end() - 1 - usize::from(state.discard.count(card.get()));
        state.not_discarded_mask[discarded] = 0;
        state.discard.insert(card.get());
        self.record_event(state, seat, Event::Discard { card, among });
    }

    /// Moves a random card from `victim` to the active seat. Only these two seats know which card it is.
    pub(in crate::golden_compass) fn steal_card(
        &self,
        state: &mut State,
        victim: Seat,
        chance: &mut RandomSource,
    ) {
        let thief = state.active;
        let hand = &mut state.seats[victim].hand;
        let rank = chance.below(streams::STOLEN_CARDS, hand.len().into());
        let card = CardId::new(hand.take(rank as usize));
        state.active_seat_mut().hand.insert(card);
        self.record_event(state, thief, Event::StealCard { victim, card });
    }

    /// Moves a random token, unseen, from the current city to the active seat.
    pub(in crate::golden_compass) fn take_token(&self, state: &mut State, chance: &mut RandomSource) {
        let city = self.current_city(state).expect("tokens lie at the current city");
        let pile = &mut state.city_tokens[city.index() - 1];
        let token = TokenId::new(chance.draw(streams::TOKENS, pile));
        let seat = state.active;
        let seat_state = state.active_seat_mut();
        seat_state.tokens.insert(token);
        seat_state.backs[city.index() - 1] += 1;
        self.record_event(state, seat, Event::TakeToken(token));
    }

    /// Moves a random token with the back of `city` from `victim` to the active seat.
    pub(in crate::golden_compass) fn steal_token(
        &self,
        state: &mut State,
        victim: Seat,
        city: CityId,
        chance: &mut RandomSource,
    ) {
        let mut backs = state.seats[victim].tokens.intersection(self.catalogue().city(city).tokens);
        let token = TokenId::new(chance.draw(streams::STOLEN_TOKENS, &mut backs));
        let thief = state.active;
        state.seats[victim].tokens.remove(token);
        state.seats[victim].backs[city.index() - 1] -= 1;
        state.active_seat_mut().tokens.insert(token);
        state.active_seat_mut().backs[city.index() - 1] += 1;
        self.record_event(state, thief, Event::StealToken { victim, token });
    }

    /// Lays out a token of the active seat that equals `kind`, face up, in the current city.
    pub(in crate::golden_compass) fn lay_token(&self, state: &mut State, kind: TokenId) {
        let seat = state.active;
        let city = self.current_city(state).expect("the current city has an empty circle");
        let seat_state = state.active_seat_mut();
        let equal = seat_state.tokens.intersection(self.equal_tokens[kind.index()]);
        let token = TokenId::new(equal.lowest().expect("the seat has such a token"));
        seat_state.tokens.remove(token);
        seat_state.laid_out.insert(token);
        seat_state.backs[self.catalogue().token(token).city.index() - 1] -= 1;
        seat_state.supply -= 1;
        state.circles[Self::circle(city)].insert(token);
        self.record_event(state, seat, Event::LayToken(token));
    }

    /// Adds to the memory of every seat what it sees of an event.
    #[inline]
    fn record_event(&self, state: &mut State, actor: Seat, event: Event) {
        if state.memories_disabled {
            return;
        }
        for viewer in self.all_seats() {
            self.update_memory(&mut state.memory[viewer], viewer, actor, event, &state.discard);
        }
    }
}

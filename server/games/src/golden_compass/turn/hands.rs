//! Lyra cards and experience tokens that change hands. Every seat remembers what it sees of it.

use boardwire_kernel::{Chance, Seat};

use super::super::catalogue::{CardId, CityId, TokenId};
use super::super::limits::CARDS;
use super::super::state::State;
use super::super::witness::Event;
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
        chance: &mut Chance,
        mut drawn: impl FnMut(CardId),
    ) {
        for _ in 0..count {
            if state.deck.is_empty() {
                if state.discard.is_empty() {
                    break; // R32: the rest of the draw is lost.
                }
                self.return_discard(state);
            }
            let card = CardId::new(chance.draw_copy(streams::CARDS, &mut state.deck));
            state.places[seat].hand.insert(card);
            self.happened(state, seat, Event::Draw(card));
            drawn(card);
        }
    }

    /// Puts the discard pile back into the draw pile.
    pub(in crate::golden_compass) fn return_discard(&self, state: &mut State) {
        self.happened(state, state.active, Event::Return);
        state.deck.absorb(&mut state.discard);
        state.not_discarded = [u8::MAX; CARDS];
    }

    /// Discards a card of `seat`: one of `among` cards just drawn, or any card of its hand if `among` is 0.
    pub(in crate::golden_compass) fn discard(&self, state: &mut State, seat: Seat, card: CardId, among: u8) {
        state.places[seat].hand.remove(card);
        let discarded = self.blocks[card.index()].end() - 1 - usize::from(state.discard.count(card.get()));
        state.not_discarded[discarded] = 0;
        state.discard.insert(card.get());
        self.happened(state, seat, Event::Show { card, among });
    }

    /// Moves a random card from `victim` to the active seat. Only these two seats know which card it is.
    pub(in crate::golden_compass) fn steal_card(&self, state: &mut State, victim: Seat, chance: &mut Chance) {
        let thief = state.active;
        let hand = &mut state.places[victim].hand;
        let rank = chance.below(streams::STOLEN_CARDS, hand.len().into());
        let card = CardId::new(hand.take(rank as usize));
        state.acting_mut().hand.insert(card);
        self.happened(state, thief, Event::Steal { victim, card });
    }

    /// Moves a random token, unseen, from the current city to the active seat.
    pub(in crate::golden_compass) fn take_token(&self, state: &mut State, chance: &mut Chance) {
        let city = self.current_city(state).expect("tokens lie at the current city");
        let pile = &mut state.piles[city.index() - 1];
        let token = TokenId::new(chance.draw(streams::TOKENS, pile));
        let seat = state.active;
        let place = state.acting_mut();
        place.tokens.insert(token);
        place.backs[city.index() - 1] += 1;
        self.happened(state, seat, Event::Take(token));
    }

    /// Moves a random token with the back of `city` from `victim` to the active seat.
    pub(in crate::golden_compass) fn steal_token(
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
        self.happened(state, thief, Event::Rob { victim, token });
    }

    /// Lays out a token of the active seat that equals `kind`, face up, in the current city.
    pub(in crate::golden_compass) fn lay_token(&self, state: &mut State, kind: TokenId) {
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
        self.happened(state, seat, Event::Lay(token));
    }

    /// Adds to the memory of every seat what it sees of an event.
    #[inline]
    fn happened(&self, state: &mut State, actor: Seat, event: Event) {
        if state.forgets {
            return;
        }
        for viewer in self.all_seats() {
            self.witness(&mut state.memory[viewer], viewer, actor, event, &state.discard);
        }
    }
}

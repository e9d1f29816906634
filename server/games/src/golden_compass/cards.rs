//! Lyra cards and experience tokens change hands, and every seat remembers what it saw of it.

use boardwire_kernel::{BitSet, Chance};

use super::GoldenCompass;
use super::limits::COLLECTING;
use super::memory::TABLE;
use super::state::{State, bits};
use super::streams;

impl GoldenCompass {
    /// `seat` draws `count` cards, the discard pile coming back when the draw pile is empty.
    ///
    /// Returns the types drawn to `sink`, in order.
    pub(super) fn draw(
        &self,
        s: &mut State,
        seat: u8,
        count: u8,
        chance: &mut Chance,
        mut sink: impl FnMut(u8),
    ) {
        for _ in 0..count {
            if s.deck_len == 0 {
                if s.discard_len == 0 {
                    return; // R32: the rest of the draw is lost.
                }
                self.return_discard(s);
            }
            let rank = chance.below(streams::CARDS, s.deck_len.into());
            let card = nth(&s.deck, rank);
            s.deck[usize::from(card)] -= 1;
            s.deck_len -= 1;
            s.place_mut(seat).hand.insert(card);
            for viewer in 0..self.seats {
                let memory = &mut s.memory[usize::from(viewer)];
                if viewer == seat {
                    memory.drew(self.blocks[usize::from(card)]);
                } else {
                    memory.saw_draw(seat);
                }
            }
            sink(card);
        }
    }

    /// The discard pile becomes part of the draw pile again.
    pub(super) fn return_discard(&self, s: &mut State) {
        for memory in &mut s.memory[..usize::from(self.seats)] {
            memory.saw_return(&s.discard, &self.blocks);
        }
        for (deck, back) in s.deck.iter_mut().zip(&mut s.discard) {
            *deck += std::mem::take(back);
        }
        s.deck_len += std::mem::take(&mut s.discard_len);
    }

    /// `seat` puts a card on the discard pile, one of so many `fresh` ones just drawn, or any.
    pub(super) fn discard(&self, s: &mut State, seat: u8, card: u8, fresh: u8) {
        s.place_mut(seat).hand.remove(card);
        s.discard[usize::from(card)] += 1;
        s.discard_len += 1;
        for viewer in (0..self.seats).filter(|&viewer| viewer != seat) {
            let block = self.blocks[usize::from(card)];
            s.memory[usize::from(viewer)].saw_card_leave(seat, card, block, fresh);
        }
    }

    /// The active seat takes a random card of `victim`: only the two know which.
    pub(super) fn steal_card(&self, s: &mut State, victim: u8, chance: &mut Chance) {
        let thief = s.active;
        let hand = &mut s.place_mut(victim).hand;
        let rank = chance.below(streams::STOLEN_CARDS, hand.len().into());
        let card = hand.take(rank as usize);
        s.own_mut().hand.insert(card);
        for viewer in 0..self.seats {
            let memory = &mut s.memory[usize::from(viewer)];
            if viewer == thief {
                memory.saw_card_leave(victim, card, self.blocks[usize::from(card)], 0);
            } else if viewer == victim {
                memory.lost_card(thief, card);
            } else {
                memory.saw_card_stolen(victim, thief);
            }
        }
    }

    /// The active seat takes an unseen token from the current city.
    pub(super) fn take_token(&self, s: &mut State, chance: &mut Chance) {
        let Some(city) = self.printed().current_city(s.period, s.lyra) else {
            return;
        };
        let pile = &mut s.piles[usize::from(city)];
        let token = draw_token(*pile, streams::TOKENS, chance);
        *pile &= !(1 << token);
        let seat = s.active;
        s.own_mut().tokens |= 1 << token;
        self.token_moved(s, token, TABLE, 1 << seat, &[seat]);
    }

    /// The active seat takes a random token with the back of `city` from `victim`.
    pub(super) fn steal_token(&self, s: &mut State, victim: u8, city: u8, chance: &mut Chance) {
        let backs = self.printed().cities[usize::from(city)].tokens;
        let token = draw_token(s.place(victim).tokens & backs, streams::STOLEN_TOKENS, chance);
        let thief = s.active;
        s.place_mut(victim).tokens &= !(1 << token);
        s.own_mut().tokens |= 1 << token;
        self.token_moved(s, token, 1 << victim, 1 << thief, &[victim, thief]);
    }

    /// The active seat lays out a token in the current city, for all to see.
    pub(super) fn lay_token(&self, s: &mut State, kind: u8) {
        let seat = s.active;
        let city = self.printed().current_city(s.period, s.lyra);
        let like = |&id: &u8| self.printed().tokens[usize::from(id)].kind == kind;
        let token = bits(s.own().tokens).find(like);
        let (Some(city), Some(token)) = (city, token) else {
            return;
        };
        let own = s.own_mut();
        own.tokens &= !(1 << token);
        own.laid |= 1 << token;
        own.supply -= 1;
        s.circles[Self::circle(city)] |= 1 << token;
        let everybody = [0, 1, 2, 3];
        self.token_moved(s, token, 1 << seat, 0, &everybody[..usize::from(self.seats)]);
    }

    /// Those of `seen` know which token moved, the others only its back.
    fn token_moved(&self, s: &mut State, token: u8, from: u8, to: u8, seen: &[u8]) {
        let catalogue = self.printed();
        let city = catalogue.tokens[usize::from(token)].city;
        for viewer in 0..self.seats {
            let memory = &mut s.memory[usize::from(viewer)];
            if seen.contains(&viewer) {
                memory.saw_token(catalogue, token, from, to);
            } else {
                memory.saw_back(catalogue, city, from, to);
            }
        }
    }

    /// The place of a city of the last period among [`State::circles`].
    pub(super) fn circle(city: u8) -> usize {
        usize::from(city) - COLLECTING
    }
}

/// The type of the card of this rank, cards in the order of their types.
pub(super) fn nth(counts: &[u8], rank: u32) -> u8 {
    let mut left = rank;
    for (card, &count) in (0u8..).zip(counts) {
        let count = u32::from(count);
        if left < count {
            return card;
        }
        left -= count;
    }
    0
}

fn draw_token(mask: u32, stream: usize, chance: &mut Chance) -> u8 {
    let mut set: BitSet<1> = bits(mask).collect();
    chance.draw(stream, &mut set)
}

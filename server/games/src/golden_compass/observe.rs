//! Updates a seat's memory with what the seat sees when cards or tokens change hands.

use boardwire_kernel::{Seat, SeatSet};

use super::GoldenCompass;
use super::catalogue::{CardId, TokenId};
use super::memory::{Memory, TABLE, seat_bit};
use super::state::Pile;

/// A card or token that changes hands. The *actor* is the seat that acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The actor draws a card.
    DrawCard(CardId),
    /// The actor discards a card: one of `among` cards just drawn, or any card of its hand if `among` is 0.
    Discard { card: CardId, among: u8 },
    /// The actor takes a card from the hand of `victim`.
    StealCard { victim: Seat, card: CardId },
    /// The discard pile goes back into the draw pile.
    Reshuffle,
    /// The actor takes a token from a city.
    TakeToken(TokenId),
    /// The actor steals a token from `victim`.
    StealToken { victim: Seat, token: TokenId },
    /// The actor lays a token out.
    LayToken(TokenId),
}

impl GoldenCompass {
    /// Adds to `memory` what `viewer` may see of an event. `discard` is the discard pile before a reshuffle.
    #[inline]
    pub(super) fn update_memory(
        &self,
        memory: &mut Memory,
        viewer: Seat,
        actor: Seat,
        event: Event,
        discard: &Pile,
    ) {
        match event {
            Event::DrawCard(card) if viewer == actor => memory.drew(self.blocks[card.index()]),
            Event::DrawCard(_) => memory.saw_draw(actor),
            Event::Discard { card, among } => {
                if viewer != actor {
                    memory.saw_card_leave(actor, card, self.blocks[card.index()], among);
                }
            }
            Event::StealCard { victim, card } => {
                if viewer == actor {
                    memory.saw_card_leave(victim, card, self.blocks[card.index()], 0);
                } else if viewer == victim {
                    memory.lost_card(actor, card, &self.blocks);
                } else {
                    memory.saw_card_stolen(victim, actor);
                }
            }
            Event::Reshuffle => memory.saw_reshuffle(discard, &self.blocks),
            Event::TakeToken(token) => {
                self.saw_token(memory, viewer, token, (TABLE, seat_bit(actor)), SeatSet::only(actor));
            }
            Event::StealToken { victim, token } => {
                let moved = (seat_bit(victim), seat_bit(actor));
                self.saw_token(memory, viewer, token, moved, [victim, actor].into_iter().collect());
            }
            Event::LayToken(token) => {
                self.saw_token(memory, viewer, token, (seat_bit(actor), 0), SeatSet::all(self.seats));
            }
        }
    }

    /// Adds the move of a token to `memory`. Seats in `seen_by` know which token moved, the other seats only its back.
    fn saw_token(
        &self,
        memory: &mut Memory,
        viewer: Seat,
        token: TokenId,
        (from, to): (u8, u8),
        seen_by: SeatSet,
    ) {
        let info = self.catalogue().token(token);
        if seen_by.contains(viewer) {
            memory.saw_token(self.equal_tokens[info.kind.index()], token, from, to);
        } else {
            memory.saw_back(self.catalogue().city(info.city).tokens, from, to);
        }
    }
}

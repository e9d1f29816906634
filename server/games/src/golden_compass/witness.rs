//! Updates a seat's memory with what the seat sees when cards or tokens change hands.

use boardwire_kernel::{Seat, SeatSet};

use super::GoldenCompass;
use super::catalogue::{CardId, TokenId};
use super::memory::{Memory, TABLE, place_of};
use super::state::Pile;

/// A card or token that changes hands. The *actor* is the seat that acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The actor draws a card.
    Draw(CardId),
    /// The actor discards a card: one of `among` cards just drawn, or any card of its hand if `among` is 0.
    Show { card: CardId, among: u8 },
    /// The actor takes a card from the hand of `victim`.
    Steal { victim: Seat, card: CardId },
    /// The discard pile goes back into the draw pile.
    Return,
    /// The actor takes a token from a city.
    Take(TokenId),
    /// The actor steals a token from `victim`.
    Rob { victim: Seat, token: TokenId },
    /// The actor lays a token out.
    Lay(TokenId),
}

impl GoldenCompass {
    /// Adds to `memory` what `viewer` may see of an event. `discard` is the discard pile before a return.
    #[inline]
    pub(super) fn witness(
        &self,
        memory: &mut Memory,
        viewer: Seat,
        actor: Seat,
        event: Event,
        discard: &Pile,
    ) {
        match event {
            Event::Draw(card) if viewer == actor => memory.drew(self.blocks[card.index()]),
            Event::Draw(_) => memory.saw_draw(actor),
            Event::Show { card, among } => {
                if viewer != actor {
                    memory.saw_card_leave(actor, card, self.blocks[card.index()], among);
                }
            }
            Event::Steal { victim, card } => {
                if viewer == actor {
                    memory.saw_card_leave(victim, card, self.blocks[card.index()], 0);
                } else if viewer == victim {
                    memory.lost_card(actor, card, &self.blocks);
                } else {
                    memory.saw_card_stolen(victim, actor);
                }
            }
            Event::Return => memory.saw_return(discard, &self.blocks),
            Event::Take(token) => {
                self.saw_token(memory, viewer, token, (TABLE, place_of(actor)), SeatSet::only(actor));
            }
            Event::Rob { victim, token } => {
                let moved = (place_of(victim), place_of(actor));
                self.saw_token(memory, viewer, token, moved, [victim, actor].into_iter().collect());
            }
            Event::Lay(token) => {
                self.saw_token(memory, viewer, token, (place_of(actor), 0), SeatSet::all(self.seats));
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
        let printed = self.printed().token(token);
        if seen_by.contains(viewer) {
            memory.saw_token(self.equal_tokens[printed.kind.index()], token, from, to);
        } else {
            memory.saw_back(self.printed().city(printed.city).tokens, from, to);
        }
    }
}

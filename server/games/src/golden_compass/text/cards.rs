//! The lines of the text on cards that the viewer cannot see.

use std::fmt::{Result, Write};

use boardwire_kernel::{Seat, Viewer};

use super::super::GoldenCompass;
use super::super::catalogue::CardId;
use super::super::limits::{CARD_TYPES, to_byte};
use super::super::memory::{Memory, NOT_HIDDEN, seat_bit};
use super::super::state::State;
use super::words::{CardCounts, counted};

impl GoldenCompass {
    /// Writes the piles, and what the viewer remembers of hidden cards: the same facts as in the view.
    pub(super) fn text_cards(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let discard = state.discard.counts();
        let (in_deck, in_discard) = (state.deck.len(), state.discard.len());
        writeln!(out, "discard pile ({in_discard}): {}", self.card_groups(discard))?;
        let Some(seat) = viewer.seat() else {
            let hidden = std::array::from_fn(|card| self.blocks[card].len - discard[card]);
            return writeln!(out, "draw pile ({in_deck}) and hands: {}", self.card_groups(&hidden));
        };
        let memory = &state.memory[seat];
        let hidden = self.hidden_copies(memory, u8::MAX);
        writeln!(out, "draw pile ({in_deck}) and other hands: {}", self.card_groups(&hidden))?;
        self.text_taken(memory, out)?;
        self.text_out_of_reach(memory, seat, &hidden, out)
    }

    /// Writes the cards that were taken from the viewer's hand, by who may have them.
    fn text_taken(&self, memory: &Memory, out: &mut dyn Write) -> Result {
        let mut taken: Vec<_> = memory.taken().iter().map(|taken| (taken.holders(), taken.card)).collect();
        taken.sort_unstable();
        for group in taken.chunk_by(|one, other| one.0 == other.0) {
            let seats = self.all_seats().filter(|&seat| group[0].0 & seat_bit(seat) != 0);
            let holders: Vec<_> = seats.map(|seat| seat.to_string()).collect();
            let cards = self.card_names(group.iter().map(|&(_, card)| CardId::new(card)));
            writeln!(out, "taken from your hand, now with {}: {cards}", holders.join(" or "))?;
        }
        Ok(())
    }

    /// Returns the hidden copies that were last seen at the reshuffle `newest` or before.
    fn hidden_copies(&self, memory: &Memory, newest: u8) -> CardCounts {
        let mut counts = [0; CARD_TYPES + 1];
        for (count, block) in counts.iter_mut().zip(&self.blocks) {
            let last_seen = memory.last_seen(*block).iter();
            *count = to_byte(last_seen.filter(|&&at| at != NOT_HIDDEN && at <= newest).count());
        }
        counts
    }

    /// Writes which hidden cards opponents cannot have, because they drew their own before those went back into the draw
    /// pile. Writes the possible cards or the impossible ones, whichever list is shorter.
    fn text_out_of_reach(
        &self,
        memory: &Memory,
        viewer: Seat,
        hidden: &CardCounts,
        out: &mut dyn Write,
    ) -> Result {
        for reshuffle in 0..memory.reshuffles {
            let of = |seat| memory.drawn_after[seat].count(reshuffle);
            let holders: Vec<_> = viewer.round(self.seats).skip(1).filter(|&seat| of(seat) > 0).collect();
            let possible = self.hidden_copies(memory, reshuffle);
            let impossible: CardCounts = std::array::from_fn(|card| hidden[card] - possible[card]);
            if holders.is_empty() || impossible.iter().all(|&count| count == 0) {
                continue;
            }
            let cards = holders.iter().map(|&seat| format!("{} of {seat}", counted(of(seat), "card")));
            write!(out, "{}: ", cards.collect::<Vec<_>>().join(" and "))?;
            let [many, few] = [possible, impossible].map(|counts| self.card_groups(&counts));
            if few.len() <= many.len() {
                writeln!(out, "none of {few}")?;
            } else {
                writeln!(out, "among {many}")?;
            }
        }
        Ok(())
    }
}

//! Resamples what a seat cannot know.
//!
//! A viewer cannot distinguish the cards that it has not seen: nothing that it was shown depends on their places. So
//! all arrangements are equally likely. Each card of a hand is equally likely to be the chosen one, or a kept one.

use super::state::{Draw, Phase, Placement, SEATS, State};
use super::{CardId, Toy};
use crate::{BySeat, Hidden, RngStream, Seat, Viewer};

impl Hidden for Toy {
    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let others = viewer.round(self.seats).skip(1);
        let is_unseen =
            |draw: &Draw| draw.placement != Placement::Kept && !self.has_seen(Viewer::Seat(viewer), *draw);
        // Move all cards that the viewer has not seen back into the deck ...
        let mut unseen: BySeat<u32, SEATS> = BySeat::default();
        for seat in others.clone() {
            let hand = self.hidden_hand(state, seat);
            unseen[seat] = hand.len();
            state.hands[seat] = state.hands[seat].difference(hand);
            state.deck = state.deck.union(hand);
        }
        for draw in state.draws.iter().flatten().filter(|draw| is_unseen(draw)) {
            state.deck.insert(draw.card);
        }
        // ... and draw as many cards from the deck.
        for seat in others.clone() {
            for _ in 0..unseen[seat] {
                state.hands[seat].insert(rng.draw(&mut state.deck));
            }
        }
        for draw in state.draws.iter_mut().flatten().filter(|draw| is_unseen(draw)) {
            draw.card = CardId::new(rng.draw(&mut state.deck));
        }
        self.resample_kept(state, viewer, rng);
        if state.phase == Phase::Play {
            for seat in others {
                if let Some(card) = &mut state.plays[usize::from(state.round)][seat] {
                    *card = CardId::new(rng.draw(&mut state.hands[seat].clone()));
                }
            }
        }
    }
}

impl Toy {
    /// Resamples which card each other seat kept unseen: any card that it holds or has played since.
    fn resample_kept(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut had = state.hands;
        for round in (0..state.draws.len()).rev() {
            let kept = state.draws[round].as_mut().filter(|draw| draw.placement == Placement::Kept);
            if let Some(draw) = kept {
                if self.has_seen(Viewer::Seat(viewer), *draw) {
                    had[draw.seat].remove(draw.card);
                } else {
                    draw.card = CardId::new(rng.draw(&mut had[draw.seat]));
                }
            }
            if let Some(plays) = state.revealed().get(round) {
                for seat in Seat::all(self.seats) {
                    had[seat].insert(plays[seat].expect("every seat has played a card"));
                }
            }
        }
    }
}

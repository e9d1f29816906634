//! The position as one viewer sees it, as text.

use std::fmt::{self, Write};

use super::state::{Cards, Phase, Placement, ROUNDS, State};
use super::{Action, CardId, Toy};
use crate::{NameGroup, Seat, Texts, Viewer};

impl Texts for Toy {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        let due = match state.phase {
            Phase::Play => "all choose a card",
            Phase::Place => "the winner keeps or buries a card",
            Phase::Over => "the game is over",
        };
        writeln!(out, "round {} of {ROUNDS}: {due}", state.round + 1)?;
        if let Some(seat) = viewer.seat() {
            writeln!(out, "your hand: {}", self.names(state.hands[seat]))?;
        }
        for seat in viewer.first().round(self.seats) {
            self.seat_text(state, viewer, seat, out)?;
        }
        for (round, plays) in (1..).zip(state.revealed()) {
            for (seat, card) in Seat::all(self.seats).zip(plays.of(self.seats).iter().flatten()) {
                writeln!(out, "round {round}: {seat} played {}", self.card(*card).name)?;
            }
        }
        for (round, draw) in (1..).zip(state.draws.iter().flatten()) {
            let card = if self.has_seen(viewer, *draw) { &self.card(draw.card).name } else { "a card" };
            let done = match draw.placement {
                Placement::Open => "drew",
                Placement::Kept => "kept",
                Placement::Buried => "buried",
            };
            writeln!(out, "round {round}: {} {done} {card}", draw.seat)?;
        }
        writeln!(out, "deck: {} cards", state.deck.len())
    }

    fn phrase(&self, state: &State, seat: Seat, action: Action, out: &mut dyn Write) -> fmt::Result {
        let drawn = state.draws.iter().flatten().rfind(|draw| draw.seat == seat);
        match (action, drawn) {
            (Action::Play(card), _) => write!(out, "play {}", self.card(card).name),
            (Action::Keep, Some(draw)) => write!(out, "keep {}", self.card(draw.card).name),
            (Action::Bury, Some(draw)) => write!(out, "bury {}", self.card(draw.card).name),
            (Action::Keep | Action::Bury, None) => out.write_str("keep or bury a card"),
        }
    }

    fn report(
        &self,
        before: &State,
        (seat, action): (Seat, Action),
        after: &State,
        viewer: Seat,
        out: &mut dyn Write,
    ) -> fmt::Result {
        // All cards are revealed after the last choice.
        if before.phase == Phase::Play {
            if after.phase == Phase::Play {
                return Ok(());
            }
            let played = after.revealed().last().expect("all have chosen").of(self.seats);
            return Seat::all(self.seats)
                .zip(played.iter().flatten())
                .try_for_each(|(seat, card)| writeln!(out, "{seat} played {}", self.card(*card).name));
        }
        let draw = after.draws.iter().flatten().rfind(|draw| draw.seat == seat);
        let seen = draw.filter(|draw| self.has_seen(viewer.into(), **draw));
        let card = seen.map_or("a card", |draw| &self.card(draw.card).name);
        let verb = if action == Action::Keep { "keeps" } else { "buries" };
        writeln!(out, "{seat} {verb} {card}")
    }

    fn names(&self) -> Vec<NameGroup> {
        let names = self.catalogue.components.cards.iter().map(|card| card.name.clone()).collect();
        vec![NameGroup { kind: "card", names }]
    }
}

impl Toy {
    /// Writes what a seat holds and has chosen, as far as `viewer` knows it.
    fn seat_text(&self, state: &State, viewer: Viewer, seat: Seat, out: &mut dyn Write) -> fmt::Result {
        let shown = match self.shown_hand(state, seat) {
            Cards::EMPTY => String::new(),
            shown => format!(", among them {}", self.names(shown)),
        };
        let chosen = match state.plays()[seat].filter(|_| state.phase == Phase::Play) {
            None => String::new(),
            Some(card) if viewer.is_seat(seat) => format!(", has chosen {}", self.card(card).name),
            Some(_) => ", has chosen".to_owned(),
        };
        writeln!(out, "{seat}: {} cards{shown}{chosen}", state.hands[seat].len())
    }

    fn names(&self, cards: Cards) -> String {
        let names: Vec<&str> = cards.iter().map(|id| self.card(CardId::new(id)).name.as_str()).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    }
}
